//! A data sheet's promises in words.

use super::{Figure, Promise};
use crate::quantity::digits;

impl Figure {
    /// An amount of such a figure, with its unit: `7000 MB/s`, `22000 IOPS`, `45.00 us`.
    pub fn words(self, amount: f64) -> String {
        match self {
            Figure::BytesPerSecond(_) => format!("{} MB/s", digits(amount / 1e6)),
            Figure::Iops(_) => format!("{amount:.0} IOPS"),
            Figure::LatencyNs(_) if amount >= 1e6 => format!("{} ms", digits(amount / 1e6)),
            Figure::LatencyNs(_) => format!("{} us", digits(amount / 1e3)),
        }
    }
}

impl Promise {
    /// What is asked for, in fio's words: `randread 4 KiB, 512 deep`.
    pub fn words(&self) -> String {
        let (bytes, depth) = (self.job.block_bytes_min, self.job.iodepth);
        let size = match bytes {
            bytes if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
            bytes if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
            bytes => format!("{bytes} B"),
        };
        format!("{} {size}, {depth} deep", self.job.rw.word())
    }
}
