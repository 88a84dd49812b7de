//! Tests of the crate as others use it, in one program: linking is most of what they cost.

mod browser;
#[path = "../../../questions/tests/all/buffer.rs"]
mod buffer;
mod fixture;
mod limits;
mod pages;
mod picture;
mod reading;
mod shipped;
#[path = "../../../questions/tests/all/skipped.rs"]
mod skipped;
