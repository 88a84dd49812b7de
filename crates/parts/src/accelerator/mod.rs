//! Accelerators: what they move between host memory and their own.

pub mod gpu;
