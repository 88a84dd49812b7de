//! A crew of carriers: what has been put before them, who is free to take it, and what is to be told of it.

use std::collections::VecDeque;
use std::rc::Rc;

use crate::Time;
use crate::carriers::{Begun, Carrying, Freight, Load, Told};
use crate::core::Core;
use crate::errand::Errand;
use crate::events::{Event, order_of_rank};
use crate::in_order::insert_behind;
use crate::record::{Label, Record};
use crate::way::Leg;

/// So much is carried by hand where something could not be booked, or was taken back; twice as much where that happens
/// again before enough has been booked that it was worth it, up to the most. Little: requests and data that share wires
/// meet now and then, and what is in between is worth it.
const BY_HAND: u32 = 2;
const BY_HAND_MOST: u32 = 4_096;
const WORTH_IT: u32 = 4;

/// Something that waits, or is under way.
#[derive(Clone)]
pub(crate) struct Item {
    /// The how manyth it is.
    pub(crate) number: u64,
    pub(crate) load: Load,
    pub(crate) legs: Rc<[Leg]>,
    /// It is told that it has passed so many legs; of some the end only.
    pub(crate) passed: Option<usize>,
    pub(crate) begun: Option<Begun>,
    errand: Errand,
    put_by: u32,
    /// Its carrier was idle since then, of what is yet to come.
    pub(crate) since: Time,
}

impl Item {
    /// After how many legs it will be told that it has passed; nothing where it is not, or has been.
    pub(crate) fn is_to_pass(&self) -> Option<usize> {
        self.passed.filter(|_| self.begun.is_none_or(|begun| !begun.passed))
    }

    /// The same of another one that is put so many later, and comes so much later, for a carrier who was idle since then.
    pub(crate) fn later(&self, index: u64, comes: Time, since: Time) -> Item {
        let begun = self.begun.map(|begun| Begun { at: begun.at + comes, ..begun });
        Item { number: self.number + index, begun, since, ..self.clone() }
    }

    pub(crate) fn first_leg(&self) -> usize {
        self.begun.map_or(0, |begun| begun.leg)
    }
}

/// A carrier who is free from then on.
#[derive(Clone, Copy)]
pub(crate) struct Free {
    pub(crate) at: Time,
    pub(crate) rank: u32,
    pub(crate) task: u32,
    /// It has what is booked under way until then.
    pub(crate) booked: bool,
}

/// What will be told then, of somebody, or of those of a file one after the other.
#[derive(Clone, Copy)]
pub(crate) struct Tiding {
    pub(crate) at: Time,
    pub(crate) rank: u32,
    pub(crate) task: u32,
    pub(crate) place: u32,
    pub(crate) load: Load,
    /// Of how many that is to be told, and how far they are apart.
    pub(crate) left: u32,
    pub(crate) pitch: Time,
}

impl Tiding {
    /// When it is told of the last.
    #[inline]
    pub(crate) fn last_at(&self) -> Time {
        self.at + self.pitch * u64::from(self.left - 1)
    }

    fn order(&self) -> (Time, u32) {
        (self.at, self.rank)
    }

    /// Of how many it is told at `now`, at which the first has been. Those of one instant have a turn each.
    #[inline]
    fn of_how_many(&self, now: Time) -> u32 {
        if self.left == 1 || self.at == now {
            return 1;
        }
        let later = (now - self.at - Time::ps(1)).as_ps().checked_div(self.pitch.as_ps()).unwrap_or(u64::MAX);
        later.min(u64::from(self.left) - 1) as u32 + 1
    }

    /// Whether what is told of another in that order comes after all of this. Those of a file may have any name.
    #[inline]
    fn is_before(&self, other: (Time, u32)) -> bool {
        if self.left == 1 { self.order() <= other } else { self.last_at() < other.0 }
    }
}

/// Carriers who take from one line.
pub(crate) struct Crew {
    pub(crate) reason: &'static Label,
    pub(crate) waiting: VecDeque<Item>,
    /// The first to be free first.
    pub(crate) free: VecDeque<Free>,
    /// In the order in which they come: of what has passed, and of what has arrived.
    pub(crate) passing: VecDeque<Tiding>,
    pub(crate) arriving: VecDeque<Tiding>,
    /// Who listens.
    pub(crate) listeners: i32,
    /// A timer, of the next instant at which somebody must know.
    pub(crate) armed: Option<Event>,
    /// So many carry by hand.
    pub(crate) by_hand: u32,
    /// So much is not booked ahead, of so much; and how much has been booked since then.
    pub(crate) patience: u32,
    patience_of: u32,
    pub(crate) booked: u32,
    put: u64,
    pub(crate) ending: bool,
}

impl Crew {
    pub(crate) fn new(reason: &'static Label) -> Crew {
        Crew {
            reason,
            waiting: VecDeque::new(),
            free: VecDeque::new(),
            passing: VecDeque::new(),
            arriving: VecDeque::new(),
            listeners: 0,
            armed: None,
            by_hand: 0,
            patience: 0,
            patience_of: BY_HAND / 2,
            booked: 0,
            put: 0,
            ending: false,
        }
    }

    /// Something that is put before them, with as many like it.
    #[inline]
    pub(crate) fn item(&mut self, freight: Freight, (count, put_by): (u32, u32)) -> Item {
        let Freight { load, errand, legs, passed, begun } = freight;
        let item = Item { number: self.put, load, legs, passed, begun, errand, put_by, since: Time::ZERO };
        self.put += u64::from(count);
        item
    }

    /// The number of what is put next.
    pub(crate) fn number_of_next(&self) -> u64 {
        self.put
    }

    /// Whether one of them has taken anything.
    pub(crate) fn has_taken(&self) -> bool {
        self.put > self.waiting.len() as u64
    }

    /// Those who wait at `now`.
    pub(crate) fn idle(&self, now: Time) -> impl Iterator<Item = u32> {
        self.free.iter().filter(move |free| free.at <= now).map(|free| free.task)
    }

    #[inline]
    pub(crate) fn frees(&mut self, free: Free) {
        let Free { at, rank, .. } = free;
        insert_behind(&mut self.free, free, move |known| (known.at, known.rank) < (at, rank));
    }

    /// One of those who are free has something to do.
    #[inline]
    pub(crate) fn is_taken(&mut self, task: u32) {
        if let Some(place) = self.free.iter().position(|free| free.task == task) {
            self.free.remove(place);
        }
    }

    /// The tidings of what has passed, or has arrived.
    #[inline]
    pub(crate) fn of(&mut self, told: Told) -> &mut VecDeque<Tiding> {
        match told {
            Told::Passed => &mut self.passing,
            Told::Arrived => &mut self.arriving,
        }
    }

    /// Whether what is told comes after all that will be told.
    #[inline]
    pub(crate) fn is_told_last(&mut self, told: Told, tiding: &Tiding) -> bool {
        self.of(told).back().is_none_or(|last| last.is_before(tiding.order()))
    }

    /// Nothing else is told in between of those of a file.
    #[inline]
    pub(crate) fn will_tell(&mut self, told: Told, tiding: Tiding) {
        let order = tiding.order();
        insert_behind(self.of(told), tiding, move |known| known.is_before(order));
    }

    /// What is told next. What passes at an instant has not arrived before: all takes time until it passes.
    #[inline]
    pub(crate) fn next_told(&self) -> Option<(Told, &Tiding)> {
        match (self.passing.front(), self.arriving.front()) {
            (Some(passes), arrives) if arrives.is_none_or(|arrives| passes.order() <= arrives.order()) => {
                Some((Told::Passed, passes))
            }
            (_, arrives) => Some((Told::Arrived, arrives?)),
        }
    }

    /// What comes now is carried by hand.
    pub(crate) fn be_patient(&mut self) {
        let again = self.booked < WORTH_IT;
        self.patience_of = if again { (2 * self.patience_of).min(BY_HAND_MOST) } else { BY_HAND };
        (self.patience, self.booked) = (self.patience_of, 0);
    }

    /// Whether a carrier waits, and has no more of what is booked under way.
    #[inline]
    pub(crate) fn is_idle(&self, free: Free, reached: (Time, u32)) -> bool {
        has_been(free.at, free.rank, reached) || (free.at == reached.0 && !free.booked)
    }
}

/// Whether an event of a rank has been at `at`, as far as an instant has come.
pub(crate) fn has_been(at: Time, rank: u32, (now, order): (Time, u32)) -> bool {
    at < now || (at == now && order >= order_of_rank(rank))
}

impl Core {
    /// A carrier has nothing to carry any more, or begins.
    pub(crate) fn is_free_again(&mut self, crew: u32, task: u32, now: Time) {
        let rank = self.rank(task);
        self.crews[crew as usize].frees(Free { at: now, rank, task, booked: false });
    }

    /// The same, and it did carry by hand.
    pub(crate) fn has_carried(&mut self, crew: u32, task: u32, now: Time) {
        self.crews[crew as usize].by_hand -= 1;
        self.is_free_again(crew, task, now);
    }

    /// Something is put before a crew.
    pub(crate) fn put_freight(&mut self, crew: u32, freight: Freight, put_by: u32, now: Time) {
        let reached = (now, self.order_reached);
        let line = &mut self.crews[crew as usize];
        let begun = freight.begun;
        let item = line.item(freight, (1, put_by));
        let first = line.free.front().copied();
        if let Some(first) = first.filter(|_| line.waiting.is_empty()) {
            let idle = line.is_idle(first, reached);
            // Of requests of one instant those of its carrier come in the turn of that one.
            let (leg, at) = begun.map_or((0, now), |begun| (begun.leg, begun.at));
            let asks_at_once = at <= now && item.legs.get(leg).is_some_and(|leg| leg.lane().is_some());
            if !(idle && asks_at_once) && self.may_book(crew, idle) {
                match self.book_item(crew, item, first, (idle, now)) {
                    Ok(()) if self.crews[crew as usize].listeners == 0 => {}
                    Ok(()) => self.arm(crew, now),
                    Err(item) => {
                        let line = &mut self.crews[crew as usize];
                        line.waiting.push_back(item);
                        line.be_patient();
                        self.wake_or_arm(crew, first, (idle, now));
                    }
                }
                return;
            }
        }
        let line = &mut self.crews[crew as usize];
        line.waiting.push_back(item);
        if let Some(first) = first {
            let idle = line.is_idle(first, reached);
            self.wake_or_arm(crew, first, (idle, now));
        }
    }

    /// The first who is free takes what waits: now, or then.
    fn wake_or_arm(&mut self, crew: u32, first: Free, (idle, now): (bool, Time)) {
        if idle { self.wake(first.task) } else { self.arm(crew, now) }
    }

    /// The next that is to be told by now, and of how many that are alike.
    #[inline]
    pub(crate) fn next_tiding(&mut self, crew: u32, now: Time) -> Option<(Load, u32, Told)> {
        let reached = (now, self.order_reached);
        let line = &mut self.crews[crew as usize];
        let (told, next) = line.next_told().filter(|(_, next)| has_been(next.at, next.rank, reached))?;
        let (Tiding { place, load, left, .. }, count) = (*next, next.of_how_many(now));
        self.counts.told += u64::from(count);
        let tidings = line.of(told);
        match tidings.front_mut() {
            Some(next) if left > count => {
                next.left = left - count;
                next.at += next.pitch * u64::from(count);
                (next.task, next.rank) = self.booked[place as usize].next_member(next.left);
            }
            _ => {
                tidings.pop_front();
                if told == Told::Arrived {
                    self.is_over(place);
                }
            }
        }
        Some((load, count, told))
    }

    /// A carrier whose turn it is takes what waits, if it is the first to be free; one that has just carried something
    /// waits with the others who are idle, if there are any. Who is idle besides is woken, if more waits.
    pub(crate) fn take_next(&mut self, crew: u32, task: u32, has_carried: bool, now: Time) -> bool {
        let reached = (now, self.order_reached);
        let line = &mut self.crews[crew as usize];
        let may_take = !has_carried || !line.free.get(1).is_some_and(|second| line.is_idle(*second, reached));
        let taken = match (line.waiting.front(), line.free.front().copied()) {
            (Some(_), Some(first)) if may_take && first.task == task && line.is_idle(first, reached) => {
                line.free.pop_front();
                line.waiting.pop_front().map(|item| (item, first.at))
            }
            _ => None,
        };
        if !line.waiting.is_empty()
            && let Some(next) = line.free.front().copied().filter(|next| line.is_idle(*next, reached))
        {
            self.wake(next.task);
        }
        let Some((item, since)) = taken else { return false };
        let line = &mut self.crews[crew as usize];
        line.by_hand += 1;
        line.patience = line.patience.saturating_sub(1);
        if self.observed {
            let (who, by, label, span) = (task as u16, item.put_by as u16, line.reason, now - since);
            if span > Time::ZERO {
                self.record(Record::QueueWait { who, by, label, at: since, span });
            }
            self.record(Record::TakeUp { who, at: now, request: item.errand.request() });
        }
        let (passed, leg) = (item.is_to_pass().is_none(), item.first_leg());
        self.carrying[task as usize] = Some(Carrying { item, passed, leg, comes: false });
        true
    }

    /// Sets the timer of the next instant at which somebody must know: who listens, or what waits.
    pub(crate) fn arm(&mut self, crew: u32, now: Time) {
        let reached = (now, self.order_reached);
        let line = &self.crews[crew as usize];
        if line.armed.is_none() && line.waiting.is_empty() && (line.listeners == 0 || line.arriving.is_empty()) {
            return;
        }
        let told = line.next_told().filter(|_| line.listeners > 0);
        let told = told.map(|(_, told)| Event::wake(told.at, told.rank, told.task));
        let free = line.free.front().filter(|free| !line.waiting.is_empty() && !line.is_idle(**free, reached));
        let free = free.map(|free| Event::wake(free.at, free.rank, free.task));
        let next = told.into_iter().chain(free).min();
        let armed = line.armed.filter(|armed| !has_been(armed.at(), armed.rank(), reached));
        if armed != next {
            if let Some(armed) = armed {
                self.events.cancel(armed);
            }
            if let Some(next) = next {
                self.schedule(next);
            }
        }
        self.crews[crew as usize].armed = next;
    }

    /// Whether something is on its way that arrives behind an instant.
    pub(crate) fn is_carried_beyond(&self, at: Time) -> bool {
        self.crews.iter().any(|crew| crew.by_hand > 0 || crew.arriving.back().is_some_and(|last| last.last_at() > at))
    }

    /// How much has been put before a crew that nobody has taken by now.
    pub(crate) fn waiting_for_carriers(&self, crew: &Crew, now: Time) -> usize {
        let reached = (now, self.order_reached);
        let begins = |tiding: &&Tiding| {
            self.booked[tiding.place as usize].behind.is_some_and(|at| !has_been(at, tiding.rank, reached))
        };
        crew.waiting.len() + crew.arriving.iter().filter(begins).count()
    }
}
