//! Lives of requests: stages add up to the latency, none is left unsaid, and what a request needed is in its life, also
//! with many in flight.

mod adapters;
mod ide;
mod nvme;

use std::cell::RefCell;
use std::rc::Rc;

use hopscope_files::library::Library;
use hopscope_kernel::{Class, Observer, Record, Sim, Time, expand};
use hopscope_machine::run::{Options, run_in};
use hopscope_observe::Lives;
use hopscope_observe::lives::{Enough, Latency, Shares, Split, StageKind};
use hopscope_questions::explain::{EXTENT, explain};

use crate::random_machines::{self, Drawn};
use crate::shipped;

/// All that lanes did, added up without a look at whom it was for.
#[derive(Clone, Default)]
struct Work(Rc<RefCell<Vec<Time>>>);

impl Work {
    /// What lanes did for requests within their lives, outside, and for nobody is all that they did.
    fn is_shared_out(&self, sim: &Sim, lives: &Lives, words: &str) {
        let mut worked = self.0.take();
        worked.resize(sim.lanes().len(), Time::ZERO);
        for ((shares, worked), (lane, _)) in lives.shares().iter().zip(&worked).zip(&sim.lanes()) {
            let Shares { in_life, outside, housekeeping } = *shares;
            assert_eq!(in_life + outside + housekeeping, *worked, "{words}: {lane}");
        }
    }
}

impl Observer for Work {
    fn records(&mut self, batch: &[Record]) {
        let worked = &mut *self.0.borrow_mut();
        // Clocks tell when something is, and not for how long.
        expand(
            batch,
            |_| None,
            |span| {
                let works = matches!(span.label.class, Class::Payload | Class::Through | Class::Protocol);
                if let Some(lane) = span.phase_of().map(usize::from).filter(|_| works) {
                    worked.resize(worked.len().max(lane + 1), Time::ZERO);
                    worked[lane] += span.span;
                }
            },
        );
    }
}

struct Both(Lives, Work);

impl Observer for Both {
    fn records(&mut self, batch: &[Record]) {
        self.0.records(batch);
        self.1.records(batch);
    }
}

pub struct Lived {
    pub latency: Latency,
    pub shares: Vec<(String, Shares)>,
    /// Mean over all requests that the run counted.
    mean_ns: f64,
}

/// The lives of a job on a shipped system; what is left unsaid is a failure.
fn lives(system: &str, options: &str) -> Lived {
    let library = Library::new(None).expect("the shipped files can be read");
    let words: Vec<&str> = options.split(' ').collect();
    of(&random_machines::of(&library, system, &words), &format!("{system} {options}"))
}

pub fn of(Drawn { blueprint, jobs, .. }: &Drawn, words: &str) -> Lived {
    let sim = Sim::new();
    let lives = Lives::new(&sim, Time::ZERO, Enough::ALL);
    let work = Work::default();
    let both = Both(lives.clone(), work.clone());
    let outcome = run_in(sim.clone(), blueprint, jobs, Options::default(), Some(Box::new(both)));
    let outcome = outcome.unwrap_or_else(|failure| panic!("{words}: {failure:?}"));
    let latency = lives.latency().unwrap_or_else(|| panic!("{words}: no request ended"));
    if !lives.unsaid().is_empty() {
        let unsaid = lives.unsaid().into_iter().map(|(who, time)| format!("\n  {who}: {time}")).collect::<String>();
        panic!("{words}: of {} requests, unsaid:{unsaid}\n{}", latency.mean.count, table(&latency));
    }
    let split_sum = |stages: &[hopscope_observe::lives::Stage]| stages.iter().fold(Time::ZERO, |sum, s| sum + s.time);
    for split in [Some(&latency.mean), Some(&latency.median), latency.p99.as_ref()].into_iter().flatten() {
        assert_eq!(split_sum(&split.stages), split.sum, "{words}");
    }
    let got = || outcome.jobs.iter().filter_map(|job| job.got.as_ref());
    let (count, sum) =
        got().fold((0, 0.0), |(count, sum), got| (count + got.count, sum + got.latency_ns.mean() * got.count as f64));
    assert_eq!(count, latency.mean.count, "{words}: every request that the run counted has a life");
    work.is_shared_out(&sim, &lives, words);
    let shares = sim.lanes().into_iter().map(|lane| lane.0).zip(lives.shares()).collect();
    Lived { latency, shares, mean_ns: sum / count as f64 }
}

/// What lives say of a run: of the requests that end after `from`, and whom each lane worked for.
#[derive(Debug, PartialEq)]
struct Seen {
    latency: Option<(Split, Split)>,
    shares: Vec<Shares>,
    at_work: Vec<bool>,
}

/// That of a run that is watched from `since` on, and one by one from `traced` on; the longest latency, too.
fn watched(drawn: &Drawn, (since, traced): (Time, Time), from: Time) -> (Seen, Time) {
    let Drawn { blueprint, jobs, .. } = drawn;
    let sim = Sim::new();
    let lives = Lives::since(&sim, (since, from), Enough::ALL).traced_since(traced);
    let options = Options { cut: true, ..Options::default() };
    let outcome = run_in(sim, blueprint, jobs, options, Some(Box::new(lives.clone()))).expect("it runs");
    let unsaid = lives.unsaid();
    assert!(unsaid.is_empty(), "watched from {since} and {traced} on: {unsaid:?}");
    let longest = outcome.jobs.iter().filter_map(|job| job.got.as_ref()).map(|got| got.latency_ns.max()).max();
    let latency = lives.latency().map(|of| (of.mean, of.median));
    (Seen { latency, shares: lives.shares(), at_work: lives.at_work() }, Time::ns(longest.unwrap_or(0)))
}

#[test]
fn lives_are_the_same_where_the_run_is_watched_from_the_longest_latency_before_them_on() {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut late = [0; 2];
    // As long as requests anywhere take to be answered often, and requests in order.
    for (system, anywhere, in_order) in [
        ("scsi-ultra160", 2_000, 300),
        ("win2000-3ware-jbod", 2_000, 240),
        ("win2000-cifs", 1_000, 200),
        ("raid-5-megaraid-64-66", 600, 160),
        ("raid-acceleraid-pci-x-100", 600, 400),
        ("myrinet-x5dl8-behind-bridge", 4, 4),
        ("myrinet-quartet", 4, 4),
        ("piix4e-two-disks-two-channels", 600, 600),
        ("nvme-server", 4, 4),
        ("sata-ssd", 20, 20),
        ("gpu-server", 2, 2),
    ] {
        for job in [
            "--rw=randread --bs=4k --iodepth=32",
            "--rw=read --bs=64k --iodepth=4",
            "--rw=randread --bs=16k",
            "--rw=randwrite --bs=4k --iodepth=32",
            "--rw=rw --bs=64k --iodepth=4",
        ] {
            // Of writes all of the run is watched anyway.
            let ms = if job.contains("rand") { anywhere } else { in_order };
            let ms = if job.contains("read") { ms } else { ms / 2 };
            let words = format!("{job} --time_based --runtime={ms}ms");
            let drawn = random_machines::of(&library, system, &words.split(' ').collect::<Vec<_>>());
            let from = Time::ms(ms) - Time::us(ms * 200);
            let (all, longest) = watched(&drawn, (Time::ZERO, Time::ZERO), from);
            // As `explain` does: requests are made a little before they are issued.
            let traced = from.saturating_sub(longest + Time::ps(longest.as_ps() / 4));
            let writes = drawn.jobs.iter().any(|job| job.rw.sides()[1]);
            let (some, _) = watched(&drawn, (if writes { Time::ZERO } else { traced }, traced), from);
            if writes {
                assert_eq!(some, all, "{system} {words}: watched one by one from {traced} on");
            } else {
                assert_eq!(some.latency, all.latency, "{system} {words}: watched from {traced} on");
            }
            late[usize::from(writes)] += usize::from(traced > Time::ZERO && all.latency.is_some());
        }
    }
    assert!(late[0] > 20 && late[1] > 15, "{late:?} runs of reads and of writes were watched from later on");
}

pub fn table(latency: &Latency) -> String {
    let each = |stage: &hopscope_observe::lives::Stage| {
        let mean = stage.time.as_ps() as f64 / 1e3 / latency.mean.count as f64;
        format!("  {mean:12.1} ns {:?} {} `{}` {}\n", stage.kind, stage.lane, stage.phase, stage.behind)
    };
    latency.mean.stages.iter().map(each).collect()
}

impl Lived {
    /// Mean service of all requests in a phase, ns.
    pub fn service_ns(&self, phase: &str) -> f64 {
        let of = |s: &&hopscope_observe::lives::Stage| s.kind != StageKind::Wait && s.phase == phase;
        let sum = self.latency.mean.stages.iter().filter(of).fold(Time::ZERO, |sum, stage| sum + stage.time);
        sum.as_ps() as f64 / 1e3 / self.latency.mean.count as f64
    }
}

/// Jobs of every kind on a storage device, so long anywhere, and so long in order.
pub fn storage(system: &str, [anywhere, in_order]: [&str; 2]) {
    for (job, runtime) in [
        ("--rw=randread --bs=4k", anywhere),
        ("--rw=randread --bs=4k --iodepth=32", anywhere),
        ("--rw=randread --bs=4k --iodepth=256", anywhere),
        ("--rw=read --bs=128k --iodepth=4", in_order),
        ("--rw=write --bs=64k --iodepth=2", in_order),
        ("--rw=randwrite --bs=4k --iodepth=64", anywhere),
        ("--rw=randrw --bs=16k --iodepth=8 --thinktime=100us --thinktime_blocks=8", anywhere),
    ] {
        let lived = lives(system, &format!("{job} --runtime={runtime} --time_based"));
        let mean = lived.latency.mean.mean().as_ns_f64();
        assert!((mean / lived.mean_ns - 1.0).abs() < 2e-3, "{system} {job}: {mean} {}", lived.mean_ns);
        let worked = lived.shares.iter().any(|(_, shares)| shares.in_life > Time::ZERO);
        assert!(worked, "{system} {job}");
    }
}

#[test]
fn lives_on_nvme() {
    for system in ["nvme-desktop", "nvme-chipset", "nvme-server"] {
        storage(system, ["5ms", "5ms"]);
        for depth in [1, 8, 32, 256] {
            let lived = lives(system, &format!("--rw=randread --bs=4k --iodepth={depth} --runtime=5ms --time_based"));
            let read = lived.service_ns("array read");
            assert!(read > 20_000.0, "{system} at depth {depth}: {read} ns of array read\n{}", table(&lived.latency));
        }
    }
}

#[test]
fn lives_on_adapters() {
    for system in ["nic-two-sockets", "gpu-server"] {
        for (job, runtime) in [
            ("--rw=read --bs=16k", "1ms"),
            ("--rw=read --bs=512k --iodepth=4", "800us"),
            ("--rw=write --bs=64k --iodepth=8", "500us"),
            ("--rw=randwrite --bs=512 --iodepth=32", "300us"),
            ("--rw=rw --bs=4k --iodepth=256", "2ms"),
            ("--rw=rw --bs=64k --iodepth=4 --numjobs=3", "500us"),
        ] {
            let job = format!("{job} --runtime={runtime} --time_based");
            let moved = ["data", "completion data"].map(|phase| lives(system, &job).service_ns(phase));
            assert!(moved.iter().any(|ns| *ns > 0.0), "{system} {job}");
        }
    }
    for system in ["pcie-bench-ivy-bridge", "pcie-bench-sandy-bridge"] {
        for job in [
            "--rw=randread --bs=64",
            "--rw=read --bs=512 --iodepth=4",
            "--rw=read --bs=2k --iodepth=32",
            "--rw=randread --bs=64 --iodepth=256",
            "--rw=write --bs=1k --iodepth=32",
            "--rw=write --bs=16k --iodepth=256",
            "--rw=rw --bs=512 --iodepth=4 --numjobs=3",
        ] {
            lives(system, &format!("{job} --runtime=60us --time_based"));
        }
    }
}

#[test]
fn lives_on_sata() {
    storage("sata-ssd", ["20ms", "20ms"]);
    for depth in [1, 4, 32, 256] {
        let lived = lives("sata-ssd", &format!("--rw=randread --bs=4k --iodepth={depth} --runtime=5ms --time_based"));
        for phase in ["array read", "data", "decode", "command processing"] {
            let each = lived.service_ns(phase);
            assert!(each > 0.0, "at depth {depth}: {each} ns of {phase}\n{}", table(&lived.latency));
        }
    }
    for job in [
        "--rw=read --bs=64k --numjobs=2 --iodepth=8",
        "--rw=read --bs=1m --iodepth=2",
        "--rw=read --bs=16k",
        "--rw=randwrite --bs=1m --iodepth=4",
        "--rw=randrw --bs=4k --iodepth=256 --numjobs=2",
    ] {
        lives("sata-ssd", &format!("{job} --runtime=20ms --time_based"));
    }
}

#[test]
fn lives_on_ide() {
    for system in ["piix4e-one-disk", "piix4e-one-disk-linux", "piix4e-one-disk-pio"] {
        storage(system, ["1s", "200ms"]);
    }
    for system in ["piix4e-two-disks-same-channel", "piix4e-two-disks-two-channels"] {
        for job in ["--rw=read --bs=64k --size=64k", "--rw=randwrite --bs=4k --iodepth=4", "--rw=write --bs=16k"] {
            let job = format!("{job} --time_based --runtime=300ms --name=a --filename=disk --name=b --filename=disk2");
            lives(system, &job);
        }
    }
}

#[test]
fn lives_on_scsi() {
    for system in ["atlas-15k", "barracuda-4lp", "barracuda-4lp-validation", "scsi-ultra160"] {
        storage(system, ["500ms", "150ms"]);
    }
}

#[test]
fn lives_on_raid() {
    for system in
        ["raid-megaraid-32-33", "raid-acceleraid-pci-x-100", "raid-5-megaraid-64-66", "raid-5-acceleraid-pci-x-100"]
    {
        storage(system, ["300ms", "80ms"]);
    }
}

#[test]
fn lives_on_myrinet() {
    let library = Library::new(None).expect("the shipped files can be read");
    for system in library.systems().filter(|name| name.starts_with("myrinet-")) {
        for job in ["--rw=read --bs=4k --iodepth=2", "--rw=write --bs=64k", "--rw=rw --bs=16k --iodepth=4"] {
            lives(system, &format!("{job} --runtime=2ms --time_based"));
        }
    }
}

/// Where requests are so long that there will be no 99th percentile, a third of the spans is enough.
#[test]
fn no_more_is_watched_than_an_answer_can_use() {
    for (words, least, most, has_p99) in [
        ("--rw=read --bs=128k --iodepth=32 --ramp_time=20ms --runtime=100ms --time_based", 320, 700, false),
        ("--rw=randread --bs=4k --iodepth=1 --ramp_time=20ms --runtime=300ms --time_based", 2_000, 2_100, true),
    ] {
        let (blueprint, jobs) = (shipped::machine("nvme-desktop", &[]), shipped::jobs(words));
        let explained = explain(&blueprint, &jobs, Options::default(), EXTENT, None).expect("it runs");
        let latency = explained.latency.expect("requests ended");
        assert!((least..most).contains(&latency.mean.count), "{words}: {}", latency.mean.count);
        assert_eq!(latency.p99.is_some(), has_p99, "{words}");
    }
}
