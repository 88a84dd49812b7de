//! Reads what people write: parts, systems, jobs, results of fio, traces, and drives as DiskSim describes them.
//!
//! Whatever is wrong is a problem with its place. Nothing here builds or runs a machine.

pub mod change;
pub mod data_sheet;
pub mod factor;
pub mod file_kind;
pub mod fio_result;
pub mod harmless;
pub mod import;
pub mod job_distributions;
mod job_draft;
pub mod job_file;
pub mod job_options;
mod job_values;
pub mod library;
pub mod new_part;
mod parameter_table;
pub mod part_file;
pub mod price;
pub mod problem;
pub mod quantity;
pub mod reference;
pub mod schema;
pub mod system_file;
pub mod text_file;
pub mod trace_file;
pub mod upgrade_file;
pub mod vocabulary;
