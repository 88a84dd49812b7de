//! When a run may stop: its mean is known, and whatever fills, empties or moves has come to rest.
//!
//! A rate alone does not show that. While a write-back cache takes in what drives have yet to write, or a queue moves
//! from one hop to the next, the rate may stand still, and be another one afterwards. So levels are sampled, too: what
//! waits for lanes and in queues, and what parts say that they hold. A level that changes over a window by so many
//! requests, or bytes, means that the rates before and behind it differ by just those. So it may change by a share of
//! what ended in the window, and no more.
//!
//! A store that empties so slowly that it outlasts the limit, such as the spare blocks of a fresh drive, is named, and the
//! run ends once everything else has come to rest: waiting would not show more.
//!
//! The window begins where the batches say that warm-up is over, or later where something still moved, up to half of
//! the run. All that decides is simulated time and what ended in it: whoever looks on changes nothing.

mod unsettled;

use std::sync::atomic::{AtomicBool, Ordering};

use hopscope_kernel::{Ended, Levels, Sim, Time, Unit};
use hopscope_observe::batches::{STEP, Window};
use hopscope_observe::{Batches, Transfers, levels};

use crate::run::{Failure, Options, Stop, defect};
pub use unsettled::Unsettled;

/// Half-width of the 95 % interval over the mean at which jobs stop that have no end of their own.
pub const UNTIL: f64 = 0.005;
/// Requests of a window, at least: where they are drawn, so many speak for the rare ones, too.
const DRAWN_MIN: u64 = 2_000;
const IN_ORDER_MIN: u64 = 500;
/// Of long requests in order fewer do: so many bytes, and so many of them.
const IN_ORDER_BYTES: u64 = 128 << 20;
const LONG_MIN: u64 = 100;
/// The same, times what is in flight.
const TIMES_IN_FLIGHT: u64 = 10;
/// Where jobs pause, a window is so many times as long as the longest pause, at least.
const TIMES_PAUSED: u64 = 24;
/// Pauses cost nothing to simulate: jobs that pause may take longer by so many of them to converge, and by all of them to
/// move their size, up to this time.
const PAUSES_MAX: u64 = 4 * DRAWN_MIN;
const PAUSED_MAX: Time = Time::ms(30 * 86_400_000);
/// Levels are sampled from this part of those requests on, and so often before twice the time is over.
const SAMPLED_FROM: u64 = 4;
const SAMPLES_AT_FIRST: u64 = 8;
/// Warm-up that costs less than this part of the share that is asked for is no warm-up.
const WARM_UP_MIN: f64 = 0.05;
/// The first time at which it is asked how many requests have ended; then after twice as long.
const FIRST: Time = Time::us(1);
/// A level may change by this part of the share that is asked for, and so may the rate.
const MOVES_MAX: f64 = 0.5;
/// Jobs without an end end after so many requests, and so many bytes, too.
const REQUESTS_MAX: f64 = 1e6;
const BYTES_MAX: f64 = 8e9;
/// Where nobody asked for a share, jobs that take long to be known may stop at so many times the usual one: after this
/// part of that, and jobs that only read after so long, as disks take it. What is written goes through stores that may
/// stand still for a minute and change then.
const LOOSER: f64 = 2.0;
const LOOSER_FROM: f64 = 0.25;
const LOOSER_AFTER: Time = Time::ms(20_000);
/// What is written goes through stores that may stand still for a while: of a runtime with writes so much is simulated at
/// least.
const WRITES_FROM: f64 = 0.1;
/// Between two looks at whether to go on, events are at least so many, and at most, as far as time tells.
const EVENTS_MIN: u64 = 25_000;
const EVENTS_MAX: u64 = 100_000;

/// What of a stage is simulated.
pub(crate) struct Span {
    /// The end of the ramp.
    pub(crate) from: Time,
    pub(crate) end: Time,
    pub(crate) has_runtime: bool,
    /// Requests that are in flight at once, at most.
    pub(crate) in_flight: u64,
    /// Whether any of them is drawn.
    pub(crate) drawn: bool,
    /// Bytes of the longest.
    pub(crate) longest: u64,
    /// The longest pause of a job; zero where none pauses.
    pub(crate) pause: Time,
    /// Whether any of them writes.
    pub(crate) writes: bool,
}

/// How much longer jobs may take for so many pauses.
pub(crate) fn paused(pause: Time, times: u64) -> Time {
    Time::ps(pause.as_ps().saturating_mul(times)).min(PAUSED_MAX)
}

/// So many pauses jobs may need to converge that pause after every so many requests.
pub(crate) fn pauses_to_converge(every: u64) -> u64 {
    PAUSES_MAX / every.max(1) + TIMES_IN_FLIGHT * TIMES_PAUSED
}

/// What ends a stage before its time.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) until: Option<f64>,
    /// Whether nobody asked for that share, and a looser one does in the long run.
    pub(crate) loosens: bool,
    /// Whether what is left of the runtime is left away where it says nothing new.
    pub(crate) not_longer_than_needed: bool,
    pub(crate) interrupted: Option<&'static AtomicBool>,
    pub(crate) while_watched: bool,
}

impl Ends {
    /// What ends a stage that is to converge to `until`, if it is; whether its jobs have a runtime.
    pub(crate) fn of(options: &Options, until: Option<f64>, has_runtime: bool) -> Ends {
        let loosens = options.until.is_none() && until.is_some();
        let not_longer_than_needed = options.not_longer_than_needed && until.is_none() && has_runtime;
        let Options { interrupted, while_watched, .. } = *options;
        Ends { until, loosens, not_longer_than_needed, interrupted, while_watched }
    }

    /// Whether a stage may end where its mean is known.
    pub(crate) fn may_be_early(&self) -> bool {
        self.until.is_some() || self.not_longer_than_needed
    }
}

/// How a stage ended.
pub(crate) struct Ending {
    pub(crate) stop: Stop,
    /// Why the mean is not known as well as was asked for; nothing where it is.
    pub(crate) unsettled: Option<Unsettled>,
    /// When it would have been known to [`UNTIL`].
    pub(crate) settled: Option<Time>,
    /// Whether what counts is a window that had come to rest, and not everything up to the end.
    pub(crate) window: bool,
}

/// Runs until the end, until the mean is known well enough, or until somebody interrupts. What counts in `transfers` is
/// then the window that has come to rest, if there is one.
pub(crate) fn advance(
    sim: &Sim,
    transfers: &Transfers,
    span: &Span,
    ends: Ends,
    all_ended: impl Fn() -> bool,
) -> Result<Ending, Failure> {
    let mut slices = Slices { interrupted: ends.interrupted, while_watched: ends.while_watched, length: FIRST };
    let mut watch = Watch::new(sim, transfers, span, ends.until.unwrap_or(UNTIL), ends.loosens);
    let mut settled = None;
    let stop = loop {
        let looks_on = ends.may_be_early() || settled.is_none();
        let next = if looks_on { watch.next.min(span.end) } else { span.end };
        match slices.run(sim, next) {
            None => break Stop::Interrupted,
            Some(Ended::Finished) => break Stop::Finished,
            Some(Ended::Stopped) if all_ended() => break Stop::Finished,
            Some(Ended::Stopped) => continue,
            // The parts wait for the next request, which never comes.
            Some(Ended::Deadlock(_)) if all_ended() => break Stop::Finished,
            Some(Ended::Deadlock(lines)) => return Err(defect("everybody waits for somebody", sim, &lines)),
            Some(Ended::Livelock(lines)) => return Err(defect("time stands still", sim, &lines)),
            Some(Ended::Limit) if sim.now() >= span.end => {
                break if span.has_runtime { Stop::Runtime } else { Stop::Limit };
            }
            Some(Ended::Limit) => {}
        }
        match watch.look() {
            Some(stop) if ends.until.is_some() => break stop,
            Some(stop) => {
                if stop == Stop::Converged {
                    settled.get_or_insert(sim.now());
                }
                let window = watch.verdict().0.filter(|_| ends.not_longer_than_needed);
                if window.is_some_and(|first| says_all(&transfers.batches(), first, span)) {
                    break stop;
                }
            }
            None => {}
        }
        if !span.has_runtime && of_the_limit(&transfers.batches()) >= 1.0 {
            break Stop::Limit;
        }
    };
    let is_early = matches!(stop, Stop::Converged | Stop::Drifting);
    if stop == Stop::Finished || (ends.until.is_none() && !is_early) {
        return Ok(Ending { stop, unsettled: None, settled, window: false });
    }
    let (window, unsettled) = watch.verdict();
    transfers.begin_with(window.unwrap_or(0), window.is_some() && span.pause > Time::ZERO);
    let stop = if stop == Stop::Limit && unsettled.is_none() { Stop::Converged } else { stop };
    Ok(Ending { stop, unsettled, settled, window: window.is_some() })
}

/// Whether the window that begins with a batch gives what the whole runtime would, within [`UNTIL`]: what it leaves away
/// at the beginning weighs as little in the runtime. Of one with writes enough of it is over.
fn says_all(batches: &Batches, first: usize, span: &Span) -> bool {
    let (all, rest) = (batches.rate_from(0), batches.rate_from(first));
    let apart = (all.bytes_per_second / rest.bytes_per_second - 1.0).abs();
    let so_far = all.end.saturating_sub(span.from).as_seconds_f64();
    let runtime = (span.end - span.from).as_seconds_f64();
    apart * so_far <= UNTIL * runtime && (!span.writes || so_far >= WRITES_FROM * runtime)
}

/// How much of what jobs without an end may do is done.
fn of_the_limit(batches: &Batches) -> f64 {
    share_of_the_limit(batches.count(), batches.bytes())
}

fn share_of_the_limit(requests: u64, bytes: u64) -> f64 {
    (requests as f64 / REQUESTS_MAX).max(bytes as f64 / BYTES_MAX)
}

/// Runs in slices between which somebody may interrupt, or have seen enough; the same to the bit as in one go.
struct Slices {
    interrupted: Option<&'static AtomicBool>,
    while_watched: bool,
    length: Time,
}

impl Slices {
    fn is_over(&self, sim: &Sim) -> bool {
        let interrupted = self.interrupted.is_some_and(|interrupted| interrupted.load(Ordering::Relaxed));
        interrupted || (self.while_watched && !sim.is_to_be_observed())
    }

    /// Nothing where somebody has interrupted, or seen enough.
    fn run(&mut self, sim: &Sim, until: Time) -> Option<Ended> {
        if self.interrupted.is_none() && !self.while_watched {
            return Some(sim.run(until));
        }
        loop {
            if self.is_over(sim) {
                return None;
            }
            let (end, before) = (until.min(sim.now().saturating_add(self.length)), sim.counts().events);
            let ended = sim.run(end);
            match sim.counts().events - before {
                events if events < EVENTS_MIN && end < until => self.length = self.length.saturating_add(self.length),
                events if events > EVENTS_MAX => self.length = Time::ps(self.length.as_ps() / 2 + 1),
                _ => {}
            }
            if ended != Ended::Limit || end == until {
                return Some(ended);
            }
        }
    }
}

/// Samples of all levels while a stage runs.
struct Watch<'a> {
    sim: &'a Sim,
    transfers: &'a Transfers,
    from: Time,
    /// Half-width over the mean at which it is known, and whether that loosens in the long run. Whether
    /// anything is written.
    share: f64,
    loosens: bool,
    writes: bool,
    needed: u64,
    pause: Time,
    /// Known when the first sample is taken.
    levels: Option<Groups>,
    samples: levels::Levels,
    step: Time,
    /// When something is to be done next.
    next: Time,
    /// When it is looked at next whether everything has come to rest.
    look: Time,
    /// How the run could have ended at the last look.
    before: Option<Stop>,
    /// When the stage ends at the latest, and whether requests are counted, too.
    end: Time,
    has_runtime: bool,
}

impl Watch<'_> {
    fn new<'a>(sim: &'a Sim, transfers: &'a Transfers, span: &Span, share: f64, loosens: bool) -> Watch<'a> {
        let next = span.from.saturating_add(FIRST);
        let long = (IN_ORDER_BYTES / span.longest.max(1)).clamp(LONG_MIN, IN_ORDER_MIN);
        Watch {
            sim,
            transfers,
            from: span.from,
            share,
            loosens,
            writes: span.writes,
            needed: if span.drawn { DRAWN_MIN } else { long }.max(TIMES_IN_FLIGHT * span.in_flight),
            pause: span.pause,
            levels: None,
            samples: levels::Levels::default(),
            step: FIRST,
            next,
            look: next,
            before: None,
            end: span.end,
            has_runtime: span.has_runtime,
        }
    }

    /// Time has come to where something was to be done: how the run may end, by this look and the one before.
    fn look(&mut self) -> Option<Stop> {
        let (now, count) = (self.sim.now(), self.transfers.batches().count());
        if now < self.next {
            return None;
        }
        let Some(levels) = &self.levels else {
            if count >= self.needed / SAMPLED_FROM {
                self.levels = Some(Groups::of(self.sim));
                self.step = Time::ps((now - self.from).as_ps() / SAMPLES_AT_FIRST + 1);
                self.next = now + self.step;
            } else {
                self.next = now.saturating_add(now - self.from);
            }
            return None;
        };
        if self.samples.sample(now, levels.amounts()) {
            self.step = self.step * 2;
        }
        self.next = now.saturating_add(self.step);
        if count < self.needed || now < self.look {
            return None;
        }
        self.look = now.saturating_add(Time::ps((now - self.from).as_ps() / 5));
        let long_read = !self.writes && now - self.from >= LOOSER_AFTER;
        let is_long = long_read || of_the_limit(&self.transfers.batches()) >= LOOSER_FROM;
        if self.loosens && is_long {
            self.share = LOOSER * UNTIL;
        }
        let stop = match self.verdict() {
            (Some(_), None) => Some(Stop::Converged),
            (Some(_), Some(Unsettled::Level { .. })) => Some(Stop::Drifting),
            _ => None,
        };
        std::mem::replace(&mut self.before, stop).filter(|before| Some(*before) == stop)
    }

    /// The first batch of the window in which everything was at rest, if there is one, and why the mean is not known
    /// nonetheless.
    fn verdict(&self) -> (Option<usize>, Option<Unsettled>) {
        let batches = self.transfers.batches();
        let mut why = Unsettled::TooFew(batches.count(), self.needed);
        // Between the first request and the last there is a pause less than requests, unless one comes before.
        let earliest = if self.pause > Time::ZERO { STEP } else { 0 };
        for first in batches.windows_from(batches.warm_up(WARM_UP_MIN * self.share).max(earliest)) {
            match self.at_rest(&batches, first) {
                Ok((half_width, _)) if half_width > self.share => {
                    return (Some(first), Some(Unsettled::Wide(half_width)));
                }
                Ok((_, empties)) => return (Some(first), empties),
                Err(Unsettled::TooFew(..)) => break,
                Err(short @ Unsettled::TooShort(..)) => {
                    why = short;
                    break;
                }
                Err(moves) => why = moves,
            }
        }
        (None, Some(why))
    }

    /// Half-width of the interval over the mean where nothing moves from a batch on, but what empties very slowly.
    fn at_rest(&self, batches: &Batches, first: usize) -> Result<(f64, Option<Unsettled>), Unsettled> {
        let window = batches.window(first);
        let too_few = Unsettled::TooFew(batches.count(), self.needed);
        let Some((levels, drifts)) = self.levels.as_ref().zip(self.samples.since(window.from)) else {
            return Err(too_few);
        };
        if window.count < self.needed {
            return Err(too_few);
        }
        let (at_rest, paused) = (self.sim.now().saturating_sub(window.from), self.pause * TIMES_PAUSED);
        if at_rest < paused {
            return Err(Unsettled::TooShort(at_rest, paused));
        }
        let share = |drift: &levels::Drift| match levels.names[drift.level].1 {
            Unit::Items => drift.change() / window.count as f64,
            Unit::Bytes => drift.change() / window.bytes as f64,
        };
        let mut moving: Vec<&levels::Drift> = drifts.iter().filter(|d| share(d) > MOVES_MAX * self.share).collect();
        moving.sort_by(|a, b| share(b).total_cmp(&share(a)));
        let half_width = window.relative_half_width;
        if moving.first().is_some_and(|most| half_width > self.share && share(most) < half_width) {
            // What moves less than the mean is known to may as well be chance.
            return Ok((half_width, None));
        }
        let said = |drift: &levels::Drift| {
            let (name, unit) = levels.names[drift.level].clone();
            let lasts = self.outlasts(drift, unit, &window);
            Unsettled::Level { name, unit, from: drift.from.max(0.0), to: drift.to.max(0.0), lasts }
        };
        let mut moving = moving.into_iter().map(said).peekable();
        let empties = moving.peek().cloned();
        if let Some(moves) = moving.find(|moves| !matches!(moves, Unsettled::Level { lasts: Some(_), .. })) {
            return Err(moves);
        }
        if half_width.is_infinite() || window.trend.abs() > MOVES_MAX * self.share {
            return Err(Unsettled::Rate(window.trend));
        }
        Ok((half_width, empties))
    }

    /// How long a store lasts that empties, where that is longer than the run may take.
    fn outlasts(&self, drift: &levels::Drift, unit: Unit, window: &Window) -> Option<Time> {
        if unit == Unit::Items || drift.to >= drift.from {
            return None;
        }
        let (now, times) = (self.sim.now(), drift.to / drift.change());
        let lasts = Time::ps(((now - window.from).as_ps() as f64 * times) as u64);
        let done = of_the_limit(&self.transfers.batches());
        let share = done + times * share_of_the_limit(window.count, window.bytes);
        let outlasts = now.saturating_add(lasts) > self.end || !self.has_runtime && share > 1.0;
        outlasts.then_some(lasts)
    }
}

/// Levels of alike hops, added up.
struct Groups {
    levels: Levels,
    /// Of each level.
    group: Vec<usize>,
    names: Vec<(String, Unit)>,
}

impl Groups {
    fn of(sim: &Sim) -> Groups {
        let levels = sim.levels();
        let (mut names, mut group): (Vec<(String, Unit)>, Vec<usize>) = (Vec::new(), Vec::new());
        for level in levels.known() {
            let name = (without_numbers(&level.name), level.unit);
            let found = names.iter().position(|other| *other == name);
            group.push(found.unwrap_or(names.len()));
            if found.is_none() {
                names.push(name);
            }
        }
        Groups { levels, group, names }
    }

    fn amounts(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.names.len()];
        for (amount, group) in self.levels.amounts().zip(&self.group) {
            sums[*group] += amount as f64;
        }
        sums
    }
}

/// `channel3.die1` is as `channel0.die2`: `channel*.die*`.
fn without_numbers(name: &str) -> String {
    let mut alike = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '0'..='9' if alike.ends_with('*') => {}
            '0'..='9' => alike.push('*'),
            other => alike.push(other),
        }
    }
    alike
}
