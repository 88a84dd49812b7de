//! Data of other programs, as parts of ours.

pub mod disksim;
