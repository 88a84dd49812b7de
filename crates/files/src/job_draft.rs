//! A job whose options are still coming: each option sets what fio's manual says it does.

use std::collections::BTreeMap;

use hopscope_kernel::Time;

use crate::job_distributions::Distribution;
use crate::job_file::{Job, Rw, Think};
use crate::job_options::SYNCHRONOUS;
use crate::job_values::DEFAULT_BLOCK;
use crate::problem::place;

/// A job whose options are still coming.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) job: Job,
    /// Sizes of reads, and of writes.
    pub(crate) blocks: [(u64, u64); 2],
    /// How often it is there.
    pub(crate) numjobs: u64,
    /// Its `ioengine`, where it is given.
    pub(crate) engine: Option<String>,
    /// Whether `hipri` is given.
    pub(crate) hipri: bool,
}

/// Engines that know `hipri` (HOWTO.rst, "I/O engine specific parameters").
const POLLING: [&str; 4] = ["io_uring", "io_uring_cmd", "pvsync2", "xnvme"];

impl Draft {
    /// A job with fio's defaults.
    pub(crate) fn new(file: u32) -> Draft {
        let job = Job {
            name: String::new(),
            rw: Rw::Read,
            block_bytes_min: DEFAULT_BLOCK.0,
            block_bytes_max: DEFAULT_BLOCK.1,
            write_blocks: None,
            splits: Default::default(),
            reads_percent: 50,
            iodepth: 1,
            synchronous: false,
            buffered: None,
            polls: false,
            size_bytes: None,
            size_percent: None,
            offset_bytes: 0,
            targets: Vec::new(),
            runtime: None,
            time_based: false,
            start_delay: Time::ZERO,
            ramp_time: Time::ZERO,
            randseed: None,
            random_map: true,
            distribution: Distribution::Random,
            zones: Default::default(),
            random_percent: [100; 2],
            processors: Vec::new(),
            processors_split: false,
            think: Think { time: Time::ZERO, every: 1, counts_issues: false },
            stonewall: false,
            new_group: false,
            stage: 0,
            group: 0,
            place: place(file, 0..0),
            places: BTreeMap::new(),
            written: BTreeMap::new(),
        };
        Draft { job, blocks: [DEFAULT_BLOCK; 2], numjobs: 1, engine: None, hipri: false }
    }

    /// The job, with the sizes of its direction and the depth of its engine.
    pub(crate) fn closed(mut self) -> Job {
        self.settle_sizes();
        self.job.polls = self.polls();
        self.job.synchronous |= self.is_synchronous();
        let engine = self.engine.take().filter(|_| self.job.synchronous || self.job.polls);
        self.job.written.extend(engine.map(|engine| ("ioengine".to_string(), engine)));
        if self.job.polls {
            self.job.written.insert("hipri".to_string(), "1".to_string());
        }
        if self.job.synchronous {
            self.job.iodepth = 1;
        }
        self.job
    }

    /// What was given of its engine and has no effect.
    pub(crate) fn without_effect(&self) -> Vec<String> {
        let depth = self.job.iodepth;
        let mut list = Vec::new();
        match &self.engine {
            Some(engine) if self.is_synchronous() && depth > 1 => {
                list.push(format!("iodepth={depth} (ioengine={engine} has one request under way)"));
            }
            Some(_) if !self.polls() => list.push("ioengine".to_string()),
            _ => {}
        }
        if self.hipri && !self.polls() {
            list.push(format!("hipri (ioengine={} does not poll)", self.engine.as_deref().unwrap_or_default()));
        }
        list
    }

    fn is_synchronous(&self) -> bool {
        self.engine.as_deref().is_some_and(|engine| SYNCHRONOUS.contains(&engine))
    }

    fn polls(&self) -> bool {
        self.hipri && self.engine.as_deref().is_none_or(|engine| POLLING.contains(&engine))
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
}
