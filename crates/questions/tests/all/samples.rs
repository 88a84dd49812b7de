//! Recordings of real drives and drivers, which are not part of this repository.

use std::path::{Path, PathBuf};

use crate::skipped::skipped;

const NAMED_BY: &str = "HOPSCOPE_SAMPLES";

/// The path of a recording, where the folder of them is named and has it. A test that gets none has tested nothing.
pub fn sample(path: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(NAMED_BY);
    let found = folder.map(|folder| Path::new(&folder).join(path)).filter(|found| found.is_file());
    if found.is_none() {
        skipped(&format!("no {path}; set {NAMED_BY} to the folder that has it"));
    }
    found
}
