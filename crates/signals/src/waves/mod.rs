//! Files of waveforms.
//!
//! - `changes`: what wires change to, put in order of time. `vcd_out` and `fst_out` write it.
//! - `read`: what readers say. `vcd_in` reads value change dumps, a change at a time (`words`). `fst_in` reads GTKWave's format, a
//!   stretch of time (`fst_stretch`) after the other; `fst_blocks` is what its blocks are made of.
//! - `capture`: a file of either kind.

pub mod capture;
pub mod changes;
mod fst_blocks;
pub mod fst_in;
pub mod fst_out;
mod fst_stretch;
pub mod read;
#[cfg(test)]
mod tests;
pub mod vcd_in;
pub mod vcd_out;
mod words;
