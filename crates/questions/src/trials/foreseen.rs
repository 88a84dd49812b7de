//! What trials are likely to need, run before anybody knows what they are.
//!
//! Where parts remember much, trials begin behind the ramp that their jobs ask for ([`super::behind`]), and the machine has
//! to come there first with each seed, however long trials are. So it goes there while the run is made that says the rest
//! ([`Begun`]). How long they are is known when that has been made, and the setting as it is runs while it is accounted for.

use hopscope_kernel::Time;
use hopscope_machine::run::{Failure, Outcome};

use super::run::Live;
use super::{Setting, Trials, draws};
use crate::explain::{in_flight, ramp_of};

/// Whether anybody still wants it is asked after these parts of the ramp.
const PARTS: u64 = 64;

/// Runs of a setting as it is that have begun, by their seeds.
#[derive(Default)]
pub(crate) struct Begun(Vec<(u64, Live)>);

impl Begun {
    /// Those that trials of a setting are likely to need. Where nobody wants them any more, they are left where they are.
    pub(crate) fn of(setting: &Setting, seed: u64, wanted: &dyn Fn() -> bool) -> Result<Begun, Failure> {
        let (ramp, mut begun) = (ramp_of(&setting.jobs), Begun::default());
        let seeds = if draws(&setting.jobs) { 2 } else { 1 };
        for seed in (seed..).take(seeds).filter(|_| ramp > Time::ZERO) {
            let mut live = Live::new(setting, seed)?;
            if live.remembered().is_none() {
                break;
            }
            let part = ramp.as_ps() / PARTS;
            for parts in (1..=PARTS).take_while(|_| wanted()) {
                live.go_until(Time::ps(part * parts), usize::MAX)?;
            }
            begun.0.push((seed, live));
        }
        Ok(begun)
    }

    /// The one with a seed, if there is one that has not gone further than that.
    pub(super) fn take(&mut self, seed: u64, until: Time) -> Option<Live> {
        let at = self.0.iter().position(|(of, live)| *of == seed && live.now() <= until)?;
        Some(self.0.remove(at).1)
    }
}

impl<'a> Trials<'a> {
    /// Trials of a setting whose run has not been accounted for, with the setting as it is run already: what is likely to be
    /// asked for.
    pub(crate) fn foreseen(
        setting: &'a Setting,
        seed: u64,
        outcome: &Outcome,
        mut begun: Begun,
    ) -> Result<Option<Trials<'a>>, Failure> {
        // Where several requests are in flight, they mostly wait for something.
        let is_full = in_flight(&setting.jobs) > 1;
        let Some(foreseen) = Trials::of_run(setting, seed, outcome, is_full) else { return Ok(None) };
        let mut settled = foreseen.clone();
        let mut go_on = |seed| match begun.take(seed, foreseen.effort.ramp) {
            Some(live) if foreseen.is_shorter_behind() => foreseen.before_from((0, seed), Some(live)).map(drop),
            _ => Ok(()),
        };
        go_on(seed)?;
        settled.find_ramp()?;
        if settled.draws {
            // What is not known well enough with one seed is asked with another.
            if settled.from_the_beginning.is_some() {
                go_on(seed + 1)?;
            }
            settled.before((0, seed + 1))?;
        }
        settled.another_rhythm = settled.find_another_rhythm()?;
        Ok(Some(Trials { settled: Some(Box::new(settled)), ..foreseen }))
    }

    /// With what has been run already where that was foreseen.
    #[must_use]
    pub fn with(self, foreseen: Option<Trials<'a>>) -> Trials<'a> {
        match foreseen {
            Some(foreseen) if self.are_as_long_as(&foreseen) => {
                let settled = self.are_as(&foreseen).then_some(foreseen.settled).flatten();
                Trials { before: foreseen.before, settled, ..self }
            }
            _ => self,
        }
    }

    /// Whether they are the same as those that were foreseen, which have been settled.
    pub fn are_as(&self, foreseen: &Trials<'_>) -> bool {
        self.are_as_long_as(foreseen) && foreseen.settled.is_some() && foreseen.replaced == self.replaced
    }

    /// Whether they are to be as long as others of the same setting are.
    pub fn are_as_long_as(&self, others: &Trials<'_>) -> bool {
        (&self.effort, self.end) == (&others.effort, others.end)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use hopscope_machine::run::{Options, run};

    use super::*;

    /// Only the account says whether a hop is full.
    #[test]
    fn of_few_requests_in_flight_trials_are_as_long_whether_a_hop_is_full_or_not() {
        for (in_flight, is_alike) in [(1, true), (2, true), (8, false)] {
            let job = format!("--rw=randread --bs=64k --size=32m --iodepth={in_flight} --runtime=1 --time_based");
            let setting = Setting::shipped("piix4e-one-disk", &job);
            let outcome = run(&setting.blueprint, &setting.jobs, Options::default(), None).expect("it runs");
            let trials = |is_full| Trials::of_run(&setting, 1, &outcome, is_full).expect("requests ended");
            let [full, not] = [true, false].map(trials);
            assert_eq!(full.are_as_long_as(&not) && full.replaced == not.replaced, is_alike, "{in_flight}");
        }
    }

    /// However far runs have come, trials that go on from there are those that begin at the beginning.
    #[test]
    fn what_has_begun_goes_on_as_if_it_had_not() {
        let jobs = "--rw=randrw --rwmixread=60 --bs=35k --size=1g --ramp_time=2 --runtime=5 --time_based";
        let setting = Setting::shipped("raid-acceleraid-64-66", jobs);
        let outcome = run(&setting.blueprint, &setting.jobs, Options::default(), None).expect("it runs");
        let trials = |begun| Trials::foreseen(&setting, 1, &outcome, begun).expect("it runs").expect("requests ended");
        let expected = trials(Begun::default());
        for most in [0, 7, PARTS + 20, u64::MAX] {
            let asked = Cell::new(0);
            let wanted = || asked.replace(asked.get() + 1) < most;
            let begun = Begun::of(&setting, 1, &wanted).expect("it runs");
            let come: Vec<u64> =
                begun.0.iter().map(|(_, live)| live.now().as_ps() * PARTS / 2_000_000_000_000).collect();
            // Each asks once more than it goes on.
            let second = most.saturating_sub(if most < PARTS { most + 1 } else { PARTS }).min(PARTS);
            assert_eq!(come, [most.min(PARTS), second], "{most}");
            let ours = trials(begun);
            assert!(ours.settled.as_ref().is_some_and(|settled| settled.from_the_beginning.is_some()));
            assert!(ours.are_as(&expected));
            for seed in [1, 2] {
                let runs = [&ours, &expected].map(|of| of.before((0, seed)).expect("it runs"));
                let [ours, expected] = runs.each_ref();
                assert!(ours.transfers == expected.transfers && ours.events == expected.events, "{most} {seed}");
            }
        }
    }
}
