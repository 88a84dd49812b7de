//! A study that its folder says alone: what it simulates is what the runs give by themselves, its arithmetic is that of
//! its cells, and what is wrong with it is said where it stands.

use std::fs;
use std::path::{Path, PathBuf};

use hopscope_files::job_file;
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{self, Options};
use hopscope_studies::report::{Cell, Report};
use hopscope_studies::{Study, Wish};

pub const STUDY: &str = r#"
title  = "Two drives"
source = "nobody, never"

[systems]
flash = "nvme-desktop"
turns = "win2000-lct08"

[numbers.requests]
value  = "4 requests"
fitted = "own: what was published is of two"
values = ["1 requests", "2 requests", "4 requests"]

[[table]]
id      = "reads"
title   = "Reads at random"
unit    = "MB/s"
key     = ["drive", "kib"]
machine = "{drive}"
job     = ["--rw=randread", "--bs={kib}k", "--iodepth={requests}", "--runtime={ms}ms", "--time_based"]
seeds   = 3
value   = "bytes_per_second / 1e6"

[[null]]
id    = "null-model"
rule  = "twice the size, twice the rate, and no more than 1,000 MB/s"
table = "reads"
rows  = { kib = "8" }
cells.half = { kib = "4" }
value = "kib / 4 * half min 1000"

[[claim]]
id  = "faster"
how = "4 KiB"
cells.flash = { table = "reads", drive = "flash", kib = "4" }
cells.turns = { table = "reads", drive = "turns", kib = "4" }
value = "flash / turns"

[[fit]]
cells  = "reads"
tables = ["reads"]
part  = "workload"
keys  = ["requests"]

[[ablation]]
what = "no read-ahead"
set  = [["drive/samsung-980-pro-1tb", "read_ahead.ahead", "0 segments"]]

[[chart]]
id          = "sizes"
title       = "Reads by size"
table       = "reads"
along       = "kib"
along_title = "size of a read, KiB"
along_unit  = "KiB"
shows       = "rate"
curves      = "drive"
"#;
pub const READS: &str = "drive,kib,ms,published,basis\nflash,4,20,180,fitted\nflash,8,20,300,seen\nflash,16,20,,\nturns,4,2000,0.5,\nturns,8,2000,1,input\n";
pub const CLAIMS: &str =
    "id,claim,value,unit,about,low,high,basis_at_best\nfaster,flash is faster,300,times,reads,100,1000,seen\n";

/// The folder of a study `own`, which a test has for itself.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(test: &str, study: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("hopscope-{test}-{}", std::process::id())).join("studies/own");
        fs::create_dir_all(&folder).unwrap();
        for (file, text) in [("study.toml", study), ("reads.csv", READS), ("claims.csv", CLAIMS)] {
            fs::write(folder.join(file), text).unwrap();
        }
        Folder(folder)
    }

    /// What `--data` is given.
    pub fn data(&self) -> &Path {
        self.0.ancestors().nth(2).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.data());
    }
}

pub fn wish(library: &Library) -> Wish<'_> {
    Wish { library, trains: true, sensitivity: false, stop: &|| false, progress: &|_: usize, _, _: &str| {} }
}

fn reproduced(folder: &Folder) -> Report {
    let library = Library::new(Some(folder.data())).unwrap();
    let study = Study::all(&library).unwrap().into_iter().find(|study| study.id() == "own").unwrap();
    study.open(&library, &mut Sources::default()).unwrap().reproduce(&wish(&library)).unwrap()
}

fn cell<'a>(report: &'a Report, drive: &str, kib: u64) -> &'a Cell {
    let found = report.tables[0].cells.iter().find(|cell| cell.key["drive"] == drive && cell.key["kib"] == kib);
    found.unwrap_or_else(|| panic!("no cell of {drive} and {kib} KiB"))
}

/// MB/s by the run alone, the mean of so many seeds.
fn alone(system: &str, kib: u64, depth: u64, ms: u64, seeds: u64) -> f64 {
    let library = Library::new(None).unwrap();
    let mut sources = Sources::default();
    let text = library.open_system(system).unwrap();
    let file = sources.add(text.name, text.text);
    let machine = Blueprint::read(&library, &mut sources, file).unwrap();
    let words = ["--rw=randread".into(), format!("--bs={kib}k"), format!("--iodepth={depth}")];
    let words: Vec<String> = words.into_iter().chain([format!("--runtime={ms}ms"), "--time_based".into()]).collect();
    let jobs = job_file::read_options(&mut sources, &words).unwrap().jobs;
    let rate = |seed| {
        let options = Options { seed, cut: true, ..Options::default() };
        let outcome = run::run(&machine, &jobs, options, None).unwrap();
        let bytes = outcome.jobs[0].got.as_ref().unwrap().bytes;
        bytes as f64 / (outcome.jobs[0].until - outcome.jobs[0].from).as_seconds_f64() / 1e6
    };
    (1..=seeds).map(rate).sum::<f64>() / seeds as f64
}

#[test]
fn cells_are_what_the_runs_give_by_themselves() {
    let folder = Folder::new("cells", STUDY);
    let report = reproduced(&folder);
    assert_eq!(report.tables[0].cells.len(), 5);
    let simulated = |drive, kib| cell(&report, drive, kib).simulated.unwrap();
    for (drive, system, kib, ms) in [("flash", "nvme-desktop", 16, 20), ("turns", "win2000-lct08", 4, 2000)] {
        let alone = alone(system, kib, 4, ms, 3);
        assert!((alone - simulated(drive, kib)).abs() < 1e-9, "{drive}: {alone} {}", simulated(drive, kib));
    }

    let bases: Vec<&str> = report.tables[0].cells.iter().map(|cell| cell.basis.word()).collect();
    assert_eq!(
        bases,
        ["fitted", "seen", "predicted", "seen", "input"].map(|word| if word == "predicted" { "seen" } else { word })
    );
    assert_eq!((report.summary.cells, report.summary.awaited, report.summary.fitted_parameters), (4, 1, 1));

    // The formulas again, by hand.
    let faster = simulated("flash", 4) / simulated("turns", 4);
    assert!(
        (report.claims[0].simulated - faster).abs() < 1e-9
            && report.claims[0].holds == (100.0..=1000.0).contains(&faster)
    );
    let [null] = &report.alternatives[..] else { panic!("one null model") };
    // Of 8 KiB, only the flash drive's cell is neither fitted nor input; half of it is published as 180.
    assert_eq!(null.cells.iter().map(|cell| cell.simulated).collect::<Vec<_>>(), [Some(360.0)]);
    assert!((null.mean_abs_error - 0.2).abs() < 1e-9, "{}", null.mean_abs_error);
}

/// What else a folder may say: rows that follow from rows, runs that stand in no table, several words in a column.
const MORE: &str = r#"
title  = "One drive"
source = "nobody, never"

[systems]
flash = "nvme-desktop"

[given]
blocks = { part = "driver/linux-io-uring", key = "queue" }

[jobs]
deep = ["--iodepth=8", "--runtime=10ms", "--time_based"]

[[table]]
id    = "reads"
title = "Reads, {blocks / 1023} way"
unit  = "MB/s"
key   = ["kib"]
job   = ["--rw={rw}", "--bs={kib}k", "@deep"]
each  = "rw"
seeds = "{seeds}"
values = [{ rows = { unit = "KB/s" }, value = "window_bytes_per_second / 1e3" }]
value = "window_bytes_per_second / 1e6"
[[table.derived]]
rows  = { kib = "all" }
cells.each = { kib = ["4", "16"] }
value = "each"

[[table]]
id     = "again"
title  = "Reads again"
beside = true
file   = "reads.csv"
rows   = { kib = ["4"] }
key    = ["kib"]
job    = ["--rw=randread", "--bs=4k", "@deep"]
seeds  = 1
value  = "window_bytes_per_second / 1e6"

[[run]]
id    = "one"
job   = ["--rw=randread", "--bs=4k", "@deep"]
seeds = 1
value = "window_bytes_per_second / 1e6"

[[reading]]
id    = "kilobytes"
what  = "in KB, where a run gives {one:.3}"
table = "reads"
rows  = { kib = "4" }
value = "simulated * 1e3"

[[reading]]
id    = "alone"
what  = "one request in flight"
table = "reads"
rows  = { kib = "4" }
set   = [["driver/linux-io-uring", "queue", "2 entries"]]

[[claim]]
id    = "faster"
how   = "runs alone"
cells.both = { table = "reads", kib = ["4", "16"] }
value = "both / one"
"#;

#[test]
fn rows_follow_from_rows_and_runs_stand_beside_them() {
    let folder = Folder::new("more", MORE);
    let reads = "kib,rw,unit,seeds,published\n4,randread,MB/s,1,300\n16,randread randwrite,KB/s,2,\nall,,,1,500\n";
    fs::write(folder.0.join("reads.csv"), reads).unwrap();
    let report = reproduced(&folder);
    assert_eq!((report.tables.len(), report.tables[0].title.as_str()), (1, "Reads, 1 way"));
    let simulated: Vec<f64> = report.tables[0].cells.iter().filter_map(|cell| cell.simulated).collect();
    let [small, large, all] = simulated[..] else { panic!("three rows: {simulated:?}") };
    // A column with a word that is no number has no numbers.
    assert_eq!(report.tables[0].cells[0].key["kib"], "4");
    assert!((all - f64::midpoint(small, large)).abs() < 1e-9, "{simulated:?}");

    // Two directions, and two seeds of each: by runs of their own.
    let library = Library::new(None).unwrap();
    let mut sources = Sources::default();
    let text = library.open_system("nvme-desktop").unwrap();
    let file = sources.add(text.name, text.text);
    let machine = Blueprint::read(&library, &mut sources, file).unwrap();
    let kb_per_s = |rw: &str, seed| {
        let words = [format!("--rw={rw}"), "--bs=16k".into(), "--iodepth=8".into(), "--runtime=10ms".into()];
        let words: Vec<String> = words.into_iter().chain(["--time_based".into()]).collect();
        let jobs = job_file::read_options(&mut Sources::default(), &words).unwrap().jobs;
        let outcome = run::run(&machine, &jobs, Options { seed, cut: true, ..Options::default() }, None).unwrap();
        outcome.jobs[0].got.as_ref().unwrap().bytes as f64 / outcome.measured.as_seconds_f64() / 1e3
    };
    let each = ["randread", "randwrite"].map(|rw| (kb_per_s(rw, 1) + kb_per_s(rw, 2)) / 2.0);
    assert!((large / f64::midpoint(each[0], each[1]) - 1.0).abs() < 1e-9, "{large} {each:?}");

    let of = |id: &str| report.alternatives.iter().find(|known| known.id == id).unwrap();
    assert_eq!(of("again").cells[0].simulated, Some(small));
    assert_eq!(of("kilobytes").what, format!("in KB, where a run gives {small:.3}"));
    assert!((of("kilobytes").cells[0].simulated.unwrap() / small - 1e3).abs() < 1e-9);
    assert!(of("alone").cells[0].simulated.unwrap() < small / 2.0, "{:?}", of("alone").cells);
    assert!((report.claims[0].simulated - all / small).abs() < 1e-9);
}

#[test]
fn where_the_time_of_cells_goes_is_said_of_the_runs_that_they_are_of() {
    let path = r#"
[[path]]
id       = "hops"
what     = "what most of the time goes through"
table    = "reads"
called   = "kib"
together = ["disk", "the disk"]
share    = ["pci", "bus"]
"#;
    let (with, without) = (Folder::new("path", &format!("{STUDY}{path}")), Folder::new("no-path", STUDY));
    let (with, without) = (reproduced(&with), reproduced(&without));
    // To look changes nothing.
    let cells = |report: &Report| -> Vec<_> {
        report.tables[0].cells.iter().map(|cell| (cell.simulated, cell.interval)).collect()
    };
    assert_eq!(cells(&with), cells(&without));
    let said: Vec<&str> =
        with.alternatives.iter().filter(|known| known.id.starts_with("hops")).map(|known| &*known.what).collect();
    let [flash, turns] = said[..] else { panic!("one for each machine: {said:?}") };
    assert!(turns.starts_with("what most of the time goes through, turns: 4: the disk 9"), "{turns}");
    assert!(!flash.contains("disk") && flash.matches(", bus 0 %").count() == 3, "{flash}");
}

#[test]
fn without_a_number_of_runs_there_are_as_many_as_it_takes() {
    let folder = Folder::new("seeds", &STUDY.replace("seeds   = 3\n", ""));
    let (report, whole) = (reproduced(&folder), alone("nvme-desktop", 16, 4, 20, 3));
    let cell = cell(&report, "flash", 16);
    let simulated = cell.simulated.unwrap();
    assert!(cell.interval <= 0.005 * simulated && (simulated / whole - 1.0).abs() < 0.02, "{cell:?} {whole}");
}

#[test]
fn a_fit_finds_the_number_that_the_published_figure_was_made_with() {
    let folder = Folder::new("fit", STUDY);
    // A search has two runs of each.
    let made = alone("nvme-desktop", 4, 2, 20, 2);
    fs::write(folder.0.join("reads.csv"), READS.replace("flash,4,20,180,", &format!("flash,4,20,{made},"))).unwrap();
    let library = Library::new(None).unwrap();
    let study = Study::at(&folder.0).unwrap();
    let found = study.open(&library, &mut Sources::default()).unwrap().fit(&wish(&library)).unwrap();
    assert_eq!((found.len(), found[0].parameters[0].value.as_str()), (1, "2"));
    assert!(found[0].mean_abs_error < 1e-9 && found[0].mean_abs_error_before > 0.1, "{found:?}");
}

#[test]
fn its_page_draws_a_curve_for_each_drive() {
    let folder = Folder::new("chart", STUDY);
    let library = Library::new(None).unwrap();
    let opened = Study::at(&folder.0).unwrap();
    let pictures = opened.open(&library, &mut Sources::default()).unwrap().pictures(&wish(&library)).unwrap();
    let [chart] = &pictures.charts[..] else { panic!("one chart") };
    let names: Vec<&str> = chart.curves.iter().map(|(value, _)| value.as_str()).collect();
    assert_eq!((names, chart.along.key.as_str(), chart.panels.len()), (vec!["flash", "turns"], "kib", 1));
}

#[test]
fn a_run_that_gives_nothing_is_no_cell() {
    let study = STUDY.replace("\"--time_based\"", "\"--size=16k\", \"--ramp_time=1ms\"");
    let folder = Folder::new("nothing", &study);
    let library = Library::new(None).unwrap();
    let mut sources = Sources::default();
    let opened = Study::at(&folder.0).unwrap();
    let opened = opened.open(&library, &mut sources).unwrap();
    let Err(run::Failure::Input(problems)) = opened.reproduce(&wish(&library)) else { panic!("nothing was measured") };
    let shown = problems.render(&sources, false);
    assert!(shown.contains("no request ended in its time") && shown.contains("reads.csv:2:1"), "{shown}");
}

#[test]
fn a_shipped_study_keeps_its_name() {
    let folder = Folder::new("name", STUDY);
    fs::rename(&folder.0, folder.0.with_file_name("myrinet")).unwrap();
    let library = Library::new(Some(folder.data())).unwrap();
    let Err(problems) = Study::all(&library) else { panic!("two studies have one name") };
    assert!(problems.to_string().contains("is called `myrinet`, too"), "{problems}");
}
