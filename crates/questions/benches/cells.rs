//! Cells of the PIIX4E study, and drives, in time: `cargo bench -p hopscope-questions`.
//!
//! One disk with long transfers lives by trains; two channels cut them at every burst. And what an NVM Express drive
//! costs a request.

use std::io::Cursor;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use hopscope_files::job_file::{self, Job};
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_kernel::{Observer, Sim};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Options, run, run_in};
use hopscope_observe::Phases;
use hopscope_questions::diagnosis::diagnose;
use hopscope_questions::explain::{EXTENT, explain};
use hopscope_questions::explanation::{Explanation, Listening};
use hopscope_questions::replay::{self, Trace};
use hopscope_questions::trials::Setting;
use hopscope_questions::whatif::sensitivities;

fn read(system: &str, options: &str) -> (Blueprint, Vec<Job>) {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut sources = Sources::default();
    let text = library.open_system(system).expect("a shipped system");
    let file = sources.add(text.name, text.text);
    let blueprint = Blueprint::read(&library, &mut sources, file).expect("a right system");
    let words: Vec<&str> = options.split(' ').collect();
    (blueprint, job_file::read_options(&mut sources, &words).expect("right options").jobs)
}

fn cells(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("cell");
    group.sample_size(10);
    let one = "--rw=read --bs=64k --size=64k --iodepth=2 --time_based";
    let two = "--rw=read --bs=64k --size=64k --iodepth=2 --time_based --runtime=100ms --name=a --filename=disk \
               --name=b --filename=disk2";
    for (name, system, options, trains, observed) in [
        ("one disk, 64 KiB reads, 10 s", "piix4e-one-disk", format!("{one} --runtime=10"), true, false),
        ("one disk, 64 KiB reads, 0.5 s", "piix4e-one-disk", format!("{one} --runtime=500ms"), true, false),
        (
            "one disk, 64 KiB reads, 0.5 s, every phase kept",
            "piix4e-one-disk",
            format!("{one} --runtime=500ms"),
            true,
            true,
        ),
        (
            "one disk, 64 KiB reads, 0.5 s, burst by burst",
            "piix4e-one-disk",
            format!("{one} --runtime=500ms"),
            false,
            false,
        ),
        ("two channels, 64 KiB reads, 0.1 s", "piix4e-two-disks-two-channels", two.to_string(), true, false),
        (
            "two channels, 64 KiB writes, 0.1 s",
            "piix4e-two-disks-two-channels",
            two.replace("--rw=read", "--rw=write"),
            true,
            false,
        ),
    ] {
        let (blueprint, jobs) = read(system, &options);
        let options = Options { trains, ..Options::default() };
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let watcher = observed.then(|| Box::new(Phases::default()) as Box<dyn Observer>);
                run_in(Sim::new(), &blueprint, &jobs, options, watcher).expect("the job runs").rate.bytes_per_second
            });
        });
    }
    group.finish();
}

/// What the account costs beside the run, and what the diagnosis costs beside both.
fn account(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("explain");
    group.sample_size(10);
    for (name, system, options) in [
        (
            "64 KiB writes, 10 s",
            "piix4e-one-disk",
            "--rw=write --bs=64k --size=64k --iodepth=2 --time_based --runtime=10",
        ),
        ("64 KiB reads, 10 s", "piix4e-one-disk", "--rw=read --bs=64k --size=64k --time_based --runtime=10"),
        ("random 4 KiB reads, 10 s", "piix4e-one-disk", "--rw=randread --bs=4k --size=32m --time_based --runtime=10"),
        ("1 MiB reads, depth 16", "sata-ssd", "--rw=read --bs=1m --iodepth=16"),
    ] {
        let (machine, jobs) = read(system, options);
        let options = Options::default();
        group.bench_function(format!("{name}, plain"), |bencher| {
            bencher.iter(|| run(&machine, &jobs, options, None).expect("the job runs").rate.bytes_per_second);
        });
        let explained = || explain(&machine, &jobs, options, EXTENT, None).expect("the job runs");
        group.bench_function(format!("{name}, explained"), |bencher| bencher.iter(|| explained().throughput()));
        let found = explained();
        let setting = Setting { blueprint: machine.clone(), jobs: jobs.clone() };
        group.bench_function(format!("{name}, diagnosis"), |bencher| {
            bencher.iter(|| diagnose(&setting, 1, &found, &|_, _| {}).expect("trials run"));
        });
    }
    group.finish();
}

/// Whole answers to a question, of random reads at depth 32: what limits, and what every number does.
fn answers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("answers");
    group.sample_size(10);
    for system in ["nvme-desktop", "raid-5-megaraid-64-66", "win2000-atlas-10k"] {
        let (blueprint, jobs) = read(system, "--rw=randread --bs=4k --iodepth=32");
        let setting = Setting { blueprint, jobs };
        let explained =
            || explain(&setting.blueprint, &setting.jobs, Options::default(), EXTENT, None).expect("the job runs");
        group.bench_function(format!("{system}, what limits"), |bencher| {
            bencher.iter(|| diagnose(&setting, 1, &explained(), &|_, _| {}).expect("trials run"));
        });
        let found = explained();
        group.bench_function(format!("{system}, every number"), |bencher| {
            bencher.iter(|| sensitivities(&setting, 1, &found, &|_| {}).expect("trials run"));
        });
    }
    // Of a run with writes a tenth is made, and long before its end it is known what it will come to: one thing after the
    // other, and beside it.
    let (blueprint, jobs) =
        read("nvme-desktop", "--rw=randwrite --bs=4k --iodepth=32 --ramp_time=20ms --runtime=300ms");
    let (setting, shorter) =
        (Setting { blueprint, jobs }, Options { not_longer_than_needed: true, ..Options::default() });
    group.bench_function("nvme-desktop written, one by one", |bencher| {
        bencher.iter(|| {
            let explained = explain(&setting.blueprint, &setting.jobs, shorter, EXTENT, None).expect("the job runs");
            diagnose(&setting, 1, &explained, &|_, _| {}).expect("trials run")
        });
    });
    group.bench_function("nvme-desktop written, what is known beside it", |bencher| {
        let listening = || Listening { watcher: &|_| None, news: &|_| {} };
        bencher.iter(|| Explanation::of(&setting, shorter, None, listening()).expect("the job runs").diagnosis);
    });
    group.finish();
}

/// Requests a second of a drive, behind one link and behind a switch.
fn drives(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("nvme");
    group.sample_size(10);
    for (name, system, options) in [
        ("random read 4k", "nvme-desktop", "--rw=randread --bs=4k --iodepth=32"),
        ("random write 4k", "nvme-desktop", "--rw=randwrite --bs=4k --iodepth=32"),
        ("sequential read 128k", "nvme-desktop", "--rw=read --bs=128k --iodepth=32"),
        ("random read 4k behind the chip set", "nvme-chipset", "--rw=randread --bs=4k --iodepth=32"),
    ] {
        requests(&mut group, name, system, &format!("{options} --time_based --runtime=20ms"));
    }
    group.finish();
}

/// Requests a second of adapters on PCI, behind a bridge that moves pieces.
fn adapters(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pci");
    group.sample_size(10);
    for (name, system, options) in [
        ("RAID 5, random read 4k", "raid-5-megaraid-64-66", "--rw=randread --bs=4k --iodepth=8 --runtime=2s"),
        ("RAID 5, sequential read 64k", "raid-5-megaraid-64-66", "--rw=read --bs=64k --iodepth=8 --runtime=200ms"),
        ("RAID 0, mixed 35k", "raid-megaraid-32-33", "--rw=randrw --bs=35k --size=1g --norandommap --runtime=1s"),
        ("RAID 0, random write 64k", "raid-megaraid-64-66", "--rw=randwrite --bs=64k --iodepth=8 --runtime=1s"),
        ("stopped at every line, read 64k", "win2000-escalade-6400", "--rw=read --bs=64k --iodepth=2 --runtime=1s"),
        (
            "stopped at every line, random read 4k",
            "win2000-atlas-10k",
            "--rw=randread --bs=4k --iodepth=32 --runtime=5s",
        ),
    ] {
        requests(&mut group, name, system, &format!("{options} --time_based"));
    }
    group.finish();
}

fn requests(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, system: &str, options: &str) {
    let (blueprint, jobs) = read(system, options);
    let ran = || run(&blueprint, &jobs, Options::default(), None).expect("the job runs");
    let requests = ran().jobs.iter().filter_map(|job| job.got.as_ref()).map(|got| got.count).sum();
    group.throughput(Throughput::Elements(requests));
    group.bench_function(name, |bencher| bencher.iter(|| ran().rate.bytes_per_second));
}

/// Requests a second of a replay: random ones, on one detailed drive.
fn replays(criterion: &mut Criterion) {
    const REQUESTS: u64 = 20_000;
    let (blueprint, _) = read("barracuda-4lp", "--rw=read");
    let line = |n: u64| format!("R Miss {} 8 9000.0 2000.0\n", n * 7_919 * 8 % 4_000_000);
    let text: String = (0..REQUESTS).map(line).collect();
    let mut group = criterion.benchmark_group("replay");
    group.sample_size(10).throughput(Throughput::Elements(REQUESTS));
    group.bench_function("one disk, random reads", |bencher| {
        bencher.iter(|| {
            let input = Box::new(Cursor::new(text.clone().into_bytes()));
            let trace = Trace { name: "bench".to_string(), input, format: None, only: None, gaps: None };
            let options = replay::Options { target: None, seed: 1, trains: true, account: false };
            let replayed = replay::replay(&blueprint, trace, &options, Box::new(|_, _, _| {}));
            replayed.expect("a right trace").figures.count()
        });
    });
    group.finish();
}

criterion_group!(benches, cells, account, answers, drives, adapters, replays);
criterion_main!(benches);
