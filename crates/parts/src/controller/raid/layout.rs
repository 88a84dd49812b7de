//! Where the bytes of an array lie: RAID 0, 1, 5 and 10, or one drive after the other, as functions of nothing but the
//! array's shape.
//!
//! An array is cut into stripe units. A row is one unit of each drive at the same place; parity of RAID 5 moves one
//! drive to the left with every row, and data begin after it (left-symmetric).
//!
//! P. M. Chen et al.: RAID: high-performance, reliable secondary storage. ACM Computing Surveys 26 (1994).

use hopscope_declare::Spec;

/// Bytes of a sector: a stripe unit is some of them.
pub const SECTOR_BYTES: u64 = 512;

/// How an array keeps its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Spec)]
pub enum Level {
    /// Striped.
    #[word("RAID 0")]
    Raid0,
    /// Two drives with the same data.
    #[word("RAID 1")]
    Raid1,
    /// Striped, with a parity that moves.
    #[word("RAID 5")]
    Raid5,
    /// Pairs of drives with the same data, striped.
    #[word("RAID 10")]
    Raid10,
    /// Each drive a device of its own: their bytes follow one another.
    #[word("JBOD")]
    Jbod,
}

impl Level {
    /// Whether the data outlive a drive.
    pub fn is_redundant(self) -> bool {
        !matches!(self, Level::Raid0 | Level::Jbod)
    }
}

/// The shape of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// How it keeps its data.
    pub level: Level,
    /// Drives, spares not counted.
    pub drives: usize,
    /// Bytes of a stripe unit.
    pub unit_bytes: u64,
    /// Rows: stripe units of each drive.
    pub rows: u64,
}

/// A place on a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Which drive of the array.
    pub drive: usize,
    /// First byte.
    pub offset_bytes: u64,
}

impl Layout {
    /// The array of so many drives, the smallest of which has `drive_bytes`. An error is what is wrong and what would
    /// be right.
    pub fn new(
        level: Level,
        drives: usize,
        unit_bytes: u64,
        drive_bytes: u64,
    ) -> Result<Layout, (String, &'static str)> {
        let (fits, help) = match level {
            Level::Raid0 | Level::Jbod => (drives >= 1, "an array needs a drive at least"),
            Level::Raid1 => (drives == 2, "RAID 1 mirrors two drives; more of them are RAID 10"),
            Level::Raid5 => (drives >= 3, "RAID 5 needs three drives at least"),
            Level::Raid10 => {
                (drives >= 4 && drives.is_multiple_of(2), "RAID 10 needs four drives or more, an even number")
            }
        };
        if !fits {
            let drives = if drives == 1 { "one drive".to_string() } else { format!("{drives} drives") };
            return Err((format!("no such array of {drives}"), help));
        }
        let rows = drive_bytes / unit_bytes;
        if rows == 0 {
            return Err(("a drive is smaller than a stripe unit".to_string(), "take larger drives or smaller units"));
        }
        Ok(Layout { level, drives, unit_bytes, rows })
    }

    /// Units of data in a row.
    pub fn columns(&self) -> usize {
        match self.level {
            Level::Raid0 => self.drives,
            Level::Raid1 | Level::Jbod => 1,
            Level::Raid5 => self.drives - 1,
            Level::Raid10 => self.drives / 2,
        }
    }

    /// Bytes of data in a row.
    pub fn row_bytes(&self) -> u64 {
        self.columns() as u64 * self.unit_bytes
    }

    /// Bytes that the array holds.
    pub fn size_bytes(&self) -> u64 {
        self.devices() as u64 * self.device_bytes()
    }

    /// How many devices it is for the host.
    pub fn devices(&self) -> usize {
        if self.level == Level::Jbod { self.drives } else { 1 }
    }

    /// Bytes of each device.
    pub fn device_bytes(&self) -> u64 {
        self.rows * self.row_bytes()
    }

    /// The row of a byte of the array.
    pub fn row(&self, at_bytes: u64) -> u64 {
        at_bytes / self.row_bytes()
    }

    /// Where a byte lies; where there are two copies, the first of them.
    pub fn place(&self, at_bytes: u64) -> Place {
        let (unit, within) = (at_bytes / self.unit_bytes, at_bytes % self.unit_bytes);
        let columns = self.columns() as u64;
        let (row, column) = (unit / columns, (unit % columns) as usize);
        if self.level == Level::Jbod {
            let drive_bytes = self.device_bytes();
            return Place { drive: (at_bytes / drive_bytes) as usize, offset_bytes: at_bytes % drive_bytes };
        }
        let drive = match self.level {
            Level::Raid0 | Level::Raid1 | Level::Jbod => column,
            Level::Raid5 => (self.parity_drive(row) + 1 + column) % self.drives,
            Level::Raid10 => 2 * column,
        };
        Place { drive, offset_bytes: row * self.unit_bytes + within }
    }

    /// The drive with the other copy of what `drive` has.
    pub fn mirror(&self, drive: usize) -> Option<usize> {
        matches!(self.level, Level::Raid1 | Level::Raid10).then_some(drive ^ 1)
    }

    /// The drive with the parity of a row of RAID 5.
    pub fn parity_drive(&self, row: u64) -> usize {
        self.drives - 1 - (row % self.drives as u64) as usize
    }

    /// What a drive without parity has of a range of the array: first byte on the drive, and the one after the last.
    pub fn extent(&self, drive: usize, first: u64, end: u64) -> Option<(u64, u64)> {
        let column = match self.level {
            Level::Raid0 => drive as u64,
            Level::Raid1 => 0,
            Level::Raid10 => drive as u64 / 2,
            Level::Raid5 => return None,
            Level::Jbod => {
                let (begin, bytes) = (drive as u64 * self.device_bytes(), self.device_bytes());
                let within = |at: u64| at.saturating_sub(begin).min(bytes);
                return (within(end) > within(first)).then_some((within(first), within(end)));
            }
        };
        let (unit, columns) = (self.unit_bytes, self.columns() as u64);
        // Bytes of the column before a byte of the array.
        let before = |at: u64| {
            let (row, within) = (at / self.row_bytes(), at % self.row_bytes());
            row * unit + (within.saturating_sub(column * unit)).min(unit)
        };
        debug_assert!(column < columns, "a drive of the array");
        let (from, to) = (before(first), before(end));
        (to > from).then_some((from, to))
    }

    /// How many bytes from `at_bytes` on lie in the same stripe unit.
    pub fn left_in_unit(&self, at_bytes: u64) -> u64 {
        self.unit_bytes - at_bytes % self.unit_bytes
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn shapes() -> Vec<Layout> {
        let mut shapes = Vec::new();
        for level in [Level::Raid0, Level::Raid1, Level::Raid5, Level::Raid10, Level::Jbod] {
            for drives in 1..9 {
                for unit in [512, 1_536, 65_536] {
                    shapes.extend(Layout::new(level, drives, unit, 13 * unit + 100));
                }
            }
        }
        shapes
    }

    #[test]
    fn every_sector_of_an_array_has_a_place_of_its_own() {
        for layout in shapes() {
            let mut taken = BTreeSet::new();
            for sector in 0..layout.size_bytes() / SECTOR_BYTES {
                let place = layout.place(sector * SECTOR_BYTES);
                assert!(
                    place.drive < layout.drives && place.offset_bytes < layout.rows * layout.unit_bytes,
                    "{layout:?}"
                );
                assert!(taken.insert(place), "{layout:?}: {place:?} twice");
                if let Some(drive) = layout.mirror(place.drive) {
                    assert!(drive < layout.drives && taken.insert(Place { drive, ..place }), "{layout:?}");
                }
                if layout.level == Level::Raid5 {
                    let row = layout.row(sector * SECTOR_BYTES);
                    assert_eq!(row, place.offset_bytes / layout.unit_bytes);
                    assert_ne!(place.drive, layout.parity_drive(row), "{layout:?}: data where the parity is");
                }
            }
            let parity = if layout.level == Level::Raid5 { layout.rows * layout.unit_bytes / SECTOR_BYTES } else { 0 };
            let all = layout.drives as u64 * layout.rows * layout.unit_bytes / SECTOR_BYTES;
            assert_eq!(taken.len() as u64 + parity, all, "{layout:?}: nothing is left over");
        }
    }

    #[test]
    fn parity_visits_every_drive_once_in_as_many_rows_as_there_are_drives() {
        for layout in shapes().into_iter().filter(|layout| layout.level == Level::Raid5) {
            let visited: BTreeSet<usize> = (5..5 + layout.drives as u64).map(|row| layout.parity_drive(row)).collect();
            assert_eq!(visited.len(), layout.drives);
        }
    }

    #[test]
    fn bytes_of_a_unit_follow_one_another_on_one_drive() {
        for layout in shapes() {
            for at in (0..layout.size_bytes()).step_by(700) {
                let (place, left) = (layout.place(at), layout.left_in_unit(at));
                let last = layout.place(at + left - 1);
                assert_eq!((last.drive, last.offset_bytes), (place.drive, place.offset_bytes + left - 1));
            }
        }
    }

    #[test]
    fn what_a_drive_has_of_a_range_is_what_its_bytes_are() {
        for layout in shapes().into_iter().filter(|layout| layout.level != Level::Raid5 && layout.unit_bytes < 4_096) {
            let sectors = layout.size_bytes() / SECTOR_BYTES;
            for (first, count) in [(0, sectors), (1, 1), (3, 7), (sectors / 3, sectors / 2)] {
                let end = (first + count).min(sectors);
                for drive in 0..layout.drives {
                    let holds = |sector: &u64| {
                        let place = layout.place(sector * SECTOR_BYTES);
                        place.drive == drive || layout.mirror(place.drive) == Some(drive)
                    };
                    let held: Vec<u64> = (first..end).filter(holds).collect();
                    let extent = layout.extent(drive, first * SECTOR_BYTES, end * SECTOR_BYTES);
                    assert_eq!(extent.map(|(from, to)| (to - from) / SECTOR_BYTES).unwrap_or(0), held.len() as u64);
                    if let (Some((from, _)), Some(sector)) = (extent, held.first()) {
                        assert_eq!(from, layout.place(sector * SECTOR_BYTES).offset_bytes, "{layout:?}, drive {drive}");
                    }
                }
            }
        }
    }

    #[test]
    fn arrays_of_too_few_drives_are_refused() {
        for (level, drives) in [
            (Level::Raid0, 0),
            (Level::Raid1, 1),
            (Level::Raid1, 4),
            (Level::Raid5, 2),
            (Level::Raid10, 2),
            (Level::Raid10, 3),
            (Level::Raid10, 5),
        ] {
            assert!(Layout::new(level, drives, 65_536, 1 << 30).is_err(), "{level:?} of {drives}");
        }
        assert!(Layout::new(Level::Raid0, 2, 65_536, 1_000).is_err());
    }
}
