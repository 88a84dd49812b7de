//! Carriers ahead of time: what waits is booked on its lanes, one thing behind the other, for whoever will be free first.
//!
//! ```text
//!   carrier 0   ▐ first ──────────▌▐ fourth ────────▌
//!   carrier 1     ▐ second ─────────▌ ▐ fifth …               told of each, when somebody asks: passed, arrived
//!   carrier 2       ▐ third ──────────▌
//! ```
//!
//! When each of them is free, and who takes what, is known as soon as the ways before are booked. So no event is needed
//! for it, unless somebody listens.
//!
//! Whoever asks for one of the lanes by himself ends that (`ahead`): what has begun is carried on by hand, and what has not
//! waits again. What is over stands, whether it has been told or not.

use std::rc::Rc;

use crate::Time;
use crate::carriers::{Carrying, Told};
use crate::core::Core;
use crate::crew::{Free, Item, Tiding, has_been};
use crate::events::Event;
use crate::schedule::{Schedule, book_legs, take_back};
use crate::way::{Going, Leg, Progress};

/// Bookings of a crew at a time, at most: they may all have to be taken back.
const AHEAD: usize = 64;
/// What a crew has booked is told from tasks by this bit.
pub(crate) const BOOKED: u32 = 1 << 31;

/// Which of the things that are booked, where something stands for a task.
pub(crate) fn booked_place(task: u32) -> Option<usize> {
    (task & BOOKED != 0).then_some((task & !BOOKED) as usize)
}

/// What is booked.
pub(crate) struct Booked {
    pub(crate) item: Option<Item>,
    crew: u32,
    task: u32,
    /// Those of a file, each of which has such a thing.
    pub(crate) members: Vec<Member>,
    /// When its carrier takes it, behind what that one has booked before; nothing where it has taken it at once.
    pub(crate) behind: Option<Time>,
    pub(crate) schedule: Schedule,
}

/// One of a file: who was idle since then.
#[derive(Clone, Copy)]
pub(crate) struct Member {
    pub(crate) task: u32,
    pub(crate) rank: u32,
    pub(crate) since: Time,
}

impl Booked {
    /// A carrier of a crew has taken something, or takes it then.
    pub(crate) fn is_taken(&mut self, (crew, task): (u32, u32), item: Item, behind: Option<Time>) {
        (self.crew, self.task, self.behind) = (crew, task, behind);
        self.item = Some(item);
    }

    /// Task and rank of the next of a file, of whom so many are left.
    #[inline]
    pub(crate) fn next_member(&self, left: u32) -> (u32, u32) {
        let Member { task, rank, .. } = self.members[self.members.len() - left as usize];
        (task, rank)
    }
}

impl Core {
    /// Whether something may be booked now for the first who is free, who is idle or will be free then.
    #[inline]
    pub(crate) fn may_book(&self, crew: u32, idle: bool) -> bool {
        let line = &self.crews[crew as usize];
        // Who carries by hand may be free before somebody who is not idle.
        let is_known = idle || (line.by_hand == 0 && line.arriving.len() < AHEAD);
        !self.observed && self.trains_allowed && line.patience == 0 && is_known
    }

    /// Books what waits, as far as it can be made out.
    pub(crate) fn book_ahead(&mut self, crew: u32, now: Time) {
        let reached = (now, self.order_reached);
        loop {
            let line = &self.crews[crew as usize];
            let Some(first) = line.free.front().copied().filter(|_| !line.waiting.is_empty()) else { return };
            let idle = line.is_idle(first, reached);
            if !self.may_book(crew, idle) {
                return;
            }
            let Some(item) = self.crews[crew as usize].waiting.pop_front() else { return };
            if let Err(item) = self.book_item(crew, item, first, (idle, now)) {
                let line = &mut self.crews[crew as usize];
                line.waiting.push_front(item);
                line.be_patient();
                return;
            }
        }
    }

    /// Books the whole way of something for one who is free; gives it back where that cannot be made out.
    pub(crate) fn book_item(
        &mut self,
        crew: u32,
        item: Item,
        first: Free,
        (idle, now): (bool, Time),
    ) -> Result<(), Item> {
        let Free { rank, task, at: free, .. } = first;
        let place = self.free_place(crew, task);
        let start = if idle { now } else { free };
        let (leg, at) = item.begun.map_or((0, start), |begun| (begun.leg, begun.at.max(start)));
        let (id, when) = (place | BOOKED, self.come_to(now));
        let booked = &mut self.booked[place as usize];
        let lanes = (&mut self.lanes[..], &self.trains[..]);
        let end = book_legs(lanes, (id, rank), (&item.legs, leg), at, when, &mut booked.schedule);
        let passed = item.is_to_pass().map(|passed| booked.schedule.begin_of(passed).unwrap_or(end));
        // What comes to something at once is for the turn of its carrier.
        if leg + booked.schedule.len() < item.legs.len() || passed.unwrap_or(end) == now {
            self.take_back(place, &item.legs);
            self.booked_free.push(place);
            return Err(item);
        }
        let (load, behind) = (item.load, (!idle).then_some(free));
        booked.is_taken((crew, task), item, behind);
        let line = &mut self.crews[crew as usize];
        line.booked = line.booked.saturating_add(1);
        line.is_taken(task);
        line.frees(Free { at: end, rank, task, booked: true });
        let told = |at| Tiding { at, rank, task, place, load, left: 1, pitch: Time::ZERO };
        for (how, at) in passed.map(|at| (Told::Passed, at)).into_iter().chain([(Told::Arrived, end)]) {
            if !self.crews[crew as usize].is_told_last(how, &told(at)) {
                self.split_files(crew);
            }
            self.crews[crew as usize].will_tell(how, told(at));
        }
        Ok(())
    }

    /// Where there is room for something to be booked.
    #[inline]
    pub(crate) fn free_place(&mut self, crew: u32, task: u32) -> u32 {
        self.booked_free.pop().unwrap_or_else(|| {
            let members = Vec::new();
            self.booked.push(Booked { item: None, crew, task, members, behind: None, schedule: Schedule::default() });
            self.booked.len() as u32 - 1
        })
    }

    /// What is booked is over.
    #[inline]
    pub(crate) fn is_over(&mut self, place: u32) {
        let booked = &mut self.booked[place as usize];
        booked.item = None;
        booked.members.clear();
        self.booked_free.push(place);
    }

    /// Takes back the lanes that have just been booked.
    pub(crate) fn take_back(&mut self, place: u32, legs: &[Leg]) {
        take_back(&mut self.lanes, place | BOOKED, legs, &mut self.booked[place as usize].schedule);
    }

    /// The way of what is booked.
    pub(crate) fn booked_way(&mut self, place: usize) -> (Rc<[Leg]>, &mut Schedule) {
        let Booked { item, schedule, .. } = &mut self.booked[place];
        (item.as_ref().expect("what is booked is there until its end has been told").legs.clone(), schedule)
    }

    /// Something that a crew has booked is taken back, and with it all that the crew has booked and that is not over:
    /// names that.
    pub(crate) fn end_crew_of(&mut self, place: usize, now: Time, ended: &mut Vec<u32>) {
        let reached = (now, self.order_reached);
        let crew = self.booked[place].crew as usize;
        let line = &mut self.crews[crew];
        let is_over = |tiding: &Tiding| has_been(tiding.at, tiding.rank, reached);
        if line.ending {
            return;
        }
        self.split_files(crew as u32);
        let line = &mut self.crews[crew];
        // The last one is told of last.
        if line.arriving.back().is_none_or(is_over) {
            return;
        }
        line.ending = true;
        line.be_patient();
        if let Some(armed) = line.armed.take().filter(|armed| !has_been(armed.at(), armed.rank(), reached)) {
            self.events.cancel(armed);
        }
        for tiding in line.arriving.iter().filter(|tiding| !is_over(tiding)) {
            let task = tiding.place | BOOKED;
            if !ended.contains(&task) {
                ended.push(task);
            }
        }
    }

    /// Names all that crews have booked and that is not over.
    pub(crate) fn name_booked(&mut self, now: Time, named: &mut Vec<u32>) {
        for crew in 0..self.crews.len() {
            if let Some(last) = self.crews[crew].arriving.back() {
                self.end_crew_of(last.place as usize, now, named);
            }
        }
    }

    /// What is off its lanes goes on by hand from where it is, or waits again.
    pub(crate) fn carry_by_hand(&mut self, place: usize, now: Time) {
        let reached = (now, self.order_reached);
        let booked = &mut self.booked[place];
        let (crew, task, behind) = (booked.crew as usize, booked.task, booked.behind);
        let schedule = std::mem::take(&mut booked.schedule);
        let item = booked.item.take().expect("what is booked is there until its end has been told");
        self.booked_free.push(place as u32);
        let rank = self.rank(task);
        let line = &mut self.crews[crew];
        line.ending = false;
        let tells = |tiding: &Tiding| tiding.place == place as u32 && !has_been(tiding.at, tiding.rank, reached);
        let is_to_pass = line.passing.iter().any(tells);
        // What has been is still to be told.
        line.passing.retain(|tiding| !tells(tiding));
        line.arriving.retain(|tiding| !tells(tiding));
        if behind.is_some_and(|behind| !has_been(behind, rank, reached)) {
            let before = line.waiting.iter().take_while(|known| known.number < item.number).count();
            line.waiting.insert(before, item);
            return;
        }
        line.is_taken(task);
        line.by_hand += 1;
        let comes = item.begun.filter(|begun| !has_been(begun.at, rank, reached));
        if let Some(begun) = comes {
            self.schedule(Event::wake(begun.at, rank, task));
            let leg = item.first_leg();
            self.carrying[task as usize] = Some(Carrying { passed: !is_to_pass, leg, comes: true, item });
            return;
        }
        let mut carrying = Carrying { passed: !is_to_pass, leg: 0, comes: false, item };
        carrying.leg = carrying.until();
        let legs = match (carrying.passed, carrying.item.passed) {
            (true, Some(passed)) => passed..carrying.leg,
            _ => 0..carrying.leg,
        };
        let going = Going::new(carrying.item.legs.clone(), carrying.leg, Progress::at(0));
        self.carrying[task as usize] = Some(carrying);
        self.put_on_leg(task, going, (&schedule, legs), now);
    }
}
