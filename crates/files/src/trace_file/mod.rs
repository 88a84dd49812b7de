//! Recorded traces of requests.
//!
//! A trace is read in pieces and parsed byte by byte, so that its length costs time and nothing else.
//!
//! Limits: lines of 4,096 bytes, requests of 16 MiB, a hundred days.

mod fields;
mod formats;
mod input;
mod lines;
mod record;

pub use self::formats::{Format, Gaps, Requests, Told, gaps_of, suspicious_unit};
pub use self::input::open;
pub use self::lines::{Lines, TraceProblem, Wrong};
pub use self::record::{Gate, Limits, Only, Record};
