//! The drawings, one file a kind. Each takes data and gives a drawing; none computes what it shows.

pub mod bars;
pub mod columns;
pub mod curves;
pub mod distributions;
pub mod errors;
pub mod label;
pub mod lanes;
pub mod levels;
pub mod map;
pub mod spread;
pub mod stacks;
pub mod utilisation;
pub mod waterfall;
