//! Pages and figures of what the other crates computed.
//!
//! A face: it draws and writes, and computes nothing that could not be had from the crates below. [`study::page`]
//! and its neighbours make a [`Page`], which is then written as one HTML file, as SVG files and as CSV files.

mod account;
pub mod axis;
pub mod bridge_loss;
mod cable;
pub mod charts;
pub mod compare;
pub mod drawing;
pub mod explain;
mod histogram;
mod latency;
mod map;
mod measured;
pub mod packets;
pub mod page;
mod palette;
mod passage;
pub mod replay;
pub mod study;
pub mod system;
pub mod table;
mod trust;
pub mod waveform;
pub mod whatif;
pub mod wording;

pub use page::Page;
