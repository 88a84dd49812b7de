//! Trains change nothing: every span of every lane is the same, burst by burst, on the shipped systems.

use hopscope_files::job_file::Job;
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_kernel::{Counts, Observer, Pace, Record, Sim, Time};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Options, Outcome, run, run_in};
use hopscope_observe::{Interval, Phases};

use crate::random_machines;
use crate::random_machines::Drawn;
use crate::shipped;

#[test]
fn every_span_is_the_same_with_and_without_trains_on_random_jobs_and_machines() {
    let library = Library::new(None).expect("the shipped files can be read");
    let (mut booked, mut cut) = (0, 0);
    let disks = (0..400).map(|seed| (seed, random_machines::machine(&library, seed, "30ms")));
    let links = (1_000..1_100).map(|seed| (seed, random_machines::serial(&library, seed, "1ms")));
    for (seed, drawn) in disks.chain(links) {
        let Drawn { blueprint, jobs, words } = drawn;
        let run = |trains: bool| {
            let (sim, phases) = (Sim::new(), Phases::default());
            let options = Options { seed, trains, ..Options::default() };
            let outcome = run_in(sim.clone(), &blueprint, &jobs, options, Some(Box::new(phases.clone())));
            let outcome = outcome.unwrap_or_else(|failure| panic!("seed {seed}: {failure:?}"));
            let names = sim.lanes().into_iter().map(|(name, _)| name);
            let lanes: Vec<_> = phases.by_lane(&sim).into_iter().zip(names).collect();
            (outcome.simulated, outcome.rate.bytes_per_second, lanes, outcome.counts)
        };
        let (mut with, mut without) = (run(true), run(false));
        // A part says what it did when that has ended: what the end of the run cuts short is not compared here. (The
        // kernel's own random systems are, to the last picosecond.) Where not all of a run is kept, an arm may not have
        // said yet what it read ahead for some turns.
        let last = |lanes: &[(Vec<Interval>, String)]| {
            lanes.iter().flat_map(|lane| &lane.0).map(Interval::end).max().unwrap_or(Time::ZERO)
        };
        let kept = last(&with.2).min(last(&without.2));
        let unsaid = if kept < with.0.saturating_sub(Time::us(500)) { Time::ms(60) } else { Time::us(500) };
        let kept = kept.min(with.0).saturating_sub(unsaid);
        for lane in with.2.iter_mut().chain(&mut without.2) {
            lane.0.retain(|span| span.end() < kept);
        }
        let differs = |(a, name): &(Vec<Interval>, String), (b, _): &(Vec<Interval>, String)| {
            let at = (0..a.len().max(b.len())).find(|&i| a.get(i) != b.get(i))?;
            let (a, b) = (a.get(at).copied(), b.get(at).copied());
            Some((a.or(b)?.at.min(b.or(a)?.at), name.clone(), a, b))
        };
        if let Some(first) = with.2.iter().zip(&without.2).filter_map(|(a, b)| differs(a, b)).min_by_key(|d| d.0) {
            panic!("seed {seed} {words}: {first:#?}");
        }
        assert_eq!((with.0, with.1), (without.0, without.1), "seed {seed}");
        assert_eq!(without.3.trains, 0);
        booked += with.3.trains;
        cut += with.3.trains_cut;
        assert!(with.0 >= Time::ms(1));
    }
    println!("trains booked {booked}, cut {cut}");
    assert!(booked > 10_000 && cut > 1_000);
}

/// Where nobody looks on, ways over the lanes of a chip set are booked ahead, too.
#[test]
fn jobs_get_the_same_with_and_without_what_is_booked_ahead() {
    let random = "--rw=randrw --rwmixread=60 --bs=16k --size=1g --runtime=1";
    for (system, words) in [
        ("raid-megaraid-32-33-loaded", format!("--name=a --filename=raid {random} --name=b --filename=ide {random}")),
        ("raid-5-acceleraid-pci-x-100", format!("{random} --iodepth=32")),
        ("win2000-3ware-jbod", "--rw=randrw --bs=4k --iodepth=8 --runtime=2".to_string()),
        ("myrinet-quartet", "--rw=rw --bs=4k --iodepth=8 --runtime=10ms".to_string()),
        ("myrinet-x5dl8-behind-bridge", "--rw=rw --bs=4k --iodepth=8 --runtime=10ms".to_string()),
    ] {
        let (blueprint, jobs) = (shipped::machine(system, &[]), shipped::jobs(&words));
        get_the_same_for_less(&blueprint, &jobs, 1, &format!("{system} {words}"));
    }
}

/// What jobs get with what is booked ahead is what they get without; returns what the run with it cost.
fn get_the_same(drawn: Drawn, seed: u64) -> Counts {
    let Drawn { blueprint, jobs, words } = drawn;
    with_and_without(&blueprint, &jobs, seed, &words)[0]
}

/// The same where much is booked ahead.
pub fn get_the_same_for_less(blueprint: &Blueprint, jobs: &[Job], seed: u64, words: &str) {
    let [fewer, events] = with_and_without(blueprint, jobs, seed, words).map(|counts| counts.events);
    assert!(10 * fewer < 9 * events, "{words}: {fewer} events, {events} by hand");
}

/// What both runs cost, which get the same.
fn with_and_without(blueprint: &Blueprint, jobs: &[Job], seed: u64, words: &str) -> [Counts; 2] {
    let run = |trains| {
        run(blueprint, jobs, Options { seed, trains, ..Options::default() }, None)
            .unwrap_or_else(|failure| panic!("seed {seed} {words}: {failure:?}"))
    };
    let (ahead, by_hand) = (run(true), run(false));
    let got = |outcome: &Outcome| format!("{:?} {:?} {:?}", outcome.jobs, outcome.rate, outcome.simulated);
    assert_eq!(got(&ahead), got(&by_hand), "seed {seed} {words}");
    [ahead.counts, by_hand.counts]
}

/// Where nobody looks on, two channels of an IDE bridge take turns ahead of time.
#[test]
fn jobs_get_the_same_whether_channels_take_turns_or_not_on_random_machines() {
    let library = Library::new(None).expect("the shipped files can be read");
    let each = |seed| get_the_same(random_machines::two_channels(&library, seed, "30ms"), seed).told;
    let taken: u64 = (0..200).map(each).sum();
    // 3,430,000 where each group has whole clocks, 4,020,000 where groups of both channels leave the same part of one.
    assert!(taken > 4_400_000, "turns are taken ahead: {taken} grants and ends");
}

/// At most paces a group does not take whole clocks of the bus; and a cable can be faster than the bus.
#[test]
fn what_an_ide_drive_moves_is_booked_ahead_at_any_pace() {
    let paces =
        ["host", "ide.buffer", "pci", "cable"].map(|hop| [1_050, 1_370, 2_000].map(|times| ("write", hop, times)));
    for (rw, hop, times) in paces.into_iter().flatten().chain([("read", "cable", 2_000), ("read", "cable", 3_300)]) {
        let mut blueprint = shipped::machine("piix4e-one-disk", &[]);
        blueprint.faster(hop, Pace::new(times, 1_000).expect("a pace"));
        let jobs = shipped::jobs(&format!("--rw={rw} --bs=64k --size=64k --runtime=50ms --time_based"));
        let [Counts { trains, bursts_in_trains, .. }, _] = with_and_without(&blueprint, &jobs, 1, hop);
        assert!(
            bursts_in_trains > 50 * trains.max(1),
            "{rw}, {hop} at {times}: {bursts_in_trains} bursts in {trains} trains"
        );
    }
}

/// Somebody who looks on from an instant on.
struct From(Time, Phases);

impl Observer for From {
    fn records(&mut self, batch: &[Record]) {
        self.1.records(batch);
    }

    fn wants_phases_from(&self) -> Time {
        self.0
    }
}

/// Whoever begins to look on ends what is booked ahead, and sees what goes on as it would have.
fn sees_the_same_from_the_middle(drawn: Drawn, seed: u64, from: Time) -> Counts {
    let Drawn { blueprint, jobs, words } = drawn;
    let run = |trains: bool| {
        let (sim, phases) = (Sim::new(), Phases::default());
        let options = Options { seed, trains, ..Options::default() };
        let outcome = run_in(sim.clone(), &blueprint, &jobs, options, Some(Box::new(From(from, phases.clone()))));
        let outcome = outcome.unwrap_or_else(|failure| panic!("seed {seed} {words}: {failure:?}"));
        // What had ended is not of interest, and what is said only at its end must not be cut off.
        let seen = |span: &Interval| span.end() > from && span.end() < from + Time::us(500);
        let of = |lane: Vec<Interval>| lane.into_iter().filter(seen).collect();
        let lanes: Vec<Vec<Interval>> = phases.by_lane(&sim).into_iter().map(of).collect();
        (lanes, outcome.counts)
    };
    let ((ahead, counts), (by_hand, _)) = (run(true), run(false));
    assert_eq!(ahead, by_hand, "seed {seed}, from {from:?} {words}");
    counts
}

/// An instant between `first` and as much later, and a runtime that ends a little behind it.
fn middle(seed: u64, first: Time, as_much: u64) -> (Time, String) {
    let from = first + Time::ns(seed * 77_919 % as_much);
    (from, format!("{}us", from.as_ps() / 1_000_000 + 700))
}

#[test]
fn who_looks_on_from_the_middle_sees_the_same_whether_channels_take_turns_or_not() {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut taken = 0;
    for seed in 200..800 {
        let (from, runtime) = middle(seed, Time::ms(5), 9_000_000);
        let drawn = random_machines::two_channels(&library, seed, &runtime);
        taken += sees_the_same_from_the_middle(drawn, seed, from).told;
    }
    assert!(taken > 1_000_000, "turns are taken ahead: {taken} grants and ends");
}

#[test]
fn who_looks_on_from_the_middle_sees_the_same_whether_pieces_are_told_of_at_once_or_one_by_one() {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut pieces = 0;
    for seed in 200..600 {
        let (from, runtime) = middle(seed, Time::ms(10), 30_000_000);
        let drawn = random_machines::pieces_of_reads(&library, seed, &runtime);
        pieces += sees_the_same_from_the_middle(drawn, seed, from).bursts_in_trains;
    }
    assert!(pieces > 50_000, "{pieces} pieces");
}

/// Where nobody looks on, pieces of a read cross the memory of a RAID adapter as a train, as long as nobody else wants it.
#[test]
fn jobs_get_the_same_whether_pieces_are_told_of_at_once_or_one_by_one() {
    let library = Library::new(None).expect("the shipped files can be read");
    let (mut pieces, mut trains, mut cut) = (0, 0, 0);
    for seed in 200..350 {
        let counts = get_the_same(random_machines::pieces_of_reads(&library, seed, "150ms"), seed);
        pieces += counts.bursts_in_trains;
        trains += counts.trains;
        cut += counts.trains_cut;
    }
    println!("{pieces} pieces in {trains} trains, {cut} cut");
    assert!(pieces > 100_000 && cut > 1_000, "{pieces} pieces in {trains} trains, {cut} cut");
}

/// Two cards on one bus, and one link to memory.
fn two_cards() -> Blueprint {
    let library = Library::new(None).expect("the shipped files can be read");
    let shipped = library.open_system("raid-megaraid-32-33-loaded").expect("a shipped system");
    let (before, link) = shipped.text.split_once("[part.hub_link]").expect("a link behind the first");
    let (_, behind) = link.split_once("[part.bridge]").expect("a bridge");
    let text = format!("{before}[part.bridge]{}", behind.replace("hub_link.far", "link.far"));
    let mut sources = Sources::default();
    let file = sources.add("two-cards".to_string(), text);
    let read = Blueprint::read(&library, &mut sources, file);
    read.unwrap_or_else(|problems| panic!("{}", problems.render(&sources, false)))
}

/// Bursts that bridges stop one like the other: at any boundary, at any pace, beside others. Returns how many trains there
/// were, and how many of them were cut.
fn get_the_same_of_stopped_bursts(
    machines: &[(&str, &str, &[&str])],
    words: [&str; 4],
    of_bridge: impl Fn(&mut dyn FnMut(usize) -> usize) -> Vec<String>,
) -> (u64, u64) {
    let (mut seed, mut trains, mut cut) = (77u64, 0, 0);
    let mut drawn = |count: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % count
    };
    for number in 0..42 {
        let (system, card, devices) = machines[number % machines.len()];
        let mut blueprint = if system == "two-cards" { two_cards() } else { shipped::machine(system, &[]) };
        let mut changes = vec![
            format!("bridge.boundary={}B", [16, 32, 64, 128][drawn(4)]),
            format!("{card}.pci.gap={}clocks", [1, 2, 4, 9][drawn(4)]),
            format!("{card}.pci.retry_idle={}clocks", [1, 2, 7][drawn(3)]),
            format!("bridge.latency={}ns", [20, 60, 301][drawn(3)]),
            format!("host.memory.rate={}MB/s", [100, 400, 2_000][drawn(3)]),
            format!("pci.latency_timer={}clocks", [16, 32, 64][drawn(3)]),
        ];
        changes.extend(of_bridge(&mut drawn));
        // Most of the machine as it is.
        let changes: Vec<&String> = changes.iter().filter(|_| drawn(3) > 0).collect();
        for change in &changes {
            if let Err(problems) = blueprint.set(change) {
                panic!("{system} {change}: {}", problems.render(&Sources::default(), false));
            }
        }
        if let Some(hop) = ["pci", "bridge.bus0", &format!("{card}.pci"), "host.memory"].get(drawn(6)) {
            blueprint.faster(hop, Pace::new(1_000 + drawn(900) as u32, 1_000).expect("a pace"));
        }
        let of_one = |device: &&str| {
            format!(
                "--name={device} --filename={device} {} --iodepth={} --size=1g",
                words[drawn(4)],
                [1, 3, 32][drawn(3)]
            )
        };
        let words = devices.iter().map(of_one).collect::<Vec<_>>().join(" ") + " --runtime=200ms --time_based";
        let words = words.replace(" --name", " --runtime=200ms --time_based --name");
        let jobs = shipped::jobs(&words);
        let [counts, _] = with_and_without(&blueprint, &jobs, 1, &format!("{system} {changes:?} {words}"));
        trains += counts.trains;
        cut += counts.trains_cut;
    }
    (trains, cut)
}

#[test]
fn jobs_get_the_same_with_and_without_trains_of_stopped_bursts() {
    let (one, two) = (["disk0"].as_slice(), ["disk0", "disk1"].as_slice());
    // Machine, its card and the devices.
    let machines = [
        ("scsi-ultra160", "adapter", two),
        ("win2000-3ware-jbod", "raid", two),
        ("win2000-barracuda", "adapter", &["disk"]),
        ("win2000-random", "adapter0", &["disk-a0-0", "disk-a0-1", "disk-a1-0"]),
        ("raid-megaraid-64-66", "raid", &["raid"]),
        ("two-cards", "raid", &["raid", "ide"]),
        ("scsi-ultra160", "adapter", one),
    ];
    let words = ["--rw=read --bs=64k", "--rw=randread --bs=4k", "--rw=rw --bs=16k", "--rw=randrw --bs=8k"];
    let (trains, cut) = get_the_same_of_stopped_bursts(&machines, words, |drawn| {
        vec![
            format!("bridge.write.under_way={}transactions", [1, 2, 4][drawn(3)]),
            format!("bridge.write.buffer={}B", [128, 256, 1024][drawn(3)]),
        ]
    });
    assert!(trains > 20_000 && cut > 200, "{trains} trains, {cut} cut");
}

/// The same of bursts of delayed reads, also where a burst takes more to begin than it moves.
#[test]
fn jobs_get_the_same_with_and_without_trains_of_answered_bursts() {
    let two = ["disk0", "disk1"].as_slice();
    let machines = [
        ("scsi-ultra160", "adapter", two),
        ("win2000-3ware-jbod", "raid", two),
        ("win2000-cifs", "nic", &["server.stripe", "server.stripe"]),
        ("win2000-random", "adapter0", &["disk-a0-0", "disk-a0-1", "disk-a1-0"]),
        ("raid-megaraid-64-66", "raid", &["raid"]),
        ("two-cards", "raid", &["raid", "ide"]),
        ("win2000-cifs", "adapter", &["server.stripe"]),
    ];
    let words = ["--rw=write --bs=64k", "--rw=randwrite --bs=4k", "--rw=rw --bs=16k", "--rw=randrw --bs=8k"];
    let (trains, cut) = get_the_same_of_stopped_bursts(&machines, words, |drawn| {
        vec![
            format!("bridge.read.ahead={}transactions", [1, 2, 4, 9][drawn(4)]),
            format!("bridge.read.piece={}B", [32, 64, 96, 128][drawn(4)]),
            format!("bridge.read.first={}B", [32, 64][drawn(2)]),
            format!("bridge.read.prefetch_multiple={}B", [32, 256, 512, 1024][drawn(4)]),
            format!("bridge.read.latched={}transactions", [1, 2, 3][drawn(3)]),
        ]
    });
    // 85,000 are of writes among them.
    assert!(trains > 300_000 && cut > 30_000, "{trains} trains, {cut} cut");
}

/// What a card reads crosses a hub in pieces of 32 bytes, over wires that requests and data share: as a page begins some
/// meet and are carried by hand, and the rest is booked all the same.
#[test]
fn what_meets_on_shared_wires_now_and_then_is_booked_ahead_in_between() {
    let (blueprint, words) = (shipped::machine("win2000-escalade-6400", &[]), "--rw=write --bs=64k --runtime=20ms");
    let [ahead, by_hand] = with_and_without(&blueprint, &shipped::jobs(words), 1, words);
    assert!(10 * ahead.told > ahead.events, "{ahead:?}");
    assert!(3 * ahead.events < by_hand.events, "{} events, {} by hand", ahead.events, by_hand.events);
}
