//! A glance: what a change does to the first requests. Where it does nothing to them, it does nothing.
//!
//! Most hops and numbers of a machine hardly matter to a job, and a short trial says so as well as a long one: the same
//! requests take the same time. That counts only where the setting as it is has come to what it goes on to do: while
//! caches fill, or a limit is still to be reached, nobody can say so early what a change will do.
//!
//! Where nothing is written, requests of the setting as it is come evenly all along, as mostly where nothing draws, and
//! those of a changed one once what is in flight has been replaced, that is what the change does, whatever it is. That
//! mostly takes fewer requests than a glance, and is asked first then; what makes no difference at all takes even fewer.

use std::ops::Range;

use hopscope_machine::run::Failure;

use super::gain::{Gain, Piece, gain};
use super::rest::{AWAITED, moving};
use super::run::{Live, PIECES, Run, Transfer, pieces};
use super::tried::{Asked, Tried};
use super::{Progress, Setting, TURNS, Trials};
use crate::explain::writes;

/// Requests that are looked at, of jobs that draw, and of others; behind those that do not count.
const LOOKED_AT: [usize; 2] = [400, 160];
/// An effect that is smaller than this, its interval included, is none.
const NOTHING: f64 = 0.001;
/// Where it is smaller than this, a part of those requests is enough.
const NOTHING_AT_ALL: f64 = 1e-6;
const FIRST: usize = 8;
/// Where the setting as it is has not come to that there, it is looked at behind so many times as many requests.
const LATER: usize = 2;
/// Whether requests are the same is asked after these parts of them.
const SOON: [usize; 4] = [64, 16, 4, 1];

/// Requests come evenly where what is in flight is replaced in a time that differs from the mean by no more than this.
const EVEN: f64 = 0.005;
/// So many times it is replaced before they have to, and so many times they are looked at.
const UNEVEN: usize = 2;
const EVEN_TURNS: usize = 3;
/// Where they differ by no more than this, fewer do.
const ALL_EVEN: f64 = 0.0005;
const ALL_EVEN_TURNS: usize = 2;
/// That part more of requests is worth knowing whether they come evenly.
const FEW_MORE: usize = 8;
/// That takes so many requests, at least: of fewer, nobody could tell whether anything fills. Of long ones fewer do: so many
/// bytes, and so many of them.
const TURN_MIN: usize = 32;
const TURN_BYTES: u64 = 16 << 20;
const LONG_TURN_MIN: usize = 16;

/// Requests of a setting as it is that are looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Glance {
    from: usize,
    until: usize,
    /// Whether something may fill from there on that does not in the setting as it is.
    may_fill: bool,
}

impl Glance {
    /// After so many requests it may be settled.
    fn at_once(self) -> usize {
        self.from + (self.until - self.from) / FIRST
    }

    /// Of what is to come evenly, what shows whether a change makes any difference to it at all: where it has made none once
    /// what is in flight has been replaced once more than it has to be, it will make none. Not of few requests.
    fn of_one_turn(self) -> Option<Glance> {
        let until = self.from + self.turn();
        (until >= (UNEVEN + 1) * TURN_MIN).then_some(Glance { until, ..self })
    }

    /// Of what is to come evenly, requests that replace what is in flight.
    fn turn(self) -> usize {
        self.from / UNEVEN
    }
}

/// Where hops work faster, and nothing else is changed, what does nothing to requests fills nothing either: those that are
/// looked at first will do. Whatever else is changed may be slower in something that has not begun by then.
#[derive(Clone, Copy)]
pub(super) struct Glances {
    of_faster_hops: Option<Glance>,
    of_others: Option<Glance>,
    /// What is to come evenly, whatever is changed: in short turns, of long requests, and in longer ones where those are not.
    pub(super) even: [Option<Glance>; 2],
}

impl Glances {
    pub(super) fn of(self, is_faster: bool) -> Option<Glance> {
        if is_faster { self.of_faster_hops } else { self.of_others }
    }

    /// Of what is to come evenly, what says something after fewer requests than a glance, and what does not.
    pub(super) fn even_around(self, glance: Option<Glance>) -> (Vec<Glance>, Vec<Glance>) {
        let is_sooner = |even: &Glance| glance.is_none_or(|glance| even.until <= glance.at_once());
        self.even.into_iter().flatten().partition(is_sooner)
    }

    /// What shows soonest whether a change makes any difference.
    pub(super) fn of_difference(self, is_faster: bool) -> Option<Glance> {
        let even = self.even.into_iter().flatten().map(|even| even.of_one_turn().unwrap_or(even));
        even.chain(self.of(is_faster)).min_by_key(|glance| glance.until)
    }
}

/// What a look at a change has shown.
pub struct Look {
    /// What it does, as far as that shows; nothing where a part refuses it.
    pub gain: Option<Gain>,
    /// All that there is to know, where it is known.
    known: Option<Tried>,
}

impl Trials<'_> {
    /// What each change does, as far as a glance shows; of those that it says nothing of, the first part of a trial.
    pub fn at_a_glance(&mut self, changes: &[Setting], progress: Progress<'_>) -> Result<Vec<Look>, Failure> {
        let looks = self.try_out(changes, Asked::Look, progress)?;
        let look = |tried: Tried| Look { gain: tried.gain(), known: Some(tried).filter(|tried| tried.done) };
        Ok(looks.into_iter().map(look).collect())
    }

    /// Which changes make no difference at all to the requests that a look shows: none of them ends a picosecond earlier
    /// or later.
    pub fn without_difference(&mut self, changes: &[Setting], progress: Progress<'_>) -> Result<Vec<bool>, Failure> {
        let tried = self.try_out(changes, Asked::Difference, progress)?;
        Ok(tried.iter().map(|tried| tried.gain().is_some()).collect())
    }

    /// What those few changes do that may gain most, as far as a look at them shows; nothing for the others. Of those it is
    /// to be found out which gain for sure, so whatever will not is left.
    pub fn gains_of_best(
        &mut self,
        changes: &[Setting],
        looks: Vec<Look>,
        few: usize,
        progress: Progress<'_>,
    ) -> Result<Vec<Option<Gain>>, Failure> {
        let most = |gain: &Gain| gain.throughput.mean + gain.throughput.half_width;
        let hopes =
            looks.into_iter().enumerate().filter_map(|(index, look)| Some((most(&look.gain?), index, look.known)));
        let mut hopes: Vec<(f64, usize, Option<Tried>)> = hopes.collect();
        hopes.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        hopes.truncate(few);
        let mut gains = vec![None; changes.len()];
        let mut open: Vec<usize> = Vec::new();
        for (_, index, known) in hopes {
            match known {
                Some(tried) => gains[index] = tried.gain(),
                None => open.push(index),
            }
        }
        let settings: Vec<Setting> = open.iter().map(|index| changes[*index].clone()).collect();
        for (index, tried) in open.into_iter().zip(self.try_out(&settings, Asked::ToGain, progress)?) {
            gains[index] = tried.gain();
        }
        Ok(gains)
    }

    /// What is looked at; nothing where that is all that a trial has, or where the setting has not come to what it goes on
    /// to do.
    pub(super) fn glances(&self) -> Result<Glances, Failure> {
        let before = self.before((0, self.effort.seeds[0]))?;
        let one = self.counted(&before, 0, 1);
        let counted = one.start..before.transfers.len();
        let own = before.window(counted.clone());
        let mut glances = Glances { of_faster_hops: None, of_others: None, even: self.even(&before) };
        let mut from = usize::try_from(self.first_turns).unwrap_or(usize::MAX).max(1);
        while glances.of_others.is_none() && counted.len() >= PIECES {
            let until = from.saturating_add(LOOKED_AT[usize::from(!self.draws)]);
            if until > one.end {
                break;
            }
            if before.alike(from..until, counted.clone()) {
                glances.of_faster_hops.get_or_insert(Glance { from, until, may_fill: false });
                let rests = !moving(&own, &before.window(from / 2..until), AWAITED).is_sure();
                glances.of_others = rests.then_some(Glance { from, until, may_fill: true });
            }
            from *= LATER;
        }
        Ok(glances)
    }

    /// Whether requests end as they do in the setting as it is, to the last digit.
    pub(super) fn is_same(&self, live: &mut Live, glance: Option<Glance>) -> Result<bool, Failure> {
        let before = self.before((0, self.effort.seeds[0]))?;
        let all = glance.map_or_else(|| self.counted(&before, 0, 1).end, |glance| glance.until);
        // Most that makes a difference makes it soon.
        for until in SOON.map(|part| all / part) {
            live.go_on(until, &before, self.effort.ramp + self.effort.runtime)?;
            let after = live.transfers();
            if after.len() < until || before.transfers[..until] != after[..until] {
                return Ok(false);
            }
        }
        Ok(!fills(live, &before, glance.map_or(all / 2, |glance| glance.from)))
    }

    /// A look at a changed setting: whether it settles what the change does; nothing where too few requests ended.
    pub(super) fn look(&self, live: &mut Live, glance: Glance) -> Result<Option<Tried>, Failure> {
        let (Glance { from, until, may_fill }, at_once) = (glance, glance.at_once());
        let before = self.before((0, self.effort.seeds[0]))?;
        let Some(gain) = self.gain_at(live, &before, from..at_once)? else { return Ok(None) };
        let is_settled = if is_at_most(gain, 0.0) {
            // What few requests meet at all may not have been met yet.
            at_once >= LOOKED_AT[0] && before.transfers[..at_once] == live.transfers()[..at_once]
        } else {
            is_at_most(gain, NOTHING_AT_ALL)
        };
        if is_settled && !(may_fill && fills(live, &before, from)) {
            return Ok(Some(Tried::settled(gain)));
        }
        let gain = self.gain_at(live, &before, from..until)?;
        let is_nothing = |gain| is_at_most(gain, NOTHING) && !(may_fill && fills(live, &before, from));
        Ok(gain.map(|gain| if is_nothing(gain) { Tried::settled(gain) } else { Tried::looked_at(gain) }))
    }

    /// What of a change is to come evenly; nothing where requests of the setting as it is do not.
    fn even(&self, before: &Run) -> [Option<Glance>; 2] {
        let ([short, long], all) = (self.turns(), &before.transfers[..]);
        let even = |turn: usize| {
            let from = UNEVEN * turn;
            let turns = (all.len().saturating_sub(from) / turn).min(EVEN_TURNS);
            let even = if turns < EVEN_TURNS { ALL_EVEN } else { EVEN };
            // What is written may fill a store evenly, and so slowly that it does not show by then.
            let may_be = !writes(&self.setting.jobs) && turns >= ALL_EVEN_TURNS;
            let until = from + turns * turn;
            (may_be && are_even(all, from..all.len(), (turn, even))).then_some(Glance { from, until, may_fill: true })
        };
        [even(short), if long > short { even(long) } else { None }]
    }

    /// Requests of a turn: a short one, of long requests, and a longer one.
    fn turns(&self) -> [usize; 2] {
        let shortest = self.setting.jobs.iter().map(|job| job.block_bytes_min).min().unwrap_or(0).max(1);
        let least = ((TURN_BYTES / shortest) as usize).clamp(LONG_TURN_MIN, TURN_MIN);
        let in_flight = usize::try_from(self.first_turns / TURNS).unwrap_or(usize::MAX);
        [least, TURN_MIN].map(|least| in_flight.clamp(least, usize::MAX / (UNEVEN + EVEN_TURNS)))
    }

    /// So many requests of the setting as it is, and those few more that say whether they come evenly.
    pub(super) fn with_even(&self, asked: usize) -> usize {
        let even = (UNEVEN + EVEN_TURNS) * self.turns()[0];
        let may_be = !writes(&self.setting.jobs) && !self.draws && even <= asked + asked / FEW_MORE;
        if may_be { asked.max(even) } else { asked }
    }

    /// What a change does, where its requests come evenly as soon as any of these say that they may.
    pub(super) fn evenly(&self, live: &mut Live, even: &[Glance]) -> Result<Option<Tried>, Failure> {
        for glance in even {
            if let Some(known) = self.evenly_by(live, *glance)? {
                return Ok(Some(known));
            }
        }
        Ok(None)
    }

    /// The same of one of them.
    fn evenly_by(&self, live: &mut Live, glance: Glance) -> Result<Option<Tried>, Failure> {
        if let Some(one_turn) = glance.of_one_turn()
            && self.is_same(live, Some(one_turn))?
        {
            return Ok(Some(Tried::settled(Gain::NONE)));
        }
        let (from, turn) = (glance.from, glance.turn());
        for (turns, even) in [(ALL_EVEN_TURNS, ALL_EVEN), (EVEN_TURNS, EVEN)] {
            let until = from + turns * turn;
            if until <= glance.until
                && let Some(known) = self.even_turns(live, from..until, (turn, even))?
            {
                return Ok(Some(known));
            }
        }
        Ok(None)
    }

    /// What a change does whose requests differ by no more than that from turn to turn, so many each.
    fn even_turns(
        &self,
        live: &mut Live,
        counted: Range<usize>,
        (turn, even): (usize, f64),
    ) -> Result<Option<Tried>, Failure> {
        let before = self.before((0, self.effort.seeds[0]))?;
        let Some(by_pieces) = self.gain_at(live, &before, counted.clone())? else { return Ok(None) };
        let after = live.transfers();
        // What ends several at a time is even turn by turn, if at all.
        let by_turns = || gain(pieces(&before.transfers, &after, counted.clone(), counted.len() / turn).iter());
        let gain = if by_pieces.throughput.is_narrow() { by_pieces } else { by_turns() };
        let are_even = |of: &[Transfer]| are_even(of, counted.clone(), (turn, even));
        let is_known = gain.throughput.is_narrow() && are_even(&before.transfers) && are_even(&after);
        drop(after);
        Ok((is_known && !fills(live, &before, counted.start)).then(|| Tried::settled(gain)))
    }

    /// What some requests show, which are waited for; nothing where too few ended.
    fn gain_at(&self, live: &mut Live, before: &Run, counted: Range<usize>) -> Result<Option<Gain>, Failure> {
        live.go_on(counted.end, before, self.effort.ramp + self.effort.runtime)?;
        let after = live.transfers();
        let there = after.len() >= counted.end;
        Ok(there.then(|| gain(pieces(&before.transfers, &after, counted, PIECES).iter())))
    }
}

/// Whether requests come evenly, so many at a time and to so much, and are in flight for as long.
fn are_even(transfers: &[Transfer], counted: Range<usize>, (each, even): (usize, f64)) -> bool {
    let turns = counted.len() / each;
    let turns = pieces(transfers, transfers, counted.start..counted.start + turns * each, turns);
    let is_even = |of: fn(&Piece) -> f64| {
        let mean = turns.iter().map(of).sum::<f64>() / turns.len() as f64;
        turns.iter().all(|turn| (of(turn) - mean).abs() <= even * mean)
    };
    turns.len() >= ALL_EVEN_TURNS && is_even(|turn| turn.time[0]) && is_even(|turn| turn.latency[0])
}

/// Whether a change does no more than that, its interval included.
fn is_at_most(gain: Gain, most: f64) -> bool {
    [gain.throughput, gain.latency].iter().all(|shift| shift.mean.abs() + shift.half_width <= most)
}

/// Whether something fills from halfway to where requests are looked at on: what does nothing to them may do so later.
fn fills(live: &Live, before: &Run, from: usize) -> bool {
    live.moving(before, from / 2, AWAITED).is_sure()
}

#[cfg(test)]
mod tests {
    use hopscope_kernel::Pace;
    use hopscope_machine::run::{Options, run};

    use super::super::{Begun, Shift};
    use super::*;

    /// Trials of a setting as they are made.
    fn settled(setting: &Setting) -> Trials<'_> {
        let shorter = Options { not_longer_than_needed: true, ..Options::default() };
        let outcome = run(&setting.blueprint, &setting.jobs, shorter, None).expect("it runs");
        let begun = Begun::default();
        let mut trials = Trials::foreseen(setting, 1, &outcome, begun).expect("it runs").expect("requests ended");
        trials.settle().expect("it runs");
        trials
    }

    /// The setting with a hop twice as fast.
    fn twice_as_fast(setting: &Setting, hop: &str) -> Setting {
        let mut faster = setting.clone();
        faster.blueprint.pace(hop, Pace::new(2, 1).expect("a pace")).expect("a hop");
        faster
    }

    #[test]
    fn what_comes_evenly_is_known_as_soon_as_what_is_in_flight_has_been_replaced() {
        let nothing = Glances { of_faster_hops: None, of_others: None, even: [None; 2] };
        let short = "--rw=read --bs=128k --iodepth=32 --runtime=30ms";
        // Of which a RAID controller ends several at a time.
        let long = "--rw=read --bs=1m --iodepth=16 --runtime=3";
        // Of what is there one turn shows that nothing is different, two that are alike how much is, or three that nearly are.
        for (system, hop, options, turns) in [
            ("gpu-server", "link.down", short, 3),
            ("gpu-server", "root.memory", short, 3),
            ("myrinet-g5", "link.up", short, 4),
            ("myrinet-g5", "host.memory", short, 4),
            ("pcie-bench-ivy-bridge", "link.down", short, 4),
            ("sata-ssd", "cable", long, 4),
            ("raid-megaraid-64-66", "pci", long, 4),
            ("raid-megaraid-64-66", "raid.memory", long, 5),
        ] {
            let setting = Setting::shipped(system, options);
            let (trials, faster) = (settled(&setting), twice_as_fast(&setting, hop));
            let even = trials.glances().expect("it runs").even;
            let gain = |glances| {
                let tried = trials.try_one((&faster, 1), Asked::Gain, glances).expect("it runs");
                tried.gain().expect("nothing refuses it").throughput
            };
            let (later, soon) = (gain(nothing), gain(Glances { even, ..nothing }));
            let apart = (soon.mean - later.mean).abs();
            assert!(apart <= soon.half_width + later.half_width + 1e-3, "{system} {hop}: {soon:?} {later:?}");
            let Ok(mut live) = trials.live(&faster, 1).expect("it is built") else { panic!("behind a ramp") };
            let even = even[0].expect("they come evenly");
            assert!(trials.evenly(&mut live, &[even]).expect("it runs").is_some(), "{system} {hop}");
            let turn = if options == long { LONG_TURN_MIN } else { TURN_MIN };
            assert_eq!(live.ended() / turn, turns, "{system} {hop}: {} requests", live.ended());
        }
    }

    /// What needs fewer requests is asked before a glance, which says nothing else.
    #[test]
    fn what_comes_evenly_and_what_changes_nothing_of_it_is_known_before_a_glance_is_over() {
        let setting = Setting::shipped("myrinet-quartet", "--rw=read --bs=16k --iodepth=32 --runtime=30ms");
        let trials = settled(&setting);
        let glances = trials.glances().expect("it runs");
        let (glance, even) = (glances.of(true).expect("a glance"), glances.even[0].expect("they come evenly"));
        assert!(even.until <= glance.at_once());
        for (hop, turns) in [("nic.firmware", 3), ("link.up", 4)] {
            let faster = twice_as_fast(&setting, hop);
            let Ok(mut live) = trials.live(&faster, 1).expect("it is built") else { panic!("behind a ramp") };
            let soon = trials.evenly(&mut live, &[even]).expect("it runs").and_then(|tried| tried.gain());
            assert!(live.ended() <= turns * TURN_MIN + PIECES, "{hop}: {} requests", live.ended());
            let tried = trials.try_one((&faster, 1), Asked::Gain, glances).expect("it runs");
            assert_eq!(tried.gain(), soon, "{hop}");
            let Ok(mut live) = trials.live(&faster, 1).expect("it is built") else { panic!("behind a ramp") };
            let later = trials.look(&mut live, glance).expect("it runs").and_then(|tried| tried.gain());
            let (soon, later) = (soon.expect("known").throughput, later.expect("known").throughput);
            assert!((soon.mean - later.mean).abs() <= soon.half_width + later.half_width + 1e-3, "{soon:?} {later:?}");
            assert_eq!(soon == Shift::NONE, turns == 3, "{hop}: {soon:?}");
        }
    }

    /// A faster cable before a drive's buffer takes requests evenly, as long as there is room.
    #[test]
    fn what_is_written_evenly_may_fill_something_and_is_not_known_as_soon() {
        let setting = Setting::shipped("sata-ssd", "--rw=write --bs=16k --iodepth=32 --runtime=100ms");
        let (trials, faster) = (settled(&setting), twice_as_fast(&setting, "cable"));
        let before = trials.before((0, 1)).expect("it runs");
        assert!(are_even(&before.transfers, TURN_MIN..before.transfers.len(), (TURN_MIN, EVEN)));
        assert!(trials.glances().expect("it runs").even == [None; 2]);
        let Ok(mut live) = trials.live(&faster, 1).expect("it is built") else { panic!("behind a ramp") };
        let soon = Glance { from: 2 * TURN_MIN, until: 5 * TURN_MIN, may_fill: true };
        assert!(trials.evenly(&mut live, &[soon]).expect("it runs").is_none());
        assert!(are_even(&live.transfers(), soon.from..soon.until, (TURN_MIN, EVEN)));
    }

    /// A disk turns on between requests, and dies that are drawn are busy or not.
    #[test]
    fn what_comes_now_sooner_and_now_later_is_not_known_as_soon() {
        for (system, options) in [
            ("raid-megaraid-64-66", "--filename=raid --rw=read --bs=128k --iodepth=32 --runtime=5"),
            ("nvme-desktop", "--rw=randread --bs=4k --iodepth=32 --runtime=20ms"),
        ] {
            let setting = Setting::shipped(system, options);
            assert!(settled(&setting).glances().expect("it runs").even == [None; 2], "{system}");
        }
    }
}
