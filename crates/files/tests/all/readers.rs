//! What the readers make of part, system and job files, right and wrong.

use hopscope_files::job_file::{self, JobFile};
use hopscope_files::part_file::{self, PartFile};
use hopscope_files::problem::{Problems, Sources};
use hopscope_files::system_file::{self, SystemFile};
use hopscope_kernel::Time;
use hopscope_parts::parameters::{Basis, Value};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const DISK: &str = r#"model = "disk"
title = "Quantum Fireball EL 10.2A"
rotation = { value = "5400 rpm", source = "data sheet" }
interface = "ata"
write_cache = true
[seek]
basis = { source = "product manual, table 4-1" }
full_stroke = "18 ms"
one_track = { value = "2 ms", assumed = "usual for its year" }
reread = { value = "95 us", fitted = "piix4e: single-block reads", range = ["10 us", "200 us"] }
settle.write = "1 ms"
[zones]
basis = { measured = "zone scan" }
rows = [
  { name = "outer", cylinders = "3000 cylinders", sectors_per_track = "264 sectors" },
  { name = "inner", cylinders = "2000 cylinders", sectors_per_track = { value = "180 sectors", assumed = "why" } },
]
"#;

const MACHINE: &str = r#"title = "A bench"
study = "piix4e"
default_target = "disk0"
[part.pci]
use = "bus/pci-32-33"
clock = { value = "33.5 MHz", measured = "98 cycles in 2925 ns" }
[part.ide]
use = "bridge/intel-piix4e"
at = "pci.slot7"
[part.disk]
use = "disk/quantum-fireball-el10.2a"
at = "ide.primary.drive{}"
count = 2
[part.disk.seek]
basis = { assumed = "a slower one" }
full_stroke = "19 ms"
"#;

pub const JOBS: &str = "; what a backup does
[global]
ioengine=libaio
direct=1
bs=64k   # one track
runtime=2

[scan]
rw=read
filename=disk0:disk1
size=50%

[global]
iodepth=4
[pick]
rw=randread
bs=2k-8k
time_based
norandommap
ramp_time=500ms
size=1g
offset=4m
randseed=7
";

fn report<T>(result: Result<T, Problems>, sources: &Sources) -> Result<T, String> {
    result.map_err(|problems| problems.render(sources, false))
}

fn part(text: &str) -> Result<PartFile, String> {
    let mut sources = Sources::default();
    let file = sources.add("disk.toml", text);
    report(part_file::read(&sources, file), &sources)
}

fn system(text: &str) -> Result<SystemFile, String> {
    let mut sources = Sources::default();
    let file = sources.add("bench.toml", text);
    report(system_file::read(&sources, file), &sources)
}

pub fn jobs(text: &str) -> Result<JobFile, String> {
    let mut sources = Sources::default();
    let file = sources.add("scan.fio", text);
    report(job_file::read(&sources, file), &sources)
}

pub fn options(options: &[&str]) -> Result<JobFile, String> {
    let mut sources = Sources::default();
    let jobs = job_file::read_options(&mut sources, options);
    report(jobs, &sources)
}

/// The report has all these, the first of which is the place.
#[track_caller]
pub fn refused<T: std::fmt::Debug>(result: Result<T, String>, expected: &[&str]) {
    let out = result.expect_err("refused");
    for words in expected {
        assert!(out.contains(words), "no {words:?} in\n{out}");
    }
}

#[test]
fn a_part_has_its_numbers_by_dotted_key_each_with_its_basis() {
    let part = part(DISK).unwrap();
    assert_eq!((part.model.as_str(), part.title.as_str()), ("disk", "Quantum Fireball EL 10.2A"));
    let entries = &part.parameters.entries;
    assert_eq!(entries["rotation"].value, Value::Period(Time::ps(11_111_111_111)));
    assert_eq!(entries["rotation"].written, "5400 rpm");
    assert_eq!(entries["interface"].value, Value::Text("ata".into()));
    assert_eq!(entries["write_cache"].value, Value::Text("true".into()));
    assert_eq!(entries["seek.full_stroke"].value, Value::Time(Time::ms(18)));
    assert_eq!(entries["seek.full_stroke"].basis, Basis::Source("product manual, table 4-1".into()));
    assert_eq!(entries["seek.settle.write"].basis, Basis::Source("product manual, table 4-1".into()));
    assert_eq!(entries["seek.one_track"].basis, Basis::Assumed("usual for its year".into()));
    assert_eq!(entries["seek.reread"].range, [Value::Time(Time::us(10)), Value::Time(Time::us(200))]);
    let Value::Rows(zones) = &entries["zones.rows"].value else { panic!("rows") };
    assert_eq!(zones[0].entries["name"].value, Value::Text("outer".into()));
    assert_eq!(zones[0].entries["cylinders"].value, Value::Count(3_000));
    assert_eq!(zones[0].entries["cylinders"].basis, Basis::Measured("zone scan".into()));
    assert_eq!(zones[1].entries["sectors_per_track"].basis, Basis::Assumed("why".into()));
    assert_eq!(entries.len(), 8);
}

#[test]
fn a_part_file_says_what_is_wrong_and_where() {
    let of = |line: &str| part(&format!("model = \"disk\"\ntitle = \"D\"\n{line}\n"));
    let given = r#"source = "s""#;
    refused(part("x = 1"), &["disk.toml:1:1", "`model` is missing", "`title` is missing", "a unit is missing"]);
    refused(
        of("seek = \"18 ms\""),
        &["disk.toml:3:1", "^^^^^^^^^^^^^^", "`seek` has no basis", "why is it this number?"],
    );
    refused(of("seek = 18"), &["disk.toml:3:8", "^^ a unit is missing", "\"18 us\""]);
    refused(of("seek = \"18\""), &["disk.toml:3:8", "a unit is missing"]);
    refused(
        of(&format!("seek = {{ value = \"18 mss\", {given} }}")),
        &["disk.toml:3:18", "^^^^^^^^", "did you mean `ms`?"],
    );
    refused(
        of("seek = { value = \"18 ms\", sorce = \"s\" }"),
        &["disk.toml:3:27", "unknown key `sorce`", "did you mean `source`?"],
    );
    refused(of("basis = { guessed = \"s\" }"), &["disk.toml:3:11", "unknown key `guessed`"]);
    refused(of("basis = \"s\""), &["disk.toml:3:9", "a basis says of which kind it is", "basis = { source"]);
    refused(of("basis = {}"), &["disk.toml:3:9", "this basis is empty"]);
    refused(of("basis = { source = \"\" }"), &["disk.toml:3:20", "`source` is empty"]);
    refused(
        of(&format!("seek = {{ value = \"1 ms\", {given}, assumed = \"a\" }}")),
        &["disk.toml:3:40", "either `source` or `assumed`"],
    );
    refused(of(&format!("seek = {{ {given} }}")), &["disk.toml:3:1", "`seek` has no `value`"]);
    let ranged = |range: &str| of(&format!("seek = {{ value = \"18 ms\", fitted = \"f\", range = {range} }}"));
    refused(ranged("[\"1 ms\"]"), &["disk.toml:3:49", "has not two ends"]);
    refused(ranged("[\"1 ms\", \"3 ms\"]"), &["disk.toml:3:49", "outside of its range"]);
    refused(ranged("[\"1 B\", \"3 B\"]"), &["disk.toml:3:49", "of another kind", "expected a time"]);
    for list in ["[\"often\"]", "[\"often\", \"always\"]", "[\"1 ms\", \"3 ms\"]"] {
        let choice = of(&format!("when = {{ value = \"never\", fitted = \"f\", range = {list} }}"));
        refused(choice, &["disk.toml:3:49", "`when` is a choice, and this is no list of choices with it"]);
    }
    refused(of("day = 1999-12-31"), &["disk.toml:3:7", "`day` is a datetime"]);
    refused(of("ports = [\"a\", \"b\"]"), &["disk.toml:3:10", "a row of `ports` is not a table"]);
    refused(of("ports = [[]]"), &["a row of `ports` is not a table"]);
    refused(of("rows = []"), &["disk.toml:3:8", "`rows` has no rows"]);
    refused(of("\"a.b\" = true"), &["disk.toml:3:1", "a key has a character"]);
    refused(of("a = true\na = false"), &["disk.toml:4:1", "`a` is there twice", "the second one"]);
    refused(of("a = \"open"), &["disk.toml:3:", "this is not TOML"]);
}

#[test]
fn a_range_of_frequencies_rises_with_the_frequency() {
    let of = |range: &str| {
        part(&format!(
            "model = \"b\"\ntitle = \"B\"\nclock = {{ value = \"33 MHz\", fitted = \"f\", range = [{range}] }}"
        ))
    };
    assert!(of("\"30 MHz\", \"35 MHz\"").is_ok());
    refused(of("\"35 MHz\", \"30 MHz\""), &["disk.toml:3:", "outside of its range"]);
}

#[test]
fn a_system_has_its_parts_in_order_with_counts_expanded() {
    let system = system(MACHINE).unwrap();
    assert_eq!((system.title.as_str(), system.study.as_deref()), ("A bench", Some("piix4e")));
    assert_eq!(system.default_target.unwrap().0, "disk0");
    let names: Vec<&str> = system.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["pci", "ide", "disk0", "disk1"]);
    assert_eq!(system.parts[0].overrides.entries["clock"].basis.word(), "measured");
    assert_eq!(system.parts[1].uses.0, "bridge/intel-piix4e");
    assert_eq!((system.parts[1].plugs[0].key.as_str(), system.parts[1].plugs[0].target.as_str()), ("at", "pci.slot7"));
    assert_eq!(system.parts[3].plugs[0].target, "ide.primary.drive1");
    assert_eq!(system.parts[3].overrides.entries["seek.full_stroke"].value, Value::Time(Time::ms(19)));
}

#[test]
fn a_system_file_says_what_is_wrong_and_where() {
    let of = |text: &str| system(&format!("title = \"T\"\n{text}\n"));
    refused(system(""), &["bench.toml:1:1", "`title` is missing", "this system has no parts"]);
    refused(of("part = 3"), &["bench.toml:2:8", "`part` is not a table"]);
    refused(of("[part]\npci = 3"), &["bench.toml:3:1", "`part.pci` is not a table"]);
    refused(
        of("stdy = \"x\"\n[part.a]\nuse = \"b/c\""),
        &["bench.toml:2:1", "unknown key `stdy`", "did you mean `study`?"],
    );
    refused(of("[part.pci]"), &["bench.toml:2:7", "`use` is missing", "write use ="]);
    refused(of("[part.PCI]\nuse = \"b/c\""), &["bench.toml:2:7", "`PCI` is no name for a part"]);
    refused(of("[part.a]\nuse = \"b/c\"\n[part.a]\nuse = \"b/c\""), &["bench.toml:4:7", "`a` is there twice"]);
    refused(
        of("[part.a]\nuse = \"b/c\"\ncount = 2\n[part.a1]\nuse = \"b/c\""),
        &["bench.toml:5:7", "two parts are named `a1`"],
    );
    for count in ["0", "-1", "257", "\"2\"", "99999999999999999999"] {
        refused(of(&format!("[part.a]\nuse = \"b/c\"\ncount = {count}")), &["bench.toml:4:9", "from 1 to 256"]);
    }
    refused(of("[part.a]\nuse = \"b/c\"\nat = 3"), &["bench.toml:4:6", "`at` is not a text"]);
    refused(of("[part.a]\nuse = \"b/c\"\nat = \"pci.slot{}\""), &["bench.toml:4:6", "give the part a count"]);
    refused(of("[part.a]\nuse = \"b/c\"\nclock = \"33 MHz\""), &["bench.toml:4:1", "`clock` has no basis"]);
    let many: String = (0..9_000).map(|n| format!("k{n} = true\n")).collect();
    refused(
        of(&format!("[part.a]\nuse = \"b/c\"\ncount = 256\n{many}")),
        &["bench.toml:2:7", "more than 20000 numbers"],
    );
}

/// Truncates `text`, or replaces one of its bytes.
fn mutated(text: &str, at: usize, byte: Option<u8>) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let at = at % bytes.len();
    match byte {
        Some(byte) => bytes[at] = byte,
        None => bytes.truncate(at),
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn small<T>(result: Result<T, String>) -> bool {
    result.map_or_else(|out| !out.is_empty() && out.len() <= 20_000, |_| true)
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::with_cases(500) })]

    #[test]
    fn a_damaged_file_is_read_or_refused_briefly(at in any::<usize>(), byte in any::<Option<u8>>()) {
        prop_assert!(small(part(&mutated(DISK, at, byte))));
        prop_assert!(small(system(&mutated(MACHINE, at, byte))));
        prop_assert!(small(jobs(&mutated(JOBS, at, byte))));
    }

    #[test]
    fn any_text_is_read_or_refused_briefly(bytes in prop::collection::vec(any::<u8>(), 0..2_000), text in "([a-z0-9\\[\\]{}=\"., \n%#]){0,300}") {
        for text in [String::from_utf8_lossy(&bytes).into_owned(), text] {
            prop_assert!(small(part(&text)));
            prop_assert!(small(system(&text)));
            prop_assert!(small(jobs(&text)));
            prop_assert!(small(options(&text.split(' ').collect::<Vec<_>>())));
            let option = format!("--{text}");
            prop_assert!(small(options(&[&option])));
        }
    }
}

#[test]
fn a_megabyte_of_anything_is_refused_briefly_and_soon() {
    for unit in ["a=1\n", "[", "x", "[part.a]\n", "a.", "[a]\n", "\u{0}", "a={", "[[a]]\n", "--"] {
        let text = unit.repeat((1 << 20) / unit.len());
        assert!(small(part(&text)) && small(system(&text)) && small(jobs(&text)) && small(options(&[&text])), "{unit}");
    }
}
