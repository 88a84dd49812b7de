//! Trials: short runs of the same requests with the same draws, before and after a change, so that small effects show.
//!
//! What is compared is not what two runs did in the same time, but the time that they took for the same requests: one
//! more or less at the end would hide an effect of a tenth of a percent. A trial counts only after the requests in flight
//! have been replaced many times over, for a change moves queues from hop to hop. It goes on, part by part, until the
//! interval of what the change gains is narrow, then with another seed; and where both halves do not say the same, or
//! something is still filling (`rest`), what counts begins later.
//!
//! It begins where requests of the setting as it is come at the rate of the whole run. That may be long before the ramp
//! that jobs ask for is over, and long after what is in flight has been replaced.
//!
//! Most changes do nothing, and a glance at the first requests shows it (`glance`).
//!
//! How much is simulated is counted in events, not in time: the same question has the same answer everywhere.

mod asking;
mod behind;
mod evenly;
mod foreseen;
mod gain;
mod glance;
mod rest;
mod rhythm;
mod run;
mod tried;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use hopscope_files::job_file::Job;
use hopscope_kernel::{Counts, Time};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::fio_json::Figures;
use hopscope_machine::run::{Failure, Outcome};
use hopscope_observe::LaneAccount;
use hopscope_observe::batches::Rate;

use crate::explain::{Explained, has_converged, in_flight, ramp_of, ramp_run, time_of};
pub use asking::Known;
pub(crate) use foreseen::Begun;
pub use gain::{Gain, Shift};
pub use glance::Look;
use run::{Live, Run, Transfer, warm};

/// Before a trial counts, what is in flight has been replaced so many times; where a hop is full, a change moves queues
/// from hop to hop, and that takes longer.
const TURNS: u64 = 12;
const TURNS_WHERE_FULL: u64 = 64;
const TURNS_MIN: u64 = 4;
const FULL: f64 = 0.8;
/// Of so few in flight that is hardly more than the least, and it need not be known whether a hop is full: how long trials are
/// is known before that.
const FEW_IN_FLIGHT: u64 = 2;
/// Requests before a trial counts, at least.
const RAMP_REQUESTS_MIN: u64 = 100;
/// The same before a glance.
const GLANCE_BEHIND_MIN: u64 = 32;
/// Requests that a trial counts: of jobs that draw, and of others.
const REQUESTS: [u64; 2] = [1_200, 400];
/// Long requests are many events; so many are enough for what a trial of one seed counts, and as many before that.
const EVENTS_OF_ONE: u64 = 500_000;
/// However long requests are, so many are counted, if the run has as many; fewer than the other say nothing.
const REQUESTS_MIN: u64 = 16;
const REQUESTS_TO_SAY_ANYTHING: u64 = 4;
/// A trial has so many parts at most, of jobs that draw, and of others, whose requests come alike; of one seed so many.
const PARTS: [usize; 2] = [8, 2];
const PARTS_OF_ONE_SEED: usize = 4;
/// What comes after a change, and what an answer rests on, is tried with so many at most.
const PARTS_OF_ANOTHER: usize = 2;
/// A longer ramp is so many times as long.
const LONGER: u64 = 4;
/// A part behind one is this part of it, at least.
const OF_RAMP: u64 = 8;
/// Events of as many first parts as can be afforded.
const EVENTS_OF_ALL: u64 = 28_000_000;
/// Events of a ramp that is longer than the warm-up that shows.
const EVENTS_OF_RAMP: f64 = 4e6;
/// A machine that does hardly anything is run up to this time: pauses cost no events.
const LONGEST: Time = Time::ms(30 * 86_400_000);

/// A machine and what it is to do.
#[derive(Clone)]
pub struct Setting {
    /// The machine.
    pub blueprint: Blueprint,
    /// Its jobs.
    pub jobs: Vec<Job>,
}

#[cfg(test)]
impl Setting {
    /// A shipped system, and what it is to do by fio's options, a blank between them.
    pub(crate) fn shipped(system: &str, options: &str) -> Setting {
        use hopscope_files::{job_file, library::Library, problem::Sources};
        let (library, mut sources) = (Library::new(None).expect("the shipped files can be read"), Sources::default());
        let text = library.open_system(system).expect("a shipped system");
        let file = sources.add(text.name, text.text);
        let Ok(blueprint) = Blueprint::read(&library, &mut sources, file) else { panic!("a right system") };
        let words: Vec<&str> = options.split(' ').collect();
        Setting { blueprint, jobs: job_file::read_options(&mut sources, &words).expect("right options").jobs }
    }

    /// The same with a hop twice as fast.
    fn twice_as_fast(&self, hop: &str) -> Setting {
        let mut faster = self.clone();
        faster.blueprint.pace(hop, hopscope_kernel::Pace::new(2, 1).expect("a pace")).expect("a hop");
        faster
    }
}

#[cfg(test)]
impl<'a> Trials<'a> {
    /// Trials of a setting as they are made.
    fn settled(setting: &'a Setting) -> Trials<'a> {
        use hopscope_machine::run::{Options, run};
        let shorter = Options { not_longer_than_needed: true, ..Options::default() };
        let outcome = run(&setting.blueprint, &setting.jobs, shorter, None).expect("it runs");
        let begun = Begun::default();
        let mut trials = Trials::foreseen(setting, 1, &outcome, begun).expect("it runs").expect("requests ended");
        trials.settle().expect("it runs");
        trials
    }

    /// A change of which nothing has been run.
    fn begun(&self, change: &Setting) -> Live {
        self.live(change, self.effort.seeds[0]).expect("it is built").unwrap_or_else(|_| panic!("behind a ramp"))
    }
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
    /// Simulated time that counts, of one part.
    pub runtime: Time,
    /// The seeds.
    pub seeds: Vec<u64>,
}

/// Trials of changes of one setting. Clones share what has been run of the setting as it is.
#[derive(Clone)]
pub struct Trials<'a> {
    setting: &'a Setting,
    effort: Effort,
    /// Nothing is simulated beyond this.
    end: Time,
    before: Arc<Mutex<BTreeMap<Which, Made>>>,
    /// Requests after which what is in flight has been replaced a few times.
    first_turns: u64,
    /// What the whole run says that requests come at; nothing once a ramp has been found behind which they do.
    rate: Option<Rate>,
    /// How long it takes until they have been replaced, whatever ramp the jobs ask for.
    replaced: Time,
    /// Trials from the beginning of the jobs on, where these go on behind their ramp.
    from_the_beginning: Option<Box<Trials<'a>>>,
    /// These trials as they will be made, where that has been found out already.
    settled: Option<Box<Trials<'a>>>,
    /// Each trial has so many parts at most.
    parts_max: usize,
    /// Whether any of the jobs draws.
    draws: bool,
    /// What the setting as it is gets in another rhythm, as a gain; nothing where none was found.
    another_rhythm: Option<f64>,
}

/// A run of the setting as it is: how many times its ramp is longer, as a power, and its seed.
type Which = (u32, u64);

/// That run, once it has been made.
type Made = Arc<Mutex<Option<Arc<Run>>>>;

/// How far trials are; called from several threads with how many are done, of how many, and what they are.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

impl<'a> Trials<'a> {
    /// Trials of a setting of which a run was explained: what they need follows from its rate, its warm-up and from how
    /// full its hops are. Nothing where too few transfers ended to say anything.
    pub fn new(setting: &'a Setting, seed: u64, explained: &Explained) -> Option<Trials<'a>> {
        let fullest = explained.account.lanes.iter().map(LaneAccount::busy_share).fold(0.0, f64::max);
        Trials::of_run(setting, seed, &explained.outcome, fullest >= FULL)
    }

    fn of_run(setting: &'a Setting, seed: u64, outcome: &Outcome, is_full: bool) -> Option<Trials<'a>> {
        let outcome = outcome.first_known();
        let got = || outcome.jobs.iter().filter_map(|job| job.got.as_ref());
        let transfers: u64 = got().map(|got| got.count).sum();
        let depth = in_flight(&setting.jobs);
        // What is in flight may share a hop and end together: until it has been replaced, nothing shows what limits.
        let is_timed = setting.jobs.iter().any(|job| job.runtime.is_some());
        let least = if is_timed { depth.saturating_mul(2) } else { 0 };
        if transfers < least.max(REQUESTS_TO_SAY_ANYTHING) || outcome.measured == Time::ZERO {
            return None;
        }
        let each = outcome.measured.as_ps() / transfers;
        let cost = spent(&outcome.counts) * each / outcome.simulated.as_ps().max(1);
        let draws = draws(&setting.jobs);
        let most = (EVENTS_OF_ONE / cost.max(1)).max(REQUESTS_MIN);
        let wanted = if is_full || depth <= FEW_IN_FLIGHT { TURNS_WHERE_FULL } else { TURNS };
        let at_least = if most > REQUESTS_MIN { TURNS } else { TURNS_MIN };
        let turns = (most / depth.max(1)).max(at_least).min(wanted);
        let before = (turns * depth).max(RAMP_REQUESTS_MIN.min(most));
        // After a long ramp it costs little to count for longer.
        let requests = REQUESTS[usize::from(!draws)].max(before / 3).min(most);
        let turns = Time::ps(each.saturating_mul(before));
        let rate = warm_rate(outcome);
        let end = time_of(outcome, &setting.jobs);
        let runtime = Time::ps(each.saturating_mul(requests)).min(end);
        // Within what was run: a job that ends before knows no other state.
        let ramp = turns.max(rate.warm_up).max(ramp_run(outcome)).min(end.saturating_sub(runtime));
        let effort = Effort { ramp, runtime, seeds: vec![seed] };
        let unbounded = setting.jobs.iter().all(|job| job.runtime.is_none());
        let end = if unbounded { Time::MAX } else { end };
        let first_turns = (TURNS * depth).max(GLANCE_BEHIND_MIN);
        let (replaced, rate) = (turns, Some(rate));
        let (before, from_the_beginning, settled) = (Arc::default(), None, None);
        let parts_max = PARTS[usize::from(!draws)];
        Some(Trials {
            setting,
            effort,
            end,
            before,
            first_turns,
            rate,
            replaced,
            from_the_beginning,
            settled,
            parts_max,
            draws,
            another_rhythm: None,
        })
    }

    /// Trials of another setting, of as many requests as these; what limits there is said more roughly.
    pub fn of_another<'b>(&self, setting: &'b Setting) -> Result<Trials<'b>, Failure>
    where
        'a: 'b,
    {
        let seed = self.effort.seeds[0];
        let own = self.before((0, seed))?;
        // Without the ramp of the jobs there can be more parts.
        let parts_max = if self.from_the_beginning.is_some() { PARTS_OF_ONE_SEED } else { PARTS_OF_ANOTHER };
        let asked = self.counted(&own, 0, parts_max).end;
        let mut live = match self.live(setting, seed)? {
            Ok(live) => live,
            Err(from_the_beginning) => return from_the_beginning.of_another(setting),
        };
        live.go_on(asked, &own, self.effort.ramp + self.effort.runtime)?;
        let run = live.run();
        let mut effort = self.effort.clone();
        // A faster one needs less time for as many requests.
        let last = |of: &Run| of.transfers.get(asked.checked_sub(1)?).copied();
        if let (Some(last), Some(own_last)) = (last(&run), last(&own)) {
            for time in [&mut effort.ramp, &mut effort.runtime] {
                let share = u128::from(time.as_ps()) * u128::from(last.end.as_ps());
                *time = Time::ps((share / u128::from(own_last.end.as_ps().max(1))) as u64);
            }
        }
        let known = Made::new(Mutex::new(Some(Arc::new(run))));
        let before = Arc::new(Mutex::new(BTreeMap::from([((0, seed), known)])));
        Ok(Trials { setting, effort, before, rate: None, settled: None, parts_max, ..self.clone() })
    }

    /// How long they are.
    pub fn effort(&self) -> &Effort {
        &self.effort
    }

    /// How long it takes until what is in flight has been replaced a few times.
    pub fn turns_take(&self) -> Time {
        self.replaced
    }

    /// What the setting gets as it is.
    pub fn performance(&mut self) -> Result<Performance, Failure> {
        let run = self.before((0, self.effort.seeds[0]))?;
        let (start, counted) = run.after(self.ramp(0));
        let latency: f64 = counted.iter().map(|transfer| transfer.latency.as_ns_f64()).sum();
        let bytes: u64 = counted.iter().map(|transfer| transfer.bytes).sum();
        let span = counted.last().map_or(Time::ZERO, |last| last.end - start);
        let transfers = counted.len() as u64;
        Ok(Performance {
            throughput_bytes_per_s: bytes as f64 / span.as_seconds_f64().max(f64::MIN_POSITIVE),
            latency_mean_ns: latency / transfers.max(1) as f64,
            transfers,
        })
    }

    /// Finds out how long trials are, and whether one rhythm is all that is compared.
    fn settle(&mut self) -> Result<(), Failure> {
        if let Some(settled) = self.settled.take() {
            *self = Trials { parts_max: self.parts_max, ..*settled };
        } else if self.rate.is_some() {
            self.find_ramp()?;
            self.another_rhythm = self.find_another_rhythm()?;
        }
        Ok(())
    }

    /// The ramp that a long run suggests is long enough, and mostly far too long: trials begin where the first requests come
    /// as they do in all of it. What comes in bursts is counted over several of them.
    fn find_ramp(&mut self) -> Result<(), Failure> {
        let Some(rate) = self.rate.take() else { return Ok(()) };
        let remembers = self.remembers()?;
        if remembers && let Some(behind) = self.behind_the_ramp()? {
            *self = behind;
            return Ok(());
        }
        let longest = self.effort.ramp;
        // What fills a cache with what is only read is seen by nothing, and asked for by a ramp.
        let caches = remembers || self.setting.jobs.iter().any(|job| job.buffered.is_some());
        let asked = if caches { ramp_of(&self.setting.jobs) } else { Time::ZERO };
        let (mut ramp, mut runtime) = (self.replaced.max(asked).min(longest), self.effort.runtime);
        // Within what was run.
        let most = times(runtime, LONGER * LONGER).min(Time::ps(rate.end.as_ps() / (2 * LONGER)));
        loop {
            let effort = Effort { ramp, runtime, ..self.effort.clone() };
            let tried = Trials { effort, before: Arc::default(), ..self.clone() };
            let own = tried.before((0, self.effort.seeds[0]))?;
            let part = tried.counted(&own, 0, 1);
            let events = own.events_each() * LONGER * part.len() as u64;
            if own.comes_in_bursts(part) && events <= EVENTS_OF_ONE && runtime < most {
                runtime = times(runtime, LONGER).min(most);
                continue;
            }
            let is_alike = own.comes_at(rate, tried.counted(&own, 0, self.parts_of_one_seed()));
            let counted = runtime.as_seconds_f64() * self.parts_of_one_seed() as f64;
            let simulated = |ramp: Time| ramp.as_seconds_f64() + counted;
            let longer = times(ramp, LONGER).max(runtime);
            let events = own.events as f64 * simulated(longer) / simulated(ramp);
            // What fills slowly does so behind any ramp that can be paid for.
            let is_last = longer > Time::ps(rate.end.as_ps() / 2) || events > EVENTS_OF_RAMP;
            if is_alike.unwrap_or(ramp >= longest) || ramp >= longest && is_last {
                *self = tried;
                return Ok(());
            }
            ramp = if ramp < longest { times(ramp, LONGER).min(longest) } else { longer };
            runtime = runtime.max(Time::ps(ramp.as_ps() / OF_RAMP));
        }
    }

    fn ramp(&self, longer: u32) -> Time {
        times(self.effort.ramp, LONGER.pow(longer))
            .min(self.end.saturating_sub(self.effort.runtime))
            .max(self.effort.ramp)
    }

    /// Simulated time of a part behind a ramp. Who has waited long counts for longer: what took so long may come in bursts.
    fn runtime(&self, longer: u32) -> Time {
        let waited = if longer > 0 { Time::ps(self.ramp(longer).as_ps() / OF_RAMP) } else { Time::ZERO };
        waited.min(self.end.saturating_sub(self.ramp(longer))).max(self.effort.runtime)
    }

    fn parts_of_one_seed(&self) -> usize {
        self.parts_max.min(PARTS_OF_ONE_SEED)
    }

    /// The setting as it is: all requests of a seed that may count.
    fn before(&self, which: Which) -> Result<Arc<Run>, Failure> {
        self.before_from(which, None)
    }

    /// The same where its run has begun, and has come no further than the ramp.
    fn before_from(&self, which: Which, begun: Option<Live>) -> Result<Arc<Run>, Failure> {
        // What panicked elsewhere ends everything anyway.
        let known = self.before.lock().unwrap_or_else(|held| held.into_inner()).entry(which).or_default().clone();
        let mut known = known.lock().unwrap_or_else(|held| held.into_inner());
        if let Some(run) = &*known {
            return Ok(run.clone());
        }
        let mut live = match begun {
            Some(live) => live,
            None => self.live(self.setting, which.1)?.map_err(|_| {
                Failure::Defect("a machine does not remember what it has remembered before".to_string())
            })?,
        };
        let (ramp, runtime) = (self.ramp(which.0), self.runtime(which.0));
        live.go_until(ramp, usize::MAX)?;
        let remembered = if self.from_the_beginning.is_none() { live.remembered() } else { None };
        live.go_until(ramp + runtime, usize::MAX)?;
        let parts = self.parts_of_one_seed();
        let (first, one) = self.first_part(&live.transfers(), which.0);
        // As many requests in each, if they come at about that rate.
        let latest = ramp.saturating_add(runtime * (2 * parts as u64)).min(self.end);
        live.go_until(latest, self.with_even(first + parts * one))?;
        let run = Arc::new(Run { remembered, ..live.run() });
        *known = Some(run.clone());
        Ok(run)
    }

    /// Where the first part of a run of the setting as it is begins, and how many requests it has.
    fn first_part(&self, before: &[Transfer], longer: u32) -> (usize, usize) {
        let ramp = self.ramp(longer);
        let from = warm(before, ramp);
        (from, warm(before, ramp + self.runtime(longer)).saturating_sub(from).max(1))
    }

    /// The requests that so many parts count, as far as there are as many.
    fn counted(&self, before: &Run, longer: u32, parts: usize) -> Range<usize> {
        let (from, one) = self.first_part(&before.transfers, longer);
        let all = before.transfers.len();
        from..(from + parts * one).clamp(from.min(all), all)
    }
}

/// Whether any of them draws.
fn draws(jobs: &[Job]) -> bool {
    jobs.iter().any(|job| job.rw.is_random() || job.rw.sides() == [true, true])
}

/// So many times as long, as far as there is such a time.
fn times(time: Time, count: u64) -> Time {
    Time::ps(time.as_ps().saturating_mul(count))
}

/// At which rate requests of a run come once warm-up is over.
fn warm_rate(outcome: &Outcome) -> Rate {
    outcome.stages.last().filter(|_| !has_converged(outcome)).map_or(outcome.rate, |stage| stage.warm)
}

/// What a run has cost, in events: what carriers tell costs about as much as one, a burst of a train an eighth.
pub(crate) fn spent(counts: &Counts) -> u64 {
    counts.events + counts.told + counts.bursts_in_trains / 8
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
