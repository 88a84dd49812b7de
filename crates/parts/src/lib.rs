//! Models of I/O parts, a folder a role. Each part is built from a `Spec` (numbers from data), its lanes,
//! queues and processes, and the interface it offers to others through a trait in `protocols`.

pub mod parameters;
