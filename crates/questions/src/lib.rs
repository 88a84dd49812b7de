//! Asks something of machines: what limits, what a change gains, how several compare, what was measured beside them.

pub mod check;
pub mod compare;
pub mod data_sheet;
pub mod diagnosis;
pub mod explain;
pub mod explain_json;
pub mod explanation;
pub mod measured;
pub mod passage;
pub mod probes;
pub mod replay;
pub mod trials;
pub mod whatif;
pub mod work;
