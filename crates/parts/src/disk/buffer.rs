//! The drive's buffer: extents that were read, and blocks that wait to be written.
//!
//! An extent is a run of sectors from the media. The one that the mechanics read at present grows; the others
//! stay as they are until the least recently used one makes room.

use std::collections::VecDeque;

use hopscope_declare::Spec;

/// A run of sectors in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    first: u64,
    end: u64,
}

/// Blocks that wait to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dirty {
    pub(super) lba: u64,
    pub(super) sectors: u64,
}

/// Which block goes to the media first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Spec)]
pub enum WriteOrder {
    /// The oldest.
    Arrival,
    /// The next one upwards from where the arm was last, and then the lowest.
    Elevator,
}

pub(super) struct Buffer {
    segments: usize,
    segment_sectors: u64,
    capacity_sectors: u64,
    /// Least recently used first.
    extents: VecDeque<Extent>,
    /// In order of arrival.
    dirty: VecDeque<Dirty>,
    /// The block that is on its way to the media: it cannot be overwritten any more.
    pub(super) being_written: Option<Dirty>,
    /// End of the last read, which the next one may continue.
    pub(super) read_end: u64,
}

impl Buffer {
    pub(super) fn new(segments: usize, segment_sectors: u64) -> Buffer {
        Buffer {
            segments,
            segment_sectors,
            capacity_sectors: segments as u64 * segment_sectors,
            extents: VecDeque::with_capacity(segments + 1),
            dirty: VecDeque::new(),
            being_written: None,
            read_end: u64::MAX,
        }
    }

    /// Whether all of a range is there: in an extent, or waiting to be written.
    pub(super) fn holds(&mut self, lba: u64, sectors: u64) -> bool {
        let within = |first: u64, end: u64| first <= lba && lba + sectors <= end;
        if self.dirty.iter().chain(&self.being_written).any(|d| within(d.lba, d.lba + d.sectors)) {
            return true;
        }
        let Some(found) = self.extents.iter().position(|e| within(e.first, e.end)) else { return false };
        if let Some(extent) = self.extents.remove(found) {
            self.extents.push_back(extent);
        }
        true
    }

    /// Sectors `first..end` have come from the media: they extend the newest extent where they continue it.
    pub(super) fn read(&mut self, first: u64, end: u64) {
        match self.extents.back_mut() {
            Some(extent) if extent.end == first => extent.end = end,
            _ => self.extents.push_back(Extent { first, end }),
        }
        while self.extents.len() > self.segments {
            self.extents.pop_front();
        }
        let mut excess =
            self.extents.iter().map(|e| e.end - e.first).sum::<u64>().saturating_sub(self.capacity_sectors);
        while excess > 0 {
            let Some(oldest) = self.extents.front_mut() else { return };
            let cut = excess.min(oldest.end - oldest.first);
            oldest.first += cut;
            excess -= cut;
            if oldest.first == oldest.end {
                self.extents.pop_front();
            }
        }
    }

    /// Whether a write finds room with a block that waits: it replaces it, or continues the last one within its
    /// segment. Then it needs no slot of its own.
    pub(super) fn joins(&self, lba: u64, sectors: u64) -> bool {
        self.joined(lba, sectors).is_some()
    }

    fn joined(&self, lba: u64, sectors: u64) -> Option<(usize, Dirty)> {
        let replaced = self.dirty.iter().position(|d| d.lba == lba && d.sectors == sectors);
        if let Some(index) = replaced {
            return Some((index, self.dirty[index]));
        }
        let last = self.dirty.back()?;
        let continues = last.lba + last.sectors == lba && last.sectors + sectors <= self.segment_sectors;
        continues.then(|| (self.dirty.len() - 1, Dirty { lba: last.lba, sectors: last.sectors + sectors }))
    }

    /// A block was written by the host: what the buffer read before is void where they overlap.
    pub(super) fn write(&mut self, lba: u64, sectors: u64) {
        self.extents.retain(|e| e.end <= lba || lba + sectors <= e.first);
        match self.joined(lba, sectors) {
            Some((index, block)) => self.dirty[index] = block,
            None => self.dirty.push_back(Dirty { lba, sectors }),
        }
    }

    /// Sectors that wait for the media.
    pub(super) fn unwritten_sectors(&self) -> u64 {
        self.dirty.iter().map(|block| block.sectors).sum()
    }

    /// The next block for the media, when the last one ended at `reached`.
    pub(super) fn next_dirty(&mut self, order: WriteOrder, reached: u64) -> Option<Dirty> {
        let chosen = match order {
            WriteOrder::Arrival => 0,
            WriteOrder::Elevator => {
                let ahead = |block: &Dirty| (block.lba < reached, block.lba);
                self.dirty.iter().enumerate().min_by_key(|(_, block)| ahead(block)).map_or(0, |(index, _)| index)
            }
        };
        self.being_written = self.dirty.remove(chosen);
        self.being_written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_grows_where_it_is_continued_and_the_oldest_makes_room() {
        let mut buffer = Buffer::new(2, 100);
        buffer.read(0, 50);
        buffer.read(50, 90);
        assert!(buffer.holds(10, 80));
        buffer.read(1_000, 1_100);
        buffer.read(2_000, 2_080);
        assert!(!buffer.holds(10, 80), "two segments hold two extents");
        assert!(buffer.holds(1_000, 100) && buffer.holds(2_000, 80));
    }

    #[test]
    fn a_long_extent_loses_its_beginning_first() {
        let mut buffer = Buffer::new(2, 100);
        buffer.read(0, 250);
        assert!(!buffer.holds(0, 1) && !buffer.holds(49, 1) && buffer.holds(50, 200));
    }

    #[test]
    fn writes_that_follow_each_other_share_a_segment_until_it_is_full() {
        let mut buffer = Buffer::new(4, 100);
        buffer.write(0, 60);
        assert!(buffer.joins(60, 40) && !buffer.joins(60, 41) && !buffer.joins(61, 4));
        buffer.write(60, 40);
        assert_eq!(buffer.unwritten_sectors(), 100);
        assert_eq!(buffer.next_dirty(WriteOrder::Arrival, 0), Some(Dirty { lba: 0, sectors: 100 }));
    }

    #[test]
    fn sorted_writes_go_upwards_from_where_the_arm_was_and_begin_again_below() {
        let mut buffer = Buffer::new(4, 100);
        for lba in [500, 100, 900, 300] {
            buffer.write(lba, 8);
        }
        let order: Vec<u64> = std::iter::successors(Some(400), |reached| {
            buffer.next_dirty(WriteOrder::Elevator, *reached).map(|block| block.lba)
        })
        .skip(1)
        .collect();
        assert_eq!(order, [500, 900, 100, 300]);
    }

    #[test]
    fn a_write_voids_what_was_read_and_replaces_the_same_block_in_place() {
        let mut buffer = Buffer::new(4, 100);
        buffer.read(0, 50);
        buffer.write(40, 8);
        assert!(!buffer.holds(0, 8) && buffer.holds(40, 8));
        buffer.write(40, 8);
        assert_eq!(buffer.next_dirty(WriteOrder::Arrival, 0), Some(Dirty { lba: 40, sectors: 8 }));
        assert_eq!(buffer.next_dirty(WriteOrder::Arrival, 0), None);
    }
}
