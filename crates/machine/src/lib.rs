//! Reads system and job files, checks them, wires the parts and runs them.

pub mod blueprint;
pub mod bottleneck;
pub mod check;
pub mod explain;
pub mod explain_json;
pub mod fio_json;
pub mod import;
pub mod job_distributions;
mod job_draft;
pub mod job_file;
pub mod job_options;
mod job_values;
pub mod library;
pub mod measured;
pub mod nearest;
mod parameter_table;
pub mod part_file;
pub mod problem;
pub mod quantity;
pub mod replay;
pub mod rewiring;
pub mod run;
pub mod schema;
pub mod system_file;
pub mod text_file;
pub mod whatif;
mod wiring;
