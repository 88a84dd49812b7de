//! Alike things that come before carriers one after the other, at a steady pace: booked (`alike`) when the first is known
//! of, and not one by one as they come.
//!
//! ```text
//!   put by hand        │ wait │ put │ wait │ put │ wait │ put          a turn each
//!   coming             └─ booked ─────────────────────── end           those that have not come by then are taken back
//! ```
//!
//! Who puts them knows what they wait for, and is woken for the end of that. Carriers are idle until a thing comes to
//! them, but nobody else may put anything before them meanwhile.

use std::ops::Range;

use crate::Time;
use crate::booked::{BOOKED, Booked, Member};
use crate::bookings::File;
use crate::carriers::{Begun, Carriers, Carrying, Freight};
use crate::core::Core;
use crate::crew::{Free, Item, Tiding};
use crate::schedule::shorten_file;

/// Things that come one after the other.
#[must_use = "somebody has to say that no more come"]
pub struct Coming<'a> {
    carriers: &'a Carriers,
    /// The number of the first.
    first: u64,
    file: File,
}

impl Carriers {
    /// Puts so many things that are alike and come one after the other, the first at an instant to come and the others so
    /// much apart. Nothing where that cannot be made out ahead of time: then each is to be put when it comes. Nobody else
    /// puts anything until they have come, and nobody begins to observe before that.
    pub fn put_coming(&self, freight: Freight, count: u32, at: Time, pitch: Time) -> Option<Coming<'_>> {
        let shared = &*self.sim.shared;
        let core = &mut *shared.core.borrow_mut();
        let (now, put_by) = (shared.now.get(), shared.current.get());
        let freight = Freight { begun: Some(Begun { leg: 0, at, passed: false }), ..freight };
        let file = File { at, pitch, count };
        let first = core.book_coming(self.crew, &freight, (file, put_by), now)?;
        Some(Coming { carriers: self, first, file })
    }
}

impl Coming<'_> {
    /// Those that have not come by now do not come.
    pub fn end(self) {
        let shared = &*self.carriers.sim.shared;
        let (now, File { at, pitch, count }) = (shared.now.get(), self.file);
        let come = match now.as_ps().checked_sub(at.as_ps()) {
            None => 0,
            Some(since) => {
                since.checked_div(pitch.as_ps()).map_or(count, |later| later.min(u64::from(count) - 1) as u32 + 1)
            }
        };
        let core = &mut *shared.core.borrow_mut();
        // Each but the last would have been waited for by itself.
        core.counts.told += u64::from(come.saturating_sub(1));
        if come < count {
            core.end_coming(self.carriers.crew, (self.first, come, count), now);
        }
    }
}

impl Core {
    /// Books all of a file that is to come, or nothing; returns the number of its first.
    fn book_coming(&mut self, crew: u32, freight: &Freight, (file, put_by): (File, u32), now: Time) -> Option<u64> {
        if file.count == 0 || !self.may_book_file(crew, freight) {
            return None;
        }
        let place = self.free_place(crew, 0);
        let number = self.crews[crew as usize].number_of_next();
        let all = self.gather(crew, place, file.count, now) == file.count;
        if all && self.book_gathered(crew, (place, freight), (file, put_by), now) {
            return Some(number);
        }
        self.is_over(place);
        None
    }

    /// Of so many things with numbers from `first` on as many have come, and the others do not.
    fn end_coming(&mut self, crew: u32, (first, come, count): (u64, u32, u32), now: Time) {
        let is_file = |file: &Tiding| {
            let Booked { item, members, .. } = &self.booked[file.place as usize];
            !members.is_empty() && item.as_ref().is_some_and(|item| item.number == first)
        };
        let file = self.crews[crew as usize].arriving.iter().find(|tiding| is_file(tiding)).copied();
        if !file.is_some_and(|file| self.shorten(crew, file.place, come, now)) {
            let ended = first + u64::from(come)..first + u64::from(count);
            self.take_back_each(crew, ended, now);
        }
    }

    /// Leaves so many of a file; whether that can be.
    fn shorten(&mut self, crew: u32, place: u32, left: u32, now: Time) -> bool {
        let Booked { item, members, schedule, .. } = &mut self.booked[place as usize];
        let Some(item) = item else { return false };
        if !shorten_file(&mut self.lanes, place | BOOKED, &item.legs, schedule, left) {
            return false;
        }
        let line = &mut self.crews[crew as usize];
        let ended = members.split_off(left as usize);
        for &Member { task, rank, since } in &ended {
            line.is_taken(task);
            line.frees(Free { at: since, rank, task, booked: false });
        }
        for tidings in [&mut line.passing, &mut line.arriving] {
            tidings.iter_mut().filter(|tiding| tiding.place == place).for_each(|file| file.left -= ended.len() as u32);
            tidings.retain(|tiding| tiding.left > 0);
        }
        if line.arriving.iter().all(|tiding| tiding.place != place) {
            self.is_over(place);
        }
        self.arm(crew, now);
        true
    }

    /// Takes back things with these numbers, which have not come, where others reckoned with them.
    fn take_back_each(&mut self, crew: u32, numbers: Range<u64>, now: Time) {
        self.split_files(crew);
        let mut ended = std::mem::take(&mut self.ended_ways);
        let is_ended = |item: &Item| numbers.contains(&item.number);
        let arriving = self.crews[crew as usize].arriving.iter().map(|tiding| tiding.place);
        ended.extend(
            arriving
                .filter(|place| self.booked[*place as usize].item.as_ref().is_some_and(is_ended))
                .map(|place| place | BOOKED),
        );
        self.end_ways(ended, now);
        for task in 0..self.carrying.len() as u32 {
            if self.crew_of[task as usize] != Some(crew) {
                continue;
            }
            let Some(Carrying { item, .. }) =
                self.carrying[task as usize].take_if(|carrying| carrying.comes && is_ended(&carrying.item))
            else {
                continue;
            };
            if let Some(begun) = item.begun {
                self.cancel_timer(task, begun.at);
            }
            let free = Free { at: item.since, rank: self.rank(task), task, booked: false };
            let line = &mut self.crews[crew as usize];
            line.by_hand -= 1;
            line.frees(free);
        }
        self.arm(crew, now);
    }
}
