//! Whatever is derived from records: transfers and their statistics, phases of a lane one after the other.
//!
//! An observer never changes what it observes.

pub mod account;
pub mod batches;
pub mod levels;
pub mod lives;
pub mod phases;
mod search;
pub mod transfers;

pub use account::{Account, LaneAccount, Use};
pub use batches::Batches;
pub use lives::Lives;
pub use phases::{Interval, Phases};
pub use transfers::{JobTransfers, Transfers};
