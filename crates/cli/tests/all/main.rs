//! Tests of the crate as others use it, in one program: linking is most of what they cost.

mod analyze;
mod bad_input;
mod compare;
mod documents;
mod explain;
mod gallery;
mod hostile;
mod import;
mod lists;
mod measured;
mod pages;
#[path = "../../../questions/tests/all/perfetto.rs"]
mod perfetto;
mod program;
mod replay;
mod run;
mod shell;
#[path = "../../../questions/tests/all/skipped.rs"]
mod skipped;
mod studies;
mod waveforms;
mod whatif;
