//! Jobs on a machine, ready to run: what they ask is checked, and the first of them begin with the run.

use hopscope_files::job_file::Job;
use hopscope_files::problem::{Problem, Problems};
use hopscope_kernel::{Sim, Time};
use hopscope_parts::nearest::among_devices;
use hopscope_parts::protocols::storage::Opened;
use hopscope_parts::workload::{self, Running, Sizes};

use crate::asked;
use crate::blueprint::{Blueprint, Machine};
use crate::convergence::paused;
use crate::run::JobOutcome;

/// Most requests in flight, of all jobs.
const DEPTHS_MAX: u64 = 4_096;

/// What there is to do about a job that asks for a cache on a machine without any.
const NO_CACHE: &str = "add an operating system with a file cache (system/…) to the machine, or leave it away";

/// Names of jobs' processes start with it; no part has such a name.
pub const JOB: &str = "job ";

/// Jobs on a machine.
pub(crate) struct Started {
    pub(crate) machine: Machine,
    /// Job by job, with nothing in it yet.
    pub(crate) outcomes: Vec<JobOutcome>,
    pub(crate) running: Vec<Running>,
    /// How long they pause in all.
    pub(crate) thinks: Vec<Time>,
}

impl Started {
    /// Builds the machine in `sim`, and has its devices ready for the jobs; each goes on behind so many requests, where
    /// that is said of them.
    pub(crate) fn of(
        sim: Sim,
        blueprint: &Blueprint,
        jobs: &[Job],
        seed: u64,
        trains: bool,
        behind: &[u64],
    ) -> Result<Started, Problems> {
        let machine = blueprint.instantiate(sim, seed)?;
        let sim = &machine.sim;
        if !trains {
            sim.without_trains();
        }
        let mut problems = Problems::default();
        same_times(jobs, &mut problems);
        not_too_many(jobs, &mut problems);
        let (mut outcomes, mut running, mut thinks) = (Vec::new(), Vec::new(), Vec::new());
        for (index, job) in jobs.iter().enumerate() {
            let target = match &job.targets[..] {
                [] => blueprint.default_target.clone(),
                [one] => one.clone(),
                _ => {
                    let problem = Problem::at(job.place_of("filename"), "a job on several devices is not modelled");
                    problems.0.push(problem.help("write one job a device"));
                    continue;
                }
            };
            let Some(volume) = machine.volumes.get(&target) else {
                let names: Vec<&str> = machine.volumes.keys().map(String::as_str).collect();
                let problem = Problem::at(job.place_of("filename"), format!("this system has no device `{target}`"));
                problems.0.push(problem.help(among_devices(&target, &names)));
                continue;
            };
            let how = Opened { buffered: job.buffered.is_some(), asynchronous: job.iodepth > 1 };
            let volume = match (volume.opened(how), job.buffered) {
                (Some(opened), _) => opened,
                (None, None) => volume.clone(),
                (None, Some(place)) => {
                    let problem = Problem::at(place, "this changes the result and is not modelled on this machine");
                    problems.0.push(problem.help(NO_CACHE));
                    continue;
                }
            };
            if let Err(problem) = asked::has_processors(job, &*volume) {
                problems.0.push(problem);
                continue;
            }
            let volume = volume.seat(&job.processors).unwrap_or(volume);
            match asked::of(job, &*volume, seed) {
                Ok(spec) => {
                    let name = process_name(index, job);
                    let smallest = spec.sizes.iter().map(Sizes::min).min().unwrap_or(1);
                    let requests = if spec.once { spec.size_bytes / u64::from(smallest) } else { 0 };
                    thinks.push(paused(job.think.time, requests / job.think.every));
                    let behind = behind.get(index).copied().unwrap_or(0);
                    let spec = workload::Spec { behind, after: blueprint.asked_before(index), ..spec };
                    running.push(workload::start(sim, &name, spec, volume, job.stage > 0));
                }
                Err(problem) => problems.0.push(problem),
            }
            let (name, rw, iodepth) = (job.name.clone(), job.rw, job.iodepth);
            let (block_bytes, from, until, sides) = (job.block_bytes_min, Time::ZERO, Time::ZERO, [None, None]);
            outcomes.push(JobOutcome { name, target, rw, block_bytes, iodepth, from, until, got: None, sides });
        }
        problems.unless_empty(())?;
        Ok(Started { machine, outcomes, running, thinks })
    }
}

/// Jobs of a stage start, are measured and stop together.
fn same_times(jobs: &[Job], problems: &mut Problems) {
    for job in jobs {
        let Some(first) = jobs.iter().find(|first| first.stage == job.stage) else { continue };
        if job.runtime != first.runtime {
            let title = format!("`{}` has another `runtime` than `{}`", job.name, first.name);
            let problem = Problem::at(job.place_of("runtime"), title).label("not modelled");
            problems.0.push(problem.help("jobs stop together: move `runtime` to [global]"));
        }
        if job.ramp_time != first.ramp_time {
            let of = |job: &Job| format!("{} s of `{}`", job.ramp_time.as_seconds_f64(), job.name);
            let title = format!("`startdelay` and `ramp_time` add up to {}, not to the {}", of(job), of(first));
            let option = if job.places.contains_key("ramp_time") { "ramp_time" } else { "startdelay" };
            let problem = Problem::at(job.place_of(option), title).label("not modelled");
            problems.0.push(
                problem.help("jobs are measured together: give all of them the same sum, or move both to [global]"),
            );
        }
    }
}

/// Drivers queue what all jobs have in flight.
fn not_too_many(jobs: &[Job], problems: &mut Problems) {
    let depths = jobs.iter().fold(0u64, |sum, job| sum.saturating_add(job.iodepth));
    if let Some(last) = jobs.last().filter(|_| depths > DEPTHS_MAX) {
        let title = format!("{depths} requests in flight, over all {} jobs", jobs.len());
        problems.0.push(Problem::at(last.place_of("iodepth"), title).help(format!("at most {DEPTHS_MAX}")));
    }
}

/// What the process of a job is called.
pub fn process_name(index: usize, job: &Job) -> String {
    format!("{JOB}{index:03} {}", job.name)
}
