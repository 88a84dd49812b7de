//! Tests of the crate as others use it, in one program.

mod job_files;
mod readers;
