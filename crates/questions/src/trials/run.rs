//! One run of a trial: every request that ended in it, and what two of them say of the same requests.

use std::borrow::Cow;
use std::cell::{Ref, RefCell};
use std::num::NonZeroU64;
use std::ops::Range;
use std::rc::Rc;

use hopscope_files::job_file::Job;
use hopscope_kernel::{Observer, Record, Time};
use hopscope_machine::going::{Going, Remembered};
use hopscope_machine::run::Failure;
use hopscope_observe::batches::Rate;

use super::gain::{Piece, are_bursts, mean};
use super::rest::{Held, Looking, Moving, Window, moving};
use super::{LONGEST, Setting};

/// Rates of two windows may differ so much, besides what chance does.
pub(super) const ALIKE: f64 = 0.005;
/// A rate of which less is known is compared as if this were known.
const KNOWN: f64 = 0.05;
/// What a trial counts is compared in so many pieces.
pub(super) const PIECES: usize = 8;
/// What a change does may cost so many times the events of the setting as it is, and as many as this.
const COSTLIER: u64 = 4;
const EVENTS_MIN: u64 = 500_000;

/// A request that has ended.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Transfer {
    pub(super) end: Time,
    pub(super) latency: Time,
    pub(super) bytes: u64,
}

/// One run of a trial.
pub(super) struct Run {
    pub(super) transfers: Vec<Transfer>,
    pub(super) events: u64,
    /// What its parts remember where its ramp is over, of the setting as it is from the beginning.
    pub(super) remembered: Option<Remembered>,
    /// What its hops held meanwhile.
    pub(super) held: Held,
}

impl Run {
    /// What counts after a ramp, and the transfer's end from which its time does: between ends there are as many pauses
    /// of jobs as transfers.
    pub(super) fn after(&self, ramp: Time) -> (Time, &[Transfer]) {
        let warm = warm(&self.transfers, ramp).min(self.transfers.len());
        let (before, counted) = self.transfers.split_at(warm);
        (before.last().map_or(Time::ZERO, |last| last.end), counted)
    }

    /// Events of a request, on average.
    pub(super) fn events_each(&self) -> u64 {
        self.events / self.transfers.len().max(1) as u64
    }

    /// Whether requests of two windows come at the same rate, but for what chance does.
    pub(super) fn alike(&self, one: Range<usize>, other: Range<usize>) -> bool {
        let (one, other) = (self.time_a_byte(one), self.time_a_byte(other));
        one.zip(other).is_some_and(|((one, one_width), (other, other_width))| {
            (one / other - 1.0).abs() <= one_width.hypot(other_width).max(ALIKE)
        })
    }

    /// Whether they do, whatever chance may do.
    pub(super) fn take_as_long(&self, one: Range<usize>, other: Range<usize>) -> bool {
        let each =
            |of: Range<usize>| pieces(&self.transfers, &self.transfers, of, 1).first().map(|piece| piece.time[0]);
        each(one).zip(each(other)).is_some_and(|(one, other)| (one / other - 1.0).abs() <= ALIKE)
    }

    /// The same of a window and of a rate that is known to so much; nothing where too few requests are in it.
    pub(super) fn comes_at(&self, rate: Rate, counted: Range<usize>) -> Option<bool> {
        if counted.len() < PIECES {
            return None;
        }
        let is_alike = |(each, half_width): (f64, f64)| {
            let off = (each * rate.bytes_per_second / 1e12 - 1.0).abs();
            off <= half_width.hypot(rate.relative_half_width.min(KNOWN)).max(ALIKE)
        };
        Some(self.time_a_byte(counted).is_some_and(is_alike))
    }

    /// Some of its requests, and what its hops held meanwhile.
    pub(super) fn window(&self, requests: Range<usize>) -> Window<'_> {
        Window { held: &self.held, transfers: &self.transfers, requests }
    }

    /// Whether requests of a window come in bursts, of which it has too few to say how fast they come.
    pub(super) fn comes_in_bursts(&self, counted: Range<usize>) -> bool {
        are_bursts(&self.pieces(counted))
    }

    /// Picoseconds a byte in a window, and the half-width of their 95 % interval; nothing where too few requests, or
    /// bursts, are in it.
    pub(super) fn time_a_byte(&self, counted: Range<usize>) -> Option<(f64, f64)> {
        let pieces = self.pieces(counted);
        (pieces.len() >= PIECES && !are_bursts(&pieces)).then(|| mean(&pieces))
    }

    fn pieces(&self, counted: Range<usize>) -> Vec<Piece> {
        pieces(&self.transfers, &self.transfers, counted, PIECES)
    }
}

/// So many transfers are not counted: those in the ramp, and the first in any case.
pub(super) fn warm(transfers: &[Transfer], ramp: Time) -> usize {
    transfers.partition_point(|transfer| transfer.end <= ramp).max(1)
}

/// A run that goes on for as long as it is asked to.
pub(super) struct Live {
    going: Going,
    kept: Rc<RefCell<Vec<Transfer>>>,
    looking: Looking,
    /// The jobs are done.
    over: bool,
}

impl Live {
    /// The setting with a seed, ready to begin.
    pub(super) fn new(setting: &Setting, seed: u64) -> Result<Live, Failure> {
        let kept = Rc::new(RefCell::new(Vec::new()));
        let going = Going::new(&setting.blueprint, &at_once(&setting.jobs), seed, Box::new(Keeper(kept.clone())))?;
        Ok(Live { going, kept, looking: Looking::default(), over: false })
    }

    /// The same from where another run was; nothing where a part cannot remember what that one's did.
    pub(super) fn behind(setting: &Setting, seed: u64, remembered: &Remembered) -> Result<Option<Live>, Failure> {
        let kept = Rc::new(RefCell::new(Vec::new()));
        let keeper = Box::new(Keeper(kept.clone()));
        let going = Going::behind(&setting.blueprint, &at_once(&setting.jobs), seed, keeper, remembered)?;
        Ok(going.map(|going| Live { going, kept, looking: Looking::default(), over: false }))
    }

    /// Runs until then, or until so many requests have ended in all.
    pub(super) fn go_until(&mut self, until: Time, asked: usize) -> Result<(), Failure> {
        while let Some(missing) = self.missing(asked).filter(|_| !self.over && self.going.now() < until) {
            let due = self.looking.due_after(self.ended());
            self.over = self.going.on(missing.min(due), until)?;
            self.looking.look(&self.going, self.ended());
        }
        Ok(())
    }

    /// How many more have to end; nothing where as many have.
    fn missing(&self, asked: usize) -> Option<NonZeroU64> {
        NonZeroU64::new(asked.saturating_sub(self.ended()) as u64)
    }

    /// How many have ended so far.
    pub(super) fn ended(&self) -> usize {
        self.kept.borrow().len()
    }

    /// Runs until so many requests have ended in all, however long that takes, if it does not cost far more than in the
    /// setting as it is. Whatever it costs, it runs until then.
    pub(super) fn go_on(&mut self, asked: usize, before: &Run, mut until: Time) -> Result<(), Failure> {
        let events = before.events.saturating_mul(COSTLIER).max(EVENTS_MIN);
        while self.missing(asked).is_some() && !self.over && self.now() < LONGEST {
            if self.now() >= until {
                if self.events() > events {
                    break;
                }
                until = (self.now() + self.now() + Time::ps(1)).min(LONGEST);
            }
            self.go_until(until, asked)?;
        }
        Ok(())
    }

    /// What has ended so far, in order.
    pub(super) fn transfers(&self) -> Ref<'_, [Transfer]> {
        self.kept.borrow_mut().sort_by_key(|transfer| transfer.end);
        Ref::map(self.kept.borrow(), |kept| &kept[..])
    }

    /// What fills or empties behind so many requests, and does not behind as many of the setting as it is.
    pub(super) fn moving(&self, before: &Run, behind: usize, times: f64) -> Moving {
        let transfers = self.transfers();
        let requests = behind..transfers.len();
        let own = before.window(requests.clone());
        moving(&own, &Window { held: self.looking.held(), transfers: &transfers, requests }, times)
    }

    /// How far it has come.
    pub(super) fn now(&self) -> Time {
        self.going.now()
    }

    /// What it has cost, in events.
    pub(super) fn events(&self) -> u64 {
        self.going.events()
    }

    /// What has come of it.
    pub(super) fn run(self) -> Run {
        let transfers = self.transfers().to_vec();
        Run { transfers, events: self.events(), remembered: None, held: self.looking.into_held() }
    }

    /// What its parts remember, and how far its jobs are; nothing where no part remembers anything.
    pub(super) fn remembered(&self) -> Option<Remembered> {
        self.going.remembered()
    }
}

/// The same jobs, of which none begins later: of a faster machine other requests would come before that.
fn at_once(jobs: &[Job]) -> Cow<'_, [Job]> {
    if jobs.iter().all(|job| job.start_delay == Time::ZERO) {
        return Cow::Borrowed(jobs);
    }
    jobs.iter().map(|job| Job { start_delay: Time::ZERO, ..job.clone() }).collect()
}

/// Keeps every transfer of a run.
struct Keeper(Rc<RefCell<Vec<Transfer>>>);

impl Observer for Keeper {
    fn records(&mut self, batch: &[Record]) {
        let transfers = batch.iter().filter_map(|record| match *record {
            Record::Transfer { at, span, bytes, .. } => {
                Some(Transfer { end: at + span, latency: span, bytes: bytes.into() })
            }
            _ => None,
        });
        self.0.borrow_mut().extend(transfers);
    }

    fn wants_phases(&self) -> bool {
        false
    }
}

/// What some requests took before and after a change, in so many pieces; none where there are no requests.
pub(super) fn pieces(before: &[Transfer], after: &[Transfer], counted: Range<usize>, pieces: usize) -> Vec<Piece> {
    let (warm, count) = (counted.start, counted.len());
    let pieces = pieces.min(count);
    let of = |transfers: &[Transfer], from: usize, until: usize| {
        let (start, counted) = (transfers[from - 1].end, &transfers[from..until]);
        let bytes: u64 = counted.iter().map(|transfer| transfer.bytes).sum();
        let span = (counted[counted.len() - 1].end.saturating_sub(start)).as_ps() as f64;
        let latency: f64 = counted.iter().map(|transfer| transfer.latency.as_ps() as f64).sum();
        (span / bytes.max(1) as f64, latency)
    };
    let one = |piece: usize| {
        let (from, until) = (warm + count * piece / pieces, warm + count * (piece + 1) / pieces);
        let (is, was) = (of(after, from, until), of(before, from, until));
        Piece { time: [was.0, is.0], latency: [was.1, is.1], later: 2 * piece >= pieces }
    };
    (0..pieces).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A changed machine may take far more events for its requests than it does as it is.
    #[test]
    fn what_costs_far_more_goes_on_as_far_in_steps_as_at_once() {
        let setting =
            Setting::shipped("win2000-nt4-sp3", "--rw=read --bs=64k --size=64k --time_based --iodepth=2 --runtime=60");
        let before = Run { transfers: Vec::new(), events: 0, remembered: None, held: Held::default() };
        let ended = |steps: &[usize], until| {
            let mut live = Live::new(&setting, 1).expect("it is built");
            steps.iter().for_each(|asked| live.go_on(*asked, &before, until).expect("it runs"));
            assert!(live.events() > EVENTS_MIN, "{}", live.events());
            live.ended()
        };
        let [soon, long] = [Time::ps(1), Time::ms(60_000)];
        assert_eq!(ended(&[800], long), 800);
        assert_eq!(ended(&[100, 790, 800], long), 800);
        // Not beyond that.
        let far = ended(&[100_000], soon);
        assert!(far < 790, "{far}");
        assert_eq!(ended(&[100_000, 100_000], soon), far);
    }
}
