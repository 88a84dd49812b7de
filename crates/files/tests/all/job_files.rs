//! What jobs are that job files and command lines describe, and what is wrong with them.

use hopscope_files::job_distributions::Distribution;
use hopscope_files::job_file::{Job, Rw};
use hopscope_kernel::Time;
use hopscope_parts::workload::Zone;

use crate::readers::{JOBS, jobs, options, refused};

fn job(option: &str) -> Job {
    jobs(&format!("[a]\n{option}\n")).unwrap().jobs.remove(0)
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
fn a_start_delay_comes_before_the_ramp_in_whatever_order_both_are_written() {
    for written in ["startdelay=1800ms\nramp_time=200ms", "ramp_time=200ms\nstartdelay=1800ms"] {
        let mut job = jobs(&format!("[load]\nrw=read\n{written}\n")).unwrap().jobs.remove(0);
        assert_eq!((job.start_delay, job.ramp_time), (Time::ms(1_800), Time::ms(2_000)), "{written}");
        job.set("startdelay", "1s", job.place).expect("another delay");
        assert_eq!((job.start_delay, job.ramp_time), (Time::ms(1_000), Time::ms(1_200)));
        job.set("ramp_time", "2s", job.place).expect("another ramp");
        assert_eq!((job.start_delay, job.ramp_time), (Time::ms(1_000), Time::ms(3_000)));
    }
    // fio draws a delay for each job of a range.
    assert!(jobs("[load]\nrw=read\nstartdelay=5,20\n").is_err());
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
