//! Every result of `tests/fixtures/fio`, which fio 3.33 wrote: what is read, what is refused, what stands under the
//! headline of the comparison.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hopscope_files::fio_result::{self, Measured};
use hopscope_files::job_file::{self, Job, JobFile};
use hopscope_files::library::Library;
use hopscope_files::problem::{Problems, Sources};
use hopscope_kernel::Time;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::Options;
use hopscope_questions::explain::{self, EXTENT};
use hopscope_questions::measured::{Comparison, Matched, compare, pair};

const SHORT: [&str; 4] = ["--bs=4k", "--size=4m", "--time_based", "--runtime=1ms"];

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fio").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn with_sources<T>(name: &str, text: &str, read: fn(&Sources, u32) -> Result<T, Problems>) -> Result<T, String> {
    let mut sources = Sources::default();
    let file = sources.add(name, text);
    read(&sources, file).map_err(|problems| problems.render(&sources, false))
}

fn measured(name: &str) -> Measured {
    with_sources(name, &text(name), fio_result::read).unwrap()
}

fn jobs(name: &str) -> JobFile {
    with_sources(name, &text(name), job_file::read).unwrap()
}

fn options(options: &[&str]) -> JobFile {
    job_file::read_options(&mut Sources::default(), options).unwrap()
}

fn machine(name: &str) -> (Library, Sources, Blueprint) {
    let library = Library::new(None).unwrap();
    let mut sources = Sources::default();
    let given = library.system(name).unwrap();
    let file = sources.add(given.name.clone(), given.text.clone());
    let blueprint = Blueprint::read(&library, &mut sources, file).unwrap();
    (library, sources, blueprint)
}

/// A result beside jobs that run for a moment.
fn beside(name: &str, asked: &[&str]) -> Comparison {
    let (library, mut sources, mut blueprint) = machine("nvme-desktop");
    let mut given = options(&[asked, &SHORT].concat());
    blueprint.settle(&mut given, &library, &mut sources).unwrap();
    let measured = measured(name);
    let pairing = pair(&measured, &given.jobs).unwrap();
    let explained = explain::explain(&blueprint, &given.jobs, Options::default(), EXTENT, None).expect("a run");
    compare(name, &measured, &pairing, &given.jobs, &explained)
}

/// One line a job: name, direction, smallest request, depth, runtime, `time_based`, stage and group.
fn described(job: &Job) -> String {
    let runtime = job.runtime.map_or("no end".to_string(), |time| format!("{} s", time.as_seconds_f64()));
    let over = if job.time_based { ", time_based" } else { "" };
    let place = format!("stage {} group {}", job.stage, job.group);
    format!("{} {} {} x{} {runtime}{over}; {place}", job.name, job.rw.word(), job.block_bytes_min, job.iodepth)
}

#[test]
fn every_result_is_read_as_what_was_run() {
    let one = |depth: u64| vec![format!("a randread 4096 x{depth} 1 s, time_based; stage 0 group 0")];
    let times = |count: usize, line: &str| vec![line.to_string(); count];
    let reads = times(3, "reads randread 4096 x4 1 s, time_based; stage 0 group 0");
    let after = times(2, "writes randwrite 4096 x2 1 s, time_based; stage 1 group 1");
    let together = times(2, "writes randwrite 4096 x2 1 s, time_based; stage 0 group 1");
    let pauses = |depth: u64, runtime: &str| times(1, &format!("a read 4096 x{depth} {runtime}; stage 0 group 0"));
    let files = ["one randread 4096 x4", "two read 4096 x2"];
    let expected: BTreeMap<&str, Vec<String>> = [
        ("both.txt", one(8)),
        ("buffered.json", one(8)),
        ("buffered-write.json", times(1, "a write 65536 x1 1 s, time_based; stage 0 group 0")),
        ("default-engine.json", one(1)),
        ("directory.json", [one(2), one(2)].concat()),
        ("files.json", files.map(|job| format!("{job} 1 s, time_based; stage 0 group 0")).to_vec()),
        ("interval.json", one(8)),
        ("io_uring.json", one(16)),
        ("jobs.json", [reads.clone(), after].concat()),
        ("mix.json", times(1, "a randrw 4096 x8 1 s, time_based; stage 0 group 0")),
        ("new-group.json", [reads, together].concat()),
        ("numjobs-each.json", [one(2), one(2), one(2), one(2)].concat()),
        ("numjobs-group.json", [one(2), one(2), one(2), one(2)].concat()),
        ("plus.json", one(8)),
        ("psync-depth.json", one(1)),
        ("pvsync2-hipri.json", one(1)),
        ("ramp.json", one(8)),
        ("runtime-limited.json", times(1, "a randread 4096 x4 1 s; stage 0 group 0")),
        ("size-limited.json", times(1, "a write 65536 x4 no end; stage 0 group 0")),
        ("think-10s.json", pauses(1, "1 s")),
        ("think-400ms.json", pauses(1, "1 s")),
        ("think-blocks.json", pauses(1, "no end")),
        ("think-deep-blocks.json", pauses(4, "1 s")),
        ("think-deep-size.json", pauses(4, "no end")),
        ("think-deep.json", pauses(4, "1 s")),
        ("think-group.json", times(3, &pauses(1, "1 s")[0])),
        ("think-issue.json", pauses(4, "1 s")),
        ("think-mix.json", times(1, "a randrw 4096 x1 1 s; stage 0 group 0")),
        ("think-numjobs.json", times(3, &pauses(1, "1 s")[0])),
        ("think-ramp.json", pauses(1, "1 s")),
        ("think-size.json", pauses(1, "no end")),
        ("think-two.json", ["a", "b"].map(|job| pauses(1, "1 s")[0].replacen('a', job, 1)).to_vec()),
        ("time-based.json", one(8)),
    ]
    .into();
    for (name, lines) in &expected {
        let read = jobs(name);
        assert_eq!(read.jobs.iter().map(described).collect::<Vec<_>>(), *lines, "{name}");
        assert_eq!(measured(name).version, "fio-3.33", "{name}");
    }
    assert_eq!(jobs("ramp.json").jobs[0].ramp_time, Time::ms(500));
    let refused = ["fsync.json", "hipri.json", "hipri-one.json", "mixed-group.json", "normal.txt", "terse.txt"];
    let known = |name: &str| expected.contains_key(name) || refused.contains(&name) || name == "terse-v5.txt";
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fio")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(known(&name) || name.ends_with(".fio") || name == "README.md", "{name} is in no test");
    }
}

#[test]
fn what_is_refused_says_why_and_what_to_do() {
    for (name, words) in [
        ("fsync.json", ["`fsync=1` changes the result and is not modelled", "write a job file without it"]),
        ("hipri.json", ["`a` failed with error 95, and measured nothing", "cannot do what it asked for"]),
        ("hipri-one.json", ["`a` failed with error 95, and measured nothing", "such as hipri: run it without"]),
        ("mixed-group.json", ["`reads` is a group of 3 jobs", "write a job file with all of them"]),
        ("normal.txt", ["this is fio's text output", "run it again with --output-format=json --output=result.json"]),
        ("terse.txt", ["this is fio's terse output", "--output-format=json --output=result.json"]),
        ("terse-v5.txt", ["this is fio's terse output", "--output-format=json --output=result.json"]),
    ] {
        let said = with_sources(name, &text(name), job_file::read).expect_err(name);
        assert!(words.iter().all(|words| said.contains(words)), "{name}: {said}");
        let as_figures = with_sources(name, &text(name), fio_result::read);
        assert_eq!(as_figures.is_err(), name.ends_with(".txt"), "{name} has figures");
        if let Err(said) = as_figures {
            assert!(words.iter().all(|words| said.contains(words)), "{name}: {said}");
        }
    }
}

#[test]
fn what_fio_leaves_out_is_said() {
    let group = "`a` is in the result once and had numjobs=4: taken as 4 jobs with group_reporting, which fio leaves out \
                 of its result";
    let over = "`a` moved more than its size: taken as time_based, which fio leaves out of its result";
    let after = "`writes` is of another group than the job before it: taken as stonewall, which fio leaves out of its \
                 result";
    assert_eq!(jobs("numjobs-group.json").notes, [group, over]);
    assert_eq!(jobs("numjobs-each.json").notes, [over]);
    assert_eq!(jobs("time-based.json").notes, [over]);
    assert_eq!(jobs("jobs.json").notes.last().unwrap(), after);
    assert!(!jobs("new-group.json").notes.contains(&after.to_string()));
    for whole in ["runtime-limited.json", "size-limited.json", "files.json", "pvsync2-hipri.json"] {
        assert_eq!(jobs(whole).notes, [""; 0], "{whole}");
    }
}

#[test]
fn files_of_the_machine_that_was_measured_stand_for_the_default_device() {
    for (name, files) in [
        ("time-based.json", &["filename=/srv/x (the system's default device)"][..]),
        ("psync-depth.json", &["filename=x (the system's default device)"]),
        ("directory.json", &["directory=/tmp (the system's default device)"]),
        (
            "files.json",
            &["filename=/srv/x (the system's default device)", "filename=/srv/y (the system's default device)"],
        ),
    ] {
        let (library, mut sources, mut blueprint) = machine("nvme-desktop");
        let mut read = jobs(name);
        blueprint.settle(&mut read, &library, &mut sources).unwrap();
        assert!(read.jobs.iter().all(|job| job.targets.is_empty()), "{name}");
        let said: Vec<&String> = read.without_effect.iter().filter(|option| option.contains("default")).collect();
        assert_eq!(said, files, "{name}");
    }
    let (library, mut sources, mut blueprint) = machine("nvme-server");
    let part = text("psync-depth.json").replace("\"filename\" : \"x\"", "\"filename\" : \"drive3\"");
    let mut read = with_sources("result.json", &part, job_file::read).unwrap();
    blueprint.settle(&mut read, &library, &mut sources).unwrap();
    assert_eq!(read.jobs[0].targets, ["drive3"], "a part of the system");
    let several = text("time-based.json").replace("/srv/x", "/srv/x:/srv/y");
    let read = with_sources("result.json", &several, job_file::read).unwrap();
    assert!(read.without_effect.iter().any(|option| option.contains("(2 files: ")), "{read:?}");
}

const FILE: &str =
    "filename=/srv/x measured: a file system stood between the job and the device, and is not simulated.";

#[test]
fn what_makes_a_measurement_incomparable_stands_first() {
    let not = |line: &str| format!("Not comparable as it is: {line}");
    let cache = |given: &str| {
        let why = "the host's page cache stood between the job and the device, and is not simulated.";
        not(&format!("direct {given} measured, 1 simulated: {why}"))
    };
    let relative = not(FILE).replace("=/srv/x", "=x");
    let depth = "this engine has one request under way, whatever iodepth says.";
    let random = |depth: &'static str| vec!["--rw=randread", depth];
    for (name, asked, lines) in [
        ("time-based.json", random("--iodepth=8"), vec![not(FILE)]),
        ("buffered.json", random("--iodepth=8"), vec![cache("0"), not(FILE)]),
        (
            "default-engine.json",
            vec!["--rw=randread", "--ioengine=psync", "--iodepth=8"],
            vec![
                format!("iodepth 8 with ioengine=psync measured, 1 simulated: {depth}"),
                cache("0 (fio's default)"),
                relative.clone(),
            ],
        ),
        (
            "psync-depth.json",
            random("--iodepth=8"),
            vec![not(&format!("iodepth 8 with ioengine=psync measured, 8 simulated: {depth}")), relative],
        ),
        (
            "ramp.json",
            random("--iodepth=8"),
            vec![
                not("ramp_time 0.5 s measured, 0 s simulated: what is left away at the beginning differs."),
                not(FILE),
            ],
        ),
        (
            "size-limited.json",
            vec!["--rw=write", "--iodepth=4"],
            vec![
                not("ramp_time none in 0.018 s measured: so short that what starting takes is in the figures."),
                not(FILE),
            ],
        ),
        (
            "fsync.json",
            vec!["--rw=write"],
            vec![
                not("fsync=1 measured: what was written was flushed to the medium, and no flush is simulated."),
                not(FILE),
            ],
        ),
        (
            "files.json",
            vec!["--name=one", "--rw=randread", "--name=two", "--rw=read"],
            vec![not(FILE).replace("filename=/srv/x measured", "several files measured (2 jobs)")],
        ),
        ("io_uring.json", random("--iodepth=16"), vec![not(FILE).replace("filename=/srv/x", "a file of fio's own")]),
    ] {
        // In the order of fio: what jobs share is before the first name.
        let asked = if asked[0].starts_with("--name") { [&SHORT[..], &asked].concat() } else { asked };
        let compared = beside(name, &asked);
        assert_eq!(compared.caveats(), lines, "{name}");
        let verdict = compared.verdict().join("\n");
        assert!(!verdict.contains("nothing in the model says why"), "{name}: {verdict}");
        assert!(verdict.contains("may explain it."), "{name}: {verdict}");
    }
    let words = beside("buffered.json", &["--rw=randread", "--iodepth=8"]).verdict().join("\n");
    assert!(
        words.ends_with("The simulation gives more; the page cache and the file system may explain it."),
        "{words}"
    );
}

#[test]
fn a_failure_and_a_job_that_ended_early_are_said() {
    let failed = beside("hipri-one.json", &["--rw=randread", "--iodepth=4"]);
    assert!(failed.caveats()[0].contains("error 95 measured: the job failed"), "{:?}", failed.caveats());
    assert!(failed.caveats()[1].contains("hipri 1 measured, 0 simulated: the measurement looked"), "{failed:?}");
    let polled = beside("hipri-one.json", &["--rw=randread", "--iodepth=4", "--hipri"]);
    assert!(polled.warnings.iter().all(|warning| warning.option != "hipri"), "{polled:?}");
    let early = beside("size-limited.json", &["--rw=write", "--iodepth=4"]);
    let said: Vec<String> = early.warnings.iter().map(|warning| warning.words()).collect();
    let words = "runtime 0.018 s of 30 s measured: it ended early: it was done with its size";
    assert!(said.iter().any(|said| said == words), "{said:?}");
    let whole = beside("time-based.json", &["--rw=randread", "--iodepth=8"]);
    assert!(whole.warnings.iter().all(|warning| !warning.why.contains("it ended")), "{whole:?}");
}

#[test]
fn an_entry_stands_for_as_many_jobs_as_numjobs_and_its_time_say() {
    let group = measured("numjobs-group.json");
    assert!(group.is_group(&group.jobs[0]) && group.threads(&group.jobs[0]) == 4);
    let each = measured("numjobs-each.json");
    assert!(each.jobs.iter().all(|job| !each.is_group(job) && each.threads(job) == 1));
    let mixed = measured("mixed-group.json");
    assert_eq!((mixed.threads(&mixed.jobs[0]), mixed.others(&mixed.jobs[0])), (3, Some(3)));
    let fewer = beside("numjobs-group.json", &["--rw=randread", "--iodepth=2"]);
    assert!(fewer.caveats().iter().any(|line| line.contains("numjobs 4 measured, 1 simulated")), "{fewer:?}");
    let asked = [&SHORT[..], &["--name=reads", "--rw=randread", "--numjobs=2", "--name=scan", "--rw=read"]].concat();
    let all = beside("mixed-group.json", &asked);
    assert_eq!(all.matched, Matched::Group);
    assert!(all.warnings.iter().all(|warning| warning.option != "rw" && warning.option != "numjobs"), "{all:?}");
}

#[test]
fn an_engine_with_one_request_under_way_runs_at_depth_one_in_any_job() {
    for engine in ["psync", "sync", "vsync", "pvsync", "pvsync2", "mmap"] {
        let read = options(&["--iodepth=8", &format!("--ioengine={engine}")]);
        assert_eq!(read.jobs[0].iodepth, 1, "{engine}");
        let said = format!("iodepth=8 (ioengine={engine} has one request under way)");
        assert_eq!(read.without_effect, [said]);
    }
    for engine in ["libaio", "io_uring"] {
        let read = options(&[&format!("--ioengine={engine}"), "--iodepth=8"]);
        assert_eq!((read.jobs[0].iodepth, &read.without_effect[..]), (8, &["ioengine".to_string()][..]));
    }
    assert_eq!(options(&["--iodepth=8"]).jobs[0].iodepth, 8, "where no engine is named, the system's driver decides");
    let text = "[global]\nioengine=psync\niodepth=4\n[a]\n[b]\nioengine=libaio\n";
    let read = with_sources("jobs.fio", text, job_file::read).unwrap();
    assert_eq!(read.jobs.iter().map(|job| job.iodepth).collect::<Vec<_>>(), [1, 4]);
    let mut job = options(&["--ioengine=psync"]).jobs.remove(0);
    let refused = job.set("iodepth", "4", Default::default()).unwrap_err();
    assert!(refused.title.contains("`iodepth` has no effect"), "{refused:?}");
}

#[test]
fn where_a_job_polls_the_driver_of_its_device_does() {
    let settled = |system: &str, asked: &[&str]| {
        let (library, mut sources, mut blueprint) = machine(system);
        let mut read = options(asked);
        let result = blueprint.settle(&mut read, &library, &mut sources);
        let uses: Vec<String> = blueprint.parts().iter().map(|part| part.uses.clone()).collect();
        let polled = uses.iter().filter(|uses| uses.contains("polled")).count();
        (result.map_err(|problems| problems.render(&sources, false)), read, polled)
    };
    let (_, read, polled) = settled("nvme-desktop", &["--hipri", "--ioengine=io_uring"]);
    let said = "hipri: driver polls, as driver/linux-io-uring-polled in the place of driver/linux-io-uring";
    assert_eq!((read.notes, polled), (vec![said.to_string()], 1));
    assert_eq!(settled("nvme-server", &["--hipri", "--filename=drive3"]).2, 1, "one of eight");
    assert_eq!(settled("nvme-desktop", &["--hipri=0"]).2, 0);
    let (_, read, polled) = settled("nvme-desktop", &["--hipri", "--ioengine=libaio"]);
    assert_eq!((read.without_effect[0].as_str(), polled), ("hipri (ioengine=libaio does not poll)", 0));
    let (_, read, _) = settled("sata-ssd", &["--hipri"]);
    assert_eq!(read.without_effect, ["hipri (no driver of this device can poll)"]);
    assert!(!read.jobs[0].polls);
    let (result, ..) = settled("nvme-desktop", &["--name=a", "--hipri", "--name=b"]);
    assert!(result.is_err_and(|said| said.contains("`b` waits for interrupts, and other jobs on drive poll")));
}

#[test]
fn a_driver_that_polls_keeps_what_the_system_says_of_the_one_before() {
    let (library, mut sources, mut blueprint) = machine("nvme-server");
    let written = |blueprint: &Blueprint, key: &str| {
        let driver = blueprint.parts().iter().find(|part| part.name == "driver0").unwrap();
        driver.parameters.entries.get(key).map(|entry| entry.written.clone())
    };
    assert_eq!(written(&blueprint, "buffers").as_deref(), Some("cache"), "the system file says so");
    blueprint.settle(&mut options(&["--hipri"]), &library, &mut sources).unwrap();
    assert_eq!(written(&blueprint, "buffers").as_deref(), Some("cache"));
    assert_eq!(written(&blueprint, "time_above").as_deref(), Some("330 ns"), "the polled driver's own");
}

#[test]
fn a_result_that_is_cut_anywhere_is_an_error_and_no_panic() {
    for name in ["jobs.json", "plus.json", "both.txt", "interval.json", "normal.txt", "terse.txt"] {
        let whole = text(name);
        for end in (0..whole.trim_end().len()).step_by(37) {
            let cut = &whole[..end];
            let figures = with_sources("result.json", cut, fio_result::read);
            let read = with_sources("result.json", cut, job_file::read);
            // Of several objects the last whole one counts.
            let is_whole = (name == "interval.json" || name == "both.txt") && cut.contains("\n}\n");
            assert_eq!((figures.is_ok(), read.is_ok()), (is_whole, is_whole), "{name}, {end} bytes");
            let _ = with_sources("a.fio", cut, job_file::read);
        }
    }
}
