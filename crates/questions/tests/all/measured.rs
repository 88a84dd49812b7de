//! What is made of fio's own results: figures, jobs, and both beside a simulation. The samples are written by hand, in
//! the shape of their versions.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use hopscope_files::fio_result::{self, Measured};
use hopscope_files::job_file::{self, Job, JobFile, Rw};
use hopscope_files::library::Library;
use hopscope_files::problem::{Problems, Sources};
use hopscope_kernel::Time;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::fio_json;
use hopscope_machine::run::Options;
use hopscope_questions::explain::{self, EXTENT, Explained};
use hopscope_questions::measured::{Comparison, Matched, TOLERANCE, compare, pair};

const FIO_3_1: &str = include_str!("../fio/fio-3.1.json");
const FIO_3_16: &str = include_str!("../fio/fio-3.16.json");
const FIO_3_36: &str = include_str!("../fio/fio-3.36.json");

/// The least that is a result.
const SMALL: &str = r#"{ "fio version" : "fio-3.36", "jobs" : [ { "jobname" : "a", "error" : 0,
  "job options" : { "rw" : "write", "bs" : "64k", "direct" : "1", "size" : "64k", "time_based" : "1", "runtime" : "1" },
  "write" : { "bw_bytes" : 20000000, "iops" : 305.175781, "clat_ns" : { "mean" : 3200000.000000 } } } ],
  "global options" : { "filename" : "/dev/sdb" } }
"#;

fn report<T>(result: Result<T, Problems>, sources: &Sources) -> Result<T, String> {
    result.map_err(|problems| problems.render(sources, false))
}

fn measured(text: &str) -> Result<Measured, String> {
    let mut sources = Sources::default();
    let file = sources.add("result.json", text);
    report(fio_result::read(&sources, file), &sources)
}

fn jobs(text: &str) -> Result<JobFile, String> {
    let mut sources = Sources::default();
    let file = sources.add("result.json", text);
    report(job_file::read(&sources, file), &sources)
}

fn options(options: &[&str]) -> Vec<Job> {
    job_file::read_options(&mut Sources::default(), options).unwrap().jobs
}

/// A sample with one change, which has to be one.
#[track_caller]
fn changed(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "`{from}` is there to be changed");
    text.replacen(from, to, 1)
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, String>, expected: &[&str]) {
    let out = result.expect_err("refused");
    assert!(out.len() < 20_000, "{} bytes", out.len());
    for words in expected {
        assert!(out.contains(words), "no {words:?} in\n{out}");
    }
}

fn machine() -> Blueprint {
    let library = Library::new(None).unwrap();
    let text = library.system("piix4e-one-disk").unwrap();
    let mut sources = Sources::default();
    let file = sources.add(text.name.clone(), text.text.clone());
    Blueprint::read(&library, &mut sources, file).unwrap()
}

fn explained(jobs: &[Job]) -> Explained {
    explain::explain(&machine(), jobs, Options::default(), EXTENT, None).expect("a run")
}

fn beside(text: &str, jobs: &[Job]) -> Comparison {
    /// By their jobs: most results are beside the same.
    static KNOWN: Mutex<BTreeMap<String, Explained>> = Mutex::new(BTreeMap::new());
    let measured = measured(text).unwrap();
    let pairing = pair(&measured, jobs).unwrap();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let explained = known.entry(format!("{jobs:?}")).or_insert_with(|| explained(jobs));
    compare("result.json", &measured, &pairing, jobs, explained)
}

fn warned(comparison: &Comparison) -> Vec<&str> {
    comparison.warnings.iter().map(|warning| warning.option.as_str()).collect()
}

/// Jobs as in `SMALL`.
fn small_jobs() -> Vec<Job> {
    options(&["--rw=write", "--bs=64k", "--size=64k", "--time_based", "--runtime=1"])
}

#[test]
fn a_result_of_fio_3_1_is_read_with_text_around_it_and_with_keys_that_are_there_twice() {
    let measured = measured(FIO_3_1).unwrap();
    assert_eq!((measured.version.as_str(), measured.jobs.len(), measured.global.len()), ("fio-3.1", 1, 0));
    let job = &measured.jobs[0];
    assert_eq!((job.name.as_str(), job.error), ("scan", 0));
    let read = job.sides[0].unwrap();
    assert_eq!(read.bytes_per_second, Some(27_000.0 * 1024.0), "fio 3.1 has KiB/s only");
    assert_eq!((read.iops, read.latency_ns), (Some(421.875), Some(2_360_123.5)));
    assert_eq!(&job.sides[1..], [None, None], "nothing was written");
}

#[test]
fn of_a_key_that_is_there_twice_the_last_one_counts() {
    let twice = changed(FIO_3_1, "\"iops\" : 421.875000,", "\"iops\" : 1.0,\n\"iops\" : 421.875000,");
    assert_eq!(measured(&twice).unwrap().jobs[0].sides[0].unwrap().iops, Some(421.875));
    let option = changed(SMALL, "\"bs\" : \"64k\"", "\"bs\" : \"4k\", \"bs\" : \"64k\"");
    assert_eq!(jobs(&option).unwrap().jobs[0].block_bytes_max, 65_536);
}

#[test]
fn results_of_later_versions_have_bytes_per_second_global_options_and_sides() {
    let old = measured(FIO_3_16).unwrap();
    assert_eq!(old.jobs[0].sides[0].unwrap().bytes_per_second, Some(491_520.0));
    assert!(old.is_group(&old.jobs[0]) && old.options(&old.jobs[0]).any(|option| option.text() == "numjobs=2"));
    let new = measured(FIO_3_36).unwrap();
    let names: Vec<&str> = new.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!((names, new.jobs[1].error), (vec!["in", "mix"], 5));
    let mixed = new.jobs[1].sides;
    assert_eq!(mixed[0].unwrap().bytes_per_second, Some(300_000.0));
    assert_eq!((mixed[1].unwrap().bytes_per_second, mixed[1].unwrap().latency_ns), (Some(120_000.0), Some(900_000.0)));
    assert!(!new.is_group(&new.jobs[0]));
}

#[test]
fn figures_that_fio_could_not_divide_are_absent() {
    for (written, found) in [("nan", None), ("-nan", None), ("inf", None), ("null", None), ("7.5", Some(7.5))] {
        let text = changed(SMALL, "3200000.000000", written);
        assert_eq!(measured(&text).unwrap().jobs[0].sides[1].unwrap().latency_ns, found, "{written}");
    }
    let named = changed(SMALL, "\"jobname\" : \"a\"", "\"jobname\" : \"a :nan, b\"");
    assert_eq!(measured(&named).unwrap().jobs[0].name, "a :nan, b", "texts stay as they are");
}

#[test]
fn of_several_objects_the_last_whole_one_counts() {
    let later = changed(SMALL, "20000000", "21000000");
    let rate = |text: &str| measured(text).unwrap().jobs[0].sides[1].unwrap().bytes_per_second;
    assert_eq!(rate(&format!("{SMALL}\nsome text {{\n{later}")), Some(21e6));
    assert_eq!(rate(&format!("{SMALL}\n{}", &later[..later.len() - 20])), Some(20e6), "the last one is cut");
    assert_eq!(rate(&format!("{SMALL}{{ \"disk_util\" : [] }}\n")), Some(20e6), "the last one is none");
    assert_eq!(rate(&format!("fio: oops {}", SMALL)), Some(20e6), "on a line with other text");
}

#[test]
fn what_is_no_result_says_why_and_where() {
    refused(measured(""), &["result.json:1:1", "this file is empty"]);
    refused(measured("\n \n"), &["this file is empty"]);
    refused(measured("hello\nworld\n"), &["result.json:1:1", "there is no JSON object", "--output-format=json"]);
    refused(measured("[1, 2]"), &["there is no JSON object"]);
    refused(measured("{ \"a\" : 1 }"), &["result.json:1:1", "this is no result of fio: it has no `jobs`"]);
    refused(measured("text\n{ \"a\" ; 1 }"), &["result.json:2:7", "this is not JSON", "expected `:`"]);
    refused(measured("{\n  \"tim000i456,\n"), &["result.json:2:15", "this is not JSON", "control character"]);
    refused(measured("{ \"a\" : é }"), &["result.json:1:9", "this is not JSON"]);
    refused(measured(&FIO_3_16[..900]), &["result.json:40:18", "this result is cut", "did fio end"]);
    refused(measured("{ \"jobs\" : 3 }"), &["result.json:1:12", "expected a list of jobs"]);
    refused(measured("{ \"jobs\" : [] }"), &["result.json:1:12", "there is no job"]);
    refused(measured("{ \"jobs\" : [ 3 ] }"), &["result.json:1:14", "expected a job"]);
    refused(measured("{ \"jobs\" : [ { } ] }"), &["result.json:1:14", "no `jobname`"]);
    let many = format!("{{ \"jobs\" : [ {}{{}} ] }}", "{}, ".repeat(5_000));
    refused(measured(&many), &["more than 4096 jobs"]);
    for wrong in ["-1", "1e999", "1e19", "\"fast\"", "{}", "true"] {
        refused(measured(&changed(SMALL, "20000000", wrong)), &["result.json:3:28", "`bw_bytes` is no figure"]);
    }
    refused(measured(&changed(SMALL, "\"64k\"", "64")), &["result.json:2:44", "expected a text"]);
    refused(measured(&changed(SMALL, "\"error\" : 0", "\"error\" : 1e300")), &["expected a whole number"]);
    let deep = format!("{{ \"jobs\" : {}", "[".repeat(500_000));
    refused(measured(&deep), &["this result is cut"]);
}

#[test]
fn a_result_is_known_by_its_name_or_by_its_looks() {
    assert!(
        fio_result::is_result("a.json", "")
            && fio_result::is_result("a", "warning\n  {\n")
            && fio_result::is_result("a.fio", SMALL)
    );
    assert!(!fio_result::is_result("a.fio", "[a]\nrw=read ; {\n"));
}

#[test]
fn the_jobs_of_a_result_are_those_that_its_options_describe() {
    let read = jobs(FIO_3_1).unwrap();
    let [scan] = &read.jobs[..] else { panic!("one job") };
    assert_eq!((scan.name.as_str(), scan.rw, scan.iodepth), ("scan", Rw::Read, 1));
    assert_eq!((scan.block_bytes_max, scan.size_bytes), (65_536, Some(32 << 20)));
    assert_eq!((scan.runtime, scan.targets.len()), (Some(Time::ms(2_000)), 0));
    let device = "filename=/dev/sdb (the system's default device)";
    assert_eq!(read.without_effect, ["direct", device, "ioengine"]);
}

#[test]
fn a_group_is_as_many_jobs_as_it_had_and_jobs_that_are_reported_one_by_one_are_there_once() {
    let group = jobs(FIO_3_16).unwrap();
    let depths: Vec<(&str, u64)> = group.jobs.iter().map(|job| (job.name.as_str(), job.iodepth)).collect();
    assert_eq!(depths, [("pick", 4), ("pick", 4)]);
    let one_by_one = jobs(&changed(FIO_3_16, "\"group_reporting\" : \"1\"", "\"group_reporting\" : \"0\"")).unwrap();
    assert_eq!(one_by_one.jobs.len(), 1);
    assert!(one_by_one.without_effect.contains(&"numjobs (each job is in the result)".to_string()));
}

#[test]
fn options_of_a_result_are_in_the_same_classes_as_in_a_job_file() {
    let of = |option: &str| jobs(&changed(SMALL, "\"direct\" : \"1\"", option));
    let buffered = of("\"direct\" : \"0\"").unwrap();
    let said = "direct=0 (the host's page cache is not simulated)";
    assert!(buffered.without_effect.iter().any(|option| option == said), "{buffered:?}");
    refused(of("\"iodpeth\" : \"4\""), &["result.json:2:52", "^^^^^^^", "did you mean `iodepth`?"]);
    refused(of("\"iodepth\" : \"0\""), &["result.json:2:64", "^ expected at least 1"]);
    refused(of("\"fsync\" : \"1\""), &["`fsync=1` changes the result", "write a job file without it"]);
    refused(of("\"filename\" : \"/dev/sda:/dev/sdb\""), &["result.json:2:", "measured on 2 devices", "a part of the"]);
    let mix = jobs(FIO_3_36).unwrap().jobs.remove(1);
    assert_eq!((mix.rw, mix.reads_percent, mix.iodepth), (Rw::RandReadWrite, 70, 1), "psync is fio's default");
    let trims = changed(FIO_3_36, "\"randrw\"", "\"randtrim\"");
    refused(jobs(&trims), &["result.json:65:17", "`rw=randtrim` changes the result and is not modelled"]);
    assert_eq!(of("\"filename\" : \"disk\"").unwrap().jobs[0].targets, ["disk"], "a part of the system");
    assert!(of("\"norandommap\" : \"\"").is_ok_and(|read| !read.jobs[0].random_map), "a flag alone");
    let windows = of(r#""filename" : "\\\\.\\PhysicalDrive1""#).unwrap();
    assert!(windows.without_effect.iter().any(|option| option.contains(r"\\.\PhysicalDrive1")), "{windows:?}");
}

#[test]
fn jobs_on_several_devices_and_jobs_without_options_are_refused() {
    let two = |first: &str, second: &str| {
        let job = |name: &str, options: &str| format!(r#"{{ "jobname" : "{name}", "job options" : {{ {options} }} }}"#);
        jobs(&format!("{{ \"jobs\" : [ {},\n{} ] }}\n", job("a", first), job("b", second)))
    };
    let (sda, sdb) = ("\"filename\" : \"/dev/sda\"", "\"filename\" : \"/dev/sdb\"");
    assert_eq!(two(sda, sda).unwrap().jobs.len(), 2);
    refused(two(sda, sdb), &["result.json:2:", "`b` was measured on another device", "write a job file"]);
    refused(two(sda, "\"name\" : \"b\""), &["result.json:2:15", "the result keeps no options of `b`"]);
    let later = two(sda, "\"stonewall\" : \"1\"").unwrap().jobs;
    assert_eq!((later[0].stage, later[1].stage), (0, 1), "one after the other, as they were measured");
    let many = two(sda, "\"numjobs\" : \"99999999999\", \"group_reporting\" : \"1\"");
    refused(many, &["result.json:2:", "more than 256 jobs"]);
}

#[test]
fn a_simulation_taken_for_a_measurement_is_met_exactly() {
    for mix in [
        &["--rw=write", "--bs=64k", "--size=64k", "--time_based", "--runtime=1"][..],
        &["--rw=randread", "--bs=4k", "--iodepth=2", "--runtime=1"],
        &["--runtime=1", "--bs=8k", "--name=in", "--rw=read", "--name=out", "--rw=randwrite", "--numjobs=2"],
    ] {
        let given = job_file::read_options(&mut Sources::default(), mix).unwrap();
        let explained = explained(&given.jobs);
        let run = fio_json::Run { jobs: &given, outcome: &explained.outcome, seed: 1, wall: None, price: None };
        let text = format!("{:#}\n", fio_json::report(&run));
        let measured = measured(&text).unwrap();
        let pairing = pair(&measured, &given.jobs).unwrap();
        assert_eq!(pairing.matched, Matched::Name);
        let compared = compare("", &measured, &pairing, &given.jobs, &explained);
        assert_eq!(compared.rows.len(), given.jobs.len());
        for row in &compared.rows {
            for figure in [row.throughput, row.iops, row.latency_ns] {
                assert!(figure.measured.is_some_and(|value| value > 0.0), "{row:?}");
                assert_eq!(figure.unexplained(), Some(0.0), "{row:?}");
            }
        }
        assert_eq!((compared.throughput.unexplained(), compared.iops.unexplained()), (Some(0.0), Some(0.0)));
        assert!(compared.warnings.is_empty() && compared.exceeded.is_empty(), "{compared:?}");
        let names = |jobs: &[Job]| jobs.iter().map(|job| (job.name.clone(), job.rw)).collect::<Vec<_>>();
        assert_eq!(names(&jobs(&text).unwrap().jobs), names(&given.jobs), "it is the same job, too");
    }
}

#[test]
fn every_ceiling_is_above_the_simulation_and_a_capacity_is_that_of_its_lane() {
    let compared = beside(SMALL, &small_jobs());
    let simulated = compared.throughput.simulated.unwrap();
    let limits: Vec<f64> = compared.ceilings.iter().filter_map(|hop| hop.lowest()).collect();
    assert!(limits.len() >= 4 && limits.iter().all(|limit| *limit >= 0.999 * simulated), "{limits:?}");
    let hop = |lane: &str| compared.ceilings.iter().find(|hop| hop.lane == lane).unwrap();
    // 2 bytes every 59.702 ns.
    assert!((hop("cable").capacity.unwrap() - 2.0 / 59.702e-9).abs() < 500.0, "{:?}", hop("cable"));
    let cable = hop("cable").at_this_size.unwrap();
    assert!((32e6..33.5e6).contains(&cable), "what the cable does besides data costs little: {cable}");
    assert_eq!((hop("disk.arm").at_this_size, hop("disk.arm").lowest()), (None, None), "it works below the cache");
}

#[test]
fn a_measurement_sits_at_the_nearest_ceiling_that_it_does_not_exceed() {
    let at = |bytes_per_second: f64| {
        let compared = beside(&changed(SMALL, "20000000", &format!("{bytes_per_second}")), &small_jobs());
        let lane = compared.nearest.map(|index| compared.ceilings[index].lane.clone());
        let exceeded: Vec<String> = compared.exceeded.iter().map(|i| compared.ceilings[*i].lane.clone()).collect();
        (lane, compared.sits_there, exceeded.join(" "), compared.verdict().join("\n"))
    };
    let buffer = {
        let compared = beside(SMALL, &small_jobs());
        compared.ceilings[compared.nearest.unwrap()].lowest().unwrap()
    };
    let (lane, sits, exceeded, words) = at(20e6);
    assert_eq!((lane.as_deref(), sits, exceeded.as_str()), (Some("ide.buffer"), false, ""));
    assert!(words.contains("sit at no hop's ceiling (within 5.0 %)"), "{words}");
    let (lane, sits, exceeded, words) = at((buffer * (1.0 - 0.9 * TOLERANCE)).round());
    assert_eq!((lane.as_deref(), sits, exceeded.as_str()), (Some("ide.buffer"), true, ""));
    assert!(words.contains("sit at the ceiling of ide.buffer"), "{words}");
    let (lane, sits, exceeded, words) = at(42e6);
    assert_eq!((lane.as_deref(), sits, exceeded.as_str()), (Some("pci"), false, "ide.buffer cable"));
    assert!(words.contains("more than cable can carry at all, 33.50 MB/s: the system described is not"), "{words}");
    assert!(words.contains("Unexplained: +") && words.contains("nothing in the model says why"), "{words}");
    let (_, _, _, words) = at(1e12);
    assert!(words.contains("more than pci can carry at all"), "{words}");
}

#[test]
fn what_the_model_does_not_explain_is_a_share_of_what_was_measured() {
    let compared = beside(SMALL, &small_jobs());
    let (measured, simulated) = (20e6, compared.throughput.simulated.unwrap());
    assert_eq!(compared.throughput.unexplained(), Some(measured - simulated));
    assert_eq!(compared.throughput.unexplained_share(), Some((measured - simulated) / measured));
    let nothing = beside(&changed(SMALL, "\"write\" :", "\"other\" :"), &small_jobs());
    assert_eq!((nothing.throughput.unexplained(), nothing.throughput.unexplained_share()), (None, None));
    assert_eq!(nothing.warnings[0].measured, "nothing");
}

#[test]
fn jobs_are_found_by_name_else_by_order_else_as_one_group() {
    let three = options(&["--rw=read", "--runtime=1", "--name=mix", "--name=in", "--name=other"]);
    let found = |jobs: &[Job]| pair(&measured(FIO_3_36).unwrap(), jobs).map(|p| (p.matched, p.simulated));
    assert_eq!(found(&three[..2]).unwrap(), (Matched::Name, vec![vec![1], vec![0]]));
    assert_eq!(found(&three[1..]).unwrap(), (Matched::Order, vec![vec![0], vec![1]]));
    let error = found(&three).unwrap_err().0.remove(0);
    assert!(error.place.is_some() && error.help.contains("measured: `in`, `mix`; simulated: `mix`, `in`, `other`"));
    let group = pair(&measured(FIO_3_16).unwrap(), &three).unwrap();
    assert_eq!((group.matched, group.simulated), (Matched::Group, vec![vec![0, 1, 2]]));
    let clones = options(&["--name=pick", "--numjobs=2", "--runtime=1"]);
    let clones = pair(&measured(FIO_3_16).unwrap(), &clones).unwrap();
    assert_eq!((clones.matched, clones.simulated), (Matched::Name, vec![vec![0, 1]]));
}

#[test]
fn a_group_is_beside_the_sum_of_its_jobs() {
    let given = jobs(FIO_3_16).unwrap().jobs;
    let compared = beside(FIO_3_16, &given);
    let [row] = &compared.rows[..] else { panic!("one row: {compared:?}") };
    assert_eq!((row.simulated.len(), row.side), (2, "read"));
    let explained = explained(&given);
    assert!((row.throughput.simulated.unwrap() - explained.throughput()).abs() <= 1.0);
    let mean = explained.outcome.jobs.iter().map(|job| job.got.as_ref().unwrap().latency_ns.mean()).sum::<f64>() / 2.0;
    assert!((row.latency_ns.simulated.unwrap() / mean - 1.0).abs() < 0.05, "{row:?}");
    assert!(warned(&compared).is_empty(), "{:?}", compared.warnings);
}

#[test]
fn reads_and_writes_of_a_mixed_job_are_apart() {
    let both = options(&["--runtime=1", "--name=in", "--rw=read", "--bs=64k", "--name=mix", "--rw=randread"]);
    let compared = beside(FIO_3_36, &both);
    let sides: Vec<(&str, &str)> = compared.rows.iter().map(|row| (row.measured.as_str(), row.side)).collect();
    assert_eq!(sides, [("in", "read"), ("mix", "read"), ("mix", "write")]);
    assert_eq!(compared.rows[2].throughput.simulated, None, "no write is simulated");
    assert_eq!(compared.throughput.measured, Some(10_420_000.0));
    let warned = warned(&compared);
    for option in ["rw", "iodepth", "size", "runtime", "direct"] {
        assert!(warned.contains(&option), "{option}: {warned:?}");
    }
    let direct = compared.warnings.iter().find(|warning| warning.option == "direct").unwrap();
    assert_eq!(direct.jobs, ["in", "mix"], "said once of both");
    assert!(compared.warnings.iter().any(|warning| warning.measured == "error 5" && warning.jobs == ["mix"]));
    let words: Vec<String> = compared.warnings.iter().map(|warning| warning.words()).collect();
    assert!(words.iter().any(|words| words.contains("8 with ioengine=psync")), "a synchronous engine: {words:?}");
}

#[test]
fn every_option_that_differs_is_said_and_none_that_does_not() {
    assert_eq!(beside(SMALL, &small_jobs()).warnings, []);
    let asked = |option: &str| {
        let own = ["--rw=write", "--bs=64k", "--size=64k", "--time_based", "--runtime=1"];
        let name = option.split('=').next().unwrap();
        let rest = own.into_iter().filter(|own| !own.starts_with(name));
        beside(SMALL, &options(&rest.chain([option]).collect::<Vec<_>>()))
    };
    for (option, name) in [
        ("--rw=randwrite", "rw"),
        ("--bs=32k", "bs"),
        ("--iodepth=2", "iodepth"),
        ("--size=1m", "size"),
        ("--offset=1m", "offset"),
        ("--runtime=2", "runtime"),
        ("--ramp_time=100ms", "ramp_time"),
        ("--thinktime=1ms", "thinktime"),
    ] {
        assert_eq!(warned(&asked(option)), [name], "{option}");
    }
    let done = |from: &str, to: &str| beside(&changed(SMALL, from, to), &small_jobs());
    let direct = "\"direct\" : \"1\"";
    assert_eq!(warned(&done(direct, "\"direct\" : \"0\"")), ["direct"]);
    assert_eq!(warned(&done(direct, "\"ioengine\" : \"libaio\"")), ["direct"], "fio's default");
    assert_eq!(warned(&done(direct, "\"buffered\" : \"0\"")), [""; 0]);
    assert_eq!(warned(&done(direct, "\"direct\" : \"1\", \"fsync\" : \"1\"")), ["fsync"]);
    assert_eq!(warned(&done(direct, "\"direct\" : \"1\", \"frobnicate\" : \"1\"")), ["frobnicate"]);
    assert_eq!(warned(&done(direct, "\"direct\" : \"1\", \"iodepth\" : \"8\"")), ["iodepth"], "it has no effect there");
    let none = changed(SMALL, "\"job options\"", "\"other options\"");
    let none = beside(&changed(&none, "\"global options\"", "\"other options\""), &small_jobs());
    assert_eq!(none.warnings[0].measured, "no options");
}

#[test]
fn the_same_random_blocks_in_every_run_are_said() {
    let random = changed(SMALL, "\"rw\" : \"write\"", "\"rw\" : \"randwrite\"");
    let jobs = options(&["--rw=randwrite", "--bs=64k", "--size=64k", "--time_based", "--runtime=1"]);
    assert_eq!(warned(&beside(&random, &jobs)), ["randrepeat"]);
    let other = changed(&random, "\"direct\" : \"1\"", "\"direct\" : \"1\", \"randrepeat\" : \"0\"");
    assert_eq!(warned(&beside(&other, &jobs)), [""; 0]);
}
