//! Alike things that are put before carriers at once: those who are idle take one each and go the same way, a file, one
//! behind the other.
//!
//! ```text
//!   carrier 0   ▐ first ─────────▌            lane a   ▐0▐1▐2▌
//!   carrier 1     ▐ second ────────▌          lane b        ▐0▌▐1▌▐2▌
//!   carrier 2       ▐ third ─────────▌
//! ```
//!
//! On each lane they are as far apart as the slowest lane before has them, so a file is booked as one: when its first is
//! there, and how far the others are behind. What is told of them, and when, is the same as of things booked one by one
//! (`booked`). As soon as anybody comes between them, and before what others wait for is taken back, a file is split into
//! those. Those who are no file, for they come back over a lane that they went over, are booked one by one.

use crate::Time;
use crate::booked::{BOOKED, Member};
use crate::bookings::File;
use crate::carriers::{Freight, Told};
use crate::core::Core;
use crate::crew::{Free, Tiding};
use crate::schedule::{book_file, split_file};

impl Core {
    /// Books so many things that are alike for those who are idle, as far as there are such and all can be made out;
    /// returns how many.
    #[inline]
    pub(crate) fn book_alike(&mut self, crew: u32, freight: &Freight, (count, put_by): (u32, u32), now: Time) -> u32 {
        if freight.begun.is_some() || !self.may_book_file(crew, freight) {
            return 0;
        }
        let place = self.free_place(crew, 0);
        let count = self.gather(crew, place, count, now);
        // Of those who ask at one instant the first by name is the first.
        let members = &mut self.booked[place as usize].members;
        if !members.is_sorted_by_key(|member| member.rank) {
            members.sort_unstable_by_key(|member| member.rank);
        }
        let file = File { at: now, pitch: Time::ZERO, count };
        if count > 0 && self.book_gathered(crew, (place, freight), (file, put_by), now) {
            return count;
        }
        self.book_each(crew, (place, freight), put_by, now)
    }

    /// Books one by one those who have been gathered and are no file, for they come back over a lane that they went over;
    /// returns how many.
    fn book_each(&mut self, crew: u32, (place, freight): (u32, &Freight), put_by: u32, now: Time) -> u32 {
        let mut members = std::mem::take(&mut self.booked[place as usize].members);
        let mut booked = 0;
        for &Member { task, rank, since } in &members {
            let item = self.crews[crew as usize].item(freight.clone(), (1, put_by));
            let idle = Free { at: since, rank, task, booked: false };
            if self.book_item(crew, item, idle, (true, now)).is_err() {
                break;
            }
            booked += 1;
        }
        members.clear();
        self.booked[place as usize].members = members;
        self.is_over(place);
        if self.crews[crew as usize].listeners > 0 {
            self.arm(crew, now);
        }
        booked
    }

    /// Whether something may be booked as a file now. Of requests of one instant those of a carrier come in his turn.
    #[inline]
    pub(crate) fn may_book_file(&self, crew: u32, freight: &Freight) -> bool {
        let asks_at_once = freight.legs.first().is_none_or(|leg| leg.lane().is_some());
        !asks_at_once && self.crews[crew as usize].waiting.is_empty() && self.may_book(crew, true)
    }

    /// Gathers those who are idle, at most so many, and says how many they are.
    #[inline]
    pub(crate) fn gather(&mut self, crew: u32, place: u32, count: u32, now: Time) -> u32 {
        let reached = (now, self.order_reached);
        let line = &self.crews[crew as usize];
        let idle = line.free.iter().take(count as usize).take_while(|free| line.is_idle(**free, reached));
        let members = &mut self.booked[place as usize].members;
        members.extend(idle.map(|free| Member { task: free.task, rank: free.rank, since: free.at }));
        members.len() as u32
    }

    /// Books the lanes of a file, and what is told of it; whether all of it can be made out.
    #[inline]
    pub(crate) fn book_gathered(
        &mut self,
        crew: u32,
        (place, freight): (u32, &Freight),
        (file, put_by): (File, u32),
        now: Time,
    ) -> bool {
        let when = self.come_to(now);
        let booked = &mut self.booked[place as usize];
        let Member { task, rank, since } = booked.members[0];
        let (lanes, who) = ((&mut self.lanes[..], &self.trains[..]), (place | BOOKED, rank));
        let over = book_file(lanes, who, &freight.legs, file, when, &mut booked.schedule);
        let Some(File { at: over, pitch, count }) = over else { return false };
        let load = freight.load;
        let arrives = Tiding { at: over, rank, task, place, load, left: count, pitch };
        let schedule = &booked.schedule;
        let passes = freight.passed.map(|leg| {
            let (at, pitch) = (schedule.begin_of(leg).unwrap_or(over), schedule.apart_at(leg).unwrap_or(pitch));
            Tiding { at, pitch, ..arrives }
        });
        let line = &mut self.crews[crew as usize];
        // What comes to something at once is for the turn of its carrier, and nothing is told of others in between.
        let comes_at_once = passes.unwrap_or(arrives).at == now;
        let is_last = line.is_told_last(Told::Arrived, &arrives)
            && passes.is_none_or(|passes| line.is_told_last(Told::Passed, &passes));
        if comes_at_once || !is_last {
            self.take_back(place, &freight.legs);
            return false;
        }
        line.free.drain(..count as usize);
        let mut at = over;
        for &Member { task, rank, .. } in &booked.members {
            line.frees(Free { at, rank, task, booked: true });
            at += pitch;
        }
        if count == 1 {
            booked.members.clear();
        }
        if let Some(passes) = passes {
            line.passing.push_back(passes);
        }
        line.arriving.push_back(arrives);
        line.booked = line.booked.saturating_add(count);
        let mut item = line.item(freight.clone(), (count, put_by));
        item.since = since;
        booked.is_taken((crew, task), item, None);
        if line.listeners > 0 {
            self.arm(crew, now);
        }
        true
    }

    /// Has what a crew has booked as files booked one by one.
    pub(crate) fn split_files(&mut self, crew: u32) {
        let line = &mut self.crews[crew as usize];
        let is_file = |tiding: &Tiding| !self.booked[tiding.place as usize].members.is_empty();
        if !line.arriving.iter().any(is_file) {
            return;
        }
        for tiding in std::mem::take(&mut line.arriving) {
            match self.booked[tiding.place as usize].members.is_empty() {
                true => self.crews[crew as usize].arriving.push_back(tiding),
                false => self.split_file(crew, tiding),
            }
        }
    }

    /// The same for one file, of which some have arrived.
    fn split_file(&mut self, crew: u32, file: Tiding) {
        let booked = &mut self.booked[file.place as usize];
        let members = std::mem::take(&mut booked.members);
        let (schedule, item) = (std::mem::take(&mut booked.schedule), booked.item.take());
        let item = item.expect("what is booked is there until its end has been told");
        let apart = schedule.apart_at(0).unwrap_or(Time::ZERO);
        let from = members.len() - file.left as usize;
        let (last, others) = members[from..].split_last().expect("a file is over with its last");
        let mut places: Vec<u32> = others.iter().map(|member| self.free_place(crew, member.task)).collect();
        places.push(file.place);
        let all = || others.iter().chain([last]).zip(&places).zip(from as u64..);
        let who: Vec<(u32, u32)> = all().map(|((member, place), _)| (place | BOOKED, member.rank)).collect();
        split_file(&mut self.lanes, file.place | BOOKED, &item.legs, &schedule, (from as u64, &who));
        for ((member, place), index) in all() {
            let booked = &mut self.booked[*place as usize];
            let comes = apart * index;
            booked.is_taken((crew, member.task), item.later(index, comes, member.since), None);
            booked.schedule = schedule.of(index);
        }
        let line = &mut self.crews[crew as usize];
        let one_of = |file: &Tiding, index: u32| {
            let number = members.len() - (file.left - index) as usize;
            let (Member { task, rank, .. }, place) = (members[number], places[number - from]);
            Tiding {
                at: file.at + file.pitch * u64::from(index),
                rank,
                task,
                place,
                left: 1,
                pitch: Time::ZERO,
                ..*file
            }
        };
        line.arriving.extend((0..file.left).map(|index| one_of(&file, index)));
        if let Some(at) = line.passing.iter().position(|passes| passes.place == file.place)
            && let Some(passes) = line.passing.remove(at)
        {
            for index in 0..passes.left {
                line.passing.insert(at + index as usize, one_of(&passes, index));
            }
        }
    }
}
