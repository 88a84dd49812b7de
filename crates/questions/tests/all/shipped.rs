//! Machines that ship, changed, and what they are to do: what most tests begin with.

use hopscope_files::job_file::{self, Job};
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_kernel::Pace;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::Options;

/// What passes in a window: requests in flight at its end do not lengthen it.
pub const WINDOW: Options = Options { cut: true, ..Options::USUAL };

/// A shipped machine with changes, as `--set` takes them.
#[track_caller]
pub fn machine(system: &str, changes: &[&str]) -> Blueprint {
    changed(system, changes).unwrap_or_else(|problem| panic!("{system} {changes:?}: {problem}"))
}

/// The same, or what the first change that is refused is told.
pub fn changed(system: &str, changes: &[&str]) -> Result<Blueprint, String> {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut sources = Sources::default();
    let text = library.open_system(system).expect("a shipped system");
    let file = sources.add(text.name, text.text);
    let read = Blueprint::read(&library, &mut sources, file);
    let mut blueprint = read.unwrap_or_else(|problems| panic!("{}", problems.render(&sources, false)));
    for change in changes {
        blueprint.set(change).map_err(|problems| problems.render(&sources, false))?;
    }
    Ok(blueprint)
}

/// A machine with a hop that works twice as fast.
pub fn twice_as_fast(blueprint: &Blueprint, hop: &str) -> Blueprint {
    let mut faster = blueprint.clone();
    faster.faster(hop, Pace::new(2, 1).expect("a pace"));
    faster
}

/// Jobs by their options, one blank between them.
#[track_caller]
pub fn jobs(options: &str) -> Vec<Job> {
    let words: Vec<&str> = options.split_whitespace().collect();
    job_file::read_options(&mut Sources::default(), &words).expect("right options").jobs
}
