//! The benchmarks as jobs: each is one job of few numbers, the same for every adapter and bus.
//!
//! A desktop benchmark reads and writes at random: most requests go to a hundredth of its span, which stays in the
//! adapter's cache, the others (the cold ones) anywhere else. DVD copy reads one stream and writes another.

use hopscope_files::job_file::{self, Job};
use hopscope_files::problem::Sources;
use hopscope_files::quantity;
use hopscope_machine::run::Failure;
use hopscope_parts::parameters::Value;

use super::ID;
use crate::study_file;

/// What IOMeter reads from the second card's drive: the innermost tracks, whose media give 25 MB/s; two requests in
/// flight, so that the pace is theirs.
const LOAD: &str = "[load]\nfilename=ide\nrw=read\nbs=64k\niodepth=2\noffset=71g\nsize=1g\n";

/// The six desktop benchmarks, by the names of the table.
pub(super) const DESKTOP: [&str; 6] =
    ["office-light", "office-heavy", "workstation-light", "workstation-heavy", "software-installation", "dvd-copy"];

/// Bytes, percent, or requests.
fn plain(name: &str, value: &Value) -> u64 {
    match value {
        Value::Bytes(n) | Value::Count(n) => *n,
        Value::Share(ppm) => (ppm + 5_000) / 10_000,
        other => panic!("studies/{ID}/study.toml: {name} is {}", other.kind()),
    }
}

/// Numbers of the workload, by name.
#[derive(Clone)]
pub(super) struct Numbers(pub(super) Vec<(String, u64)>);

impl Numbers {
    /// As `study.toml` has them.
    pub(super) fn read() -> Numbers {
        let number = |(name, number): (String, study_file::Number)| {
            let value = quantity::parse(&number.value).unwrap_or_else(|e| panic!("studies/{ID}: {name}: {e}"));
            let plain = plain(&name, &value);
            (name, plain)
        };
        Numbers(study_file::read(ID).numbers.into_iter().map(number).collect())
    }

    /// Bytes, percent, or requests.
    pub(super) fn get(&self, name: &str) -> u64 {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.unwrap_or_else(|| panic!("studies/{ID}/study.toml: no {name}")).1
    }

    /// Sets one.
    pub(super) fn set(&mut self, name: &str, value: &Value) {
        for (_, known) in self.0.iter_mut().filter(|(other, _)| other == name) {
            *known = plain(name, value);
        }
    }

    /// Names of the numbers that a benchmark has of its own.
    fn of(benchmark: &str) -> Vec<&'static str> {
        match benchmark {
            "office-light" => vec!["office_size", "light_cold"],
            "office-heavy" => vec!["office_size", "office_heavy_cold"],
            "workstation-light" => vec!["workstation_light_size", "light_cold"],
            "workstation-heavy" => vec!["workstation_heavy_size", "heavy_cold"],
            "software-installation" => vec!["installation_size", "heavy_cold", "installation_reads"],
            "dvd-copy" => vec!["dvd_copy_size"],
            other => panic!("studies/{ID}: no benchmark {other}"),
        }
    }

    /// The text of a benchmark's job, without its run time.
    pub(super) fn job(&self, benchmark: &str) -> String {
        let names = Numbers::of(benchmark);
        let size = self.get(names[0]) / 512 * 512;
        if benchmark == "dvd-copy" {
            let (reads, span) = (self.get("dvd_copy_reads"), self.get("dvd_copy_span"));
            return format!("[{benchmark}]\nfilename=raid\nrw=rw\nrwmixread={reads}\nbs={size}\nsize={span}\n");
        }
        let reads = self.get(names.get(2).copied().unwrap_or("desktop_reads"));
        let (cold, span) = (self.get(names[1]), self.get("span"));
        format!(
            "[{benchmark}]\nfilename=raid\nrw=randrw\nrwmixread={reads}\nbs={size}\nsize={span}\nnorandommap=1\n\
             random_distribution=zoned:{}/1:{cold}/99\n",
            100 - cold
        )
    }

    /// The job of a server with its database in RAID 5: small, random, one read in two.
    pub(super) fn server(&self) -> String {
        let (size, span) = (self.get("server_size"), self.get("dvd_copy_span"));
        format!("[server]\nfilename=raid\nrw=randrw\nrwmixread=67\nbs={size}\nsize={span}\nnorandommap=1\n")
    }
}

/// Jobs of a text, with `depth` requests in flight in the first and so much time, seconds.
pub(super) fn timed(text: &str, loaded: bool, depth: u64, ramp_s: u64, runtime_s: u64) -> Result<Vec<Job>, Failure> {
    let times = format!("ramp_time={ramp_s}\nruntime={runtime_s}\ntime_based=1\n");
    let mut whole = format!("{text}iodepth={depth}\n{times}");
    if loaded {
        whole += &format!("{LOAD}{times}");
    }
    let mut sources = Sources::default();
    let file = sources.add("job", whole);
    Ok(job_file::read(&sources, file)?.jobs)
}

#[cfg(test)]
mod tests {
    use hopscope_files::library::Library;

    use super::*;

    #[test]
    fn shipped_jobs_are_those_of_the_study() {
        let library = Library::new(None).expect("the shipped files can be read");
        for benchmark in DESKTOP {
            let shipped = library.job(&format!("raid-{benchmark}")).expect("a shipped job").text.clone();
            for line in Numbers::read().job(benchmark).lines() {
                assert!(shipped.lines().any(|other| other == line), "raid-{benchmark}.fio has no `{line}`");
            }
        }
    }
}
