//! The machines and jobs that an input is for.

use std::sync::OnceLock;

use hopscope_files::job_file::{self, Job};
use hopscope_files::library::Library;
use hopscope_files::problem::{Problems, Sources};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::Options;
use hopscope_questions::explain::{EXTENT, Explained, explain};

use super::drawn::Drawn;

/// One of each kind; the first is the one that jobs of no other are for.
const SYSTEMS: [&str; 9] = [
    "piix4e-one-disk",
    "nvme-desktop",
    "pcie-bench-ivy-bridge",
    "sata-ssd",
    "scsi-ultra160",
    "raid-megaraid-64-66",
    "myrinet-x5dl8",
    "gpu-server-gen4",
    "nic-two-sockets",
];

/// The shipped files.
pub fn shipped() -> &'static Library {
    static SHIPPED: OnceLock<Library> = OnceLock::new();
    SHIPPED.get_or_init(|| Library::new(None).expect("the shipped files can be read"))
}

/// Every shipped system, by name.
pub fn all() -> &'static [(String, Blueprint)] {
    static ALL: OnceLock<Vec<(String, Blueprint)>> = OnceLock::new();
    let read = |name: &str| {
        let blueprint = read_system(shipped(), &mut Sources::default(), name).expect("a right system");
        (name.to_string(), blueprint)
    };
    ALL.get_or_init(|| shipped().systems().map(read).collect())
}

/// A shipped system.
pub fn named(name: &str) -> &'static Blueprint {
    all().iter().find(|(known, _)| known == name).map(|(_, blueprint)| blueprint).expect("a shipped system")
}

/// One of each kind.
pub fn of_each_kind() -> impl Iterator<Item = &'static Blueprint> {
    SYSTEMS.into_iter().map(named)
}

/// The first that has a part, or a model, that a text names.
pub fn for_text(text: &str) -> &'static Blueprint {
    let names = |part: &str, model: &str| {
        let lines = text.lines().any(|line| {
            let line = line.trim_start();
            line.strip_prefix(part).is_some_and(|rest| rest.starts_with(['.', '=', ' ']))
        });
        lines || text.contains(&format!("[{model}]"))
    };
    let has = |machine: &&Blueprint| machine.parts().iter().any(|part| names(&part.name, part.model()));
    of_each_kind().find(has).unwrap_or(named(SYSTEMS[0]))
}

/// Reads a system and its parts.
pub fn read_system(library: &Library, sources: &mut Sources, name: &str) -> Result<Blueprint, Problems> {
    let text = library.system(name).expect("a listed system");
    let file = sources.add(text.name.clone(), text.text.clone());
    Blueprint::read(library, sources, file)
}

/// A request of each direction.
pub fn brief_jobs() -> &'static [Job] {
    static JOBS: OnceLock<Vec<Job>> = OnceLock::new();
    JOBS.get_or_init(|| {
        let options = ["--bs=64k", "--size=64k", "--name=out", "--rw=write", "--name=in", "--rw=read"];
        job_file::read_options(&mut Sources::default(), &options).expect("right options").jobs
    })
}

/// Requests without an end, of each direction.
pub fn endless_jobs() -> &'static [Job] {
    static JOBS: OnceLock<Vec<Job>> = OnceLock::new();
    JOBS.get_or_init(|| {
        let options = ["--bs=4k", "--iodepth=2", "--name=out", "--rw=randwrite", "--name=in", "--rw=read"];
        job_file::read_options(&mut Sources::default(), &options).expect("right options").jobs
    })
}

/// Either of them.
pub fn jobs_of(drawn: &Drawn) -> &'static [Job] {
    if *drawn.choose(30, &[true, false]) { brief_jobs() } else { endless_jobs() }
}

/// A run of the brief ones, explained.
pub fn brief_run() -> &'static Explained {
    static RUN: OnceLock<Explained> = OnceLock::new();
    RUN.get_or_init(|| {
        explain(named(SYSTEMS[0]), brief_jobs(), Options::default(), EXTENT, None).expect("a run of right jobs")
    })
}
