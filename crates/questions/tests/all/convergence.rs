//! When a run stops by itself: not before everything has come to rest, and with the mean of a run many times longer.

use std::cell::RefCell;
use std::sync::atomic::AtomicBool;

use hopscope_files::job_file::{self, Job};
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_kernel::{Sim, Time};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::convergence::{UNTIL, Unsettled};
use hopscope_machine::fio_json::Figures;
use hopscope_machine::run::{Options, Outcome, Stop, Telling, run, run_telling};

fn machine(system: &str, changes: &[&str], options: &str) -> (Blueprint, Vec<Job>) {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut sources = Sources::default();
    let text = library.open_system(system).expect("a shipped system");
    let file = sources.add(text.name, text.text);
    let mut blueprint = Blueprint::read(&library, &mut sources, file).expect("a right system");
    for change in changes {
        blueprint.set(change).unwrap_or_else(|problem| panic!("{change}: {problem:?}"));
    }
    let words: Vec<&str> = options.split(' ').collect();
    (blueprint, job_file::read_options(&mut sources, &words).expect("right options").jobs)
}

fn outcome((blueprint, jobs): &(Blueprint, Vec<Job>), options: Options) -> Outcome {
    run(blueprint, jobs, options, None).expect("the job runs")
}

#[test]
fn long_requests_in_order_need_not_be_many() {
    let requests = |size: &str| {
        let outcome = outcome(&machine("piix4e-one-disk", &[], &format!("--rw=read --bs={size}")), Options::default());
        assert_eq!(outcome.stop, Stop::Converged, "{size}: {:?}", outcome.stages);
        outcome.jobs[0].got.as_ref().expect("requests ended").count
    };
    let (short, long) = (requests("64k"), requests("1m"));
    assert!(short >= 500 && (100..500).contains(&long), "{short} and {long}");
}

#[test]
fn what_a_run_stops_at_is_the_mean_of_one_many_times_longer() {
    let steady = &["drive.flash.state=steady"][..];
    let cases = [
        ("nvme-desktop", &[][..], "--rw=randread --bs=4k --iodepth=1", UNTIL, 10),
        ("nvme-desktop", &[], "--rw=randread --bs=4k --iodepth=32", UNTIL, 10),
        ("nvme-desktop", &[], "--rw=randread --bs=4k --iodepth=256", UNTIL, 10),
        ("nvme-desktop", steady, "--rw=randwrite --bs=4k --iodepth=32", 0.02, 5),
        ("sata-ssd", &[], "--rw=randread --bs=4k --iodepth=32", UNTIL, 10),
        ("sata-ssd", &[], "--rw=read --bs=128k --iodepth=4", UNTIL, 5),
        ("piix4e-one-disk", &[], "--rw=randwrite --bs=4k", 0.01, 10),
        ("piix4e-one-disk", &[], "--rw=write --bs=64k", UNTIL, 10),
        ("piix4e-one-disk", &[], "--rw=read --bs=1m", UNTIL, 10),
        ("nvme-desktop", &[], "--rw=read --bs=1m --iodepth=4", UNTIL, 4),
        ("scsi-ultra160", &[], "--rw=randread --bs=8k --iodepth=8", 0.02, 10),
    ];
    let (mut off, mut runs) = (Vec::new(), 0);
    for (system, changes, job, until, times) in cases {
        let mut setting = machine(system, changes, job);
        let seeds = 1..=3;
        let short: Vec<Outcome> =
            seeds.map(|seed| outcome(&setting, Options { seed, until: Some(until), ..Options::default() })).collect();
        let longest = short.iter().map(|short| short.simulated).max().expect("three runs");
        for job in &mut setting.1 {
            (job.ramp_time, job.runtime, job.time_based) = (longest, Some(longest * times), true);
        }
        let long = outcome(&setting, Options { seed: 11, ..Options::default() }).rate;
        for short in short {
            assert_eq!(short.stop, Stop::Converged, "{system} {job}: {:?}", short.stages);
            let rate = short.rate;
            assert!(rate.relative_half_width <= until, "{system} {job}: {rate:?}");
            let known = rate.relative_half_width.hypot(long.relative_half_width) + 2e-4;
            runs += 1;
            if (rate.bytes_per_second / long.bytes_per_second - 1.0).abs() > known {
                off.push(format!("{system} {job}: {rate:?} against {long:?}"));
            }
        }
    }
    assert!(off.len() * 10 <= runs, "{} of {runs} are off:\n{}", off.len(), off.join("\n"));
}

#[test]
fn levels_that_swing_do_not_keep_reads_from_ending() {
    // Samples meet other phases of what comes and goes each time.
    for (system, job, most) in [
        ("myrinet-e7500", "--rw=read --bs=64k --iodepth=2", 1_000),
        ("myrinet-tyan-133", "--rw=read --bs=4k --iodepth=256", 6_000),
    ] {
        let mut setting = machine(system, &[], job);
        let known = outcome(&setting, Options::default());
        let count = known.jobs[0].got.as_ref().expect("requests ended").count;
        assert!(known.stop == Stop::Converged && count <= most, "{system} {job}: {count}");
        setting.1[0].runtime = Some(known.simulated * 4);
        let apart = outcome(&setting, Options::default()).rate.bytes_per_second / known.rate.bytes_per_second - 1.0;
        assert!(apart.abs() < 5e-4, "{system} {job}: {apart}");
    }
}

#[test]
fn a_run_does_not_stop_while_a_write_back_cache_takes_in_what_drives_have_yet_to_write() {
    let job = "--rw=rw --rwmixread=53 --bs=101376 --size=8g --time_based --runtime=6";
    let setting = machine("raid-acceleraid-64-66", &[], job);
    let ran = outcome(&setting, Options { until: Some(0.05), ..Options::default() });
    let rate = ran.rate;
    // The mean of eight seconds after the cache has filled; while it fills there are 231 MB/s.
    assert!((rate.bytes_per_second / 147.8e6 - 1.0).abs() < 0.05, "{:?}", ran.stages);
    assert!(rate.warm_up > Time::ms(300), "{rate:?}");
}

#[test]
fn what_a_run_prints_and_its_interval_are_of_one_window() {
    let ran = outcome(&machine("nvme-desktop", &[], "--rw=randread --bs=4k --iodepth=256"), Options::default());
    let figures = Figures::of(&ran.jobs[0]).expect("requests ended");
    assert_eq!((ran.stop, ran.jobs[0].from), (Stop::Converged, ran.rate.warm_up));
    assert!(ran.rate.warm_up > Time::ZERO, "the queue fills first");
    assert_eq!(figures.bytes_per_second, ran.rate.bytes_per_second);
    assert_eq!(figures.bytes, figures.count * 4_096);
    let [stage] = &ran.stages[..] else { panic!("one stage") };
    assert!(stage.unsettled.is_none() && ran.rate.relative_half_width <= UNTIL);
}

#[test]
fn a_run_without_an_end_is_known_to_a_percent_where_half_of_one_takes_long_unless_that_is_asked() {
    let setting = machine("win2000-3ware-jbod", &[], "--rw=randread --bs=4k --iodepth=32");
    let known = |until| {
        let ran = outcome(&setting, Options { until, ..Options::default() });
        assert_eq!(ran.stop, Stop::Converged);
        (ran.rate.relative_half_width, ran.measured)
    };
    let (roughly, asked) = (known(None), known(Some(UNTIL)));
    assert!(roughly.0 > UNTIL && roughly.0 <= 2.0 * UNTIL && asked.0 <= UNTIL, "{roughly:?} {asked:?}");
    assert!(roughly.1 * 2 < asked.1);
    // What is written goes through a store that may change later.
    let writes =
        outcome(&machine("win2000-3ware-jbod", &[], "--rw=randwrite --bs=4k --iodepth=32"), Options::default());
    assert!(writes.rate.relative_half_width <= UNTIL && writes.simulated > Time::ms(20_000), "{:?}", writes.rate);
}

#[test]
fn a_runtime_runs_out_and_is_counted_whole_unless_until_is_given() {
    let setting = machine("nvme-desktop", &[], "--rw=randread --bs=4k --iodepth=32 --runtime=100ms");
    let whole = outcome(&setting, Options::default());
    assert_eq!((whole.stop, whole.rate.warm_up), (Stop::Runtime, Time::ZERO));
    let last = whole.jobs[0].got.as_ref().map(|got| got.last_end);
    assert_eq!((Some(whole.simulated), whole.measured), (last, whole.simulated), "what is in flight ends");
    assert!(whole.simulated >= Time::ms(100) && whole.simulated < Time::ms(101), "{}", whole.simulated);
    assert_eq!(Figures::of(&whole.jobs[0]).unwrap().bytes_per_second, whole.rate.bytes_per_second);
    assert!(whole.stages[0].settled.is_some_and(|at| at < Time::ms(80)), "{:?}", whole.stages);
    let stopped = outcome(&setting, Options { until: Some(UNTIL), ..Options::default() });
    assert_eq!((stopped.stop, Some(stopped.simulated)), (Stop::Converged, whole.stages[0].settled));
    let too_narrow = outcome(&setting, Options { until: Some(1e-4), ..Options::default() });
    assert_eq!(too_narrow.stop, Stop::Runtime);
    assert!(matches!(too_narrow.stages[0].unsettled, Some(Unsettled::Wide(_))), "{:?}", too_narrow.stages);
}

#[test]
fn spare_blocks_that_outlast_the_run_are_named() {
    let ran = outcome(&machine("sata-ssd", &[], "--rw=randwrite --bs=4k --iodepth=32"), Options::default());
    assert_eq!(ran.stop, Stop::Drifting);
    match &ran.stages[0].unsettled {
        Some(Unsettled::Level { name, lasts: Some(lasts), .. }) => {
            assert!(name == "the spare blocks of ssd" && *lasts > Time::ms(100_000), "{name} {lasts}");
        }
        other => panic!("{other:?}"),
    }
    let steady = machine("nvme-desktop", &["drive.flash.state=steady"], "--rw=randwrite --bs=4k --iodepth=32");
    assert_eq!(outcome(&steady, Options { until: Some(0.02), ..Options::default() }).stop, Stop::Converged);
}

#[test]
fn neither_trains_nor_somebody_who_may_interrupt_change_where_a_run_stops() {
    static NOBODY: AtomicBool = AtomicBool::new(false);
    for (system, job) in [
        ("nvme-desktop", "--rw=randrw --bs=4k --iodepth=8"),
        ("gpu-server", "--rw=read --bs=64k --iodepth=4"),
        ("piix4e-one-disk", "--rw=write --bs=64k"),
        ("raid-megaraid-64-66", "--rw=read --bs=64k --iodepth=2 --runtime=200ms"),
        ("nic-two-sockets", "--rw=read --bs=1500 --iodepth=16"),
    ] {
        let setting = machine(system, &[], job);
        let of = |options: Options| {
            let ran = outcome(&setting, options);
            let figures = Figures::of(&ran.jobs[0]);
            ((ran.stop, ran.simulated, ran.rate, figures), ran.counts)
        };
        let (one_go, counts) = of(Options::default());
        assert_eq!(
            (one_go, counts),
            of(Options { interrupted: Some(&NOBODY), ..Options::default() }),
            "{system} {job}"
        );
        assert_eq!(one_go, of(Options { trains: false, ..Options::default() }).0, "{system} {job}");
    }
}

#[test]
fn an_interrupted_run_says_what_is_known() {
    static AT_ONCE: AtomicBool = AtomicBool::new(true);
    let setting = machine("nvme-desktop", &[], "--rw=randread --bs=4k --name=a --name=b --stonewall");
    let ran = outcome(&setting, Options { interrupted: Some(&AT_ONCE), ..Options::default() });
    assert_eq!((ran.stop, ran.stages.len(), ran.simulated), (Stop::Interrupted, 1, Time::ZERO));
    assert!(ran.jobs.iter().all(|job| job.got.is_none()));
    assert!(matches!(ran.stages[0].unsettled, Some(Unsettled::TooFew(0, _))), "{:?}", ran.stages);
}

#[test]
fn a_drive_that_owes_copies_has_not_come_to_rest() {
    // For a few milliseconds its dies take what comes; then they copy what that has made due.
    let steady = machine("nvme-server", &["drive0.flash.state=steady"], "--rw=randwrite --bs=4k --iodepth=64");
    let rate = outcome(&steady, Options { until: Some(0.05), ..Options::default() }).rate;
    assert!((1.2e9..1.8e9).contains(&rate.bytes_per_second), "{rate:?}");
}

#[test]
fn what_the_rest_of_a_runtime_would_say_need_not_be_run() {
    let shorter = Options { not_longer_than_needed: true, ..Options::default() };
    let both = |system: &str, changes: &[&str], job: &str| {
        let (of, got) = (machine(system, changes, job), |outcome: &Outcome| outcome.rate.bytes_per_second);
        let (whole, shorter) = (outcome(&of, Options::default()), outcome(&of, shorter));
        assert_eq!(whole.stop, Stop::Runtime, "{system} {job}");
        // What still moves is named, and nothing else is.
        let moves = matches!(shorter.stages[0].unsettled, Some(Unsettled::Level { .. }));
        assert_eq!(moves, shorter.stop == Stop::Drifting, "{system} {job}: {:?}", shorter.stages);
        let share = shorter.simulated.as_seconds_f64() / whole.simulated.as_seconds_f64();
        (got(&shorter) / got(&whole) - 1.0, share, shorter.stop)
    };
    for (system, job, how) in [
        ("nvme-desktop", "--rw=randread --bs=4k --iodepth=32 --runtime=500ms", Stop::Converged),
        ("nvme-chipset", "--rw=read --bs=128k --iodepth=8 --runtime=1", Stop::Converged),
        ("sata-ssd", "--rw=randread --bs=4k --iodepth=32 --ramp_time=20ms --runtime=1", Stop::Converged),
        ("piix4e-one-disk", "--rw=read --bs=64k --size=64k --time_based --iodepth=2 --runtime=30", Stop::Converged),
        ("piix4e-one-disk", "--rw=write --bs=64k --size=64k --time_based --iodepth=2 --runtime=10", Stop::Converged),
        // Its spare blocks last for longer than that.
        ("nvme-desktop", "--rw=randwrite --bs=4k --iodepth=32 --runtime=100ms", Stop::Drifting),
    ] {
        let (apart, share, stop) = both(system, &[], job);
        assert!(apart.abs() < 0.006 && share < 0.5, "{system} {job}: {apart} of {share}");
        assert_eq!(stop, how, "{system} {job}");
        assert!(share >= 0.1 || !job.contains("write"), "{system} {job}: {share}");
    }
    // What has been known for long while stores stood still, or outlast it, does not wait for a tenth either.
    for (system, job) in [
        ("sata-ssd", "--rw=randwrite --bs=4k --iodepth=32 --runtime=3"),
        ("nvme-server", "--rw=randwrite --bs=4k --iodepth=1 --runtime=2"),
        ("piix4e-one-disk", "--rw=write --bs=64k --size=64k --time_based --iodepth=2 --runtime=200"),
    ] {
        let (apart, share, _) = both(system, &[], job);
        assert!(apart.abs() < 0.002 && share < 0.07, "{system} {job}: {apart} of {share}");
    }
    // What comes from the drives before it is in the cache is a part of what the runtime gives.
    let cold =
        both("raid-acceleraid-64-66", &[], "--rw=randread --bs=16k --size=20m --iodepth=8 --time_based --runtime=5");
    // A cache takes what is written at one rate for a third of that time, and dies for more than half of it.
    let fills = both("raid-acceleraid-64-66", &[], "--rw=write --bs=64k --iodepth=1 --runtime=200ms");
    let copies =
        both("nvme-server", &["drive0.flash.state=steady"], "--rw=randwrite --bs=4k --iodepth=64 --runtime=20ms");
    // A drive fails long after all was at rest, whether the jobs write or not.
    let failing = ["raid.failure.drive=drive1", "raid.failure.at=4 s"];
    let reads = both("raid-5-acceleraid-pci-x-100", &failing, "--rw=read --bs=64k --iodepth=4 --runtime=6");
    let repeats = "--rw=write --bs=4k --iodepth=1 --size=256k --time_based --runtime=6";
    let writes = both("raid-5-acceleraid-pci-x-100", &failing, repeats);
    for not_shorter in [cold, fills, copies, reads, writes] {
        assert_eq!(not_shorter, (0.0, 1.0, Stop::Runtime));
    }
}

#[test]
fn a_ramp_is_left_away_once_everything_is_at_rest_where_nothing_is_there_to_be_filled() {
    let shorter = Options { not_longer_than_needed: true, ..Options::default() };
    let both = |system: &str, job: &str| {
        let of = machine(system, &[], &format!("{job} --time_based"));
        (outcome(&of, Options::default()), outcome(&of, shorter))
    };
    let rate = |of: &Outcome| of.rate.bytes_per_second;
    for (system, job) in [
        ("nvme-desktop", "--rw=randread --bs=4k --iodepth=32 --ramp_time=100ms --runtime=100ms"),
        ("sata-ssd", "--rw=read --bs=64k --iodepth=4 --ramp_time=1 --runtime=1"),
        ("piix4e-one-disk", "--rw=read --bs=64k --size=64k --iodepth=2 --ramp_time=10 --runtime=10"),
        ("gpu-server", "--rw=randwrite --bs=64k --iodepth=2 --size=32m --ramp_time=60ms --runtime=20ms"),
        ("nic-two-sockets", "--rw=randrw --bs=4k --iodepth=8 --ramp_time=50ms --runtime=20ms"),
        ("myrinet-x5dpe", "--rw=write --bs=64k --iodepth=2 --ramp_time=200ms --runtime=200ms"),
        // What they hold has stood still for long, or outlasts it.
        ("nvme-server", "--rw=randwrite --bs=4k --iodepth=4 --ramp_time=250ms --runtime=50ms"),
        ("sata-ssd", "--rw=randwrite --bs=4k --iodepth=32 --ramp_time=1 --runtime=200ms"),
    ] {
        let (whole, shorter) = both(system, job);
        let ([whole_stage], [stage]) = (&whole.stages[..], &shorter.stages[..]) else { panic!("a stage each") };
        let how = if job.contains("randwrite --bs=4k") { Stop::Drifting } else { Stop::Converged };
        assert_eq!((stage.stop, whole_stage.stop), (how, Stop::Runtime), "{system} {job}");
        assert!(shorter.simulated < whole_stage.from && stage.from < shorter.simulated, "{system} {job}");
        let apart = rate(&shorter) / rate(&whole) - 1.0;
        assert!(apart.abs() < 0.006, "{system} {job}: {apart}");
        let cost = |of: &Outcome| of.processor.as_ref().map_or(1.0, |cost| cost.utilisation());
        assert!((cost(&shorter) / cost(&whole) - 1.0).abs() < 0.02, "{system} {job}");
    }
    // A drive's buffer, an adapter's cache and one of the system are there to be filled, and who starts later is waited for.
    let later =
        "--rw=randread --bs=4k --iodepth=2 --runtime=20ms --name=a --ramp_time=100ms --name=b --startdelay=100ms";
    for (system, job, ramp) in [
        ("nvme-desktop", "--rw=randwrite --bs=4k --iodepth=4 --ramp_time=30ms --runtime=20ms", Time::ms(30)),
        (
            "raid-acceleraid-64-66",
            "--rw=randread --bs=4k --size=1g --iodepth=32 --ramp_time=100 --runtime=1",
            Time::ms(100_000),
        ),
        (
            "win2000-atlas-10k",
            "--rw=randread --bs=64k --direct=0 --iodepth=8 --ramp_time=120 --runtime=1",
            Time::ms(120_000),
        ),
        ("nvme-desktop", later, Time::ms(100)),
    ] {
        let ran = outcome(&machine(system, &[], &format!("{job} --time_based --norandommap")), shorter);
        assert!(ran.simulated >= ramp && ran.stages[0].from == ramp, "{system} {job}: {}", ran.simulated);
    }
    // Of a ramp that is over before that nothing shows afterwards.
    let (whole, shorter) =
        both("nvme-desktop", "--rw=randread --bs=4k --iodepth=32 --ramp_time=200us --runtime=1ms --thinktime=20us");
    let said = |of: &Outcome| {
        let (stage, busy) = (&of.stages[0], of.processor.as_ref().map(|cost| cost.busy()));
        (stage.start, stage.from, stage.end, stage.rate, stage.warm, stage.stop, busy)
    };
    assert!(said(&whole) == said(&shorter) && whole.measured == shorter.measured, "{:?}", shorter.stages);
}

#[test]
fn what_a_run_tells_before_it_is_sure_is_known_first_if_it_comes_to_that() {
    let run_with = |seed: u64, system: &str, changes: &[&str], job: &str| {
        let ((blueprint, jobs), told) = (machine(system, changes, job), RefCell::new(Vec::new()));
        let shorter = Options { seed, not_longer_than_needed: true, ..Options::default() };
        let tell = |telling: Telling<'_>| {
            if let Telling::Known(outcome) = telling {
                told.borrow_mut().push(outcome.clone());
            }
        };
        let outcome = run_telling(Sim::new(), &blueprint, &jobs, shorter, None, &tell).expect("the job runs");
        let mut told = told.into_inner();
        assert!(told.len() <= 1, "{system} {job}: it is known once");
        (outcome, told.pop())
    };
    let both = |system: &str, changes: &[&str], job: &str| run_with(1, system, changes, job);
    let apart = |of: &Outcome, told: &Outcome| (told.rate.bytes_per_second / of.rate.bytes_per_second - 1.0).abs();
    let repeats = "--rw=write --bs=4k --iodepth=1 --size=256k --time_based --runtime=2";
    for (system, job) in [
        ("nvme-desktop", "--rw=randwrite --bs=4k --iodepth=32 --ramp_time=5ms --runtime=300ms"),
        ("sata-ssd", "--rw=randwrite --bs=4k --iodepth=8 --runtime=1"),
        ("raid-acceleraid-pci-x-100", repeats),
    ] {
        let (outcome, told) = both(system, &[], job);
        let (told, early) = (told.expect("it is known"), outcome.early.as_deref().expect("it comes to that"));
        assert!(format!("{told:?}") == format!("{early:?}"), "{system} {job}");
        assert!(
            apart(&outcome, &told) <= UNTIL && told.simulated * 2 < outcome.simulated,
            "{system} {job}: {}",
            told.simulated
        );
        let got = |of: &Outcome| of.jobs[0].got.as_ref().map(|got| got.count).expect("requests ended");
        let rate = |of: &Outcome| got(of) as f64 / of.measured.as_seconds_f64();
        assert!((rate(&told) / rate(&outcome) - 1.0).abs() < 0.01, "{system} {job}: {}", rate(&told));
        assert_eq!(outcome.first_known().simulated, told.simulated, "{system} {job}");
    }
    // What only reads stops there, and what is written where nothing is held; of what is still filling nothing is known.
    for (system, job) in [
        ("nvme-desktop", "--rw=randread --bs=4k --iodepth=32 --runtime=200ms"),
        ("nic-two-sockets", "--rw=randrw --bs=4k --iodepth=8 --runtime=300ms"),
        ("raid-acceleraid-64-66", "--rw=write --bs=64k --iodepth=1 --runtime=200ms"),
    ] {
        let (outcome, told) = both(system, &[], job);
        assert!(told.is_none() && outcome.early.is_none(), "{system} {job}");
        assert_eq!(outcome.first_known().simulated, outcome.simulated);
    }
    // That a drive will fail is known.
    let failing = ["raid.cache.writes=write-through", "raid.failure.drive=drive1", "raid.failure.at=2500 ms"];
    let written = "--rw=write --bs=64k --iodepth=4 --size=1m --time_based --runtime=28";
    let (outcome, told) = both("raid-5-acceleraid-pci-x-100", &failing, written);
    assert!(told.is_none() && outcome.stop == Stop::Runtime, "{:?}", outcome.stages);
    // Chance has it otherwise, and a job is done.
    let mixed = "--rw=randrw --rwmixread=90 --bs=4k --iodepth=16 --size=10g --time_based --runtime=5";
    let (outcome, told) = run_with(62, "nvme-desktop", &[], mixed);
    assert!(told.is_some_and(|told| apart(&outcome, &told) > UNTIL) && outcome.early.is_none(), "{:?}", outcome.stages);
    let (outcome, told) = both("nvme-desktop", &[], "--rw=randwrite --bs=4k --iodepth=32 --size=32m --runtime=1");
    assert!(told.is_some() && outcome.stop == Stop::Finished && outcome.early.is_none(), "{:?}", outcome.stages);
}

#[test]
fn what_writes_leave_behind_is_not_the_time_of_the_jobs() {
    // A drive takes 4,096 writes into its buffer, and writes them to its cells for a second.
    let outcome =
        outcome(&machine("nvme-desktop", &[], "--rw=randwrite --bs=4k --iodepth=32 --size=16m"), Options::default());
    let got = outcome.jobs[0].got.as_ref().expect("requests ended");
    assert_eq!((outcome.stop, got.count), (Stop::Finished, 4_096));
    let of_the_rate = got.bytes as f64 / outcome.rate.bytes_per_second;
    assert!((outcome.simulated.as_seconds_f64() / of_the_rate - 1.0).abs() < 0.01, "{}", outcome.simulated);
    // The processor's own part of a request is most of what one takes.
    let busy = outcome.processor.as_ref().expect("a processor").busy().as_seconds_f64();
    assert!(busy / of_the_rate > 0.9, "{busy} of {of_the_rate}");
}
