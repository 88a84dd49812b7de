//! What is planned: that something happens to the machine at an instant, whatever is asked of it, such as a drive that fails.
//!
//! Nothing shows it before it happens. Whoever leaves off a run asks for it.

use crate::Time;
use crate::lane::Lane;
use crate::sim::Sim;

impl Lane {
    /// Something happens to the machine once so much of this lane's time has gone by from the start of the run.
    pub fn plan(&self, after: Time) {
        self.sim.shared.planned.borrow_mut().push((self.pace.clone(), after));
    }
}

impl Sim {
    /// The last instant before `end` at which something is planned to happen.
    pub fn last_planned(&self, end: Time) -> Option<Time> {
        let planned = self.shared.planned.borrow();
        planned.iter().map(|(pace, after)| pace.get().of(*after)).filter(|at| *at < end).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pace;

    #[test]
    fn the_last_before_the_end_is_found_at_the_pace_of_its_lane() {
        let sim = Sim::new();
        let lane = sim.lane("timer", None);
        assert_eq!(sim.last_planned(Time::MAX), None);
        lane.plan(Time::ms(30));
        lane.plan(Time::ms(10));
        let before = |ms| sim.last_planned(Time::ms(ms));
        assert_eq!([before(31), before(30), before(10)], [Some(Time::ms(30)), Some(Time::ms(10)), None]);
        sim.set_pace(lane.number(), Pace::new(2, 1).expect("twice as fast"));
        assert_eq!(before(30), Some(Time::ms(15)));
    }
}
