//! Writing to the array: both copies, or data and parity.

use std::rc::Rc;

use hopscope_kernel::Label;

use super::layout::Level;
use super::{Client, Raid, XOR};

static ROW_BUSY: Label = Label::reason("row being written");

impl Raid {
    /// Writes a range of the array from the memory.
    pub(super) async fn write_array(&self, client: &Rc<Client>, at_bytes: u64, bytes: u64) {
        let layout = self.array().layout;
        let (mut at, end) = (at_bytes, at_bytes + bytes);
        let parity = layout.level == Level::Raid5;
        if !parity && self.array().rebuilding.get().is_none() {
            return self.write_copies(client, at, end).await;
        }
        while at < end {
            let row = layout.row(at);
            let part = ((row + 1) * layout.row_bytes()).min(end) - at;
            let lock = &self.array().row_locks[row as usize % self.array().row_locks.len()];
            lock.take(&ROW_BUSY).await;
            if parity {
                self.write_row(client, row, at, part).await;
            } else {
                self.write_copies(client, at, at + part).await;
            }
            lock.give();
            at += part;
        }
    }

    async fn write_copies(&self, client: &Rc<Client>, first: u64, end: u64) {
        let array = self.array();
        let (layout, row) = (array.layout, array.layout.row(first));
        let mut sent = 0;
        for place in 0..layout.drives {
            // The units of a drive that follow one another are one command.
            if let Some((from, to)) = layout.extent(place, first, end)
                && array.is_there(place, row)
            {
                sent += array.send(client, place, true, from, to - from);
            }
        }
        // Where a drive is lost meanwhile, the other copy has it.
        array.settle(client, sent).await;
    }

    /// Writes a part of a row, or all of it, with its parity.
    async fn write_row(&self, client: &Rc<Client>, row: u64, first: u64, bytes: u64) {
        let (array, layout) = (self.array(), self.array().layout);
        let parity = layout.parity_drive(row);
        let pieces = || {
            let mut at = first;
            std::iter::from_fn(move || {
                let part = layout.left_in_unit(at).min((first + bytes).saturating_sub(at));
                at += part;
                (part > 0).then(|| (layout.place(at - part), part))
            })
        };
        let unit_at = row * layout.unit_bytes;
        // The parity of a piece lies at the piece's own offset; of several pieces, everything between.
        let from = pieces().map(|(place, _)| place.offset_bytes).min().unwrap_or(unit_at);
        let to = pieces().map(|(place, part)| place.offset_bytes + part).max().unwrap_or(unit_at);
        let whole = bytes == layout.row_bytes();
        // Once more where a drive is lost meanwhile: then it is known which one.
        for _ in 0..if whole { 0 } else { 2 } {
            if !array.is_there(parity, row) {
                break;
            }
            let mut sent = 0;
            if pieces().all(|(place, _)| array.is_there(place.drive, row)) {
                // Old data and old parity.
                for (place, part) in pieces() {
                    sent += array.send(client, place.drive, false, place.offset_bytes, part);
                }
                sent += array.send(client, parity, false, from, to - from);
            } else {
                // A lost drive's data show in the parity alone: it is made of all that are there.
                for drive in (0..layout.drives).filter(|drive| *drive != parity && array.is_there(*drive, row)) {
                    sent += array.send(client, drive, false, from, to - from);
                }
            }
            if array.settle(client, sent).await {
                break;
            }
        }
        if array.is_there(parity, row) {
            self.parity(to - from, pieces().count() as u64 + if whole { 0 } else { 2 }).await;
        }
        let mut sent = 0;
        for (place, part) in pieces().filter(|(place, _)| array.is_there(place.drive, row)) {
            sent += array.send(client, place.drive, true, place.offset_bytes, part);
        }
        if array.is_there(parity, row) {
            sent += array.send(client, parity, true, from, to - from);
        }
        // Where a drive is lost meanwhile, the others have what it takes.
        array.settle(client, sent).await;
    }

    /// Combines so many ranges of the memory into one.
    pub(super) async fn parity(&self, bytes: u64, ranges: u64) {
        self.compute(self.spec.parity).await;
        self.cross_memory(&XOR, bytes * ranges).await;
    }
}
