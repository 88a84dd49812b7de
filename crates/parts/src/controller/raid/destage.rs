//! Writing the cache to the drives: lines that follow one another go together.

use std::rc::Rc;

use hopscope_kernel::{Bell, Errand, Label};

use super::cache::{Marks, runs};
use super::layout::SECTOR_BYTES;
use super::spec::{Destages, WriteEnds};
use super::{Client, Raid};

static NOTHING_TO_WRITE: Label = Label::reason("nothing to write to the drive, or no time");

/// Starts a process a drive, where drives are written while they are idle.
pub(super) fn start(raid: &Rc<Raid>) {
    if raid.spec.destages != Destages::WhenIdle || raid.spec.write_ends != WriteEnds::InCache {
        return;
    }
    for drive in 0..raid.spec.drives {
        let (running, client) = (raid.clone(), Rc::new(Client::new(&raid.sim)));
        let bell = Bell::new(&raid.sim);
        raid.destagers.borrow_mut().push(bell.clone());
        let name = format!("{}.destager{drive:03}", raid.name);
        raid.sim.process(&name, async move { running.run_destager(drive, bell, &client).await });
    }
}

impl Raid {
    /// Wakes the destagers: something is unwritten, or a drive has nothing to do.
    pub(super) fn destage_if_idle(&self) {
        if self.cache.borrow().unwritten() > self.spec.unwritten_kept {
            for bell in self.destagers.borrow().iter() {
                bell.ring();
            }
        }
    }

    /// Writes what is to go to one drive, in one sweep after the other, while it has nothing else to do.
    async fn run_destager(&self, drive: usize, bell: Bell, client: &Rc<Client>) {
        let mut reached = 0;
        loop {
            bell.heard(&NOTHING_TO_WRITE).await;
            while self.cache.borrow().unwritten() > self.spec.unwritten_kept && self.array().is_idle(drive) {
                let Some(number) = self.next_of_sweep(drive, reached) else { break };
                reached = number + 1;
                self.destage(client, number).await;
            }
        }
    }

    /// The line of a drive that comes next from `reached` on, or the first one; of those written longest ago.
    fn next_of_sweep(&self, drive: usize, reached: u64) -> Option<u64> {
        let (cache, layout) = (self.cache.borrow(), &self.array().layout);
        let of_drive = |number: &u64| layout.place(number * self.spec.line_bytes).drive == drive;
        let old = cache.unwritten().saturating_sub(self.spec.unwritten_kept);
        let free = cache.dirty().take(old).filter(|&at| !cache.marks(at).destaging);
        let numbers = free.map(|at| cache.number(at)).filter(of_drive);
        let (mut next, mut first) = (None, None);
        for number in numbers {
            let slot: &mut Option<u64> = if number >= reached { &mut next } else { &mut first };
            *slot = Some(slot.map_or(number, |known| known.min(number)));
        }
        next.or(first)
    }

    /// Writes the line that was written longest ago, with its neighbours. Nothing where others write all there is.
    pub(super) async fn destage_oldest(&self, client: &Rc<Client>) -> bool {
        let oldest = {
            let cache = self.cache.borrow();
            cache.oldest_dirty().map(|at| cache.number(at))
        };
        match oldest {
            Some(number) => {
                self.destage(client, number).await;
                true
            }
            None => false,
        }
    }

    /// Writes a line and those that follow it; from the beginning of its row where all of that is to be written. Drives
    /// do that for nobody, whoever waits for it: what is written has been reported.
    async fn destage(&self, client: &Rc<Client>, number: u64) {
        let waits = client.errand.replace(Errand::NOBODY);
        self.write_lines(client, number).await;
        client.errand.set(waits);
    }

    async fn write_lines(&self, client: &Rc<Client>, number: u64) {
        let (line, row) = (self.spec.line_bytes, self.array().layout.row_bytes());
        let row_begins = number * line / row * row / line;
        let is_dirty = |number: u64| self.cache.borrow().can_destage(number);
        let first = if (row_begins..number).all(|before| is_dirty(before).is_some()) { row_begins } else { number };
        let mut count = 0;
        while count < self.spec.together_max as u64
            && let Some(at) = is_dirty(first + count)
        {
            self.cache.borrow_mut().destage(at);
            count += 1;
        }
        // Ranges of the array, one after the other; those that touch are one.
        let (mut from, mut to) = (0, 0);
        for number in first..first + count {
            let marks = self.cache.borrow().find(number).map(|at| self.cache.borrow().marks(at));
            let Some(Marks { going, valid, .. }) = marks else { continue };
            for (sector, sectors) in runs(going, valid) {
                let begin = number * line + sector * SECTOR_BYTES;
                if begin != to {
                    self.write_range(client, from, to).await;
                    from = begin;
                }
                to = begin + sectors * SECTOR_BYTES;
            }
        }
        self.write_range(client, from, to).await;
        for number in first..first + count {
            let mut cache = self.cache.borrow_mut();
            if let Some(at) = cache.find(number) {
                cache.destaged(at);
            }
        }
        self.changed();
    }

    async fn write_range(&self, client: &Rc<Client>, from: u64, to: u64) {
        if to > from {
            self.write_array(client, from, to - from).await;
        }
    }
}
