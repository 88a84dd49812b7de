//! What ships is as the house law wants it. One program, since each is linked anew.

mod data;
mod gaps;
mod layout;
mod picture;
mod published;
mod report;
