//! What the readers make of part, system and job files, right and wrong.

use hopscope_files::job_distributions::Distribution;
use hopscope_files::job_file::{self, Job, JobFile, Rw};
use hopscope_files::part_file::{self, PartFile};
use hopscope_files::problem::{Problems, Sources};
use hopscope_files::system_file::{self, SystemFile};
use hopscope_kernel::Time;
use hopscope_parts::parameters::{Basis, Value};
use hopscope_parts::workload::Zone;
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

const JOBS: &str = "; what a backup does
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

fn jobs(text: &str) -> Result<JobFile, String> {
    let mut sources = Sources::default();
    let file = sources.add("scan.fio", text);
    report(job_file::read(&sources, file), &sources)
}

fn options(options: &[&str]) -> Result<JobFile, String> {
    let mut sources = Sources::default();
    let jobs = job_file::read_options(&mut sources, options);
    report(jobs, &sources)
}

fn job(option: &str) -> Job {
    jobs(&format!("[a]\n{option}\n")).unwrap().jobs.remove(0)
}

/// The report has all these, the first of which is the place.
#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, String>, expected: &[&str]) {
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

#[test]
fn a_job_file_means_what_fio_means() {
    let file = jobs(JOBS).unwrap();
    assert_eq!(file.without_effect, ["direct", "ioengine"]);
    let [scan, pick] = &file.jobs[..] else { panic!("two jobs") };
    assert_eq!((scan.name.as_str(), scan.rw, scan.iodepth), ("scan", Rw::Read, 1));
    assert_eq!((scan.block_bytes_min, scan.block_bytes_max), (65_536, 65_536));
    assert_eq!(scan.targets, ["disk0", "disk1"]);
    assert_eq!((scan.size_bytes, scan.size_percent), (None, Some(50)));
    assert_eq!((scan.runtime, scan.time_based, scan.random_map), (Some(Time::ms(2_000)), false, true));
    assert_eq!((pick.rw, pick.iodepth), (Rw::RandRead, 4));
    assert_eq!((pick.block_bytes_min, pick.block_bytes_max), (2_048, 8_192));
    assert_eq!((pick.time_based, pick.random_map, pick.ramp_time), (true, false, Time::ms(500)));
    assert_eq!((pick.size_bytes, pick.offset_bytes, pick.randseed), (Some(1 << 30), 4 << 20, Some(7)));
}

#[test]
fn amounts_and_times_follow_fios_manual() {
    for (written, bytes) in [
        ("4096", 4_096),
        ("4096B", 4_096),
        ("0x1000", 4_096),
        ("4k", 4_096),
        ("4K", 4_096),
        ("4kb", 4_096),
        ("4KB", 4_096),
        ("4KiB", 4_000),
        ("1m", 1 << 20),
        ("1MiB", 1_000_000),
    ] {
        assert_eq!(job(&format!("bs={written}")).block_bytes_max, bytes, "{written}");
    }
    for (written, ms) in
        [("3", 3_000), ("3s", 3_000), ("250ms", 250), ("5000us", 5), ("2M", 120_000), ("1h", 3_600_000)]
    {
        assert_eq!(job(&format!("runtime={written}")).runtime, Some(Time::ms(ms)), "{written}");
    }
    let writes = job("rw=write\nbs=4k,8k");
    assert_eq!((writes.block_bytes_min, writes.block_bytes_max), (8_192, 8_192));
    assert_eq!(job("rw=write\nbs=16k,").block_bytes_max, 4_096);
    assert_eq!(job("filename=c\\:disk:d").targets, ["c:disk", "d"]);
    assert_eq!(job("numjobs=1\nblocksize=1k\nreadwrite=randwrite").rw, Rw::RandWrite);
    let names = |text: &str| jobs(text).unwrap().jobs.into_iter().map(|job| job.name).collect::<Vec<_>>().concat();
    assert_eq!(names("[global]\nnumjobs=3\n[a]\n[b]\nnumjobs=2\n[c]\nnumjobs=1"), "aaabbc");
    assert_eq!(names("[a]\nstonewall\nnumjobs=2"), "aa", "nothing is before it");
    refused(jobs("[a]\nbs=4ki"), &["scan.fio:2:4", "1000 in fio's manual and 1024 in its code"]);
}

#[test]
fn options_on_a_command_line_are_read_as_in_a_file() {
    let file = options(&["--rw=randread", "--bs=64k", "--iodepth=8", "--runtime=2", "--direct=1"]).unwrap();
    assert_eq!(file.jobs.len(), 1);
    let job = &file.jobs[0];
    assert_eq!((job.rw, job.block_bytes_max, job.iodepth, job.name.as_str()), (Rw::RandRead, 65_536, 8, "job"));
    let names = options(&["--bs=8k", "--name=a", "--rw=write", "--name=b"]).unwrap();
    let names: Vec<_> = names.jobs.iter().map(|job| (job.name.as_str(), job.rw, job.block_bytes_max)).collect();
    assert_eq!(names, [("a", Rw::Write, 8_192), ("b", Rw::Read, 8_192)]);
    refused(options(&["--rw=read", "--bs=0"]), &["command line:1:16", "--rw=read --bs=0", "^ expected at least 1"]);
    refused(options(&["--rw=read", "bs=4k"]), &["command line:1:11", "^^^^^ expected --key=value"]);
}

#[test]
fn a_job_file_says_what_is_wrong_and_where() {
    let of = |option: &str| jobs(&format!("[a]\n{option}\n"));
    refused(jobs("# nothing\n[global]\nbs=4k"), &["scan.fio:1:1", "there is no job in this file"]);
    refused(jobs("bs=4k\n[a]"), &["scan.fio:1:1", "this option is in no section"]);
    refused(jobs("[a\nrw=read"), &["scan.fio:1:1", "this is no section"]);
    refused(of("iodpeth=4"), &["scan.fio:2:1", "^^^^^^^", "unknown option `iodpeth`", "did you mean `iodepth`?"]);
    refused(of("qqqqqqqqqqqqq=4"), &["scan.fio:2:1", "expected an option of fio"]);
    refused(of("fsync=1"), &["scan.fio:2:1", "`fsync=1` changes the result"]);
    refused(of("rw=randtrim"), &["scan.fio:2:4", "`rw=randtrim` changes the result"]);
    refused(of("rw=randread:8"), &["scan.fio:2:4", "`rw=randread:8` changes the result"]);
    refused(of("rw = raed"), &["scan.fio:2:6", "`rw` is not `raed`", "expected read, write"]);
    refused(of("bs"), &["scan.fio:2:1", "`bs` needs a value"]);
    refused(of("bs=0"), &["scan.fio:2:4", "`bs` is never 0"]);
    refused(of("bs=-4k"), &["scan.fio:2:4"]);
    refused(of("bs=99999999999999999t"), &["scan.fio:2:4", "`bs` is too large"]);
    refused(of("iodepth=0"), &["scan.fio:2:9", "`iodepth` is never 0"]);
    refused(of("size=101%"), &["scan.fio:2:6", "expected 1% to 100%"]);
    refused(of("offset=25%"), &["scan.fio:2:8", "unknown unit"]);
    refused(of("runtime=9999d"), &["scan.fio:2:9", "longer than 213 days"]);
    refused(of("time_based=2"), &["scan.fio:2:12", "expected 1 or 0"]);
    refused(of("time_based"), &["scan.fio:2:1", "`time_based` needs a `runtime`"]);
    refused(of("filename=a::b"), &["scan.fio:2:10", "an empty name"]);
    refused(jobs("[a]\nexitall\n[b]"), &["scan.fio:2:1", "not modelled between several jobs"]);
    assert_eq!(of("stonewall").unwrap().without_effect, ["stonewall"]);
    refused(jobs(&"[a]\n".repeat(300)), &["scan.fio:257:1", "more than 256 jobs"]);
    refused(of("numjobs=257"), &["scan.fio:2:1", "more than 256 jobs"]);
    refused(of("numjobs=0"), &["scan.fio:2:9", "`numjobs` is never 0"]);
    refused(of("numjobs=18446744073709551615\n[b]"), &["scan.fio:2:1", "more than 256 jobs"]);
}

#[test]
fn mixes_splits_and_distributions_mean_what_fio_means() {
    let mix = job("rw=randrw\nrwmixread=70\nbs=4k,8k");
    assert_eq!((mix.rw, mix.rw.sides(), mix.reads_percent), (Rw::RandReadWrite, [true, true], 70));
    assert_eq!((mix.block_bytes_max, mix.write_blocks), (4_096, Some((8_192, 8_192))));
    assert_eq!(job("rw=rw\nrwmixread=70\nrwmixwrite=60").reads_percent, 40, "the later one decides");
    assert_eq!((job("rw=rw").reads_percent, job("rw=rw\nbs=4k").write_blocks), (50, None));
    let split = job("rw=randrw\nbs=1m\nbssplit=2k/50:4k,4k/90:8k/10");
    assert_eq!(split.splits, [vec![(2_048, 50), (4_096, 50)], vec![(4_096, 90), (8_192, 10)]]);
    assert_eq!((split.block_bytes_min, split.block_bytes_max), (2_048, 4_096), "a split decides, not bs");
    assert_eq!(split.write_blocks, Some((4_096, 8_192)));
    let open = job("bssplit=4k:8k/:16k/1").splits;
    assert_eq!(open[0], [(4_096, 49), (8_192, 50), (16_384, 1)]);
    let think = job("thinktime=250\nthinktime_blocks=4\nthinktime_blocks_type=issue").think;
    assert_eq!((think.time, think.every, think.counts_issues), (Time::us(250), 4, true));
    assert_eq!(job("thinktime=2ms").think.time, Time::ms(2));
    assert_eq!(job("random_distribution=zipf:0.8").distribution, Distribution::Zipf(0.8));
    assert_eq!(job("random_distribution=zipf").distribution, Distribution::Zipf(1.1));
    assert_eq!(job("random_distribution=pareto:0.3").distribution, Distribution::Pareto(0.3));
    assert_eq!(job("random_distribution=normal:12.5").distribution, Distribution::Normal(12.5));
    let zoned = job("random_distribution=zoned:60/10:40/90,100/100");
    assert_eq!(zoned.distribution, Distribution::Zoned);
    let zone = |requests_percent, size_percent| Zone { requests_percent, size_percent };
    assert_eq!(zoned.zones, [vec![zone(60, 10), zone(40, 90)], vec![zone(100, 100)]]);
    assert_eq!(job("percentage_random=20,80").random_percent, [20, 80]);
}

#[test]
fn what_does_not_add_up_or_is_out_of_range_says_where() {
    let of = |option: &str| jobs(&format!("[a]\n{option}\n"));
    refused(of("bssplit=4k/50:8k/40"), &["scan.fio:2:9", "`bssplit` has percentages that add up to 90 %", "100 %"]);
    refused(of("bssplit=4k/70:8k/40:16k"), &["scan.fio:2:9", "add up to 110 %"]);
    refused(of("bssplit=4k/x"), &["scan.fio:2:9", "`x` where a percentage is due", "0 to 100"]);
    refused(of("bssplit=0/100"), &["scan.fio:2:9", "`bssplit` is never 0"]);
    refused(of(&format!("bssplit={}", "4k:".repeat(70) + "4k")), &["71 entries", "at most 64"]);
    refused(of("bssplit=4k/100,4k/100,4k/100,4k/100"), &["too many directions"]);
    refused(of("rwmixread=101"), &["scan.fio:2:11", "`101` where a percentage is due"]);
    refused(of("random_distribution=zipf:1"), &["scan.fio:2:21", "a theta of 1, which is out of range", "zipf:1.2"]);
    refused(of("random_distribution=zipf:-1"), &["out of range"]);
    refused(of("random_distribution=zipf:1.2:0.5"), &["with a centre is not modelled"]);
    refused(of("random_distribution=zipf:nan"), &["`nan` where a number is due"]);
    refused(of("random_distribution=pareto:1"), &["a share of 1, which is out of range"]);
    refused(of("random_distribution=normal:101"), &["a deviation of 101, which is out of range"]);
    refused(of("random_distribution=zoned:60/10:30/90"), &["scan.fio:2:21", "requests that add up to 90 %"]);
    refused(of("random_distribution=zoned:60/10:40/80"), &["sizes that add up to 90 %"]);
    refused(of("random_distribution=zoned:60/0:40/100"), &["60 % of the requests to a zone without a size"]);
    refused(of("random_distribution=zoned:60"), &["a zone `60` without a size"]);
    refused(of("random_distribution=zoned"), &["has no zones"]);
    refused(of("random_distribution=zipff:1.2"), &["`random_distribution` is not `zipff`", "expected random, zipf"]);
    refused(of("percentage_random=120"), &["scan.fio:2:19", "`120` where a percentage is due"]);
    refused(of("thinktime=3fortnights"), &["scan.fio:2:11", "unknown unit", "expected microseconds"]);
    refused(of("thinktime_blocks=0"), &["scan.fio:2:18", "never 0"]);
    refused(of("thinktime_blocks_type=both"), &["expected complete or issue"]);
    refused(of("thinktime_spin=5"), &["scan.fio:2:1", "`thinktime_spin=5` changes the result"]);
}

#[test]
fn a_stonewall_begins_a_stage_and_a_group() {
    let of = |text: &str| jobs(text).unwrap().jobs.iter().map(|job| (job.stage, job.group)).collect::<Vec<_>>();
    assert_eq!(
        of("[a]\n[b]\nstonewall\n[c]\n[d]\nnew_group\n[e]\nstonewall"),
        [(0, 0), (1, 1), (1, 1), (1, 2), (2, 3)]
    );
    assert_eq!(of("[global]\nstonewall\n[a]\n[b]\nnumjobs=2\n[c]"), [(0, 0), (1, 1), (1, 1), (2, 2)]);
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
