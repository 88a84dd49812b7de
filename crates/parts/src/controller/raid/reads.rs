//! Reads of the host: from the cache, after what is missing has come from the drives.

use std::rc::Rc;

use hopscope_kernel::{Errand, Label};

use super::cache::{mask, pieces, runs};
use super::layout::SECTOR_BYTES;
use super::{Client, Raid, Wanted};
use crate::controller::block_card::Command;

static BEING_READ: Label = Label::reason("line being read by another");
/// No line of the cache can go.
pub(super) static CACHE_FULL: Label = Label::reason("every line of the cache in use");

impl Raid {
    pub(super) async fn read(&self, client: &Rc<Client>, command: &Command) {
        let (at, bytes, line) = (command.offset_bytes, u64::from(command.bytes), self.spec.line_bytes);
        let goes_on = self.ahead.goes_on(at, bytes);
        for (number, first, count) in pieces(at, bytes, line) {
            self.compute(self.spec.line).await;
            self.take_in(client, number).await;
            self.begin_to_read((number, first, count), goes_on, command.errand);
        }
        if goes_on {
            self.read_ahead((at + bytes).div_ceil(line));
        }
        for (number, first, count) in pieces(at, bytes, line) {
            self.wait_until_there(client, number, mask(first, count)).await;
        }
        self.move_to_host(command).await;
        for (number, ..) in pieces(at, bytes, line) {
            self.let_go(number);
        }
    }

    /// Takes a line into the cache and keeps it there.
    pub(super) async fn take_in(&self, client: &Rc<Client>, number: u64) {
        loop {
            let taken = {
                let mut cache = self.cache.borrow_mut();
                let at = cache.take_in(number);
                if let Some(at) = at {
                    cache.pin(at, true);
                }
                at
            };
            if taken.is_some() {
                return;
            }
            if !self.destage_oldest(client).await {
                self.wait_for_change(client, Wanted::Room, &CACHE_FULL).await;
            }
        }
    }

    /// Lets a line go again.
    pub(super) fn let_go(&self, number: u64) {
        {
            let mut cache = self.cache.borrow_mut();
            if let Some(at) = cache.find(number) {
                cache.pin(at, false);
            }
        }
        self.changed();
    }

    /// Has the sectors read that are neither there nor under way; to the end of the line where reads go on.
    fn begin_to_read(&self, (number, first, count): (u64, u64, u64), to_the_end: bool, errand: Errand) {
        let all = self.spec.line_bytes / SECTOR_BYTES;
        let mut cache = self.cache.borrow_mut();
        let Some(at) = cache.find(number) else { return };
        let marks = cache.marks(at);
        let known = marks.valid | marks.filling;
        if mask(first, count) & !known == 0 {
            return;
        }
        let wanted = mask(first, if to_the_end { all - first } else { count }) & !known;
        cache.fill(at, wanted);
        // What lies between is read too.
        for (first, count) in runs(wanted, 0) {
            self.ahead.miss(number, first, count, self.sim.pass_on(errand));
        }
    }

    async fn wait_until_there(&self, client: &Rc<Client>, number: u64, sectors: u128) {
        let at = self.cache.borrow().find(number).expect("a line stays where it is as long as somebody keeps it there");
        while !self.cache.borrow().has(at, sectors) {
            self.wait_for_change(client, Wanted::Sectors(at, sectors), &BEING_READ).await;
        }
    }
}
