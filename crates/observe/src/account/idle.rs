//! The account of a machine that has nothing to do.

use hopscope_kernel::{Label, Sim, Time};

use super::fold::{SLICES, best_rate, capacity};
use super::{Account, Entry, LaneAccount, Use};

impl Account {
    /// The account of a window in which whoever has that name did nothing but pause, and no part did anything: of every
    /// lane that is one of the machine, from the processor to the device, the pause is the author.
    pub fn idle(
        sim: &Sim,
        (from, until): (Time, Time),
        (who, pause): (&str, &'static Label),
        of_the_machine: impl Fn(&str) -> bool,
    ) -> Account {
        let paused = |class, cause: &str| Entry {
            class,
            cause: cause.to_string(),
            part: who.to_string(),
            lane: who.to_string(),
            phase: pause.name.to_string(),
            time: until - from,
        };
        let lanes = sim.lanes().into_iter().zip(sim.rates());
        let lanes = lanes.filter(|((lane, _), _)| of_the_machine(lane)).map(|((lane, _), rates)| LaneAccount {
            part: lane.split('.').next().unwrap_or(&lane).to_string(),
            capacity: best_rate(&rates).map(capacity),
            entries: vec![paused(Use::Nothing, "nothing asks for it")],
            busy: vec![Time::ZERO; SLICES as usize],
            lane,
        });
        Account { from, until, lanes: lanes.collect(), path: vec![paused(Use::Waiting, "")], requests: 0 }
    }

    /// Whether no lane had anything to do.
    pub fn is_idle(&self) -> bool {
        self.lanes.iter().flat_map(|lane| &lane.entries).all(|entry| entry.class == Use::Nothing)
    }
}
