//! Carriers: processes that take what has been put first, go its way, and say that it is there; one thing after the other.
//!
//! ```text
//!   put ─▶ [ first come first served ] ─▶ carrier 0 ── its legs ──▶ told: passed ── its legs ──▶ told: arrived
//!                                         carrier 1 ── …
//! ```
//!
//! What such a process does is so little that the event loop does it: what it takes, which legs it goes, what it tells,
//! at the same instants, in the same order and with the same records as by a future of its own. Where nobody observes,
//! what waits is booked ahead (`crew`), and what has come is told when somebody asks for it, or listens.

use std::rc::{Rc, Weak};

use crate::Time;
use crate::bell::Bell;
use crate::core::{Core, Shared, Wait, Waiting};
use crate::crew::{Crew, Item};
use crate::errand::Errand;
use crate::on_call::Process;
use crate::record::Label;
use crate::sim::Sim;
use crate::way::{Going, Leg, Progress};

/// What is carried: whom it concerns, and how much each of it is. The kernel makes nothing of either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Whom it concerns.
    pub of: u32,
    /// How much it is.
    pub bytes: u32,
}

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It has passed the leg behind which that is told.
    Passed,
    /// It is at the end of its way.
    Arrived,
}

/// Something to carry.
#[derive(Clone)]
pub struct Freight {
    /// What is told of it.
    pub load: Load,
    /// Whose request it is carried for.
    pub errand: Errand,
    /// Its way.
    pub legs: Rc<[Leg]>,
    /// It is told that it has passed so many legs; where there are none, its end only.
    pub passed: Option<usize>,
    /// Where it is on its way; nothing before that has begun.
    pub begun: Option<Begun>,
}

/// Where something is that somebody has carried until now.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    /// The leg that comes next.
    pub leg: usize,
    /// When it comes.
    pub at: Time,
    /// Whether it has been told that it has passed.
    pub passed: bool,
}

/// Carriers who take from one line.
#[derive(Clone)]
pub struct Carriers {
    pub(crate) sim: Sim,
    pub(crate) crew: u32,
}

impl Sim {
    /// Carriers of these names, who wait for `reason` while there is nothing; `told` is told how far what they carry has
    /// come, and of how many that are alike.
    pub fn carriers(
        &self,
        names: impl IntoIterator<Item = String>,
        reason: &'static Label,
        told: impl Fn(Load, u32, Told) + 'static,
    ) -> Carriers {
        let mut all = self.shared.names.borrow_mut();
        let mut core = self.shared.core.borrow_mut();
        let crew = core.crews.len() as u32;
        let first = all.len() as u32;
        for name in names {
            all.push(name);
            self.shared.new_processes.borrow_mut().push(Process::Over);
            core.crew_of.resize(all.len(), None);
            core.crew_of[all.len() - 1] = Some(crew);
        }
        core.crews.push(Crew::new(reason));
        self.shared.told.borrow_mut().push(Box::new(told));
        self.shared.add_queue(Rc::new(Line { shared: Rc::downgrade(&self.shared), crew, first }));
        Carriers { sim: self.clone(), crew }
    }
}

impl Carriers {
    /// Puts something, for which there is always room.
    #[inline]
    pub fn put(&self, freight: Freight) {
        self.put_alike(freight, 1);
    }

    /// Puts so many things that are alike, one after the other.
    pub fn put_alike(&self, freight: Freight, count: u32) {
        let shared = &*self.sim.shared;
        let core = &mut *shared.core.borrow_mut();
        let (now, put_by) = (shared.now.get(), shared.current.get());
        let booked = core.book_alike(self.crew, &freight, (count, put_by), now);
        for _ in booked..count {
            core.put_freight(self.crew, freight.clone(), put_by, now);
        }
    }

    /// What has come by now is told: before whoever has been told is asked.
    #[inline]
    pub fn settle(&self) {
        self.sim.shared.tell(self.crew);
    }

    /// Waits for `reason` until `bell` rings, which is rung when something is told.
    pub async fn heard(&self, bell: &Bell, reason: &'static Label) {
        let _listening = Listening::to(self);
        bell.heard(reason).await;
    }
}

/// Somebody listens, who must have his turn as soon as something is told.
struct Listening<'a>(&'a Carriers);

impl Listening<'_> {
    fn to(carriers: &Carriers) -> Listening<'_> {
        carriers.settle();
        carriers.listeners(1);
        Listening(carriers)
    }
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.0.listeners(-1);
    }
}

impl Carriers {
    fn listeners(&self, more: i32) {
        let shared = &*self.sim.shared;
        let core = &mut *shared.core.borrow_mut();
        // Nobody is there any more once the simulation is taken down.
        if let Some(crew) = core.crews.get_mut(self.crew as usize) {
            crew.listeners += more;
            core.arm(self.crew, shared.now.get());
        }
    }
}

/// What one of them carries by hand, leg by leg.
pub(crate) struct Carrying {
    pub(crate) item: Item,
    /// That it has passed has been told.
    pub(crate) passed: bool,
    /// Its next leg; behind those that the event loop goes now.
    pub(crate) leg: usize,
    /// It has not come yet to where it begins, and a timer is set for that.
    pub(crate) comes: bool,
}

impl Carrying {
    /// The legs until something is told.
    pub(crate) fn until(&self) -> usize {
        self.item.passed.filter(|_| !self.passed).unwrap_or(self.item.legs.len())
    }
}

impl Shared {
    /// Tells what has come by now.
    #[inline]
    pub(crate) fn tell(&self, crew: u32) {
        while let Some((load, count, told)) = self.next_tiding(crew) {
            self.told.borrow()[crew as usize](load, count, told);
        }
    }

    #[inline]
    fn next_tiding(&self, crew: u32) -> Option<(Load, u32, Told)> {
        self.core.borrow_mut().next_tiding(crew, self.now.get())
    }

    /// The turn of a carrier: of what it carries, of what it takes next, and of what can be booked ahead.
    pub(crate) fn carrier_turn(&self, crew: u32, task: u32) {
        self.current.set(task);
        let mut is_free = self.carry_on(crew, task);
        self.tell(crew);
        loop {
            {
                let (core, now) = (&mut *self.core.borrow_mut(), self.now.get());
                if is_free {
                    core.has_carried(crew, task, now);
                }
                core.book_ahead(crew, now);
                let taken = core.take_next(crew, task, is_free, now);
                // Before time is skipped by whoever carries by hand.
                core.arm(crew, now);
                if !taken {
                    return;
                }
            }
            is_free = self.carry_on(crew, task);
        }
    }

    /// Goes on with what a carrier carries; whether it has carried that to its end.
    fn carry_on(&self, crew: u32, task: u32) -> bool {
        loop {
            let Some((load, told)) = self.carry(&mut self.core.borrow_mut(), task) else { return false };
            self.told.borrow()[crew as usize](load, 1, told);
            if told == Told::Arrived {
                return true;
            }
        }
    }

    /// Goes on until something is to be told.
    fn carry(&self, core: &mut Core, task: u32) -> Option<(Load, Told)> {
        if core.going[task as usize].is_some() {
            return None;
        }
        let carrying = core.carrying[task as usize].as_ref()?;
        let not_before = carrying.item.begun.map_or(Time::ZERO, |begun| begun.at);
        if self.now.get() < not_before && (carrying.comes || self.begin_wait(core, task, not_before) != Wait::Over) {
            core.carrying[task as usize].as_mut()?.comes = true;
            return None;
        }
        let carrying = core.carrying[task as usize].as_mut()?;
        let until = carrying.until();
        let leg = std::mem::replace(&mut carrying.leg, until);
        if leg < until {
            let (legs, mut progress) = (carrying.item.legs.clone(), Progress::at(leg));
            if !self.go(core, task, &legs[..until], &mut progress) {
                core.going[task as usize] = Some(Going::new(legs, until, progress));
                return None;
            }
        }
        let carrying = core.carrying[task as usize].as_mut()?;
        let (load, passed) = (carrying.item.load, std::mem::replace(&mut carrying.passed, true));
        if passed {
            core.carrying[task as usize] = None;
        }
        Some((load, if passed { Told::Arrived } else { Told::Passed }))
    }
}

/// Those who wait for something to carry, and what waits for them, as a queue.
struct Line {
    shared: Weak<Shared>,
    crew: u32,
    /// Who comes first.
    first: u32,
}

impl Line {
    fn of<R>(&self, look: impl FnOnce(&Core, &Crew, Time) -> R) -> Option<R> {
        let shared = self.shared.upgrade()?;
        let core = shared.core.borrow();
        Some(look(&core, core.crews.get(self.crew as usize)?, shared.now.get()))
    }
}

impl Waiting for Line {
    fn empty(&self) {}

    fn items(&self) -> usize {
        self.of(|core, crew, now| core.waiting_for_carriers(crew, now)).unwrap_or(0)
    }

    fn is_of_places(&self) -> bool {
        false
    }

    fn taker(&self) -> Option<u32> {
        self.of(|_, crew, _| crew.has_taken().then_some(self.first)).flatten()
    }

    fn waiting(&self) -> Vec<(u32, &'static Label)> {
        let idle = |_: &Core, crew: &Crew, now| crew.idle(now).map(|task| (task, crew.reason)).collect();
        self.of(idle).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;
    use crate::record::{Observer, Record};

    static BUSY: Label = Label::reason("lane busy");
    static NOTHING: Label = Label::reason("nothing to carry");
    static DATA: Label = Label::payload("data");

    /// Looks on from an instant on until it has seen something.
    struct Glance(Time, Rc<Cell<bool>>);

    impl Observer for Glance {
        fn records(&mut self, _: &[Record]) {
            self.1.set(true);
        }

        fn wants_phases(&self) -> bool {
            !self.1.get()
        }

        fn wants_phases_from(&self) -> Time {
            self.0
        }
    }

    #[test]
    fn what_was_over_when_somebody_looked_on_keeps_nothing_from_being_taken_back_later() {
        let sim = Sim::new();
        let (one, two) = (sim.lane("one", None), sim.lane("two", None));
        let told: Rc<RefCell<Vec<(u32, Time)>>> = Rc::default();
        let (seen, s) = (told.clone(), sim.clone());
        let tell = move |load: Load, count, _| (0..count).for_each(|_| seen.borrow_mut().push((load.of, s.now())));
        let carriers = sim.carriers(["carrier".to_string()], &NOTHING, tell);
        sim.observe(Box::new(Glance(Time::ns(20), Rc::default())));
        let leg = |lane| Leg::over(lane, &BUSY, [(&DATA, Time::ns(10)), (&DATA, Time::ZERO)]);
        let ways: [Rc<[Leg]>; 3] = [[leg(&two)].into(), [leg(&two), leg(&one)].into(), [leg(&two)].into()];
        let (s, crew, l) = (sim.clone(), carriers.clone(), two.clone());
        sim.process("putter", async move {
            let put = |of: usize| {
                let (load, errand) = (Load { of: of as u32, bytes: 1 }, s.pass_on(Errand::NOBODY));
                crew.put(Freight { load, errand, legs: ways[of].clone(), passed: None, begun: None });
            };
            put(0);
            // What is seen, and nobody asks what has arrived.
            s.wait(Time::ns(22)).await;
            l.delay(&DATA, Time::ns(3)).await;
            (0..40).for_each(|_| put(0));
            s.wait_until(Time::ns(500)).await;
            put(1);
            put(2);
            s.wait_until(Time::ns(800)).await;
            crew.settle();
        });
        let (s, l) = (sim.clone(), one.clone());
        sim.process("stranger", async move {
            s.wait(Time::ns(505)).await;
            l.acquire(&BUSY).await.hold(&DATA, Time::ns(100)).await;
        });
        sim.run(Time::ns(30));
        sim.run(Time::us(1));
        // What is put next to last waits for the stranger until 605, and the last for its only carrier.
        assert_eq!(told.borrow().len(), 43);
        assert_eq!(told.borrow()[41..], [(1, Time::ns(615)), (2, Time::ns(625))]);
        sim.tear_down();
    }
}
