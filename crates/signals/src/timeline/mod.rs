//! Files of timelines: slices and counters on tracks, as Perfetto and its viewer read them.
//!
//! - `pftrace`: writes such a file, an event at a time. `message` puts its bytes together.
//! - `slots`: the tracks that spans need which overlap.
//! - `steps`: time in equal steps, for what is too long to be drawn span by span.

mod message;
pub mod pftrace;
pub mod slots;
pub mod steps;

#[cfg(test)]
mod tests;
