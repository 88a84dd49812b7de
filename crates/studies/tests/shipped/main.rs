//! What ships is as the house law wants it. One program, since each is linked anew.

mod columns;
mod data;
mod folder;
mod gaps;
mod layout;
mod licences;
mod mistakes;
mod published;
mod report;
mod shape;
#[path = "../../../questions/tests/all/skipped.rs"]
mod skipped;
