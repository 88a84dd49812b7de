//! The bottleneck: what the critical path goes through most, and what becomes of it when that is made faster.
//!
//! The account says where the time went. That a part is the bottleneck is then checked by changing it: the numbers of
//! the part that most of the critical path goes through are made twice as fast (those of the next part where none of
//! them helps), the best of them faster still, and what limits afterwards is read off the account of that machine.

use hopscope_kernel::Time;
use hopscope_observe::account::{Account, Entry, Extent, Use};
use hopscope_parts::parameters::Value;

use crate::blueprint::Blueprint;
use crate::explain::{Explained, explain};
use crate::job_file::Job;
use crate::run::{self, Failure, Options};

/// What holds a run back.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    /// The part.
    pub part: String,
    /// Its lane.
    pub lane: String,
    /// The phase of that lane with the largest share of the critical path.
    pub phase: String,
    /// Share of the critical path that goes through the lane.
    pub share: f64,
    /// Why it is the bottleneck, in a sentence.
    pub why: String,
    /// What would have to be faster, by how much, and what limits then, in a sentence; each was simulated.
    pub next: String,
    /// The number that would have to be better, as `part.key`; nothing where no number changes anything.
    pub number: Option<String>,
}

/// Requests that a trial simulates, and how long it lasts at least and at most.
const REQUESTS: f64 = 20.0;
/// Where requests are short, so many say enough.
const REQUESTS_MAX: f64 = 5_000.0;
const TRIAL_MIN: Time = Time::ms(5);
/// Before it counts: arms find their place, buffers fill.
const TRIAL_RAMP: Time = Time::ms(30);
const TRIAL_MAX: Time = Time::ms(2_000);
/// A part is tried where at least this share of the critical path goes through it.
const SHARE_TRIED: f64 = 0.15;
/// A gain below this is none.
const GAIN_MIN: f64 = 0.01;
/// The account that names what limits next.
const EXTENT: Extent = Extent { spans: 30_000, requests: 8, spans_max: 500_000 };
/// How much faster the best number is made, step by step.
const FASTER: [u64; 4] = [2, 4, 8, 16];

/// Time along the critical path, by lane: the largest first.
pub fn path_by_lane(account: &Account) -> Vec<(String, String, Time)> {
    let mut lanes: Vec<(String, String, Time)> = Vec::new();
    for entry in &account.path {
        match lanes.iter_mut().find(|(_, lane, _)| *lane == entry.lane) {
            Some((_, _, time)) => *time += entry.time,
            None => lanes.push((entry.part.clone(), entry.lane.clone(), entry.time)),
        }
    }
    lanes.sort_by(|a, b| (b.2, &a.1).cmp(&(a.2, &b.1)));
    lanes
}

/// The bottleneck of a run that was explained; nothing where no request ended in its account.
pub fn find(
    blueprint: &Blueprint,
    jobs: &[Job],
    options: Options,
    explained: &Explained,
) -> Result<Option<Bottleneck>, Failure> {
    let account = &explained.account.alike();
    let lanes = path_by_lane(account);
    let Some((part, lane, time)) = lanes.first().cloned() else { return Ok(None) };
    let whole = account.path.iter().fold(Time::ZERO, |sum, entry| sum + entry.time);
    let share_of = |time: Time| time.as_ps() as f64 / whole.as_ps() as f64;
    let Some(entry) = account.path.iter().find(|entry| entry.lane == lane) else { return Ok(None) };
    let (phase, share) = (entry.phase.clone(), share_of(time));
    let why = why(account, entry, share, share_of(entry.time));
    let trial = Trial::new(blueprint, jobs, options, explained)?;
    let mut best = None;
    for (part, ..) in lanes.iter().filter(|lane| share_of(lane.2) >= SHARE_TRIED) {
        best = trial.best_number(part)?;
        if best.is_some() {
            break;
        }
    }
    let (next, number) = match best {
        None => ("No single number of these parts changes anything when it is made twice as fast.".to_string(), None),
        Some(best) => (trial.how_far(&best)?, Some(best.path)),
    };
    Ok(Some(Bottleneck { part, lane, phase, share, why, next, number }))
}

fn why(account: &Account, entry: &Entry, lane_share: f64, phase_share: f64) -> String {
    let mut why = format!(
        "{:.0} % of the critical path goes through {}, {:.0} % in `{}`",
        100.0 * lane_share,
        entry.lane,
        100.0 * phase_share,
        entry.phase
    );
    let line = account.lanes.iter().find(|line| line.lane == entry.lane);
    if let Some(line) = line {
        let (busy, idle) = (100.0 * line.busy_share(), line.time_in(Use::Nothing));
        let idle = 100.0 * idle.as_ps() as f64 / account.span().as_ps() as f64;
        why += &format!("; it is at work {busy:.0} % of the time and has nothing to do {idle:.0} % of it");
    }
    why + "."
}

/// A number that helps where it is better.
struct Better {
    path: String,
    written: String,
    gain: f64,
}

struct Trial<'a> {
    machine: &'a Blueprint,
    jobs: Vec<Job>,
    options: Options,
    /// The rate of the machine as it is.
    before: f64,
}

impl Trial<'_> {
    /// Short runs: some requests each, as long as the run itself at most.
    fn new<'a>(
        machine: &'a Blueprint,
        jobs: &[Job],
        options: Options,
        explained: &Explained,
    ) -> Result<Trial<'a>, Failure> {
        let outcome = &explained.outcome;
        let requests: u64 = outcome.jobs.iter().filter_map(|job| job.got.as_ref()).map(|got| got.count).sum();
        let each = outcome.measured.as_ps() as f64 / requests.max(1) as f64;
        let long = Time::ps((REQUESTS_MAX * each) as u64);
        let span = Time::ps((REQUESTS * each) as u64).max(TRIAL_MIN.min(long)).min(TRIAL_MAX).min(outcome.simulated);
        let ramp_time = TRIAL_RAMP.min(long).min(outcome.simulated) + Time::ps(span.as_ps() / 4);
        let short = |job: &Job| Job { ramp_time, runtime: Some(span), time_based: true, ..job.clone() };
        let options = Options { until: None, ..options };
        let mut trial = Trial { machine, jobs: jobs.iter().map(short).collect(), options, before: 0.0 };
        trial.before = trial.rate(machine)?;
        Ok(trial)
    }

    fn rate(&self, blueprint: &Blueprint) -> Result<f64, Failure> {
        Ok(run::run(blueprint, &self.jobs, self.options, None)?.rate.bytes_per_second)
    }

    /// What the rate gains when these numbers are made so many times as fast; nothing where a part refuses that.
    fn gain(&self, paths: &[String], times: u64) -> Result<Option<f64>, Failure> {
        let changed = paths.iter().try_fold(self.machine.clone(), |machine, path| faster(machine, path, times));
        let Some(changed) = changed else { return Ok(None) };
        match self.rate(&changed) {
            Ok(rate) => Ok(Some(rate / self.before - 1.0)),
            Err(Failure::Input(_)) => Ok(None),
            Err(defect) => Err(defect),
        }
    }

    /// The number of a part that gains most when it is made twice as fast.
    fn best_number(&self, part: &str) -> Result<Option<Better>, Failure> {
        let of_part = |path: &str| path.strip_prefix(part).is_some_and(|rest| rest.starts_with('.'));
        let wanted = |path: &String| of_part(path) && faster(self.machine.clone(), path, FASTER[0]).is_some();
        let paths: Vec<String> = self.machine.numbers().into_iter().map(|number| number.0).filter(wanted).collect();
        let Some((path, gain)) = self.best_of(&paths)? else { return Ok(None) };
        let numbers = self.machine.numbers();
        let written = numbers.iter().find(|number| number.0 == path).map(|number| number.1.written.clone());
        Ok(Some(Better { path, gain, written: written.unwrap_or_default() }))
    }

    /// The best of some numbers, by halves: where all of them together change nothing, none of them is looked at.
    fn best_of(&self, paths: &[String]) -> Result<Option<(String, f64)>, Failure> {
        let gain = if paths.is_empty() { Some(0.0) } else { self.gain(paths, FASTER[0])? };
        match (paths, gain) {
            (_, Some(gain)) if gain < GAIN_MIN => Ok(None),
            ([path], gain) => Ok(gain.map(|gain| (path.clone(), gain))),
            _ => {
                let (one, other) = paths.split_at(paths.len() / 2);
                let (one, other) = rayon::join(|| self.best_of(one), || self.best_of(other));
                let both = one?.into_iter().chain(other?);
                Ok(both.reduce(|best, other| if other.1 > best.1 { other } else { best }))
            }
        }
    }

    /// Makes the number faster still, until a further step brings less than half of what the first one did.
    fn how_far(&self, best: &Better) -> Result<String, Failure> {
        let (mut times, mut gain) = (FASTER[0], best.gain);
        let path = [best.path.clone()];
        for further in &FASTER[1..] {
            let Some(more) = self.gain(&path, *further)? else { break };
            if more - gain < best.gain / 2.0 {
                break;
            }
            (times, gain) = (*further, more);
        }
        let Some(changed) = faster(self.machine.clone(), &best.path, times) else { return Ok(String::new()) };
        let after = explain(&changed, &self.jobs, self.options, EXTENT, None)?.account.alike();
        let limit = path_by_lane(&after).into_iter().next();
        let limit = limit.and_then(|(_, lane, _)| after.path.iter().find(|entry| entry.lane == lane).cloned());
        let limit = limit.map_or(String::new(), |e| format!("; then {} limits, most of it in `{}`", e.lane, e.phase));
        Ok(format!("`{}` ({}) {times} times as fast gives {:+.1} %{limit}.", best.path, best.written, 100.0 * gain))
    }
}

/// The machine with a number made so many times as fast; nothing where the number has no such sense.
fn faster(mut machine: Blueprint, path: &str, times: u64) -> Option<Blueprint> {
    let entry = machine.entry_mut(path).ok()?;
    let value = match &entry.value {
        Value::Time(time) => Value::Time(Time::ps(time.as_ps() / times)),
        Value::Period(period) => Value::Period(Time::ps((period.as_ps() / times).max(1))),
        Value::Clocks(clocks) => Value::Clocks(clocks / times),
        Value::Rate(rate) => Value::Rate(rate.checked_mul(times)?),
        Value::Bytes(_) | Value::Count(_) | Value::Share(_) | Value::Text(_) | Value::Rows(_) => return None,
    };
    if value == entry.value {
        return None;
    }
    entry.value = value;
    Some(machine)
}
