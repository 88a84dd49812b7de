//! What a change would buy: changes, sensitivities and upgrades on the shipped machines.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use hopscope_files::change::Change;
use hopscope_files::job_file;
use hopscope_files::library::Library;
use hopscope_files::problem::{Problems, Sources, place};
use hopscope_files::upgrade_file;
use hopscope_kernel::Time;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::going::Going;
use hopscope_machine::run::{Options, run};
use hopscope_questions::whatif::upgrades::with_upgrade;
use hopscope_questions::whatif::{
    Beyond, Changed, News, Sensitivities, Sensitivity, Setting, Upgrades, apply, base, compare, outlook, sensitivities,
    upgrades,
};
use rayon::prelude::*;

use crate::trials::Ends;

const ONE: &str = "piix4e-one-disk";
const TWO: &str = "piix4e-two-disks-two-channels";
const REWRITE: &str = "--rw=write --bs=64k --size=64k --iodepth=2 --time_based --runtime=100ms";
const RANDOM: &str = "--rw=randread --bs=16k --size=64m --time_based --runtime=1 --iodepth=2";

fn setting(system: &str, options: &str) -> (Setting, Library, Sources) {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut sources = Sources::default();
    let text = library.open_system(system).expect("a shipped system");
    let file = sources.add(text.name, text.text);
    let blueprint = Blueprint::read(&library, &mut sources, file).expect("a right system");
    let words: Vec<&str> = options.split(' ').collect();
    let jobs = job_file::read_options(&mut sources, &words).expect("right options").jobs;
    (Setting { blueprint, jobs }, library, sources)
}

/// What `changes` (`-` replaces, `+` adds, else a number) make of a machine.
pub fn changed(system: &str, options: &str, changes: &[&str]) -> Result<Changed, Problems> {
    let (setting, library, mut sources) = setting(system, options);
    let at = |text: &str, sources: &mut Sources| place(sources.add("command line", text), 0..text.len());
    let mut read = Vec::new();
    for text in changes {
        let at = at(text, &mut sources);
        read.push(match text.split_at(1) {
            ("-", text) => Change::replacement(text, at)?,
            ("+", text) => Change::addition(text, at)?,
            _ => Change::assignment(text, at)?,
        });
    }
    apply(&setting, &read, &library, &mut sources)
}

fn rate(setting: &Setting) -> f64 {
    run(&setting.blueprint, &setting.jobs, Options::default(), None).expect("the jobs run").rate.bytes_per_second
}

fn refusal(changes: &[&str]) -> String {
    let problems = changed(ONE, REWRITE, changes).err().expect("it is refused");
    assert!(problems.0.iter().all(|problem| problem.place.is_some()), "every problem has a place: {problems:?}");
    problems.0.iter().map(|problem| format!("{}; {}\n", problem.title, problem.help)).collect()
}

#[test]
fn a_number_in_any_vocabulary_is_the_same_change() {
    let plain = rate(&setting(ONE, REWRITE).0);
    let named = changed(ONE, REWRITE, &["host.memory.read_first_data=0 clocks"]).expect("a right change");
    let of_model = changed(ONE, REWRITE, &["[host-bridge].memory.read_first_data=x0"]).expect("a right change");
    assert_eq!(named.words, ["host.memory.read_first_data is 0 clocks instead of 13 clocks"]);
    assert_eq!(named.words, of_model.words);
    assert!(rate(&named.setting) > 1.1 * plain, "memory that answers at once");
    assert_eq!(rate(&named.setting), rate(&of_model.setting));
}

#[test]
fn the_jobs_change_like_the_machine() {
    let deeper = changed(ONE, REWRITE, &["job.iodepth=x2", "job.bs=128k"]).expect("a right change");
    assert_eq!((deeper.setting.jobs[0].iodepth, deeper.setting.jobs[0].block_bytes_min), (4, 128 << 10));
    assert_eq!(deeper.words.len(), 2);
    let err = refusal(&["job.iodepht=4"]);
    assert!(err.contains("did you mean `iodepth`?"), "{err}");
    assert!(refusal(&["job.iodepth=0"]).contains("never 0"));
}

#[test]
fn an_added_disk_on_the_free_channel_does_the_same_job_and_doubles_random_reads() {
    let added = ["+cable2=bus/ide-ultra-33@ide.free", "+disk2=disk/quantum-fireball-el10.2a@cable2.drive0"];
    let changed = changed(ONE, RANDOM, &added).expect("a right change");
    assert_eq!(changed.also_on, ["disk2"]);
    let targets: Vec<_> = changed.setting.jobs.iter().map(|job| job.targets.clone()).collect();
    assert_eq!(targets, [vec![], vec!["disk2".to_string()]]);
    let gain = rate(&changed.setting) / rate(&setting(ONE, RANDOM).0);
    assert!((1.8..2.1).contains(&gain), "two arms instead of one: {gain}");
}

#[test]
fn a_part_like_another_takes_its_numbers_along() {
    let more = ["disk.rotation=7200 rpm", "+disk2=[hard-disk]@[ide-cable].free"];
    let changed = changed(ONE, RANDOM, &more).expect("a right change");
    let rotations: Vec<_> = changed.setting.blueprint.numbers().into_iter().collect();
    let of = |path: &str| rotations.iter().find(|(p, _)| p == path).map(|(_, entry)| entry.written.clone());
    // Parts are added before numbers change: the new one is like the old one was.
    assert_eq!((of("disk.rotation").as_deref(), of("disk2.rotation").as_deref()), (Some("7200 rpm"), Some("5400 rpm")));
}

#[test]
fn a_replaced_part_leaves_its_numbers_and_takes_its_wires() {
    let changed = changed(ONE, REWRITE, &["-pci=bus/pci-32-33"]).expect("a right change");
    let numbers = changed.setting.blueprint.numbers();
    let clock = numbers.iter().find(|(path, _)| path == "pci.clock").map(|(_, entry)| entry.written.as_str());
    assert_eq!(clock, Some("33.333333 MHz"), "the system's 33.5 MHz were measured on the old one");
    assert!(rate(&changed.setting) > 0.0);
}

#[test]
fn changes_are_made_together_whatever_their_order() {
    // The mode needs the cable, and the cable stands last.
    let ultra = ["disk.transfer_mode=ultra-dma-4", "-cable=bus/ide-ultra-66"];
    assert!(changed(ONE, REWRITE, &ultra).is_ok());
    assert!(changed(ONE, REWRITE, &ultra[..1]).is_err());
}

#[test]
fn what_does_not_fit_is_refused_with_its_place_and_what_would_fit() {
    for (change, says) in [
        ("pci.clok=66 MHz", "did you mean `pci.clock`?"),
        ("pcy.clock=66 MHz", "did you mean `pci`?"),
        ("[pci-buss].clock=66 MHz", "did you mean `pci-bus`?"),
        ("pci.clock=66 KiB", "`pci.clock` is a frequency, `66 KiB` is an amount of data"),
        ("pci.clock", "write part.key=value"),
        ("disk.rotation=x0", "cannot be x0 of 5400 rpm"),
        ("disk.seek.rows[].tyme=x2", "did you mean `disk.seek.rows[0].time`?"),
        ("disk.zones.rows[].cylinders=2 ms", "`disk.zones.rows[0].cylinders` is a count, `2 ms` is a time"),
        ("-disk=bus/pci-32-33", "parts that fit: disk/"),
        ("-disk=disk/quantum-firebal-el10.2a", "did you mean `disk/quantum-fireball-el10.2a`?"),
        ("-dsk=disk/quantum-fireball-el10.2a", "did you mean `disk`?"),
        ("+disk=disk/quantum-fireball-el10.2a@cable.drive1", "has a part `disk` already"),
        ("+disk2=disk/quantum-fireball-el10.2a@cable.drive0", "already used by"),
        ("+disk2=disk/quantum-fireball-el10.2a@cable.drive3", "there is no port `cable.drive3`"),
        ("+disk2=disk/quantum-fireball-el10.2a@ide.free", "no free port that is a drive connector"),
        ("+disk2=disk/quantum-fireball-el10.2a", "is not plugged in"),
        ("+job=disk/quantum-fireball-el10.2a@cable.drive1", "no name for a part"),
        ("+d=driver/windows-2000-ide@cpu.software,controls=ide.registers", "already used by"),
    ] {
        let err = refusal(&[change]);
        assert!(err.contains(says), "{change}: {err}");
    }
}

fn sensitive(system: &str, options: &str) -> Sensitivities {
    let (setting, ..) = setting(system, options);
    let base = base(&setting, Options::default()).expect("the jobs run");
    sensitivities(&setting, 1, &base, &|_| {}).unwrap_or_else(|failure| panic!("{failure:?}"))
}

fn upgraded(setting: &Setting, library: &Library, sources: &mut Sources) -> Upgrades {
    let base = base(setting, Options::default()).expect("the jobs run");
    let found = upgrades(setting, library, sources, Options::default(), &base, &|_| {});
    found.unwrap_or_else(|failure| panic!("{}: {failure:?}", setting.blueprint.title))
}

#[test]
fn a_rewritten_block_hangs_on_the_bus_and_not_on_the_arm() {
    let found = sensitive(ONE, REWRITE);
    let of = |path: &str| found.numbers.iter().find(|number| number.parameter == path).expect("a number");
    let clock = of("pci.clock");
    assert!(clock.effects[0].throughput.mean < -0.05 && clock.effects[1].throughput.mean > 0.05, "{clock:?}");
    assert!(clock.elasticity.is_some_and(|elasticity| (0.5..1.1).contains(&elasticity)), "{clock:?}");
    let range = clock.holds_until.as_ref().expect("the clock is among the first");
    // Above 37 MHz two clocks are shorter than the shortest cycle of the cable's mode.
    assert_eq!((range.value.as_str(), range.beyond), ("36.85 MHz", Beyond::Less));
    for idle in ["disk.seek.rows[2].time", "disk.zones.rows[3].sectors_per_track", "host.memory.size"] {
        assert!(of(idle).is_nothing(), "{:?}", of(idle));
    }
    assert!(found.numbers.is_sorted_by(|a, b| a.size() >= b.size()));
    assert!(found.refused > 0 && found.refused < found.numbers.len(), "{}", found.refused);
    let moved: usize = found.numbers.iter().map(|number| number.effects.len()).sum();
    assert!(moved + found.refused <= 2 * found.numbers.len());
}

#[test]
fn the_same_question_has_the_same_answer_and_every_move_is_reported() {
    let options = "--rw=randread --bs=16k --size=64m --runtime=400ms --iodepth=2";
    assert_eq!(sensitive(ONE, options), sensitive(ONE, options));
    let seen = std::sync::atomic::AtomicUsize::new(0);
    let count = |news: News<'_>| {
        assert!(news.done >= 1 && news.done <= news.of);
        seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    };
    let (setting, ..) = setting(ONE, options);
    let base = base(&setting, Options::default()).expect("the job runs");
    let found = sensitivities(&setting, 1, &base, &count).expect("the job runs");
    assert!(seen.into_inner() >= found.refused + found.numbers.iter().map(|n| n.effects.len()).sum::<usize>());
}

/// Of parts with the same data, wherever that is written, one is asked what it refuses. What is moved for the others is
/// what they take by themselves, and what is not is what they refuse.
#[test]
fn parts_that_are_alike_refuse_alike() {
    let (system, words) = ("raid-megaraid-64-66", "--rw=randread --bs=4k --filename=raid --runtime=300ms --time_based");
    let found = sensitive(system, words);
    let of = |disk: &str| {
        let own = found.numbers.iter().filter_map(|number| Some((number.parameter.strip_prefix(disk)?, number)));
        let mut own: Vec<(&str, Vec<&str>)> = own
            .map(|(key, number)| (key, number.effects.iter().map(|effect| &effect.changed_to[..]).collect()))
            .collect();
        own.sort();
        own
    };
    let (first, last) = (of("disk0"), of("disk3"));
    assert!(first.len() > 50 && first.iter().any(|(_, taken)| taken.len() < 2), "{first:?}");
    assert_eq!(first, last);
    for (key, taken) in last.iter().step_by(9) {
        for text in taken {
            let alone = changed(system, words, &[&format!("disk3{key}={text}")]);
            assert!(alone.is_ok(), "disk3{key} is {text}");
        }
    }
}

/// The machine as it is runs no longer than it says something new. That changes what numbers do as little as another
/// moment of the same run does.
#[test]
fn numbers_do_what_they_do_after_the_whole_runtime() {
    let (setting, library, mut sources) =
        setting("nvme-desktop", "--rw=randread --bs=4k --iodepth=16 --runtime=300ms --time_based");
    let whole = base(&setting, Options::default()).expect("the job runs");
    let after_all = sensitivities(&setting, 1, &whole, &|_| {}).expect("the job runs");
    let soon = outlook(&setting, &library, &mut sources, Options::default(), &|_| {}).expect("the job runs");
    let soon = soon.sensitivities;
    assert!((soon.before.throughput_bytes_per_s / after_all.before.throughput_bytes_per_s - 1.0).abs() < 0.01);
    let largest = &after_all.numbers[..5];
    for number in largest {
        let same = soon.numbers.iter().find(|other| other.parameter == number.parameter).expect("each has all of them");
        assert!((same.size() - number.size()).abs() < 0.01 + 0.1 * number.size(), "{number:?}, {same:?}");
    }
}

/// What is found while the run is accounted for, and what is run once for several answers, is what each answer finds by
/// itself: where many requests wait for one hop, and where one does, but is at work all the time.
#[test]
fn all_answers_together_are_each_by_itself() {
    let many = ("nvme-desktop", "--rw=randread --bs=4k --iodepth=16 --runtime=20ms --time_based");
    let one = ("atlas-15k", "--rw=randread --bs=4k --runtime=5 --time_based");
    for (system, words) in [many, one] {
        let (setting, library, mut sources) = setting(system, words);
        let options = Options { not_longer_than_needed: true, ..Options::default() };
        let base = base(&setting, options).expect("the job runs");
        let bought = upgrades(&setting, &library, &mut sources, options, &base, &|_| {}).expect("the job runs");
        let numbers = sensitivities(&setting, 1, &base, &|_| {}).expect("the job runs");
        let all = outlook(&setting, &library, &mut sources, Options::default(), &|_| {}).expect("the job runs");
        assert_eq!(all.upgrades, bought, "{system}");
        assert_eq!(all.sensitivities, numbers, "{system}");
        assert!(numbers.numbers.iter().any(|number| !number.is_nothing()), "{system}");
    }
}

/// Numbers are moved together to find those that do nothing. Each of some of them, moved alone in a run of its own, leaves
/// the requests about as long as they are that are looked at: from the hundredth to the five hundredth.
#[test]
fn what_does_nothing_together_does_nothing_alone() {
    let ide = ("piix4e-one-disk", "--rw=randread --bs=4k");
    let raid = ("raid-5-megaraid-64-66", "--rw=randread --bs=4k --iodepth=8");
    for (system, words) in [ide, raid] {
        let (before, ..) = setting(system, words);
        let took = |setting: &Setting| {
            let seen = Ends::default();
            let going = Going::new(&setting.blueprint, &setting.jobs, 1, Box::new(seen.clone())).expect("it is built");
            going.on(NonZeroU64::new(500).expect("some"), Time::MAX).expect("it goes on");
            let ends = seen.0.borrow();
            let latencies: f64 = ends[100..500].iter().map(|(_, span)| span.as_ps() as f64).sum();
            [(ends[499].0 + ends[499].1 - ends[99].0 - ends[99].1).as_ps() as f64, latencies]
        };
        let as_it_is = took(&before);
        let found = sensitive(system, words);
        let still: Vec<_> = found.numbers.iter().filter(|n| n.is_nothing() && !n.effects.is_empty()).collect();
        assert!(still.len() > 60 && still.len() < found.numbers.len(), "{system}: {}", still.len());
        for number in still.iter().step_by(5) {
            for effect in &number.effects {
                let change = format!("{}={}", number.parameter, effect.changed_to);
                let alone = changed(system, words, &[&change]).expect("a right change");
                for (alone, before) in took(&alone.setting).into_iter().zip(as_it_is) {
                    let off = (alone / before - 1.0).abs();
                    assert!(off < 1e-3, "{system}: {} is {}: {off}", number.parameter, effect.changed_to);
                }
            }
        }
    }
}

/// Of a measured curve of 139 seeks each point does next to nothing: the curve is moved as one. A run in which every point
/// is written a tenth shorter gains as much. One row of a table of modes is that row.
#[test]
fn many_rows_are_one_number_and_a_row_of_a_mode_is_itself() {
    let (system, words) = ("win2000-atlas-10k", "--rw=randread --bs=4k --iodepth=4 --runtime=20 --time_based");
    let found = sensitive(system, words);
    let seek = found.numbers.iter().find(|number| number.parameter.ends_with(".seek.rows[].time")).expect("a column");
    let row = seek.parameter.replace("[]", "[3]");
    assert!(!found.numbers.iter().any(|number| number.parameter == row));
    let [less, more] = &seek.effects[..] else { panic!("both ways: {seek:?}") };
    assert_eq!((&less.changed_to[..], &more.changed_to[..]), ("x0.9", "x1.1"));
    let changed = changed(system, words, &[&format!("{}=x0.9", seek.parameter)]).expect("a right change");
    assert_eq!(changed.words, [format!("{} is x0.9 in 139 rows", seek.parameter)]);
    let gain = rate(&changed.setting) / rate(&setting(system, words).0) - 1.0;
    assert!(gain > 0.03 && (gain - less.throughput.mean).abs() < less.throughput.half_width + 0.01, "{gain}: {seek:?}");
    let modes = sensitive(ONE, "--rw=read --bs=64k --size=64k --iodepth=2 --time_based --runtime=100ms");
    let word = |number: &&Sensitivity| number.parameter.starts_with("cable.ultra_dma.rows[") && !number.is_nothing();
    let words: Vec<&str> = modes.numbers.iter().filter(word).map(|number| &number.parameter[..]).collect();
    assert!(!words.is_empty() && words.iter().all(|path| path.starts_with("cable.ultra_dma.rows[2].")), "{words:?}");
}

#[test]
fn a_job_without_a_transfer_in_its_time_is_wrong_input() {
    let (setting, ..) = setting(ONE, "--rw=read --bs=64k --runtime=1ms");
    let refused = base(&setting, Options::default()).and_then(|base| sensitivities(&setting, 1, &base, &|_| {}));
    assert!(refused.is_err());
}

/// Each is tried on the first system that it fits, and on the last, and all of them on some more.
#[test]
fn every_shipped_upgrade_fits_a_shipped_system() {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut fits: BTreeMap<String, Vec<&str>> = library.upgrades().map(|name| (name.to_string(), Vec::new())).collect();
    for system in library.systems() {
        let (setting, library, mut sources) = setting(system, REWRITE);
        for (name, fits) in &mut fits {
            let text = library.upgrade(name).expect("a shipped upgrade").clone();
            let file = sources.add(text.name, text.text);
            let file = upgrade_file::read(&sources, file).expect("a right upgrade");
            if with_upgrade(&file, &setting, &library, &mut sources).is_ok() {
                fits.push(system);
            }
        }
    }
    let mut systems: BTreeSet<&str> = library.systems().step_by(8).collect();
    for (name, fits) in &fits {
        let (Some(first), Some(last)) = (fits.first(), fits.last()) else { panic!("{name} fits no shipped system") };
        systems.extend([*first, *last]);
    }
    systems.into_par_iter().for_each(|system| {
        let (setting, library, mut sources) = setting(system, REWRITE);
        let found = upgraded(&setting, &library, &mut sources);
        assert!(found.upgrades.is_sorted_by(|a, b| a.gain >= b.gain));
        for upgrade in &found.upgrades {
            assert!(!upgrade.changes.is_empty() && upgrade.basis.text().len() > 6, "{upgrade:?}");
            assert!(upgrade.next_limit.as_ref().is_some_and(|limit| limit.gain.mean > 0.0), "{upgrade:?}");
        }
        assert_eq!(found.upgrades.len() + found.do_not_fit.len(), library.upgrades().count());
        for (name, fits) in &fits {
            let is_tried = found.upgrades.iter().any(|upgrade| upgrade.name == *name);
            assert_eq!(is_tried, fits.contains(&system), "{name} on {system}");
        }
    });
}

#[test]
fn an_upgrade_buys_where_its_part_limits_and_nothing_where_it_does_not() {
    let gains = |system: &str, options: &str| -> BTreeMap<String, f64> {
        let (setting, library, mut sources) = setting(system, options);
        let found = upgraded(&setting, &library, &mut sources);
        found.upgrades.into_iter().map(|upgrade| (upgrade.name, upgrade.gain)).collect()
    };
    let (rewrite, random) = (gains(ONE, REWRITE), gains(ONE, RANDOM));
    assert!(rewrite["faster-memory"] > 0.05 && random["faster-memory"].abs() < 0.02, "{rewrite:?} {random:?}");
    assert!(random["second-channel"] > 0.7, "{random:?}");
    assert_eq!(gains(TWO, REWRITE).get("second-channel"), None, "both channels are taken");
}

#[test]
fn a_bridge_that_does_not_wait_for_an_empty_buffer_keeps_the_cable_at_work() {
    const AHEAD: &str = "ide.refill=when a half is free";
    const READ: &str = "--rw=read --bs=64k --size=64k --iodepth=2 --time_based --runtime=100ms";
    let plain = rate(&setting(ONE, REWRITE).0);
    let ahead = rate(&changed(ONE, REWRITE, &[AHEAD]).expect("a right change").setting);
    // A half is sent in 32 clocks and fetched in 35: 3 until PHOLD#, 9 until PHLDA#, 22 to the last data, 1 turnaround.
    let at_most = 32.0 / (35.0 * 29.851e-9);
    assert!(ahead > 1.2 * plain && ahead < at_most, "{ahead} instead of {plain}, at most {at_most}");
    let at_once = [AHEAD, "host.memory.read_first_data=1 clock", "host.hold_acknowledge=1 clock"];
    let cable = rate(&changed(ONE, REWRITE, &at_once).expect("a right change").setting);
    assert!(cable > 0.9 * 33.5e6 && cable < 33.5e6, "the cable carries 33.5 MB/s: {cable}");
    let reads = rate(&setting(ONE, READ).0);
    assert_eq!(reads, rate(&changed(ONE, READ, &[AHEAD]).expect("a right change").setting), "reads do not change");
}

#[test]
fn two_channels_share_a_bridge_that_fetches_ahead_in_both_directions() {
    for (first, second) in [("write", "write"), ("write", "read"), ("read", "write")] {
        let both = format!(
            "--bs=16k --size=64k --iodepth=2 --time_based --runtime=50ms \
             --name=a --filename=disk --rw={first} --name=b --filename=disk2 --rw={second}"
        );
        let options: Vec<&str> = both.split_whitespace().collect();
        let words = options.join(" ");
        let more = ["ide.refill=when a half is free", "host.memory.cache_line=16 B"];
        for changes in [&more[..1], &more[..]] {
            let changed = changed(TWO, &words, changes).expect("a right change").setting;
            let outcome =
                run(&changed.blueprint, &changed.jobs, Options::default(), None).expect("nobody waits for ever");
            let got: Vec<u64> = outcome.jobs.iter().filter_map(|job| job.got.as_ref()).map(|got| got.count).collect();
            assert!(got.len() == 2 && got.iter().all(|count| *count > 2), "{first} and {second}: {got:?}");
        }
    }
}

#[test]
fn a_comparison_has_both_accounts() {
    let (setting, library, mut sources) = setting(ONE, REWRITE);
    let at = place(sources.add("command line", "pci.clock=x1.1"), 0..14);
    let faster = Change::assignment("pci.clock=x1.1", at).expect("a right change");
    let compared =
        compare(&setting, &[faster], &library, &mut sources, Options::default()).unwrap_or_else(|f| panic!("{f:?}"));
    let (before, after) = (&compared.before, &compared.after);
    assert!(after.performance.throughput_bytes_per_s > 1.05 * before.performance.throughput_bytes_per_s);
    assert!(after.performance.latency_mean_ns < before.performance.latency_mean_ns);
    let lanes = |side: &hopscope_questions::whatif::Side| {
        side.explained.account.lanes.iter().map(|lane| lane.lane.clone()).collect::<Vec<_>>()
    };
    assert_eq!(lanes(before), lanes(after));
    assert!(before.limit.is_some() && compared.also_on.is_empty());
}
