//! RAID controllers on the shipped machines: what levels cost, what policies do, and a drive that fails.

use std::cell::RefCell;
use std::rc::Rc;

use hopscope_files::job_file::{self, Job};
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_files::quantity;
use hopscope_kernel::{Observer, Record, Sim};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Failure, Options, Outcome, run, run_in};
use hopscope_observe::account::Extent;
use hopscope_parts::protocols::scsi::{COMMAND, DATA_IN, DATA_OUT};
use hopscope_questions::explain::explain;

const MEGARAID: &str = "raid-megaraid-64-66";
const THROUGH: &str = "raid.cache.writes=write-through";
const RAID_5: &str = "raid.array.level=RAID 5";

fn machine(system: &str, changes: &[&str], options: &str) -> (Blueprint, Vec<Job>) {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut sources = Sources::default();
    let text = library.open_system(system).expect("a shipped system");
    let file = sources.add(text.name, text.text);
    let mut blueprint = Blueprint::read(&library, &mut sources, file).unwrap_or_else(|problems| panic!("{problems}"));
    put(&mut blueprint, changes);
    let words: Vec<&str> = options.split(' ').collect();
    (blueprint, job_file::read_options(&mut sources, &words).expect("right options").jobs)
}

/// All at once: an array of other drives has another level, too.
pub fn put(blueprint: &mut Blueprint, changes: &[&str]) {
    for change in changes {
        let (path, text) = change.split_once('=').expect("path=value");
        let entry = blueprint.entry_mut(path).unwrap_or_else(|problem| panic!("{change}: {problem:?}"));
        entry.value = quantity::parse(text).expect("a quantity");
    }
}

/// Commands on the SCSI buses, and how many data phases went either way.
#[derive(Default, Clone)]
struct Seen(Rc<RefCell<[u64; 3]>>);

impl Observer for Seen {
    fn records(&mut self, records: &[Record]) {
        for record in records {
            let Record::Phase { label, span, .. } = *record else { continue };
            let is = [*label == COMMAND, DATA_IN.contains(label), DATA_OUT.contains(label)];
            if let Some(index) = is.iter().position(|is| *is) {
                self.0.borrow_mut()[index] += if index == 0 { 1 } else { span.as_ps() };
            }
        }
    }
    fn wants_phases(&self) -> bool {
        true
    }
}

fn watched(system: &str, changes: &[&str], options: &str) -> (Outcome, [u64; 3]) {
    let (blueprint, jobs) = machine(system, changes, options);
    let seen = Seen::default();
    let window = Options { cut: true, ..Options::default() };
    let outcome = run_in(Sim::new(), &blueprint, &jobs, window, Some(Box::new(seen.clone())));
    let counted = *seen.0.borrow();
    (outcome.unwrap_or_else(|failure| panic!("{changes:?} {options}: {failure:?}")), counted)
}

fn ended(outcome: &Outcome) -> u64 {
    outcome.jobs.iter().filter_map(|job| job.got.as_ref()).map(|got| got.count).sum()
}

fn rate(system: &str, changes: &[&str], options: &str) -> f64 {
    let (blueprint, jobs) = machine(system, changes, options);
    let outcome = run(&blueprint, &jobs, Options::default(), None);
    outcome.unwrap_or_else(|failure| panic!("{changes:?}: {failure:?}")).rate.bytes_per_second
}

#[test]
fn a_small_write_costs_what_its_level_costs() {
    let writes = "--rw=randwrite --bs=4k --size=256k";
    for (level, commands, reads) in [("RAID 0", 1, false), ("RAID 10", 2, false), ("RAID 5", 4, true)] {
        let (outcome, [sent, data_in, data_out]) =
            watched(MEGARAID, &[THROUGH, &format!("raid.array.level={level}")], writes);
        assert_eq!((ended(&outcome), sent), (64, 64 * commands), "{level}");
        // Two reads and two writes of RAID 5 move as much either way.
        assert_eq!(data_in, if reads { data_out } else { 0 }, "{level}");
    }
    let (outcome, [sent, ..]) = watched(
        MEGARAID,
        &[THROUGH, "raid.array.level=RAID 1", "raid.array.drives=2 drives", "raid.array.spares=2 drives"],
        writes,
    );
    assert_eq!((ended(&outcome), sent), (64, 128), "RAID 1");
}

#[test]
fn a_whole_row_of_raid_5_is_written_without_reading() {
    let (outcome, [sent, data_in, data_out]) = watched(MEGARAID, &[THROUGH, RAID_5], "--rw=write --bs=192k --size=3m");
    assert_eq!((ended(&outcome), sent, data_in), (16, 64, 0), "three units and their parity a row");
    assert!(data_out > 0);
}

#[test]
fn writes_end_in_the_cache_or_on_the_drives() {
    let writes = "--rw=randwrite --bs=8k --size=64m --norandommap --runtime=1 --time_based";
    let (back, through) = (rate(MEGARAID, &[], writes), rate(MEGARAID, &[THROUGH], writes));
    assert!(back > 5.0 * through, "write-back {back}, write-through {through}");
}

#[test]
fn reads_that_go_on_are_read_ahead() {
    let reads = "--rw=read --bs=8k --size=512m --runtime=500ms --time_based";
    let sizes = ["0 B", "64 KiB", "1 MiB"]
        .map(|size| rate("raid-acceleraid-64-66", &[&format!("raid.read_ahead.size={size}")], reads));
    assert!(sizes[0] < sizes[1] && sizes[1] <= sizes[2], "{sizes:?}");
    let never = rate("raid-acceleraid-64-66", &["raid.read_ahead.when=never"], reads);
    assert!(never < sizes[0], "{never} without, {sizes:?}");
}

#[test]
fn a_drive_that_fails_in_mid_run_costs_time_and_nothing_else() {
    let mixed = "--rw=randrw --bs=16k --size=64m --iodepth=8 --norandommap --runtime=2 --time_based";
    for (level, drives, spares) in [("RAID 5", 4, 0), ("RAID 5", 3, 1), ("RAID 10", 4, 0), ("RAID 1", 2, 2)] {
        let shape = [
            format!("raid.array.level={level}"),
            format!("raid.array.drives={drives} drives"),
            format!("raid.array.spares={spares} drives"),
        ];
        let well: Vec<&str> = shape.iter().map(String::as_str).chain([THROUGH]).collect();
        let failing: Vec<&str> =
            well.iter().copied().chain(["raid.failure.drive=drive1", "raid.failure.at=500 ms"]).collect();
        let (healthy, degraded) = (watched(MEGARAID, &well, mixed), watched(MEGARAID, &failing, mixed));
        let (before, after) = (ended(&healthy.0), ended(&degraded.0));
        let commands = |(outcome, seen): &(Outcome, [u64; 3])| seen[0] as f64 / ended(outcome) as f64;
        let change = commands(&degraded) / commands(&healthy);
        // What would be written to the lost drive is not written, which outweighs reads of the others in its place.
        let words = format!("{level} of {drives}: {before} well, {after} with a failure, {change:.3} of the commands");
        assert!((0.82..0.95).contains(&change), "{words}");
        assert!((0.82..1.06).contains(&(after as f64 / before as f64)), "{words}");
        assert!(degraded.0.simulated == healthy.0.simulated, "{level}: nobody waits for ever");
    }
}

#[test]
fn a_spare_is_filled_from_the_others() {
    let changes = [
        RAID_5,
        "raid.array.drives=3 drives",
        "raid.array.spares=1 drive",
        "raid.failure.drive=drive0",
        "raid.failure.at=1 ms",
        "raid.failure.noticed=1 ms",
        "raid.rebuild.pause=1 ms",
    ];
    // Hits of the cache leave the drives to the rebuild.
    let idle = "--rw=randread --bs=4k --size=64k --runtime=1 --time_based";
    let (_, [sent, data_in, data_out]) = watched(MEGARAID, &changes, idle);
    assert!(sent > 300 && data_out > 0 && data_in > data_out, "{sent} commands, {data_in} in, {data_out} out");
    let slower: Vec<&str> = changes[..6].iter().copied().chain(["raid.rebuild.pause=200 ms"]).collect();
    let (_, [fewer, ..]) = watched(MEGARAID, &slower, idle);
    // A pause shorter than a revolution may pass while the drives turn to the next row.
    let paused: Vec<&str> = changes[..6].iter().copied().chain(["raid.rebuild.pause=9 ms"]).collect();
    let (_, [many, ..]) = watched(MEGARAID, &paused, idle);
    let one_by_one: Vec<&str> = paused.iter().copied().chain(["raid.rebuild.rows=1 row"]).collect();
    let (_, [single, ..]) = watched(MEGARAID, &one_by_one, idle);
    assert!(single < many, "a pause after every row: {single} commands instead of {many}");
    assert!(fewer < sent, "the pause leaves drives to the host: {fewer} commands instead of {sent}");
}

#[test]
fn impossible_arrays_are_refused_where_they_are_written() {
    for (changes, about) in [
        (&[RAID_5, "raid.array.drives=2 drives"][..], "RAID 5"),
        (&["raid.array.level=RAID 1", "raid.array.drives=1 drive"], "RAID 1"),
        (&["raid.array.level=RAID 10", "raid.array.drives=3 drives"], "RAID 10"),
        (&["raid.array.stripe=1000 B"], "sectors"),
        (&["raid.array.stripe=32 KiB"], "two drives"),
        (&["raid.failure.drive=drive1"], "outlive"),
        (&["raid.array.drives=3 drives"], "4 drives at its channels"),
        (&["raid.cache.writes=sometimes"], "sometimes"),
    ] {
        let (mut blueprint, _) = machine(MEGARAID, &[], "--rw=read --bs=4k");
        put(&mut blueprint, changes);
        let said = blueprint.check().err().unwrap_or_else(|| panic!("{changes:?} is accepted"));
        assert!(said.render(&Sources::default(), false).contains(about), "{changes:?}: {said}");
    }
}

#[test]
fn the_account_of_every_shipped_array_adds_up() {
    for system in [MEGARAID, "raid-megaraid-32-33", "raid-acceleraid-pci-x-100", "raid-5-megaraid-32-33"] {
        for (seed, options) in [
            (1, "--rw=randrw --bs=20k --size=32m --iodepth=3 --norandommap --runtime=60ms --time_based"),
            (2, "--rw=read --bs=64k --size=1g --runtime=40ms --time_based"),
            (3, "--rw=write --bs=64k --size=1g --iodepth=2 --runtime=40ms --time_based"),
        ] {
            let (blueprint, jobs) = machine(system, &[], options);
            let explained =
                explain(&blueprint, &jobs, Options { seed, trains: true, ..Options::default() }, Extent::ALL, None);
            let account = match explained {
                Ok(explained) => explained.account,
                Err(Failure::Input(problems)) => panic!("{system} {options}: {problems}"),
                Err(other) => panic!("{system} {options}: {other:?}"),
            };
            assert_eq!(account.unattributed(), [], "{system} {options}");
        }
    }
}
