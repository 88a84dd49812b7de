//! What a pace is: with every lane at half its pace, and the workload's own times doubled, a run records the same spans
//! with every time doubled. A span that a part forgot to ask its lane for shows at once, by name.

pub mod adapters;
mod ide;
pub mod nvme;
mod recorded;

use hopscope_files::job_file::{self, Job};
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_kernel::{Pace, PassedOn, Record, Span, Time};
use hopscope_machine::blueprint::Blueprint;

pub use recorded::{Recorded, record};

fn doubled(span: &Span) -> Span {
    Span { at: span.at * 2, span: span.span * 2, ..*span }
}

fn doubled_request(record: &Record) -> Record {
    let passed = |of: Option<PassedOn>| of.map(|of| PassedOn { since: of.since * 2, ..of });
    match *record {
        Record::TakeUp { who, at, request } => Record::TakeUp { who, at: at * 2, request: passed(request) },
        Record::TakeUpToo { who, at, request } => Record::TakeUpToo { who, at: at * 2, request: passed(request) },
        Record::Issue { who, at, request } => Record::Issue { who, at: at * 2, request },
        Record::Transfer { who, label, at, span, bytes } => {
            Record::Transfer { who, label, at: at * 2, span: span * 2, bytes }
        }
        other => other,
    }
}

fn read(system: &str, options: &str) -> (Blueprint, Vec<Job>) {
    read_as(system, ("", ""), options)
}

/// A shipped system with a word of its text replaced, and a job.
fn read_as(system: &str, (word, by): (&str, &str), options: &str) -> (Blueprint, Vec<Job>) {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut sources = Sources::default();
    let text = library.open_system(system).expect("a shipped system");
    let replaced = if word.is_empty() { text.text } else { text.text.replace(word, by).into() };
    let file = sources.add(text.name, replaced);
    let blueprint = Blueprint::read(&library, &mut sources, file).expect("a right system");
    let words: Vec<&str> = options.split(' ').collect();
    (blueprint, job_file::read_options(&mut sources, &words).expect("right options").jobs)
}

/// Holds the law of a system and a job; says which span differs first.
fn doubles(system: &str, options: &str) {
    let (blueprint, jobs) = read(system, options);
    doubles_on(&format!("{system} {options}"), &blueprint, &jobs);
}

/// The same of a machine that has been read; `what` says which.
pub fn doubles_on(what: &str, blueprint: &Blueprint, jobs: &[Job]) {
    let mut slow = blueprint.clone();
    for hop in blueprint.hops() {
        slow.pace(&hop.name, Pace::new(1, 2).expect("a pace")).expect("a hop");
    }
    let twice = |time: Time| time * 2;
    let later = |job: &Job| {
        let mut job = job.clone();
        (job.runtime, job.ramp_time) = (job.runtime.map(twice), twice(job.ramp_time));
        job.think.time = twice(job.think.time);
        job
    };
    let slow_jobs: Vec<Job> = jobs.iter().map(later).collect();
    for trains in [true, false] {
        let (is, should) = (record(&slow, &slow_jobs, trains), record(blueprint, jobs, trains));
        assert!(should.transfers >= 3, "{what}: only {} requests", should.transfers);
        if let Some(difference) = difference(&is, should.spans().map(doubled)) {
            panic!("{what}, trains {trains}: {difference}");
        }
        let wanted: Vec<Record> = should.requests.iter().map(doubled_request).collect();
        let differs = is.requests.iter().zip(&wanted).find(|(is, wanted)| is != wanted);
        assert_eq!((differs, is.requests.len()), (None, wanted.len()), "{what}, trains {trains}");
    }
}

/// How what was recorded differs from what is wanted, if it does.
fn difference(is: &Recorded, wanted: impl Iterator<Item = Span> + Clone) -> Option<String> {
    let is_same = is.spans().copied().eq(wanted.clone());
    (!is_same).then(|| first_difference(is, wanted))
}

/// The earliest span that is in one of them only, and what is in its stead.
fn first_difference(is: &Recorded, wanted: impl Iterator<Item = Span>) -> String {
    let in_time = |mut spans: Vec<Span>| {
        spans.sort_by_key(|span| span.at);
        spans
    };
    let (spans, wanted) = (in_time(is.spans().copied().collect()), in_time(wanted.collect()));
    let at = (0..).find(|&at| spans.get(at) != wanted.get(at)).unwrap_or(0);
    let words = |span: Option<&Span>| {
        span.map_or("nothing".to_string(), |s| {
            let lane = s.lane().map_or("-", |lane| &is.lanes[usize::from(lane)]);
            let who = &is.processes[usize::from(s.who)];
            format!("{:?} `{}` on {lane} by {who} at {} for {}", s.kind, s.label.name, s.at, s.span)
        })
    };
    let before: Vec<String> = wanted[at.saturating_sub(6)..at].iter().map(|s| words(Some(s))).collect();
    let (found, instead) = (words(spans.get(at)), words(wanted.get(at)));
    format!(
        "at half the pace\n  {found}\nis where twice the original is\n  {instead}\nafter\n  {}",
        before.join("\n  ")
    )
}

/// Jobs of every kind on a storage device: alone, many, and with pauses; so long anywhere, and so long in order.
fn storage(system: &str, [anywhere, in_order]: [&str; 2]) {
    for (job, runtime) in [
        ("--rw=randread --bs=4k", anywhere),
        ("--rw=randread --bs=4k --iodepth=32", anywhere),
        ("--rw=read --bs=128k --iodepth=4", in_order),
        ("--rw=write --bs=64k --iodepth=2", in_order),
        ("--rw=randwrite --bs=4k --iodepth=16", anywhere),
        ("--rw=randrw --bs=16k --iodepth=8 --thinktime=100us --thinktime_blocks=8", anywhere),
    ] {
        doubles(system, &format!("{job} --runtime={runtime} --time_based"));
    }
}

#[test]
fn nvme_doubles() {
    storage("nvme-desktop", ["3ms", "3ms"]);
    storage("nvme-chipset", ["2ms", "2ms"]);
    storage("nvme-server", ["2ms", "2ms"]);
}

#[test]
fn pcie_adapters_double() {
    for system in ["pcie-bench-ivy-bridge", "pcie-bench-sandy-bridge"] {
        for job in ["--rw=randread --bs=64", "--rw=read --bs=512 --iodepth=8", "--rw=write --bs=1k --iodepth=16"] {
            doubles(system, &format!("{job} --runtime=200us --time_based"));
        }
    }
}

#[test]
fn network_adapters_and_gpus_double() {
    for system in ["nic-two-sockets", "gpu-server"] {
        for job in ["--rw=read --bs=16k", "--rw=write --bs=64k --iodepth=8", "--rw=rw --bs=4k --iodepth=32"] {
            doubles(system, &format!("{job} --runtime=1ms --time_based"));
        }
    }
}

#[test]
fn sata_doubles() {
    storage("sata-ssd", ["10ms", "10ms"]);
}

#[test]
fn ide_doubles() {
    for system in ["piix4e-one-disk", "piix4e-one-disk-linux", "piix4e-one-disk-pio"] {
        storage(system, ["300ms", "80ms"]);
    }
    for system in ["piix4e-two-disks-same-channel", "piix4e-two-disks-two-channels"] {
        for job in ["--rw=read --bs=64k --size=64k", "--rw=randwrite --bs=4k --iodepth=4", "--rw=write --bs=16k"] {
            let job = format!("{job} --time_based --runtime=300ms --name=a --filename=disk --name=b --filename=disk2");
            doubles(system, &job);
        }
    }
}

#[test]
fn scsi_doubles() {
    for system in ["atlas-15k", "barracuda-4lp", "barracuda-4lp-validation", "scsi-ultra160"] {
        storage(system, ["200ms", "80ms"]);
    }
}

#[test]
fn raid_doubles() {
    for system in
        ["raid-megaraid-32-33", "raid-acceleraid-pci-x-100", "raid-5-megaraid-64-66", "raid-5-acceleraid-pci-x-100"]
    {
        storage(system, ["100ms", "40ms"]);
    }
    doubles("raid-megaraid-32-33-loaded", "--rw=randrw --bs=8k --iodepth=4 --runtime=100ms --time_based");
}

#[test]
fn myrinet_doubles() {
    let library = Library::new(None).expect("the shipped files can be read");
    for system in library.systems().filter(|name| name.starts_with("myrinet-")) {
        for job in ["--rw=read --bs=4k --iodepth=2", "--rw=write --bs=64k", "--rw=rw --bs=16k --iodepth=4"] {
            doubles(system, &format!("{job} --runtime=2ms --time_based"));
        }
    }
}
