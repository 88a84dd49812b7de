//! What every reader must withstand. The property tests and the fuzz targets share these bodies, so that what is
//! fuzzed is what is tested: nothing panics, every refusal says something and points into a text, and what is
//! accepted can be built, run and explained.
//!
//! - `files`: parts, systems, jobs, results, folders of them, and the command line.
//! - `changes`: upgrades and changes, and what data sheets promise.
//! - `foreign`: traces, drives as DiskSim describes them, and waveforms.
//! - `runs`: what is done with a machine that was read; `drawn` has how, and `machines` what there is to begin with.

pub mod changes;
pub mod drawn;
pub mod files;
pub mod foreign;
pub mod machines;
mod runs;

use std::fs;
use std::path::{Path, PathBuf};

use hopscope_files::problem::{Problems, Sources};

/// What reports may be long, bytes.
const LONGEST_REPORT: usize = 20_000;
/// Files of a folder, at most.
const MOST_FILES: usize = 16;
/// Before the path of a file of a folder.
pub const FILE: &str = "=== ";

/// Reads an input, and runs what it describes; says whether it was accepted.
pub type Target = fn(&[u8]) -> bool;

/// Every target, and where valid inputs of it are, from the root of the repository.
pub const ALL: [(&str, Target, &[&str]); 15] = [
    ("quantity", files::quantity, &["fuzz/seeds/quantity"]),
    ("part_file", files::part_file, &["data/parts"]),
    ("system_file", files::system_file, &["data/systems"]),
    ("job_file", files::job_file, &["data/jobs"]),
    ("fio_result", files::fio_result, &["crates/questions/tests/fio", "crates/questions/tests/fixtures/fio"]),
    ("saved", files::saved, &["fuzz/seeds/saved"]),
    ("job_options", files::job_options, &["fuzz/seeds/job_options"]),
    ("set_assignment", files::set_assignment, &["fuzz/seeds/set_assignment"]),
    ("overlay", files::overlay, &["fuzz/seeds/overlay"]),
    ("change", changes::change, &["fuzz/seeds/change"]),
    ("upgrade", changes::upgrade, &["data/upgrades"]),
    ("data_sheet", changes::data_sheet, &["data/parts/drive", "data/parts/disk"]),
    ("trace", foreign::trace, &["crates/questions/tests/traces", "fuzz/seeds/trace"]),
    ("disksim", foreign::disksim, &["fuzz/seeds/disksim"]),
    ("waveform", foreign::waveform, &["fuzz/seeds/waveform"]),
];

fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

/// The files of an input, each after a line with its path.
fn files_of(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split(FILE).skip(1).take(MOST_FILES).map(|file| file.split_once('\n').unwrap_or((file, "")))
}

/// Writes a file below a folder, if its path is one that stays there; says where it is.
fn write(folder: &Path, path: &str, content: &str) -> Option<PathBuf> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let named = |name: &str| !name.is_empty() && name != "." && name != ".." && name.chars().all(allowed);
    if path.len() > 100 || !path.split('/').all(named) {
        return None;
    }
    let path = folder.join(path);
    fs::create_dir_all(path.parent()?).ok()?;
    // Where a folder has this name, there is no file.
    fs::write(&path, content).ok().map(|()| path)
}

/// Something is said, briefly, and it points into a text: that of `file`, if it is given.
#[track_caller]
fn refused(problems: &Problems, sources: &Sources, file: Option<u32>) -> bool {
    assert!(!problems.0.is_empty());
    for problem in &problems.0 {
        assert!(!problem.title.is_empty());
        assert!(problem.place.is_some() || file.is_none(), "nowhere: {}", problem.title);
        let Some(place) = problem.place else { continue };
        assert!(file.is_none_or(|file| place.file == file), "in another file: {}", problem.title);
        let text = sources.text(place.file);
        assert!(!sources.name(place.file).is_empty(), "in no file: {}", problem.title);
        assert!(place.start <= place.end && place.end as usize <= text.len(), "outside of the text: {problem:?}");
    }
    let report = problems.render(sources, false);
    assert!(!report.is_empty() && report.len() <= LONGEST_REPORT, "{} bytes: {report}", report.len());
    let steers =
        |letter: char| (letter.is_control() && !"\n\t".contains(letter)) || ('\u{202a}'..='\u{202e}').contains(&letter);
    assert!(!report.contains(steers), "{report:?}");
    false
}
