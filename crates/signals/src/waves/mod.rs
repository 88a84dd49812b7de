//! Files of waveforms.
//!
//! - `changes`: what wires change to, put in order of time. `vcd_out` writes it.
//! - `vcd_in`: reads value change dumps, a change at a time.

pub mod changes;
pub mod vcd_in;
pub mod vcd_out;
