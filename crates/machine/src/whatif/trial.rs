//! Short runs, before and after: the same requests with the same draws, so that small effects show.
//!
//! What is compared is not what two runs did in the same time, but the time that they took for the same number of
//! requests: a request more or less at the end would hide an effect of a tenth of a percent.

use std::cell::RefCell;
use std::rc::Rc;

use hopscope_kernel::{Kind, Observer, Record, Time};

use super::{Effort, Performance, Setting, Shift};
use crate::fio_json::Figures;
use crate::job_file::Job;
use crate::problem::Problem;
use crate::run::{self, Failure, LIMIT, Options, Outcome};

/// Simulated time of a trial, unless that is too short for [`TRANSFERS_MIN`] or the jobs end before.
const RUNTIME: Time = Time::ms(1_000);
/// Half of that is enough for jobs that make so many transfers in it.
const TRANSFERS_PLENTY: u64 = 200;
/// Fewer transfers say little of small effects.
const TRANSFERS_MIN: u64 = 50;
/// Trials of each setting, a seed each: of jobs in random order, and of others, where a seed decides less.
const SEEDS: [usize; 2] = [6, 3];
/// Student's t of a two-sided 95 % interval, by degrees of freedom.
const STUDENT: [f64; 6] = [f64::INFINITY, 12.706, 4.303, 3.182, 2.776, 2.571];

/// The transfers of a setting, seed by seed.
pub(super) struct Trial {
    transfers: Vec<Vec<Transfer>>,
    /// Means over the seeds.
    pub(super) performance: Performance,
}

#[derive(Clone, Copy)]
struct Transfer {
    end: Time,
    latency: Time,
    bytes: u64,
}

/// Keeps every transfer of a run.
struct Keeper(Rc<RefCell<Vec<Transfer>>>);

impl Observer for Keeper {
    fn records(&mut self, batch: &[Record]) {
        let transfers = batch.iter().filter(|record| record.kind == Kind::Transfer);
        let kept = transfers.map(|r| Transfer { end: r.at + r.span, latency: r.span, bytes: r.bytes().into() });
        self.0.borrow_mut().extend(kept);
    }

    fn wants_phases(&self) -> bool {
        false
    }
}

impl Effort {
    /// Long enough for some tens of requests, and not longer than the jobs themselves.
    pub(super) fn for_trials(setting: &Setting, seed: u64) -> Result<Effort, Failure> {
        run::at_once(&setting.jobs).map_err(|problem| Failure::Input(problem.into()))?;
        let asked = setting.jobs.iter().map(|job| job.runtime).max().flatten().unwrap_or(LIMIT);
        let seeds = SEEDS[usize::from(setting.jobs.iter().all(|job| !job.rw.is_random()))];
        let mut effort = Effort { runtime: RUNTIME.min(asked), seeds: (seed..).take(seeds).collect() };
        loop {
            let outcome = run_once(setting, &effort, seed, None)?;
            let transfers = performance(&outcome).map_or(0, |performance| performance.transfers);
            if transfers >= TRANSFERS_PLENTY && effort.runtime == RUNTIME {
                effort.runtime = Time::ps(RUNTIME.as_ps() / 2);
                return Ok(effort);
            }
            if transfers >= TRANSFERS_MIN || effort.runtime >= asked || outcome.stop == run::Stop::Finished {
                return Ok(effort);
            }
            effort.runtime = (effort.runtime * 2).min(asked);
        }
    }

    /// The jobs, as short as the trials.
    pub(super) fn shortened(&self, jobs: &[Job]) -> Vec<Job> {
        let shorter = |job: &Job| Job {
            runtime: Some(job.runtime.unwrap_or(LIMIT).min(self.runtime)),
            ramp_time: job.ramp_time.min(self.runtime),
            ..job.clone()
        };
        jobs.iter().map(shorter).collect()
    }
}

fn run_once(
    setting: &Setting,
    effort: &Effort,
    seed: u64,
    keeper: Option<Box<dyn Observer>>,
) -> Result<Outcome, Failure> {
    let options = Options { seed, ..Options::default() };
    run::run(&setting.blueprint, &effort.shortened(&setting.jobs), options, keeper)
}

/// What all jobs of a run got together.
pub(super) fn performance(outcome: &Outcome) -> Result<Performance, Failure> {
    let figures = outcome.jobs.iter().filter_map(Figures::of);
    let throughput_bytes_per_s: f64 = figures.map(|figures| figures.bytes_per_second).sum();
    let got = || outcome.jobs.iter().filter_map(|job| job.got.as_ref());
    let transfers: u64 = got().map(|got| got.count).sum();
    let latencies: f64 = got().map(|got| got.latency_ns.mean() * got.count as f64).sum();
    if transfers == 0 {
        let problem = Problem::nowhere("no transfer ended in the measured time");
        return Err(Failure::Input(problem.help("give the jobs a longer runtime").into()));
    }
    Ok(Performance { throughput_bytes_per_s, latency_mean_ns: latencies / transfers as f64, transfers })
}

impl Trial {
    /// Runs a setting with every seed.
    pub(super) fn run(setting: &Setting, effort: &Effort) -> Result<Trial, Failure> {
        let mut transfers = Vec::new();
        let mut got: Vec<Performance> = Vec::new();
        for seed in &effort.seeds {
            let kept = Rc::new(RefCell::new(Vec::new()));
            let outcome = run_once(setting, effort, *seed, Some(Box::new(Keeper(kept.clone()))))?;
            let mut ended = kept.take();
            ended.sort_by_key(|transfer: &Transfer| transfer.end);
            transfers.push(ended);
            got.push(performance(&outcome)?);
        }
        let mean = |of: fn(&Performance) -> f64| got.iter().map(of).sum::<f64>() / got.len() as f64;
        let performance = Performance {
            throughput_bytes_per_s: mean(|got| got.throughput_bytes_per_s),
            latency_mean_ns: mean(|got| got.latency_mean_ns),
            transfers: got.iter().map(|got| got.transfers).sum(),
        };
        Ok(Trial { transfers, performance })
    }

    /// Relative changes of throughput and mean latency from this trial to `after`, of the same requests. What ended
    /// before `ramp` in this one does not count.
    pub(super) fn effect(&self, after: &Trial, ramp: Time) -> [Shift; 2] {
        let pairs = self.transfers.iter().zip(&after.transfers);
        let effects: Vec<[f64; 2]> = pairs.filter_map(|(before, after)| effect(before, after, ramp)).collect();
        [0, 1].map(|which| Shift::of(effects.iter().map(|effect| effect[which])))
    }
}

impl Shift {
    /// From what each seed gave.
    fn of(seeds: impl Iterator<Item = f64> + Clone) -> Shift {
        let count = seeds.clone().count();
        let mean = seeds.clone().sum::<f64>() / count.max(1) as f64;
        let squares: f64 = seeds.map(|one| (one - mean).powi(2)).sum();
        let freedom = count.saturating_sub(1);
        let error = if squares > 0.0 { (squares / (freedom * count) as f64).sqrt() } else { 0.0 };
        let half_width = if error > 0.0 { STUDENT[freedom.min(STUDENT.len() - 1)] * error } else { 0.0 };
        Shift { mean, half_width }
    }
}

/// The same for one seed; nothing where too few transfers ended.
fn effect(before: &[Transfer], after: &[Transfer], ramp: Time) -> Option<[f64; 2]> {
    let warm = before.iter().filter(|transfer| transfer.end <= ramp).count();
    let count = before.len().min(after.len());
    let figures = |transfers: &[Transfer]| {
        let counted = transfers.get(warm..count).filter(|counted| !counted.is_empty())?;
        let start = warm.checked_sub(1).map_or(Time::ZERO, |last| transfers[last].end);
        let span = (counted[counted.len() - 1].end - start).as_ps().max(1) as f64;
        let bytes: u64 = counted.iter().map(|transfer| transfer.bytes).sum();
        let latency: f64 = counted.iter().map(|transfer| transfer.latency.as_ps() as f64).sum();
        Some((bytes as f64 / span, latency))
    };
    let ((rate, latency), (rate_after, latency_after)) = (figures(before)?, figures(after)?);
    Some([rate_after / rate - 1.0, latency_after / latency - 1.0])
}
