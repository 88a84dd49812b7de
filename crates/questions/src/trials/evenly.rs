//! What comes evenly: of requests that come alike, few say what a change does.
//!
//! Where nothing is written, requests of the setting as it is come evenly all along, as mostly where nothing draws, and
//! those of a changed one once what is in flight has been replaced, that is what the change does, whatever it is. That
//! mostly takes fewer requests than a glance, and is asked first then; what makes no difference at all takes even fewer.

use std::ops::Range;

use hopscope_machine::run::Failure;

use super::gain::{Gain, Piece, gain};
use super::glance::{Glance, Glances, fills};
use super::run::{Live, Run, Transfer, pieces};
use super::tried::Tried;
use super::{TURNS, Trials};
use crate::explain::writes;

/// Requests come evenly where what is in flight is replaced in a time that differs from the mean by no more than this.
pub(super) const EVEN: f64 = 0.005;
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

impl Glance {
    /// Of what is to come evenly, what shows whether a change makes any difference to it at all: where it has made none once
    /// what is in flight has been replaced once more than it has to be, it will make none. Not of few requests.
    pub(super) fn of_one_turn(self) -> Option<Glance> {
        let until = self.from + self.turn();
        (until >= (UNEVEN + 1) * TURN_MIN).then_some(Glance { until, ..self })
    }

    /// Of what is to come evenly, requests that replace what is in flight.
    fn turn(self) -> usize {
        self.from / UNEVEN
    }
}

impl Glances {
    /// Of what is to come evenly, what says something after fewer requests than a glance, and what does not.
    pub(super) fn even_around(self, glance: Option<Glance>) -> (Vec<Glance>, Vec<Glance>) {
        let is_sooner = |even: &Glance| glance.is_none_or(|glance| even.until <= glance.at_once());
        self.even.into_iter().flatten().partition(is_sooner)
    }
}

impl Trials<'_> {
    /// What of a change is to come evenly; nothing where requests of the setting as it is do not.
    pub(super) fn even(&self, before: &Run) -> [Option<Glance>; 2] {
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

    /// Whether some requests of a run come evenly.
    pub(super) fn is_even(&self, transfers: &[Transfer], requests: Range<usize>) -> bool {
        are_even(transfers, requests, (self.turns()[0], EVEN))
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

#[cfg(test)]
mod tests {
    use super::super::run::PIECES;
    use super::super::tried::Asked;
    use super::super::{Setting, Shift};
    use super::*;

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
            let (trials, faster) = (Trials::settled(&setting), setting.twice_as_fast(hop));
            let even = trials.glances().expect("it runs").even;
            let gain = |glances| {
                let tried = trials.try_one((&faster, 1), Asked::Gain, glances).expect("it runs");
                tried.gain().expect("nothing refuses it").throughput
            };
            let (later, soon) = (gain(nothing), gain(Glances { even, ..nothing }));
            let apart = (soon.mean - later.mean).abs();
            assert!(apart <= soon.half_width + later.half_width + 1e-3, "{system} {hop}: {soon:?} {later:?}");
            let mut live = trials.begun(&faster);
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
        let trials = Trials::settled(&setting);
        let glances = trials.glances().expect("it runs");
        let (glance, even) = (glances.of(true).expect("a glance"), glances.even[0].expect("they come evenly"));
        assert!(even.until <= glance.at_once());
        for (hop, turns) in [("nic.firmware", 3), ("link.up", 4)] {
            let faster = setting.twice_as_fast(hop);
            let mut live = trials.begun(&faster);
            let soon = trials.evenly(&mut live, &[even]).expect("it runs").and_then(|tried| tried.gain());
            assert!(live.ended() <= turns * TURN_MIN + PIECES, "{hop}: {} requests", live.ended());
            let tried = trials.try_one((&faster, 1), Asked::Gain, glances).expect("it runs");
            assert_eq!(tried.gain(), soon, "{hop}");
            let mut live = trials.begun(&faster);
            let later = trials.look(&mut live, glance, Asked::Gain).expect("it runs").and_then(|tried| tried.gain());
            let (soon, later) = (soon.expect("known").throughput, later.expect("known").throughput);
            assert!((soon.mean - later.mean).abs() <= soon.half_width + later.half_width + 1e-3, "{soon:?} {later:?}");
            assert_eq!(soon == Shift::NONE, turns == 3, "{hop}: {soon:?}");
        }
    }

    /// A faster cable before a drive's buffer takes requests evenly, as long as there is room.
    #[test]
    fn what_is_written_evenly_may_fill_something_and_is_not_known_as_soon() {
        let setting = Setting::shipped("sata-ssd", "--rw=write --bs=16k --iodepth=32 --runtime=100ms");
        let (trials, faster) = (Trials::settled(&setting), setting.twice_as_fast("cable"));
        let before = trials.before((0, 1)).expect("it runs");
        assert!(are_even(&before.transfers, TURN_MIN..before.transfers.len(), (TURN_MIN, EVEN)));
        assert!(trials.glances().expect("it runs").even == [None; 2]);
        let mut live = trials.begun(&faster);
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
            assert!(Trials::settled(&setting).glances().expect("it runs").even == [None; 2], "{system}");
        }
    }
}
