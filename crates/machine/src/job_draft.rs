//! A job whose options are still coming: each option sets what fio's manual says it does.

use hopscope_kernel::Time;

use crate::job_distributions::{distribution, percentages, split, zones_of};
use crate::job_file::{Job, Think};
use crate::job_values::{
    Refusal, at_least_one, blocks, bytes, direction, flag, percent, plain, refusal, size, targets, time, time_in_us,
};

/// A job whose options are still coming.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) job: Job,
    /// Sizes of reads, and of writes.
    pub(crate) blocks: [(u64, u64); 2],
    /// How often it is there.
    pub(crate) numjobs: u64,
}

impl Draft {
    /// The job, with the sizes of its direction.
    pub(crate) fn closed(mut self) -> Job {
        self.settle_sizes();
        self.job
    }

    /// Sizes are those of the directions that the job has; a split decides, whatever `bs` says.
    pub(crate) fn settle_sizes(&mut self) {
        let Draft { job, blocks, .. } = self;
        let sizes = [0, 1].map(|side| {
            let sizes = job.splits[side].iter().map(|size| size.0);
            sizes.clone().min().zip(sizes.max()).unwrap_or(blocks[side])
        });
        let [reads, writes] = job.rw.sides();
        (job.block_bytes_min, job.block_bytes_max) = sizes[usize::from(!reads)];
        job.write_blocks = Some(sizes[1]).filter(|writes_of| reads && writes && *writes_of != sizes[0]);
    }

    pub(crate) fn set(&mut self, option: &str, value: Option<&str>) -> Result<(), Refusal> {
        let job = &mut self.job;
        match option {
            "norandommap" => return flag(option, value).map(|set| job.random_map = !set),
            "time_based" => return flag(option, value).map(|set| job.time_based = set),
            "stonewall" => return flag(option, value).map(|set| job.stonewall = set),
            "new_group" => return flag(option, value).map(|set| job.new_group = set),
            _ => {}
        }
        let value = value
            .filter(|value| !value.is_empty())
            .ok_or_else(|| refusal(option, "needs a value", "expected key=value"))?;
        match option {
            "numjobs" => self.numjobs = at_least_one(option, plain(option, value)?)?,
            "name" => job.name = value.to_string(),
            "rw" => job.rw = direction(value)?,
            "bs" => self.blocks = blocks(value)?,
            "bssplit" => job.splits = split(value)?,
            "iodepth" => job.iodepth = at_least_one(option, plain(option, value)?)?,
            "percentage_random" => job.random_percent = percentages(option, value)?,
            "random_distribution" => {
                (job.distribution, job.zones) = (distribution(value)?, zones_of(value)?);
            }
            "randseed" => job.randseed = Some(plain(option, value)?),
            "rwmixread" => job.reads_percent = percent(option, value)?,
            // Where both are given and do not add up to 100, the later one decides.
            "rwmixwrite" => job.reads_percent = 100 - percent(option, value)?,
            "thinktime" => {
                let time = time_in_us(option, value)?;
                job.think = Think { time, ..job.think };
            }
            "thinktime_blocks" => job.think.every = at_least_one(option, plain(option, value)?)?,
            "thinktime_blocks_type" => {
                job.think.counts_issues = match value {
                    "complete" => false,
                    "issue" => true,
                    _ => return Err(refusal(option, &format!("is not `{value}`"), "expected complete or issue")),
                }
            }
            "offset" => job.offset_bytes = bytes(option, value)?,
            "size" => (job.size_bytes, job.size_percent) = size(value)?,
            "filename" => job.targets = targets(value)?,
            // fio's 0 is no limit.
            "runtime" => job.runtime = Some(time(option, value)?).filter(|&runtime| runtime > Time::ZERO),
            "ramp_time" => job.ramp_time = time(option, value)?,
            _ => return Err(refusal(option, "is not read", "")),
        }
        Ok(())
    }
}
