//! Samples of all levels while a stage runs, and whether everything has come to rest by them.

use hopscope_kernel::{Sim, Time, Unit};
use hopscope_observe::batches::{STEP, Window};
use hopscope_observe::{Batches, Transfers, levels};

use super::{Ends, Span, UNTIL, Unsettled, of_the_limit, share_of_the_limit};
use crate::alike_levels::AlikeLevels;
use crate::run::Stop;

/// Requests of a window, at least: where they are drawn, so many speak for the rare ones, too.
pub(super) const DRAWN_MIN: u64 = 2_000;
const IN_ORDER_MIN: u64 = 500;
/// Of long requests in order fewer do: so many bytes, and so many of them.
const IN_ORDER_BYTES: u64 = 128 << 20;
const LONG_MIN: u64 = 100;
/// The same, times what is in flight.
pub(super) const TIMES_IN_FLIGHT: u64 = 10;
/// Where jobs pause, a window is so many times as long as the longest pause, at least.
pub(super) const TIMES_PAUSED: u64 = 24;
/// Levels are sampled from this part of those requests on, and so often before twice the time is over.
const SAMPLED_FROM: u64 = 4;
const SAMPLES_AT_FIRST: u64 = 8;
/// Warm-up that costs less than this part of the share that is asked for is no warm-up.
const WARM_UP_MIN: f64 = 0.05;
/// The first time at which it is asked how many requests have ended; then after twice as long.
pub(super) const FIRST: Time = Time::us(1);
/// A level may change by this part of the share that is asked for, and so may the rate.
const MOVES_MAX: f64 = 0.5;
/// Where nobody asked for a share, jobs that take long to be known may stop at so many times the usual one: after this
/// part of what such jobs may do, and jobs that only read after so long, as disks take it. What is written goes through
/// stores that may stand still for a minute and change then.
const LOOSER: f64 = 2.0;
const LOOSER_FROM: f64 = 0.25;
const LOOSER_AFTER: Time = Time::ms(20_000);
/// What a store that empties is good for is not simulated where that is so many times as long as what was.
const PHASE_MIN: f64 = 3.0;

/// Samples of all levels while a stage runs.
pub(super) struct Watch<'a> {
    sim: &'a Sim,
    transfers: &'a Transfers,
    from: Time,
    /// Half-width over the mean at which it is known, and whether that loosens in the long run. Whether
    /// anything is written that parts hold.
    share: f64,
    loosens: bool,
    stores: bool,
    needed: u64,
    pause: Time,
    /// Known when the first sample is taken.
    levels: Option<AlikeLevels>,
    samples: levels::Levels,
    step: Time,
    /// When something is to be done next.
    pub(super) next: Time,
    /// When it is looked at next whether everything has come to rest.
    look: Time,
    /// It is looked at when enough of the runtime is over, too.
    enough: Time,
    /// How the run could have ended at the last look.
    before: Option<Stop>,
    /// When the jobs end at the latest, and whether requests are counted, too.
    over: Time,
    has_runtime: bool,
    /// Whether stores may empty that are used up before that.
    by_phases: bool,
    /// Windows begin no sooner.
    planned: Time,
}

impl Watch<'_> {
    pub(super) fn new<'a>(sim: &'a Sim, transfers: &'a Transfers, span: &Span, ends: Ends) -> Watch<'a> {
        let next = span.from.saturating_add(FIRST);
        let long = (IN_ORDER_BYTES / span.longest.max(1)).clamp(LONG_MIN, IN_ORDER_MIN);
        Watch {
            sim,
            transfers,
            from: span.from,
            share: ends.until.unwrap_or(UNTIL),
            loosens: ends.loosens,
            stores: span.stores,
            needed: if span.drawn { DRAWN_MIN } else { long }.max(TIMES_IN_FLIGHT * span.in_flight),
            pause: span.pause,
            levels: None,
            samples: levels::Levels::default(),
            step: FIRST,
            next,
            look: next,
            enough: span.enough,
            before: None,
            over: span.over,
            has_runtime: span.has_runtime,
            by_phases: ends.by_phases,
            planned: span.planned,
        }
    }

    /// Time has come to where something was to be done: how the run may end, by this look and the one before.
    pub(super) fn look(&mut self) -> Option<Stop> {
        let (now, count) = (self.sim.now(), self.transfers.batches().count());
        if now < self.next {
            return None;
        }
        let Some(levels) = &self.levels else {
            if count >= self.needed / SAMPLED_FROM {
                self.levels = Some(AlikeLevels::of(self.sim));
                self.step = Time::ps((now - self.from).as_ps() / SAMPLES_AT_FIRST + 1);
                self.next = now + self.step;
            } else {
                self.next = now.saturating_add(now - self.from);
            }
            return None;
        };
        if self.samples.sample(now, levels.amounts_of_each()) {
            self.step = self.step * 2;
        }
        self.next = now.saturating_add(self.step);
        if count < self.needed || now < self.look {
            return None;
        }
        self.look = now.saturating_add(Time::ps((now - self.from).as_ps() / 5));
        if now < self.enough {
            self.look = self.look.min(self.enough);
        }
        let long_read = !self.stores && now - self.from >= LOOSER_AFTER;
        let is_long = long_read || of_the_limit(&self.transfers.batches()) >= LOOSER_FROM;
        if self.loosens && is_long {
            self.share = LOOSER * UNTIL;
        }
        let stop = match self.verdict() {
            (Some(_), None) => Some(Stop::Converged),
            (Some(_), Some(Unsettled::Level { lasts: Some(_), .. })) => Some(Stop::Drifting),
            (Some(_), Some(Unsettled::Level { lasts: None, .. })) => Some(Stop::Emptying),
            _ => None,
        };
        std::mem::replace(&mut self.before, stop).filter(|before| Some(*before) == stop)
    }

    /// The first batch of the window in which everything was at rest, if there is one, and why the mean is not known
    /// nonetheless.
    pub(super) fn verdict(&self) -> (Option<usize>, Option<Unsettled>) {
        let batches = self.transfers.batches();
        let mut why = match self.planned > self.from {
            true => Unsettled::Planned(self.planned),
            false => Unsettled::TooFew(batches.count(), self.needed),
        };
        // Between the first request and the last there is a pause less than requests, unless one comes before.
        let earliest = if self.pause > Time::ZERO { STEP } else { 0 };
        let windows = batches.windows_from(batches.warm_up(WARM_UP_MIN * self.share).max(earliest));
        for first in windows.filter(|first| batches.begin(*first) >= self.planned) {
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
        let Some(drifts) = self.drifts(&window) else { return Err(too_few) };
        if window.count < self.needed {
            return Err(too_few);
        }
        let (at_rest, paused) = (self.sim.now().saturating_sub(window.from), self.pause * TIMES_PAUSED);
        if at_rest < paused {
            return Err(Unsettled::TooShort(at_rest, paused));
        }
        // Where nothing is held that is written, what moves by no more than chance does not: the rate shows what comes of it.
        let share = |drift: &levels::Drift| {
            let chance = if self.stores { 0.0 } else { drift.half_width };
            let all = levels::Drift::of_all(drifts.unit(drift), window.count, window.bytes);
            (drift.change() - chance).max(0.0) / all
        };
        let mut moving: Vec<&levels::Drift> = drifts.of_names().filter(|d| share(d) > MOVES_MAX * self.share).collect();
        moving.sort_by(|a, b| share(b).total_cmp(&share(a)));
        let half_width = window.relative_half_width;
        if moving.first().is_some_and(|most| half_width > self.share && share(most) < half_width) {
            // What moves less than the mean is known to may as well be chance.
            return Ok((half_width, None));
        }
        let said = |drift: &levels::Drift| {
            let (name, unit) = drifts.levels.names()[drift.level].clone();
            let lasts = self.outlasts(&drifts, drift, &window);
            Unsettled::Level { name, unit, from: drift.from.max(0.0), to: drift.to.max(0.0), lasts }
        };
        let outlasts = |drift: &&levels::Drift| self.outlasts(&drifts, drift, &window).is_some();
        let slowly = |drift: &&levels::Drift| self.by_phases && self.empties_slowly(&drifts, drift);
        if let Some(moves) = moving.iter().find(|drift| !outlasts(drift) && !slowly(drift)) {
            return Err(said(moves));
        }
        // What does not outlast the run is what counts.
        let empties = moving.iter().find(|drift| !outlasts(drift)).or(moving.first()).map(|drift| said(drift));
        if half_width.is_infinite() || window.trend.abs() > MOVES_MAX * self.share {
            return Err(Unsettled::Rate(window.trend));
        }
        Ok((half_width, empties))
    }

    /// How all levels change over a window; nothing where there are too few samples.
    fn drifts(&self, window: &Window) -> Option<Drifts<'_>> {
        let (levels, all) = self.levels.as_ref().zip(self.samples.since(window.from))?;
        Some(Drifts { levels, all })
    }

    /// Whether what parts hold does not change over the window that begins with a batch, but for chance, or empties for
    /// longer than the run may take.
    pub(super) fn stand_still(&self, first: usize) -> bool {
        let window = self.transfers.batches().window(first);
        self.drifts(&window).is_some_and(|drifts| {
            let stands_still = |drift: &levels::Drift| {
                let moves = drifts.unit(drift) == Unit::Bytes && drift.change() > drift.half_width;
                !moves || self.outlasts(&drifts, drift, &window).is_some()
            };
            drifts.of_names().all(stands_still)
        })
    }

    /// Whether a store empties that is used up before the run is over, and so slowly that until then nothing else comes.
    fn empties_slowly(&self, drifts: &Drifts<'_>, drift: &levels::Drift) -> bool {
        let so_far = self.sim.now().saturating_sub(self.from).as_seconds_f64();
        drifts.lasts(drift).is_some_and(|lasts| lasts >= PHASE_MIN * so_far)
    }

    /// How long a store lasts that empties, where that is longer than the run may take.
    fn outlasts(&self, drifts: &Drifts<'_>, drift: &levels::Drift, window: &Window) -> Option<Time> {
        let (now, lasts) = (self.sim.now(), drifts.lasts(drift)?);
        let times = lasts / (now - window.from).as_seconds_f64();
        let lasts = Time::ps((lasts * 1e12) as u64);
        let done = of_the_limit(&self.transfers.batches());
        let share = done + times * share_of_the_limit(window.count, window.bytes);
        let outlasts = now.saturating_add(lasts) > self.over || !self.has_runtime && share > 1.0;
        outlasts.then_some(lasts)
    }
}

/// How levels change over a window.
struct Drifts<'a> {
    levels: &'a AlikeLevels,
    /// Of those that are added up, and behind them of each by itself.
    all: Vec<levels::Drift>,
}

impl Drifts<'_> {
    /// Those of levels that are added up.
    fn of_names(&self) -> impl Iterator<Item = &levels::Drift> {
        self.all[..self.levels.names().len()].iter()
    }

    fn unit(&self, drift: &levels::Drift) -> Unit {
        self.levels.names()[drift.level].1
    }

    /// For how many seconds a store lasts that empties; of several, the one that is empty first.
    fn lasts(&self, drift: &levels::Drift) -> Option<f64> {
        let lasts = |drift: &levels::Drift| drift.over.as_seconds_f64() * drift.to / drift.change();
        let is_sure = |drift: &&levels::Drift| drift.from - drift.to > drift.half_width;
        let each = self.levels.each_of(drift.level).map(|place| &self.all[place]).filter(is_sure);
        let empties = drift.to < drift.from && self.unit(drift) == Unit::Bytes;
        empties.then(|| each.map(lasts).reduce(f64::min).unwrap_or_else(|| lasts(drift)))
    }
}
