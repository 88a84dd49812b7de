//! A glance: what a change does to the first requests. Where it does nothing to them, it does nothing.
//!
//! Most hops and numbers of a machine hardly matter to a job, and a short trial says so as well as a long one: the same
//! requests take the same time. That counts only where the setting as it is has come to what it goes on to do: while
//! caches fill, or a limit is still to be reached, nobody can say so early what a change will do.
//!
//! Where much is only to be told from little, a part of it is enough.

use std::ops::Range;

use hopscope_machine::run::Failure;

use super::gain::{Gain, gain};
use super::rest::{AWAITED, moving};
use super::run::{Live, PIECES, Run, pieces};
use super::tried::{Asked, Tried};
use super::{Progress, Setting, Trials};

/// Requests that are looked at, of jobs that draw, and of others; behind those that do not count. Of long ones as many as the
/// first part of a trial has, and no fewer than these.
const LOOKED_AT: [usize; 2] = [400, 160];
const LOOKED_AT_MIN: usize = 16;
/// An effect that is smaller than this, its interval included, is none.
const NOTHING: f64 = 0.001;
/// Where it is smaller than this, a part of those requests is enough.
const NOTHING_AT_ALL: f64 = 1e-6;
const FIRST: usize = 8;
/// Whether they say enough is asked after these parts of them. What few requests meet at all may not have been met by then:
/// of what makes no difference to any of them it is asked after all, or, where much is to be told from little, after half.
const STEPS: [usize; 3] = [4, 2, 1];
const HALF: usize = 2;
/// Where the setting as it is has not come to that there, it is looked at behind so many times as many requests.
const LATER: usize = 2;
/// Whether requests are the same is asked after these parts of them.
const SOON: [usize; 4] = [64, 16, 4, 1];

/// Requests of a setting as it is that are looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Glance {
    pub(super) from: usize,
    pub(super) until: usize,
    /// Whether something may fill from there on that does not in the setting as it is.
    pub(super) may_fill: bool,
}

impl Glance {
    /// After so many requests it may be settled.
    pub(super) fn at_once(self) -> usize {
        self.from + (self.until - self.from) / FIRST
    }
}

/// Where hops work faster, and nothing else is changed, what does nothing to requests fills nothing either: those that are
/// looked at first will do. Whatever else is changed may be slower in something that has not begun by then.
#[derive(Clone, Copy)]
pub(super) struct Glances {
    pub(super) of_faster_hops: Option<Glance>,
    pub(super) of_others: Option<Glance>,
    /// What is to come evenly, whatever is changed: in short turns, of long requests, and in longer ones where those are not.
    pub(super) even: [Option<Glance>; 2],
}

impl Glances {
    pub(super) fn of(self, is_faster: bool) -> Option<Glance> {
        if is_faster { self.of_faster_hops } else { self.of_others }
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
        self.looks(changes, Asked::Look, progress)
    }

    /// The same as soon as much can be told from little.
    pub fn roughly(&mut self, changes: &[Setting], progress: Progress<'_>) -> Result<Vec<Look>, Failure> {
        self.looks(changes, Asked::Roughly, progress)
    }

    fn looks(&mut self, changes: &[Setting], asked: Asked, progress: Progress<'_>) -> Result<Vec<Look>, Failure> {
        let looks = self.try_out(changes, asked, progress)?;
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
        let mut from = usize::try_from(self.first_turns).unwrap_or(usize::MAX).min(one.start).max(1);
        while glances.of_others.is_none() && counted.len() >= PIECES {
            let until = from.saturating_add(LOOKED_AT[usize::from(!self.draws)]).min(one.end);
            if until < from.saturating_add(LOOKED_AT_MIN) {
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
    pub(super) fn look(&self, live: &mut Live, glance: Glance, asked: Asked) -> Result<Option<Tried>, Failure> {
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
        let is_rough = asked == Asked::Roughly;
        let has_met_all = |part| part == 1 || is_rough && part <= HALF;
        for (part, until) in STEPS.map(|part| (part, from + (until - from) / part)) {
            if part > 1 && !self.speak_for_all(&before, from..until) {
                continue;
            }
            let Some(gain) = self.gain_at(live, &before, from..until)? else { return Ok(None) };
            if is_at_most(gain, 0.0) && !has_met_all(part) {
                continue;
            }
            if is_at_most(gain, NOTHING) && !(may_fill && fills(live, &before, from)) {
                return Ok(Some(Tried::settled(gain)));
            }
            if part == 1 || is_rough && gain.throughput.is_narrow() {
                return Ok(Some(Tried::looked_at(gain)));
            }
        }
        Ok(None)
    }

    /// Whether some requests of the setting as it is may speak for all: if they are not drawn, they take as long. Heads of
    /// a disk move after so many of them.
    fn speak_for_all(&self, before: &Run, some: Range<usize>) -> bool {
        let all = self.counted(before, 0, 1).start..before.transfers.len();
        some.len() >= LOOKED_AT_MIN && (self.draws || before.take_as_long(some, all))
    }

    /// What some requests show, which are waited for; nothing where too few ended.
    pub(super) fn gain_at(
        &self,
        live: &mut Live,
        before: &Run,
        counted: Range<usize>,
    ) -> Result<Option<Gain>, Failure> {
        live.go_on(counted.end, before, self.effort.ramp + self.effort.runtime)?;
        let after = live.transfers();
        let there = after.len() >= counted.end;
        Ok(there.then(|| gain(pieces(&before.transfers, &after, counted, PIECES).iter())))
    }
}

/// Whether a change does no more than that, its interval included.
fn is_at_most(gain: Gain, most: f64) -> bool {
    [gain.throughput, gain.latency].iter().all(|shift| shift.mean.abs() + shift.half_width <= most)
}

/// Whether something fills from halfway to where requests are looked at on: what does nothing to them may do so later.
pub(super) fn fills(live: &Live, before: &Run, from: usize) -> bool {
    live.moving(before, from / 2, AWAITED).is_sure()
}

#[cfg(test)]
mod tests {
    use super::super::Shift;
    use super::*;

    /// What a look at a change shows, and one that only tells much from little; after how many requests.
    fn looks(trials: &Trials<'_>, change: &Setting, glance: Glance) -> [(Shift, usize); 2] {
        [Asked::Look, Asked::Roughly].map(|asked| {
            let mut live = trials.begun(change);
            let tried = trials.look(&mut live, glance, asked).expect("it runs").expect("requests ended");
            (tried.gain().expect("nothing refuses it").throughput, live.ended())
        })
    }

    /// Of long requests, too, of which a trial has fewer than are looked at otherwise.
    #[test]
    fn what_is_asked_roughly_is_known_after_fewer_requests_and_is_the_same() {
        let part = |glance: Glance, part| glance.from + (glance.until - glance.from) / part;
        for (system, options, hop, parts) in [
            ("scsi-ultra160", "--rw=write --bs=64k --iodepth=2 --time_based --runtime=4", "disk*.arm", [1, 4]),
            ("nvme-desktop", "--rw=randwrite --bs=4k --iodepth=2 --runtime=5ms", "link.down", [1, 4]),
            // What makes no difference may be met by few requests only.
            ("nvme-desktop", "--rw=randwrite --bs=4k --iodepth=2 --runtime=5ms", "drive.channel*", [1, HALF]),
        ] {
            let setting = Setting::shipped(system, options);
            let (trials, faster) = (Trials::settled(&setting), setting.twice_as_fast(hop));
            let glance = trials.glances().expect("it runs").of(true).expect("a glance");
            let is_long = glance.until - glance.from < LOOKED_AT[1];
            assert_eq!(is_long, system.starts_with("scsi"), "{system}: {glance:?}");
            let looks = looks(&trials, &faster, glance);
            assert_eq!(looks.map(|look| look.1), parts.map(|one| part(glance, one)), "{system} {hop}: {looks:?}");
            let [(whole, _), (rough, _)] = looks;
            let apart = (whole.mean - rough.mean).abs();
            assert!(apart <= whole.half_width + rough.half_width, "{system} {hop}: {whole:?} {rough:?}");
        }
    }

    /// A disk that is written in order moves its head once in many requests, and only some of those wait for it.
    #[test]
    fn what_few_requests_meet_is_not_told_from_the_others() {
        let setting = Setting::shipped("piix4e-one-disk", "--rw=write --bs=64k --runtime=200ms");
        let mut changed = setting.clone();
        for change in
            ["disk.rotation=7200rpm", "disk.zones.rows[].track_skew=x1.34", "disk.zones.rows[].cylinder_skew=x1.34"]
        {
            changed.blueprint.set(change).expect("a right change");
        }
        let trials = Trials::settled(&setting).of_another(&changed).expect("it runs");
        let faster = changed.twice_as_fast("disk.arm");
        let glance = trials.glances().expect("it runs").of(true).expect("a glance");
        let [whole, rough] = looks(&trials, &faster, glance).map(|look| look.0.mean);
        let (before, few) = (trials.before((0, 1)).expect("it runs"), glance.from..glance.from + LOOKED_AT_MIN);
        let few = trials
            .gain_at(&mut trials.begun(&faster), &before, few)
            .expect("it runs")
            .expect("requests ended")
            .throughput;
        assert!(few.mean.abs() < 0.01 && whole > 0.1 && rough == whole, "{few:?}, {rough} and {whole}");
    }
}
