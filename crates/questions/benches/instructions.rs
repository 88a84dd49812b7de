//! What a request of a drive costs, in instructions: the same on every run, so that a change of one percent shows.
//!
//! ```text
//! cargo install gungraun-runner --version 0.20.0    # once; must match the library; needs valgrind
//! cargo bench -p hopscope-questions --bench instructions --features instructions
//! ```
//!
//! Each job is counted over 10 ms and over 20 ms of simulated time; the difference over the requests between is the cost
//! of one: what a run costs once cancels.

// The macros write items without documentation.
#![allow(missing_docs)]

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group, main};
use hopscope_files::job_file::{self, Job};
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Options, run};

const RANDOM_READS: &str = "--rw=randread --bs=4k --iodepth=32 --time_based";
const SEQUENTIAL_READS: &str = "--rw=read --bs=128k --iodepth=32 --time_based";

fn read(system: &str, options: &str, runtime: &str) -> (Blueprint, Vec<Job>) {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut sources = Sources::default();
    let text = library.open_system(system).expect("a shipped system");
    let file = sources.add(text.name, text.text);
    let blueprint = Blueprint::read(&library, &mut sources, file).expect("a right system");
    let words: Vec<&str> = options.split(' ').chain([runtime]).collect();
    (blueprint, job_file::read_options(&mut sources, &words).expect("right options").jobs)
}

#[library_benchmark]
#[bench::random_read_10ms(read("nvme-desktop", RANDOM_READS, "--runtime=10ms"))]
#[bench::random_read_20ms(read("nvme-desktop", RANDOM_READS, "--runtime=20ms"))]
#[bench::sequential_read_10ms(read("nvme-desktop", SEQUENTIAL_READS, "--runtime=10ms"))]
#[bench::sequential_read_20ms(read("nvme-desktop", SEQUENTIAL_READS, "--runtime=20ms"))]
#[bench::chipset_10ms(read("nvme-chipset", RANDOM_READS, "--runtime=10ms"))]
#[bench::chipset_20ms(read("nvme-chipset", RANDOM_READS, "--runtime=20ms"))]
fn requests((blueprint, jobs): (Blueprint, Vec<Job>)) -> f64 {
    black_box(run(&blueprint, &jobs, Options::default(), None).expect("the job runs").rate.bytes_per_second)
}

library_benchmark_group!(name = nvme, benchmarks = requests);
main!(library_benchmark_groups = nvme);
