//! What a drive's data sheet promises.
//!
//! A part file may have a table `data_sheet`. No model reads it: nothing in it changes a result, and the drive is held
//! against it from outside, by jobs like any others.
//!
//! ```toml
//! [data_sheet]
//! basis = { source = "which document" }
//! on    = "nvme-desktop"
//! rows  = [
//!     { rw = "read", bs = "128 KiB", iodepth = 32, promised = "7000 MB/s" },
//!     { rw = "randread", bs = "4 KiB", iodepth = 1, promised = "22000 IOPS" },
//! ]
//! ```
//!
//! `on` names a system of the library. The drive takes the place of the first part of its kind there, unless the system
//! has the drive itself. `replace` and `change` change that machine, in the words of an upgrade ([`crate::change`]): of
//! the table for all rows, `change` of a row for that one.

mod file;
mod schema;
mod words;

use hopscope_parts::parameters::{Basis, Place};

use crate::change::Change;
use crate::job_file::Job;

pub(crate) use file::read;
pub(crate) use schema::schema;

/// The table's key in a part file.
pub(crate) const KEY: &str = "data_sheet";

/// What the data sheet of a drive promises, and the machine in which the drive is held against that.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSheet {
    /// The system, by its name in the library.
    pub on: String,
    /// Its promises.
    pub rows: Vec<Promise>,
    /// Where the system is named.
    pub place: Place,
    /// What is changed of the machine, for all rows.
    pub changes: Vec<Change>,
}

/// One promise.
#[derive(Clone, Debug, PartialEq)]
pub struct Promise {
    /// What is asked of the drive.
    pub job: Job,
    /// What it is to give.
    pub figure: Figure,
    /// Which document promises it, or why it is taken for promised.
    pub basis: Basis,
    /// What is changed of the machine for this one, as it is written.
    pub changed: Vec<String>,
    /// The same as read.
    pub changes: Vec<Change>,
    place: Place,
}

/// A figure of a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// Bytes per second.
    BytesPerSecond(f64),
    /// Requests per second.
    Iops(f64),
    /// Mean latency, nanoseconds.
    LatencyNs(f64),
}

impl Figure {
    /// Its amount, in [`Figure::unit`].
    pub fn amount(self) -> f64 {
        match self {
            Figure::BytesPerSecond(amount) | Figure::Iops(amount) | Figure::LatencyNs(amount) => amount,
        }
    }

    /// Of what, as in JSON.
    pub fn unit(self) -> &'static str {
        match self {
            Figure::BytesPerSecond(_) => "bytes_per_s",
            Figure::Iops(_) => "iops",
            Figure::LatencyNs(_) => "latency_ns",
        }
    }
}
