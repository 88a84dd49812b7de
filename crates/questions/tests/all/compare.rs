//! Side by side: a difference is named where there is one, with where it comes from, and nothing is made of chance.

use hopscope_files::harmless::is_harmless;
use hopscope_files::job_file::{self, JobFile};
use hopscope_files::library::Library;
use hopscope_files::problem::{Problems, Sources};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::Options;
use hopscope_questions::compare::{self, Column, Comparison, From, Given, Work, json};
use hopscope_questions::diagnosis::diagnose;
use hopscope_questions::explain::Explained;
use hopscope_questions::explain_json;
use hopscope_questions::explanation::Listening;
use proptest::prelude::*;
use serde_json::{Value, json};

const WRITES: &str = "--rw=randwrite --bs=4k --size=1m --time_based --runtime=5ms";
const READS: &str = "--rw=randread --bs=4k --size=1m --time_based --runtime=5ms";

fn library() -> Library {
    Library::new(None).expect("the shipped files can be read")
}

fn works(systems: &[&str], jobs: &[&str]) -> Result<Vec<Work>, Problems> {
    let (library, mut sources) = (library(), Sources::default());
    let mut read = Vec::new();
    for name in systems {
        let text = library.open_system(name)?;
        let file = sources.add(text.name, text.text);
        read.push((name.to_string(), Blueprint::read(&library, &mut sources, file)?));
    }
    let job = |options: &&str| -> Result<(String, JobFile), Problems> {
        let words: Vec<&str> = options.split(' ').collect();
        Ok((options.to_string(), job_file::read_options(&mut Sources::default(), &words)?))
    };
    let jobs = jobs.iter().map(job).collect::<Result<Vec<_>, _>>()?;
    compare::works(&library, &mut sources, &read, &jobs)
}

fn explained(work: &Work) -> (Column, Explained) {
    let listening = Listening { watcher: &|_| None, news: &|_| {} };
    compare::explained(work, Options::default(), listening).expect("it runs")
}

fn simulated(systems: &[&str], jobs: &[&str]) -> Vec<Column> {
    let each = |work: &Work| explained(work).0;
    works(systems, jobs).expect("they can be read").iter().map(each).collect()
}

fn compared(systems: &[&str], jobs: &[&str]) -> Comparison {
    Comparison::new(simulated(systems, jobs), Vec::new(), jobs.len(), None).expect("there are two")
}

fn read(name: &str, text: &str) -> Result<Vec<Column>, (String, Sources)> {
    let mut sources = Sources::default();
    let file = sources.add(name, text);
    compare::read(&sources, file).map_err(|problems| (problems.render(&sources, false), sources))
}

fn refusal(text: &str) -> String {
    read("saved.json", text).expect_err("it is refused").0
}

/// A column by hand: MB/s, interval, latency in us, and stages at hops in us.
fn column(name: &str, mb: f64, interval: f64, us: f64, stages: &[(&str, f64)]) -> Value {
    let stages =
        stages.iter().map(|(hop, us)| json!({ "hop": hop, "what": "work", "is_wait": false, "mean_ns": 1e3 * us }));
    json!({
        "name": name, "from": "explained", "throughput_bytes_per_s": 1e6 * mb, "iops": 1e6 * mb / 4096.0,
        "interval": interval, "in_flight": 1e6 * mb / 4096.0 * us / 1e6, "latency_mean_ns": 1e3 * us,
        "stages": stages.collect::<Vec<_>>(),
    })
}

fn by_hand(columns: &[Value]) -> Comparison {
    by_hand_within(columns, None)
}

fn by_hand_within(columns: &[Value], tolerance: Option<f64>) -> Comparison {
    let text = json!({ "shape": 1, "columns": columns }).to_string();
    let columns = read("x.json", &text).unwrap_or_else(|(shown, _)| panic!("{shown}"));
    let name = |column: Column| Column { name: column.name.replace("x: ", ""), ..column };
    Comparison::new(Vec::new(), columns.into_iter().map(name).collect(), 0, tolerance).expect("there are two")
}

fn verdict(comparison: &Comparison) -> String {
    comparison.groups.iter().flat_map(|group| comparison.verdict(group)).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_system_beside_itself_is_no_different() {
    let comparison = compared(&["sata-ssd", "sata-ssd"], &[WRITES]);
    let said = verdict(&comparison);
    assert!(said.starts_with("No difference that these runs could show: "), "{said}");
    assert!(said.contains("sata-ssd (1)") && said.contains("sata-ssd (2)"), "{said}");
    for (_, difference) in comparison.differences(&comparison.groups[0]) {
        let changes = [difference.throughput, difference.iops, difference.latency_mean, difference.latency_p99];
        for change in changes.into_iter().flatten() {
            assert_eq!((change.share, change.sure), (0.0, Some(false)));
        }
        assert!(difference.stages.iter().all(|change| change.longer_ns() == 0.0) && !difference.stages.is_empty());
    }
    let strict = Comparison { tolerance: Some(1e-6), ..comparison };
    assert_eq!(strict.exceeded(), Vec::<usize>::new());
}

#[test]
fn a_saved_result_says_what_a_fresh_one_says() {
    let work = &works(&["sata-ssd"], &[WRITES]).unwrap()[0];
    let setting = &work.setting;
    let (fresh, explained) = explained(work);
    let diagnosis = diagnose(setting, 1, &explained, &|_, _| {}).unwrap();
    let mut report = explain_json::report(&setting.blueprint, &explained, diagnosis.as_ref());
    report["system"] = work.system.clone().into();
    report["job"] = work.job.clone().into();
    let saved = read("sata-ssd.json", &format!("{report:#}")).unwrap_or_else(|(shown, _)| panic!("{shown}"));
    assert_eq!(saved, std::slice::from_ref(&fresh));
    assert!(fresh.limit.is_some() && fresh.stages.len() > 3 && fresh.latency_mean_ns.is_some(), "{fresh:?}");

    // Compared and saved, it can be compared again.
    let comparison = Comparison::new(vec![fresh.clone()], saved, 1, None).unwrap();
    let again =
        read("again.json", &json::report(&comparison).to_string()).unwrap_or_else(|(shown, _)| panic!("{shown}"));
    let [first, second] = &again[..] else { panic!("{again:?}") };
    assert_eq!((&first.name[..], &second.name[..]), ("again: sata-ssd (1)", "again: sata-ssd (2)"));
    assert_eq!(Column { name: fresh.name.clone(), ..first.clone() }, fresh);
    let stages_ns: f64 = fresh.stages.iter().map(|stage| stage.mean_ns).sum();
    let latency = explained.latency.unwrap().mean;
    assert!((stages_ns / latency.mean().as_ns_f64() - 1.0).abs() < 1e-6, "stages add up: {stages_ns}");
}

#[test]
fn three_systems_with_two_jobs_are_compared_job_by_job() {
    let systems = ["sata-ssd", "nvme-desktop", "nvme-chipset"];
    let comparison = compared(&systems, &[WRITES, READS]);
    assert_eq!(comparison.columns.len(), 6);
    let groups: Vec<_> = comparison.groups.iter().map(|group| (group.job.as_deref(), &group.columns[..])).collect();
    assert_eq!(groups, [(Some(WRITES), &[0, 1, 2][..]), (Some(READS), &[3, 4, 5])]);
    for group in &comparison.groups {
        let names: Vec<&str> = comparison.of(group).map(|column| &column.name[..]).collect();
        assert_eq!(names, systems);
        assert!(!comparison.stages(group).is_empty());
    }
    let report = json::report(&comparison);
    assert_eq!(report["groups"][1]["differences"][1]["column"], 5);
    assert_eq!(report["groups"][1]["differences"][1]["against"], 3);
}

#[test]
fn the_order_of_the_arguments_is_the_order_of_the_columns_and_nothing_else() {
    let systems = ["nvme-chipset", "nvme-desktop", "sata-ssd"];
    let job = [READS];
    let forth = compared(&systems, &job);
    let turned: Vec<&str> = systems.into_iter().rev().collect();
    let back = compared(&turned, &job);
    let mut columns = back.columns.clone();
    columns.reverse();
    assert_eq!(forth.columns, columns);
    assert_eq!(forth.verdict(&forth.groups[0]).first(), back.verdict(&back.groups[0]).first());
    let mut stages = back.stages(&back.groups[0]);
    stages.iter_mut().for_each(|of| of.each_ns.reverse());
    assert_eq!(forth.stages(&forth.groups[0]), stages);
}

#[test]
fn what_is_better_is_said_with_how_much_and_with_the_stage_that_makes_it() {
    // 40 us less of 100 us: 2.5 times as long, or 66.7 % more.
    let fast = column("fast", 50.0, 0.001, 60.0, &[("flash", 32.0), ("link", 28.0)]);
    let slow = column("slow", 30.0, 0.001, 100.0, &[("flash", 80.0), ("link", 20.0)]);
    let said = verdict(&by_hand(&[slow.clone(), fast.clone()]));
    assert!(said.contains("fast is faster: 50.00 MB/s (±0.1 %), 66.7 % more than slow (30.00 MB/s)."), "{said}");
    assert!(
        said.contains("fast answers sooner, after 60.00 us on average; slow takes 66.7 % longer (100.0 us)."),
        "{said}"
    );
    assert!(said.contains("The 40.00 us more of slow: work at flash, 80.00 us instead of 32.00 us."), "{said}");
    assert!(said.contains("Against that: work at link, 20.00 us instead of 28.00 us."), "{said}");
    assert_eq!(verdict(&by_hand(&[fast.clone(), slow.clone()])), said);

    let twice = column("slowest", 10.0, 0.0, 300.0, &[]);
    let said = verdict(&by_hand(&[fast, slow, twice]));
    let first = "fast is fastest: 50.00 MB/s (±0.1 %), 66.7 % more than slow (30.00 MB/s), 5.000 times as much as slowest \
                 (10.00 MB/s).";
    assert!(said.starts_with(first), "{said}");
    assert!(said.contains("Where that comes from is not in slowest"), "{said}");
}

#[test]
fn the_same_work_at_hops_of_other_names_is_the_same_stage() {
    let stage =
        |hop: &str, what: &str, us: f64| json!({ "hop": hop, "what": what, "is_wait": false, "mean_ns": 1e3 * us });
    let mut one = column("one", 50.0, 0.0, 60.0, &[]);
    one["stages"] = json!([stage("ssd.die*", "array read", 40.0), stage("cable", "data", 20.0)]);
    let mut other = column("other", 30.0, 0.0, 100.0, &[]);
    other["stages"] = json!([
        stage("drive.die*", "array read", 70.0),
        stage("link.up", "data", 20.0),
        stage("link.down", "data", 10.0),
    ]);
    let comparison = by_hand(&[one, other]);
    let rows: Vec<(String, Vec<f64>)> =
        comparison.stages(&comparison.groups[0]).into_iter().map(|of| (of.stage.words(), of.each_ns)).collect();
    let row = |words: &str, one: f64, other: f64| (words.to_string(), vec![1e3 * one, 1e3 * other]);
    // Data goes over two links of the other: they are not told to be one.
    assert_eq!(rows[0], row("array read", 40.0, 70.0));
    let rest =
        [row("data at cable", 20.0, 0.0), row("data at link.down", 0.0, 10.0), row("data at link.up", 0.0, 20.0)];
    assert!(rest.iter().all(|row| rows.contains(row)) && rows.len() == 4, "{rows:?}");
    let said = verdict(&comparison);
    assert!(said.contains("The 40.00 us more of other: array read, 70.00 us instead of 40.00 us;"), "{said}");
}

#[test]
fn what_may_be_chance_is_called_so_and_exceeds_no_tolerance() {
    // 2 % apart, each known to 1.5 %: their intervals overlap. Known to 0.5 % they do not.
    for (interval, sure) in [(0.015, false), (0.005, true)] {
        let columns = [column("a", 100.0, interval, 50.0, &[]), column("b", 98.0, interval, 51.02, &[])];
        let comparison = by_hand_within(&columns, Some(0.01));
        let (_, difference) = comparison.differences(&comparison.groups[0]).next().unwrap();
        assert_eq!(difference.throughput.unwrap().sure, Some(sure));
        let said = verdict(&comparison);
        assert_eq!(said.contains("No difference that these runs could show: a and b get"), !sure, "{said}");
        assert_eq!(comparison.exceeded().len(), usize::from(sure));
        assert_eq!(said.contains("Worse than a by more than 1.0 %: b."), sure, "{said}");
    }
    let mut unknown = column("b", 98.0, 0.0, 51.02, &[]);
    unknown["interval"] = Value::Null;
    let said = verdict(&by_hand(&[column("a", 100.0, 0.0, 50.0, &[]), unknown]));
    assert!(said.contains("2.0 % more than b") && said.contains("Not of all is an interval known"), "{said}");
    let better = [column("a", 98.0, 0.0, 51.0, &[]), column("b", 120.0, 0.0, 41.0, &[])];
    assert_eq!(by_hand_within(&better, Some(0.01)).exceeded(), Vec::<usize>::new());
}

#[test]
fn the_latency_of_jobs_that_pause_is_known_less_well_than_their_rate() {
    // 4 in flight at 1,000 a second are 4 ms for a request and its pause; of those 1 ms is latency.
    let mut pausing = column("a", 4.096, 0.01, 1_000.0, &[]);
    pausing["in_flight"] = json!(4);
    let comparison = by_hand(&[pausing.clone(), pausing]);
    let interval = comparison.columns[0].latency_interval().unwrap();
    assert!((interval - 0.04).abs() < 1e-9, "{interval}");
}

#[test]
fn prices_without_a_computer_are_held_against_their_like() {
    let mut whole = column("a", 100.0, 0.0, 50.0, &[]);
    let of_parts = json!({ "mb_per_s_per_usd": 0.2, "iops_per_usd": 48.8 });
    whole["price_usd"] =
        json!({ "total": 2500, "computer": 2000, "mb_per_s_per_usd": 0.04, "iops_per_usd": 9.8, "of_parts": of_parts });
    let mut parts = column("b", 100.0, 0.0, 50.0, &[]);
    parts["price_usd"] = json!({ "total": 400, "computer": null, "mb_per_s_per_usd": 0.25, "iops_per_usd": 61.0 });
    let said = verdict(&by_hand(&[whole.clone(), parts]));
    assert!(said.contains("For a dollar of its parts a gives 0.2000 MB/s, b gives 0.2500 MB/s."), "{said}");
    let said = verdict(&by_hand(&[whole.clone(), whole]));
    assert!(said.contains("For a dollar of the machine a (1) gives 0.0400 MB/s"), "{said}");
}

#[test]
fn processor_and_price_are_shown_where_a_result_has_them() {
    let mut priced = column("a", 100.0, 0.0, 50.0, &[]);
    priced["processor"] = json!({ "utilisation": 0.25, "ps_per_request": 2_500_000, "layers": [
        { "layer": "block layer", "ps": 1_500_000, "clocks_per_request": 4500, "clocks_per_byte": 0.1 } ] });
    priced["price_usd"] = json!({ "total": 200, "mb_per_s_per_usd": 0.0005, "iops_per_usd": 122.07 });
    let comparison = by_hand(&[priced, column("b", 50.0, 0.0, 100.0, &[])]);
    let said = verdict(&comparison);
    assert!(said.contains("A request costs the processor 2.500 us on a."), "{said}");
    assert!(said.contains("For a dollar of its parts a gives 0.0005 MB/s."), "{said}");
    let report = json::report(&comparison);
    assert_eq!(report["columns"][0]["processor"]["layers"][0]["clocks_per_request"], 4500.0);
    assert_eq!(
        (&report["columns"][0]["price_usd"]["total"], &report["columns"][1]["price_usd"]),
        (&json!(200.0), &Value::Null)
    );
}

#[test]
fn a_result_of_fio_is_a_column_without_stages() {
    let side = json!({ "bw_bytes": 4_096_000, "iops": 1000.0, "clat_ns": { "mean": 900_000.0, "percentile": { "99.000000": 2_000_000 } } });
    let nothing = json!({ "bw_bytes": 0, "iops": 0.0, "clat_ns": { "mean": 0.0 } });
    let text = json!({ "fio version": "fio-3.36", "jobs": [
        { "jobname": "a", "error": 0, "job options": { "iodepth": "4" }, "read": side, "write": nothing },
    ] });
    let column =
        &read("measured.json", &format!("fio: a warning\n{text:#}")).unwrap_or_else(|(shown, _)| panic!("{shown}"))[0];
    assert_eq!((column.from, &column.name[..], column.in_flight), (From::Measured, "measured", Some(4.0)));
    let figures = (column.throughput_bytes_per_s, column.iops, column.latency_mean_ns, column.latency_p99_ns);
    assert_eq!(figures, (Some(4_096_000.0), Some(1000.0), Some(900_000.0), Some(2_000_000.0)));
    assert_eq!((column.interval, column.limit.is_none(), column.stages.len()), (None, true, 0));
    let failed = text.to_string().replace("\"error\":0", "\"error\":5");
    assert!(refusal(&failed).contains("`a` ended with error 5"), "{}", refusal(&failed));
}

#[test]
fn a_word_is_told_by_its_ending_or_by_what_ships() {
    let library = library();
    let given = |word: &str| compare::given(&library, word);
    for (word, is) in [
        ("nvme-desktop", Given::System),
        ("raid-workstation-light", Given::Job),
        ("mine.toml", Given::System),
        ("a/b.fio", Given::Job),
        ("a.b.json", Given::Saved),
    ] {
        assert_eq!(given(word), Ok(is), "{word}");
    }
    let slip = given("nvme-dekstop").unwrap_err();
    assert!(slip.title.contains("`nvme-dekstop` is no system") && slip.help.contains("`nvme-desktop`"), "{slip:?}");
    for nonsense in ["", ".", "\u{1b}[2J", &"x".repeat(100_000), "json", "/"] {
        assert!(given(nonsense).is_err(), "{nonsense}");
    }
}

#[test]
fn a_device_that_one_system_does_not_have_is_an_error_that_names_both() {
    let systems = ["piix4e-one-disk", "piix4e-two-disks-two-channels"];
    let job = "--filename=disk2 --rw=read --bs=4k";
    let Err(problems) = works(&systems, &[job]) else { panic!("one of them has one disk") };
    let (title, help) = (&problems.0[0].title, &problems.0[0].help);
    assert_eq!((problems.0.len(), &title[..]), (1, "`piix4e-one-disk` has no device `disk2`"));
    assert!(help.contains("did you mean `disk`?") && problems.0[0].place.is_some(), "{problems:?}");
    assert!(works(&systems, &["--rw=read --bs=4k"]).is_ok(), "each has a default");
    let ways = [(&[][..], &[job][..], "on which system"), (&systems[..], &[], "There is no job")];
    for (systems, jobs, says) in ways {
        let Err(problems) = works(systems, jobs) else { panic!("{says}") };
        assert!(problems.to_string().contains(says), "{problems}");
    }
    let one = |columns: Vec<Column>| Comparison::new(columns, Vec::new(), 1, None).map(|_| ()).unwrap_err();
    assert!(one(Vec::new()).title.contains("nothing to compare it with"));
}

#[test]
fn what_cannot_be_read_is_shown_with_line_and_column() {
    let good = json!({ "shape": 1, "columns": [column("a", 1.0, 0.0, 1.0, &[])] });
    let text = format!("{good:#}");
    for (wrong, says) in [
        (String::new(), vec!["this file is empty"]),
        ("{\n  \"shape\": 1,\n  \"columns\": [\n".to_string(), vec!["is cut", "saved.json:3"]),
        ("{\n  \"shape\": 1,\n  columns\n}".to_string(), vec!["not JSON", "saved.json:3:3", "columns"]),
        ("[1, 2]".to_string(), vec!["expected an object, as `explain`, `run` and `compare` write it"]),
        ("{}".to_string(), vec!["no result of explain, run or compare"]),
        (text.replace("\"shape\": 1", "\"shape\": 2"), vec!["shape 2", "newer", "saved.json:2:3"]),
        (text.replace("\"shape\": 1", "\"shape\": \"x\""), vec!["`shape` is \"x\""]),
        (
            text.replace("\"interval\": 0.0", "\"interval\": \"wide\""),
            vec!["not as hopscope writes it", "saved.json:9"],
        ),
        (text.replace("\"interval\": 0.0", "\"interval\": -1"), vec!["is no figure that can be"]),
        (text.replace("\"interval\": 0.0", "\"interval\": 1e999"), vec!["number out of range"]),
        (text.replace("\"explained\"", "\"guessed\""), vec!["unknown variant `guessed`"]),
        ("{\"fio version\": \"fio-3\", \"jobs\": []}".to_string(), vec!["there is no job in this result"]),
        ("[".repeat(100_000), vec!["saved.json:1"]),
    ] {
        let shown = refusal(&wrong);
        for word in says {
            assert!(shown.contains(word), "no `{word}` in {shown}");
        }
    }
    let many: Vec<Value> = (0..65).map(|index| column(&index.to_string(), 1.0, 0.0, 1.0, &[])).collect();
    assert!(refusal(&json!({ "columns": many }).to_string()).contains("at most 64"));
    let stages: Vec<(&str, f64)> = vec![("hop", 1.0); 5_000];
    let long = json!({ "columns": [column("a", 1.0, 0.0, 1.0, &stages)] }).to_string();
    assert!(refusal(&long).contains("5000 stages"), "{}", refusal(&long));
}

#[test]
fn no_name_of_a_file_steers_a_terminal() {
    let hostile = "a\u{1b}[2J\u{202e}\u{fdd0}\nb";
    let comparison =
        by_hand(&[column(hostile, 1.0, 0.0, 1.0, &[(hostile, 1.0)]), column("b", 2.0, 0.0, 0.5, &[("x", 0.5)])]);
    for line in comparison.verdict(&comparison.groups[0]) {
        assert!(line.chars().all(|letter| is_harmless(letter) && letter != '\n'), "{line:?}");
    }
    let long = "x".repeat(10_000);
    let comparison = by_hand(&[column(&long, 1.0, 0.0, 1.0, &[]), column("b", 2.0, 0.0, 0.5, &[])]);
    assert!(comparison.columns[0].name.chars().count() < 300);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_text_makes_the_reader_panic(text in "(\\PC|(?s).){0,200}", cut in 0usize..4_000, at in 0usize..4_000, with in "[-0-9eE.\"\\[\\]{},:a-z ]{0,6}") {
        let _ = read("x.json", &text);
        let good = json!({ "shape": 1, "columns": [
            column("a", 1.0, 0.1, 1.0, &[("h", 1.0)]), column("b", 2.0, 0.1, 0.5, &[("h", 0.5), ("i", 0.1)]),
        ] }).to_string();
        let boundary = |at: usize| at.min(good.len());
        let _ = read("x.json", &good[..boundary(cut)]);
        let (from, until) = (boundary(at), boundary(at + with.len()));
        let changed = format!("{}{with}{}", &good[..from], &good[until..]);
        if let Ok(columns) = read("x.json", &changed)
            && let Ok(comparison) = Comparison::new(Vec::new(), columns, 0, Some(0.1))
        {
            let said = verdict(&comparison);
            prop_assert!(!said.contains("NaN") && !said.contains("inf"), "{said}");
            json::report(&comparison);
            comparison.exceeded();
        }
    }
}
