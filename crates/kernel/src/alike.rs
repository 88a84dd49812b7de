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
//! (`booked`). As soon as anybody comes between them, and before anything is taken back, a file is split into those.

use crate::Time;
use crate::ahead::{File, book_file, split_file};
use crate::booked::BOOKED;
use crate::carriers::{Freight, Told};
use crate::core::Core;
use crate::crew::{Free, Tiding};

impl Core {
    /// Books so many things that are alike for those who are idle, as far as there are such and all can be made out;
    /// returns how many.
    #[inline]
    pub(crate) fn book_alike(
        &mut self,
        crew: u32,
        freight: &Freight,
        (count, put_by): (usize, u32),
        now: Time,
    ) -> usize {
        let line = &self.crews[crew as usize];
        // Of requests of one instant those of a carrier come in his turn.
        let asks_at_once = freight.legs.first().is_none_or(|leg| leg.lane().is_some());
        if freight.begun.is_some() || asks_at_once || !line.waiting.is_empty() || !self.may_book(crew, true) {
            return 0;
        }
        let place = self.free_place(crew, 0);
        let count = self.gather(crew, place, count, now);
        if count == 0 || !self.book_gathered(crew, (place, freight), (count, put_by), now) {
            self.is_over(place);
            return 0;
        }
        if self.crews[crew as usize].listeners > 0 {
            self.arm(crew, now);
        }
        count
    }

    /// Gathers those who are idle, at most so many, and says how many they are.
    #[inline]
    fn gather(&mut self, crew: u32, place: u32, count: usize, now: Time) -> usize {
        let reached = (now, self.order_reached);
        let line = &self.crews[crew as usize];
        let idle = line.free.iter().take(count).take_while(|free| line.is_idle(**free, reached));
        let members = &mut self.booked[place as usize].members;
        members.extend(idle.map(|free| (free.task, free.rank)));
        // Of those who ask at one instant the first by name is the first.
        if !members.is_sorted_by_key(|member| member.1) {
            members.sort_unstable_by_key(|member| member.1);
        }
        members.len()
    }

    /// Books the lanes of a file, and what is told of it, from now on; whether all of it can be made out.
    #[inline]
    fn book_gathered(
        &mut self,
        crew: u32,
        (place, freight): (u32, &Freight),
        (count, put_by): (usize, u32),
        now: Time,
    ) -> bool {
        let when = self.come_to(now);
        let booked = &mut self.booked[place as usize];
        let (task, rank) = booked.members[0];
        let file = File { at: now, pitch: Time::ZERO, count: count as u32 };
        let lanes = (&mut self.lanes[..], &self.trains[..]);
        let who = (place | BOOKED, rank);
        let over = book_file(lanes, who, (&freight.legs, 0), file, when, &mut booked.schedule);
        let Some(File { at: over, pitch, count: left }) = over else { return false };
        let load = freight.load;
        let arrives = Tiding { at: over, rank, task, place, load, left, pitch };
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
        line.free.drain(..count);
        let mut at = over;
        for &(task, rank) in &booked.members {
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
        line.booked = line.booked.saturating_add(left);
        let item = line.item(freight.clone(), (left, put_by));
        booked.is_taken((crew, task), item, None);
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
        let from = members.len() - file.left as usize;
        let (last, others) = members[from..].split_last().expect("a file is over with its last");
        let mut places: Vec<u32> = others.iter().map(|member| self.free_place(crew, member.0)).collect();
        places.push(file.place);
        let all = || others.iter().chain([last]).zip(&places).zip(from as u64..);
        let who: Vec<(u32, u32)> = all().map(|((member, place), _)| (place | BOOKED, member.1)).collect();
        split_file(&mut self.lanes, file.place | BOOKED, &item.legs, &schedule, (from as u64, &who));
        for ((member, place), index) in all() {
            let booked = &mut self.booked[*place as usize];
            booked.is_taken((crew, member.0), item.later(index), None);
            booked.schedule = schedule.of(index);
        }
        let line = &mut self.crews[crew as usize];
        let one_of = |file: &Tiding, index: u32| {
            let number = members.len() - (file.left - index) as usize;
            let ((task, rank), place) = (members[number], places[number - from]);
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
