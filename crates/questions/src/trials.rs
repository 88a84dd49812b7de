//! Trials: short runs of the same requests with the same draws, before and after a change, so that small effects show.
//!
//! What is compared is not what two runs did in the same time, but the time that they took for the same requests: one
//! more or less at the end would hide an effect of a tenth of a percent. A trial counts only after the requests in flight
//! have been replaced many times over, for a change moves queues from hop to hop. It is made again with more seeds until
//! the interval of what it gains is narrow, and with a longer ramp where both halves do not say the same.
//!
//! Most changes do nothing, and a glance at the first requests shows it (`glance`).
//!
//! How much is simulated is counted in events, not in time: the same question has the same answer everywhere.

mod gain;
mod glance;
mod run;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hopscope_files::job_file::Job;
use hopscope_kernel::Time;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::fio_json::Figures;
use hopscope_machine::run::{Failure, Options, Outcome, run as run_on};
use hopscope_observe::LaneAccount;
use rayon::prelude::*;

use crate::explain::{Explained, time_of};
pub use gain::{Gain, Shift};
use gain::{Piece, gain};
use glance::Glanced;
pub use glance::Look;
use run::{Keeper, Run, Transfer, pieces};

/// Before a trial counts, what is in flight has been replaced so many times; where a hop is full, a change moves queues
/// from hop to hop, and that takes longer.
const TURNS: u64 = 12;
const TURNS_WHERE_FULL: u64 = 64;
const TURNS_MIN: u64 = 4;
const FULL: f64 = 0.8;
/// Requests before a trial counts, at least.
const RAMP_REQUESTS_MIN: u64 = 100;
/// Requests that a trial counts: of jobs that draw, and of others.
const REQUESTS: [u64; 2] = [1_200, 400];
/// Long requests are many events; so many are enough for what a trial of one seed counts, and as many before that.
const EVENTS_OF_ONE: u64 = 500_000;
/// However long requests are, so many are counted, if the run has as many; fewer than the other say nothing.
const REQUESTS_MIN: u64 = 16;
const REQUESTS_TO_SAY_ANYTHING: u64 = 4;
/// Each trial is made with so many seeds; then with more, where its interval is too wide.
const SEEDS: [usize; 4] = [1, 2, 4, 8];
/// What comes after a change, and what an answer rests on, is tried with so many at most.
const SEEDS_OF_ANOTHER: usize = 2;
/// Where it is only asked whether something gains, an interval of this share of the gain says so.
const SURE: f64 = 0.5;
/// Halves that differ by more than this do not say the same, whatever their intervals.
const HALVES: f64 = 0.005;
/// A longer ramp is so many times as long; at most so many times longer.
const LONGER: u64 = 4;
const LONGER_MAX: u32 = 2;
/// Rounds of trials, at most.
const ROUNDS: usize = SEEDS.len() + LONGER_MAX as usize;
/// A change for the worse is run for longer, so many times at once, up to this time: pauses cost no events.
const SLOWER_MAX: usize = 64;
const LONGEST: Time = Time::ms(30 * 86_400_000);
/// Events of trials that are made again, all together.
const EVENTS_AGAIN: u64 = 30_000_000;

/// A machine and what it is to do.
#[derive(Clone)]
pub struct Setting {
    /// The machine.
    pub blueprint: Blueprint,
    /// Its jobs.
    pub jobs: Vec<Job>,
}

/// What all jobs together got.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Performance {
    /// Bytes per second.
    pub throughput_bytes_per_s: f64,
    /// Mean latency of all transfers.
    pub latency_mean_ns: f64,
    /// Transfers ended.
    pub transfers: u64,
}

/// How long trials are, and with which seeds they are made at first.
#[derive(Clone, Debug, PartialEq)]
pub struct Effort {
    /// Simulated time before a trial counts.
    pub ramp: Time,
    /// Simulated time that counts.
    pub runtime: Time,
    /// The seeds.
    pub seeds: Vec<u64>,
}

/// Trials of changes of one setting.
pub struct Trials<'a> {
    setting: &'a Setting,
    effort: Effort,
    /// Nothing is simulated beyond this.
    end: Time,
    /// The setting as it is, by how much longer the ramp is and by seed.
    before: BTreeMap<(u32, u64), Run>,
    events_left: u64,
    /// Requests after which what is in flight has been replaced a few times.
    first_turns: u64,
    /// A ramp that is long enough where warm-up is over by then; nothing once that has been looked at.
    turns: Option<Time>,
    /// Each trial is made with so many seeds at most.
    seeds_max: usize,
    /// Whether any of the jobs draws.
    draws: bool,
}

/// How far trials are; called from several threads with how many are done, of how many, and what they are.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

impl<'a> Trials<'a> {
    /// Trials of a setting of which a run was explained: what they need follows from its rate, its warm-up and from how
    /// full its hops are. Nothing where too few transfers ended to say anything.
    pub fn new(setting: &'a Setting, seed: u64, explained: &Explained) -> Option<Trials<'a>> {
        let outcome = &explained.outcome;
        let got = || outcome.jobs.iter().filter_map(|job| job.got.as_ref());
        let transfers: u64 = got().map(|got| got.count).sum();
        if transfers < REQUESTS_TO_SAY_ANYTHING || outcome.measured == Time::ZERO {
            return None;
        }
        let each = outcome.measured.as_ps() / transfers;
        let cost =
            (outcome.counts.events + outcome.counts.bursts_in_trains / 8) * each / outcome.simulated.as_ps().max(1);
        let draws = setting.jobs.iter().any(|job| job.rw.is_random() || job.rw.sides() == [true, true]);
        let most = (EVENTS_OF_ONE / cost.max(1)).max(REQUESTS_MIN);
        let depth: u64 = setting.jobs.iter().map(|job| job.iodepth).fold(0, u64::saturating_add);
        let fullest = explained.account.lanes.iter().map(LaneAccount::busy_share).fold(0.0, f64::max);
        let wanted = if fullest >= FULL { TURNS_WHERE_FULL } else { TURNS };
        let at_least = if most > REQUESTS_MIN { TURNS } else { TURNS_MIN };
        let turns = (most / depth.max(1)).max(at_least).min(wanted);
        let before = (turns * depth).max(RAMP_REQUESTS_MIN.min(most));
        // After a long ramp it costs little to count for longer.
        let requests = REQUESTS[usize::from(!draws)].max(before / 3).min(most);
        let turns = Time::ps(each.saturating_mul(before));
        let asked = setting.jobs.iter().map(|job| job.ramp_time).max().unwrap_or(Time::ZERO);
        let end = time_of(outcome, &setting.jobs);
        let runtime = Time::ps(each.saturating_mul(requests)).min(end);
        // Within what was run: a job that ends before knows no other state.
        let ramp = turns.max(outcome.rate.warm_up).max(asked).min(end.saturating_sub(runtime));
        let effort = Effort { ramp, runtime, seeds: (seed..).take(SEEDS[0]).collect() };
        let unbounded = setting.jobs.iter().all(|job| job.runtime.is_none());
        let end = if unbounded { Time::MAX } else { end };
        let (first_turns, turns) = ((TURNS * depth).max(RAMP_REQUESTS_MIN), Some(turns.max(asked)));
        let (before, events_left, seeds_max) = (BTreeMap::new(), EVENTS_AGAIN, SEEDS[SEEDS.len() - 1]);
        Some(Trials { setting, effort, end, before, events_left, first_turns, turns, seeds_max, draws })
    }

    /// Trials of another setting, of as many requests as these; what limits there is said more roughly.
    pub fn of_another<'b>(&self, setting: &'b Setting) -> Result<Trials<'b>, Failure> {
        let (mut effort, mut before) = (self.effort.clone(), BTreeMap::new());
        let Trials { end, first_turns, draws, .. } = *self;
        // A faster one needs less time for as many requests.
        let (seed, whole) = (effort.seeds[0], effort.ramp + effort.runtime);
        if let Some(own) = self.before.get(&(0, seed)) {
            let run = self.run_for(setting, whole, (seed, own.asked()))?;
            let took = if run.transfers.len() < own.transfers.len() { whole } else { run.end() };
            for time in [&mut effort.ramp, &mut effort.runtime] {
                let share = u128::from(time.as_ps()) * u128::from(took.as_ps()) / u128::from(whole.as_ps().max(1));
                *time = Time::ps(share as u64);
            }
            before.insert((0, seed), run);
        }
        let (events_left, turns, seeds_max) = (EVENTS_AGAIN, None, SEEDS_OF_ANOTHER);
        Ok(Trials { setting, effort, end, before, events_left, first_turns, turns, seeds_max, draws })
    }

    /// How long they are.
    pub fn effort(&self) -> &Effort {
        &self.effort
    }

    /// What each change does; nothing where a part refuses it. Trials that say too little are made again.
    pub fn gains(&mut self, changes: &[Setting], progress: Progress<'_>) -> Result<Vec<Option<Gain>>, Failure> {
        let tried = self.glances(changes, progress)?.into_iter().map(Glanced::sure).collect();
        let tried = self.try_out(changes, tried, ROUNDS, progress)?;
        Ok(tried.iter().map(Tried::gain).collect())
    }

    /// The same with a wider interval: of what is only to be told from much and little.
    pub fn gains_roughly(&mut self, changes: &[Setting], progress: Progress<'_>) -> Result<Vec<Option<Gain>>, Failure> {
        let most = self.seeds_max;
        self.seeds_max = most.min(SEEDS_OF_ANOTHER);
        let gains = self.gains(changes, progress);
        self.seeds_max = if self.seeds_max == 1 { 1 } else { most };
        gains
    }

    /// Tries out what is not known of changes yet, in so many rounds.
    fn try_out(
        &mut self,
        changes: &[Setting],
        mut tried: Vec<Tried>,
        rounds: usize,
        progress: Progress<'_>,
    ) -> Result<Vec<Tried>, Failure> {
        for round in 0..rounds {
            let wanted: Vec<(usize, u32, u64)> = (0..tried.len())
                .flat_map(|index| {
                    tried[index]
                        .wanted(self.effort.seeds[0], self.seeds_max)
                        .map(move |(longer, seed)| (index, longer, seed))
                })
                .collect();
            if wanted.is_empty() || (round > 0 && !self.affords(&wanted)) {
                break;
            }
            self.run_before(wanted.iter().map(|(_, longer, seed)| (*longer, *seed)))?;
            if self.seeds_max > 1 && self.seeds_are_alike() {
                // The same once more says nothing more.
                self.seeds_max = 1;
                continue;
            }
            let runs = each(&wanted, progress, |(index, longer, seed)| {
                self.run_for_as_many(&changes[*index], *longer, *seed)
            })?;
            for ((index, longer, seed), run) in wanted.into_iter().zip(runs) {
                let Some(run) = run else {
                    tried[index].refused = true;
                    continue;
                };
                if round > 0 {
                    self.events_left = self.events_left.saturating_sub(run.events);
                }
                let ramp = self.ramp(longer);
                tried[index].pieces.extend(pieces(&self.before[&(longer, seed)], &run, ramp));
                tried[index].seeds += 1;
            }
            tried.iter_mut().filter(|tried| !tried.refused).for_each(Tried::judge);
        }
        Ok(tried)
    }

    /// Whether seeds make no difference: another one gives the same requests at the same times.
    fn seeds_are_alike(&self) -> bool {
        let mut of_seeds = self.before.iter().filter(|((longer, _), _)| *longer == 0).map(|(_, run)| run);
        let Some(first) = of_seeds.next() else { return false };
        of_seeds.next().is_some_and(|other| other.transfers == first.transfers)
    }

    /// What the setting gets as it is.
    pub fn performance(&mut self) -> Result<Performance, Failure> {
        let seeds = self.effort.seeds.clone();
        self.run_before(seeds.iter().map(|seed| (0, *seed)))?;
        let ramp = self.ramp(0);
        let runs = seeds.iter().map(|seed| &self.before[&(0, *seed)]);
        let (mut bytes, mut latency, mut transfers, mut span) = (0u64, 0.0, 0u64, Time::ZERO);
        for run in runs {
            let (start, counted) = run.after(ramp);
            bytes += counted.iter().map(|transfer| transfer.bytes).sum::<u64>();
            latency += counted.iter().map(|transfer| transfer.latency.as_ns_f64()).sum::<f64>();
            transfers += counted.len() as u64;
            span += counted.last().map_or(Time::ZERO, |last| last.end - start);
        }
        Ok(Performance {
            throughput_bytes_per_s: bytes as f64 / span.as_seconds_f64().max(f64::MIN_POSITIVE),
            latency_mean_ns: latency / transfers.max(1) as f64,
            transfers,
        })
    }

    /// Warm-up is what a long run says it is, to be on the safe side. Where the first requests come as later ones do, it is
    /// over before.
    fn settle(&mut self) -> Result<(), Failure> {
        let Some(turns) = self.turns.take().filter(|turns| *turns < self.effort.ramp) else { return Ok(()) };
        let Effort { ramp, runtime, ref seeds } = self.effort;
        let seed = seeds[0];
        self.run_before([(0, seed)].into_iter())?;
        let Some(run) = self.before.get_mut(&(0, seed)) else { return Ok(()) };
        let counted = |from: Time| run.warm(from)..run.warm(from + runtime);
        if !run.alike(counted(turns), counted(ramp)) {
            return Ok(());
        }
        let kept = run.warm(turns + runtime);
        run.events = run.events * kept as u64 / run.transfers.len().max(1) as u64;
        run.transfers.truncate(kept);
        self.effort.ramp = turns;
        Ok(())
    }

    fn ramp(&self, longer: u32) -> Time {
        let ramp = self.effort.ramp.as_ps().saturating_mul(LONGER.pow(longer));
        Time::ps(ramp).min(self.end.saturating_sub(self.effort.runtime)).max(self.effort.ramp)
    }

    fn affords(&self, wanted: &[(usize, u32, u64)]) -> bool {
        let each = self.before.values().map(|run| run.events).max().unwrap_or(0);
        let times = |longer: &u32| LONGER.pow(*longer);
        wanted.iter().map(|(_, longer, _)| each.saturating_mul(times(longer))).sum::<u64>() <= self.events_left
    }

    /// Runs the setting as it is where that has not been done.
    fn run_before(&mut self, wanted: impl Iterator<Item = (u32, u64)>) -> Result<(), Failure> {
        let missing: std::collections::BTreeSet<_> = wanted.filter(|key| !self.before.contains_key(key)).collect();
        let missing: Vec<_> = missing.into_iter().collect();
        let one = |(longer, seed): &(u32, u64)| self.run(self.setting, *longer, *seed);
        let runs: Vec<Run> = missing.par_iter().map(one).collect::<Result<_, Failure>>()?;
        self.before.extend(missing.into_iter().zip(runs));
        Ok(())
    }

    /// Runs a changed setting; where fewer requests than half ended, again until as many did, or as many as say anything.
    fn run_for_as_many(&self, setting: &Setting, longer: u32, seed: u64) -> Result<Run, Failure> {
        let (mut runtime, before) = (self.ramp(longer) + self.effort.runtime, &self.before[&(longer, seed)]);
        let (asked, events) = (before.transfers.len(), before.events.saturating_mul(2).max(EVENTS_OF_ONE));
        let mut spent = 0;
        loop {
            let run = self.run_for(setting, runtime, (seed, self.before[&(longer, seed)].asked()))?;
            spent += run.events;
            let ended = run.transfers.len();
            if 2 * ended >= asked || spent > events || runtime >= LONGEST {
                return Ok(run);
            }
            let times = (asked / ended.max(1)).clamp(2, SLOWER_MAX) as u64;
            runtime = Time::ps(runtime.as_ps().saturating_mul(times)).min(LONGEST);
        }
    }

    fn run(&self, setting: &Setting, longer: u32, seed: u64) -> Result<Run, Failure> {
        self.run_for(setting, self.ramp(longer) + self.effort.runtime, (seed, None))
    }

    /// Runs a setting with a seed for so long, and for so many requests at most.
    fn run_for(
        &self,
        setting: &Setting,
        runtime: Time,
        (seed, transfers): (u64, Option<NonZeroU64>),
    ) -> Result<Run, Failure> {
        let kept = Rc::new(RefCell::new(Vec::new()));
        let shorter = |job: &Job| Job { runtime: Some(runtime), ramp_time: Time::ZERO, ..job.clone() };
        let jobs: Vec<Job> = setting.jobs.iter().map(shorter).collect();
        let options = Options { seed, cut: true, transfers, ..Options::default() };
        let outcome = run_on(&setting.blueprint, &jobs, options, Some(Box::new(Keeper(kept.clone()))))?;
        let mut transfers = kept.take();
        transfers.sort_by_key(|transfer: &Transfer| transfer.end);
        Ok(Run { transfers, events: outcome.counts.events })
    }
}

/// What is known of a change.
#[derive(Default)]
struct Tried {
    /// What each piece of each seed gave: both sides' time, and both sides' latencies.
    pieces: Vec<Piece>,
    seeds: usize,
    longer: u32,
    gain: Option<Gain>,
    refused: bool,
    /// It said enough.
    done: bool,
    /// It is only asked whether it gains for sure.
    to_gain: bool,
}

impl Tried {
    /// Ramps and seeds that it is to be run with next.
    fn wanted(&self, first_seed: u64, seeds_max: usize) -> impl Iterator<Item = (u32, u64)> + use<> {
        let more = SEEDS.iter().copied().find(|seeds| (self.seeds + 1..=seeds_max).contains(seeds));
        let most = more.unwrap_or(self.seeds);
        let (longer, from, over) = (self.longer, self.seeds, self.done || self.refused);
        (from..most).filter(move |_| !over).map(move |number| (longer, first_seed + number as u64))
    }

    fn judge(&mut self) {
        if self.done || self.pieces.is_empty() {
            return;
        }
        let gain = gain(self.pieces.iter());
        let [early, late] = [false, true].map(|half| self::gain(self.pieces.iter().filter(move |p| p.later == half)));
        let apart = (early.throughput.mean - late.throughput.mean).abs();
        let blur = early.throughput.half_width.hypot(late.throughput.half_width);
        if apart > blur + HALVES && self.longer < LONGER_MAX {
            // Something still moves.
            *self = Tried { longer: self.longer + 1, gain: Some(gain), to_gain: self.to_gain, ..Tried::default() };
            return;
        }
        let most = SEEDS[SEEDS.len() - 1];
        // With all seeds the interval will be about so wide.
        let at_best = gain.throughput.half_width * (self.seeds as f64 / most as f64).sqrt();
        let is_hopeless = self.seeds > 1 && gain.throughput.mean < at_best;
        let is_sure = gain.throughput.half_width < SURE * gain.throughput.mean;
        let is_settled = self.to_gain && (is_hopeless || is_sure);
        self.done = gain.throughput.is_narrow() || self.seeds >= most || is_settled;
        self.gain = Some(gain);
    }

    /// What it gains; nothing where it is refused, or was not tried.
    fn gain(&self) -> Option<Gain> {
        self.gain.filter(|_| !self.refused)
    }
}

/// Makes a run of each, several at once; nothing where it is refused.
fn each<T: Sync>(
    of: &[T],
    progress: Progress<'_>,
    run: impl Fn(&T) -> Result<Run, Failure> + Sync,
) -> Result<Vec<Option<Run>>, Failure> {
    let done = AtomicUsize::new(0);
    let one = |what: &T| {
        let run = run(what);
        progress(1 + done.fetch_add(1, Ordering::Relaxed), of.len());
        match run {
            // A part refuses what cannot be built, a device what it has no room for.
            Err(Failure::Input(_)) => Ok(None),
            run => run.map(Some),
        }
    };
    of.par_iter().map(one).collect()
}

/// What all jobs of a run got together; nothing where no transfer ended.
pub fn performance(outcome: &Outcome) -> Option<Performance> {
    let all = Figures::of_all(&outcome.jobs)?;
    let got = outcome.jobs.iter().filter_map(|job| job.got.as_ref());
    let latencies: f64 = got.map(|got| got.latency_ns.mean() * got.count as f64).sum();
    Some(Performance {
        throughput_bytes_per_s: all.bytes_per_second,
        latency_mean_ns: latencies / all.count as f64,
        transfers: all.count,
    })
}
