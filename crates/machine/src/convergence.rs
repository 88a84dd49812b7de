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

mod span;
#[cfg(test)]
mod tests;
mod unsettled;
mod watch;

use std::sync::atomic::{AtomicBool, Ordering};

use hopscope_kernel::{Ended, Sim, Time};
use hopscope_observe::{Batches, Transfers};

use crate::run::{Failure, Options, Stop, defect};
pub(crate) use span::{LIMIT, Span, paused};
pub use unsettled::Unsettled;
use watch::{FIRST, Watch};

/// Half-width of the 95 % interval over the mean at which jobs stop that have no end of their own.
pub const UNTIL: f64 = 0.005;
/// Jobs without an end end after so many requests, and so many bytes, too.
const REQUESTS_MAX: f64 = 1e6;
const BYTES_MAX: f64 = 8e9;
/// Between two looks at whether to go on, events are at least so many, and at most, as far as time tells.
const EVENTS_MIN: u64 = 25_000;
const EVENTS_MAX: u64 = 100_000;

/// What ends a stage before its time.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) until: Option<f64>,
    /// Whether nobody asked for that share, and a looser one does in the long run.
    pub(crate) loosens: bool,
    /// Whether what is left of the runtime is left away where it says nothing new.
    pub(crate) not_longer_than_needed: bool,
    /// Whether the stage ends where nothing but stores moves that are used up before its end.
    pub(crate) by_phases: bool,
    pub(crate) interrupted: Option<&'static AtomicBool>,
    pub(crate) while_watched: bool,
}

impl Ends {
    /// What ends a stage that is to converge to `until`, if it is; whether its jobs have a runtime.
    pub(crate) fn of(options: &Options, until: Option<f64>, has_runtime: bool) -> Ends {
        let loosens = options.until.is_none() && until.is_some();
        let not_longer_than_needed = options.not_longer_than_needed && until.is_none() && has_runtime;
        let Options { interrupted, while_watched, .. } = *options;
        let by_phases = options.by_phases && not_longer_than_needed;
        Ends { until, loosens, not_longer_than_needed, by_phases, interrupted, while_watched }
    }

    /// Whether a stage may end where its mean is known.
    pub(crate) fn may_be_early(&self) -> bool {
        self.until.is_some() || self.not_longer_than_needed
    }
}

/// What is to be done at some time of a stage, which does nothing to it.
pub(crate) struct Noted<'a> {
    pub(crate) at: Time,
    pub(crate) pass: &'a dyn Fn(),
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
/// then the window that has come to rest, if there is one. Where that is so for the first time when the rest of a runtime
/// says nothing new, and the run goes on, `known` is told. What is `noted` is so where the stage is not over by then.
pub(crate) fn advance(
    sim: &Sim,
    transfers: &Transfers,
    span: &Span,
    ends: Ends,
    all_ended: impl Fn() -> bool,
    known: impl FnOnce(Ending),
    mut noted: Option<Noted<'_>>,
) -> Result<Ending, Failure> {
    let mut slices = Slices { interrupted: ends.interrupted, while_watched: ends.while_watched, length: FIRST };
    let mut watch = Watch::new(sim, transfers, span, ends);
    let (mut settled, mut known, mut first_known) = (None, Some(known), None);
    let stop = loop {
        let looks_on = ends.may_be_early() || settled.is_none();
        let next = if looks_on { watch.next.min(span.end) } else { span.end };
        let until = noted.as_ref().map_or(next, |noted| noted.at.min(next));
        match slices.run(sim, until) {
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
        if let Some(noted) = noted.take_if(|noted| noted.at <= sim.now()) {
            (noted.pass)();
        }
        if sim.now() < next {
            continue;
        }
        match watch.look() {
            Some(stop) if ends.until.is_some() || stop == Stop::Emptying => break stop,
            Some(stop) => {
                if stop == Stop::Converged {
                    settled.get_or_insert(sim.now());
                }
                let is_enough = sim.now() >= span.enough;
                let for_long = span.is_known_for_long(first_known, sim.now());
                if ends.not_longer_than_needed
                    && (is_enough || for_long || known.is_some())
                    && let (Some(first), unsettled) = watch.verdict()
                    && says_all(&transfers.batches(), first, span)
                {
                    if is_enough || for_long && watch.stand_still(first) {
                        break stop;
                    }
                    if let Some(known) = known.take() {
                        first_known = Some(sim.now());
                        transfers.begin_with(first, span.pause > Time::ZERO);
                        known(Ending { stop, unsettled, settled, window: true });
                        transfers.begin_with(0, false);
                    }
                }
            }
            None => {}
        }
        if !span.has_runtime && of_the_limit(&transfers.batches()) >= 1.0 {
            break Stop::Limit;
        }
    };
    let is_early = matches!(stop, Stop::Converged | Stop::Drifting | Stop::Emptying);
    if stop == Stop::Finished || (ends.until.is_none() && !is_early) {
        return Ok(Ending { stop, unsettled: None, settled, window: false });
    }
    let (window, unsettled) = watch.verdict();
    transfers.begin_with(window.unwrap_or(0), window.is_some() && span.pause > Time::ZERO);
    let stop = if stop == Stop::Limit && unsettled.is_none() { Stop::Converged } else { stop };
    Ok(Ending { stop, unsettled, settled, window: window.is_some() })
}

/// Whether the window that begins with a batch gives what the whole runtime would, within [`UNTIL`]: what it leaves away
/// at the beginning weighs as little in the runtime.
fn says_all(batches: &Batches, first: usize, span: &Span) -> bool {
    let (all, rest) = (batches.rate_from(0), batches.rate_from(first));
    let apart = (all.bytes_per_second / rest.bytes_per_second - 1.0).abs();
    let so_far = all.end.saturating_sub(span.from).as_seconds_f64();
    let runtime = (span.end - span.from).as_seconds_f64();
    apart * so_far <= UNTIL * runtime
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
