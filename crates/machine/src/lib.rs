//! Builds machines of what files describe, wires their parts, runs jobs on them and traces runs.

mod aged;
pub mod alike_levels;
mod asked;
pub mod block_diagram;
pub mod blueprint;
pub mod both;
pub mod convergence;
pub mod fio_json;
pub mod going;
pub mod hops;
pub mod jobs_on_machine;
pub mod phases;
pub mod price;
pub mod processor_cost;
pub mod rewiring;
pub mod run;
mod started;
pub mod trace;
mod wiring;
