//! Software that makes devices of devices.

pub mod striped;
