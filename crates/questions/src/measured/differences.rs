//! What was measured otherwise than it is simulated.

use hopscope_files::fio_result::inferred::RUNTIME_TOLERANCE;
use hopscope_files::fio_result::{Given, Measured, MeasuredJob};
use hopscope_files::job_file::{self, Job};
use hopscope_files::job_options::{Class, SYNCHRONOUS, classify};
use hopscope_kernel::Time;

use super::Warning;

/// Engines that go to the device past the page cache.
const PAST_THE_CACHE: [&str; 3] = ["io_uring_cmd", "sg", "xnvme"];
/// What is between a job and its device where it asks for a file.
const FILE_SYSTEM: &str = "the file system";
/// What starting takes shows in the figures of a job that ran no longer.
const SHORT_MS: f64 = 500.0;

/// Adds the differences of one entry of a result. Of jobs that are reported as one, the one that is most like what the
/// entry says is beside it.
pub(super) fn add(
    warnings: &mut Vec<Warning>,
    measured: &Measured,
    entry: &MeasuredJob,
    simulated: &[usize],
    jobs: &[Job],
) {
    let mut likest: Option<Vec<Warning>> = None;
    let mut tried: Vec<&Job> = Vec::new();
    for job in simulated.iter().filter_map(|index| jobs.get(*index)) {
        let same = |other: &&Job| other.written == job.written && other.rw == job.rw;
        if tried.iter().any(same) {
            continue;
        }
        tried.push(job);
        let found = of(measured, entry, job, simulated.len());
        if likest.as_ref().is_none_or(|known| found.len() < known.len()) {
            likest = Some(found);
        }
    }
    let found = likest.into_iter().flatten();
    for warning in failures(entry).into_iter().chain(found) {
        put(warnings, warning);
    }
}

/// Adds a warning, or its jobs to one that says the same.
fn put(warnings: &mut Vec<Warning>, warning: Warning) {
    let same = |a: &Warning| {
        (&a.option, &a.measured, &a.simulated, &a.why)
            == (&warning.option, &warning.measured, &warning.simulated, &warning.why)
    };
    // Of several files one sentence is enough: all of them are on the system's default device.
    let is_file = |a: &Warning| a.cause == Some(FILE_SYSTEM) && warning.cause == Some(FILE_SYSTEM);
    match warnings.iter_mut().find(|known| same(known) || is_file(known)) {
        Some(known) => {
            if known.measured != warning.measured {
                (known.option, known.measured) = (String::new(), "several files".to_string());
            }
            known.jobs.extend(warning.jobs);
        }
        None => warnings.push(warning),
    }
}

fn failures(entry: &MeasuredJob) -> Vec<Warning> {
    let mut list = List { entry, warnings: Vec::new() };
    if entry.error != 0 {
        let why = "the job failed: its figures may be those of a part";
        list.cause("its failure", "", format!("error {}", entry.error), String::new(), why);
    }
    if entry.sides.iter().all(Option::is_none) {
        list.say("", "nothing".to_string(), String::new(), "no transfer ended, or the result says nothing of any");
    }
    list.warnings
}

struct List<'a> {
    entry: &'a MeasuredJob,
    warnings: Vec<Warning>,
}

impl List<'_> {
    fn say(&mut self, option: &str, measured: String, simulated: String, why: &str) {
        let (option, why, jobs) = (option.to_string(), why.to_string(), vec![self.entry.name.clone()]);
        self.warnings.push(Warning { jobs, option, measured, simulated, why, cause: None, stands_first: false });
    }

    fn cause(&mut self, cause: &'static str, option: &str, measured: String, simulated: String, why: &str) {
        self.say(option, measured, simulated, why);
        if let Some(last) = self.warnings.last_mut() {
            (last.cause, last.stands_first) = (Some(cause), true);
        }
    }
}

/// What an entry of a result says that is not so of a job.
fn of(measured: &Measured, entry: &MeasuredJob, job: &Job, count: usize) -> Vec<Warning> {
    let mut list = List { entry, warnings: Vec::new() };
    if measured.options(entry).all(|option| option.key == "name") {
        let why = "the result does not say what was done: nothing is compared";
        list.say("", "no options".to_string(), String::new(), why);
        return list.warnings;
    }
    let (done, rest) = job_file::of_options(measured, entry);
    unknown(&rest, &mut list);
    workload(measured, entry, &rest, (&done, job), &mut list);
    if measured.is_group(entry) && measured.threads(entry) != count as u64 {
        let why = "as many threads ask at the same time";
        let threads = measured.threads(entry).to_string();
        list.cause("the number of threads", "numjobs", threads, count.to_string(), why);
    }
    if !measured.is_simulated() {
        times(entry, &done, &mut list);
        host(measured, entry, (&done, job), &mut list);
    }
    list.warnings
}

/// Options that were not read.
fn unknown(rest: &[&Given], list: &mut List<'_>) {
    /// Each makes the host write out what it has, request by request or now and then.
    const FLUSHES: [&str; 5] = ["fsync", "fdatasync", "sync", "sync_file_range", "fsync_on_close"];
    for option in rest {
        let why = match classify(&option.key, option.value.as_deref()) {
            Class::Modelled(_) => "the model does not do that",
            Class::NotModelled if option.key == "direct" || option.key == "buffered" => continue,
            Class::NotModelled if FLUSHES.contains(&option.key.as_str()) => {
                let why = "what was written was flushed to the medium, and no flush is simulated";
                list.cause("flushing", &option.key, option.text(), String::new(), why);
                continue;
            }
            Class::NotModelled => "it changes the result and is not modelled",
            _ => "it is not known here whether this changes the result",
        };
        list.say(&option.key, option.text(), String::new(), why);
    }
}

/// What the job asked for.
fn workload(measured: &Measured, entry: &MeasuredJob, rest: &[&Given], (done, job): (&Job, &Job), list: &mut List<'_>) {
    let is_read = |main: &str| !rest.iter().any(|option| is_named(option, main));
    let mut differ = |option: &str, measured: String, simulated: String, why: &str| {
        if measured != simulated && is_read(option) {
            list.say(option, measured, simulated, why);
        }
    };
    differ("rw", done.rw.word().into(), job.rw.word().into(), "another direction or order");
    differ("bs", sizes(done), sizes(job), "other requests");
    if [done.rw, job.rw].iter().all(|rw| rw.sides() == [true, true]) {
        differ("rwmixread", done.reads_percent.to_string(), job.reads_percent.to_string(), "another mix");
    }
    differ("bssplit", split(done), split(job), "other requests");
    if done.rw.is_random() && job.rw.is_random() {
        let law = |job: &Job| format!("{:?}", (job.distribution, &job.zones)).to_lowercase();
        if law(done) != law(job) {
            let word = |job: &Job| job.written.get("random_distribution").cloned().unwrap_or("random".to_string());
            differ("random_distribution", word(done), word(job), "other parts of the device come more often");
        }
        let random = |job: &Job| format!("{} % of reads, {} % of writes", job.random_percent[0], job.random_percent[1]);
        differ("percentage_random", random(done), random(job), "other requests follow each other");
    }
    let think = |job: &Job| match job.think.time {
        Time::ZERO => "none".to_string(),
        time => format!("{time} after every {}", job.think.every),
    };
    differ("thinktime", think(done), think(job), "the job asks for less");
    if !done.synchronous {
        differ("iodepth", done.iodepth.to_string(), job.iodepth.to_string(), "other requests under way at a time");
    }
    differ("size", extent(done), extent(job), "another part of the device: other seeks, other hits in caches");
    differ("offset", done.offset_bytes.to_string(), job.offset_bytes.to_string(), "another part of the device");
    let runtime = |job: &Job| job.runtime.map_or("no end".to_string(), |time| format!("{} s", time.as_seconds_f64()));
    if job.runtime.is_some() || !measured.done_with_size(entry, done) {
        differ("runtime", runtime(done), runtime(job), "what warms up or wears out shows in the longer one");
    }
    let ramp = |job: &Job| format!("{} s", job.ramp_time.as_seconds_f64());
    differ("ramp_time", ramp(done), ramp(job), "what is left away at the beginning differs");
    // fio leaves it out of its result where it has no value.
    let is_said = done.written.contains_key("norandommap") || measured.option(entry, "norandommap").is_some();
    if done.rw.is_random() && job.rw.is_random() && (is_said || job.random_map || measured.is_simulated()) {
        let map = |job: &Job| if job.random_map { "0" } else { "1" }.to_string();
        differ("norandommap", map(done), map(job), "blocks come twice before all came once, or not");
    }
    for warning in list.warnings.iter_mut() {
        if warning.option == "ramp_time" {
            (warning.cause, warning.stands_first) = (Some("the ramp-up"), true);
        }
    }
}

/// For how long it ran.
fn times(entry: &MeasuredJob, done: &Job, list: &mut List<'_>) {
    let Some(ran) = entry.ran.ran_ms.filter(|ran| *ran > 0.0) else { return };
    let words = |ms: f64| format!("{} s", ms / 1e3);
    if let Some(runtime) = done.runtime.map(|runtime| 1e3 * runtime.as_seconds_f64()) {
        let why = match ran / runtime {
            share if share < 1.0 - RUNTIME_TOLERANCE && entry.error != 0 => "it ended early: it failed",
            share if share < 1.0 - RUNTIME_TOLERANCE => "it ended early: it was done with its size",
            share if share > 1.0 + RUNTIME_TOLERANCE => "it ended late: it waited for what was under way",
            _ => "",
        };
        if !why.is_empty() {
            list.say("runtime", format!("{} of {}", words(ran), words(runtime)), String::new(), why);
        }
    }
    if ran < SHORT_MS && done.ramp_time == Time::ZERO {
        let why = "so short that what starting takes is in the figures";
        list.cause("the ramp-up", "ramp_time", format!("none in {}", words(ran)), String::new(), why);
    }
}

/// What stood between the job and the device.
fn host(measured: &Measured, entry: &MeasuredJob, (done, job): (&Job, &Job), list: &mut List<'_>) {
    let value = |key: &str| measured.option(entry, key).map(|option| option.value.as_deref());
    let default_engine = measured.default_engine(entry).unwrap_or_default();
    let engine = value("ioengine").flatten().unwrap_or(default_engine);
    let asked: u64 = value("iodepth").flatten().and_then(|depth| depth.parse().ok()).unwrap_or(1);
    if SYNCHRONOUS.contains(&engine) && (asked > 1 || job.iodepth > 1) {
        let what = format!("{asked} with ioengine={engine}");
        let why = "this engine has one request under way, whatever iodepth says";
        list.say("iodepth", what, job.iodepth.to_string(), why);
        if let Some(last) = list.warnings.last_mut() {
            (last.cause, last.stands_first) = ((job.iodepth > 1).then_some("the depth"), true);
        }
    }
    let is_direct = measured.options(entry).filter_map(|option| match (option.key.as_str(), option.value.as_deref()) {
        ("direct", value) => Some(value != Some("0")),
        ("buffered", value) => Some(value == Some("0")),
        _ => None,
    });
    let is_direct = is_direct.last();
    if engine == "mmap" || !is_direct.unwrap_or(false) && !PAST_THE_CACHE.contains(&engine) {
        let given = if is_direct.is_some() { "0" } else { "0 (fio's default)" };
        let why = "the host's page cache stood between the job and the device, and is not simulated";
        list.cause("the page cache", "direct", given.to_string(), "1".to_string(), why);
    }
    if done.polls && !job.polls {
        let why = "the measurement looked for the end of its requests, and what is simulated waits for interrupts: give \
                   the job hipri, or the machine a driver that polls (driver/linux-io-uring-polled)";
        list.cause("polling", "hipri", "1".to_string(), "0".to_string(), why);
    }
    if let Some(file) = file_of(measured, entry) {
        let why = "a file system stood between the job and the device, and is not simulated";
        let option = file.split_once('=').map_or("", |(option, _)| option).to_string();
        list.cause(FILE_SYSTEM, &option, file, String::new(), why);
    }
    if done.rw.is_random() && value("randrepeat") != Some(Some("0")) && value("randseed").is_none() {
        let given = if value("randrepeat").is_some() { "1" } else { "1 (fio's default)" };
        let why = "every run asks for the same blocks: caches may know them from the run before";
        list.say("randrepeat", given.to_string(), String::new(), why);
    }
}

/// The file that a job was measured on, where it was no device.
fn file_of(measured: &Measured, entry: &MeasuredJob) -> Option<String> {
    let value = |key: &str| measured.option(entry, key).and_then(|option| option.value.as_deref());
    match (value("filename"), value("directory")) {
        (Some(file), _) if file.starts_with("/dev/") || file.starts_with(r"\\.\") => None,
        (Some(file), _) => Some(format!("filename={file}")),
        (None, Some(directory)) => Some(format!("directory={directory}")),
        (None, None) => Some("a file of fio's own".to_string()),
    }
}

fn is_named(option: &Given, main: &str) -> bool {
    // A value that cannot be read does not change which option it is.
    matches!(classify(&option.key, Some("")), Class::Modelled(option) if option.name() == main)
}

fn sizes(job: &Job) -> String {
    let of = |(min, max): (u64, u64)| if min == max { format!("{min} B") } else { format!("{min} to {max} B") };
    let first = of((job.block_bytes_min, job.block_bytes_max));
    job.write_blocks.map_or(first.clone(), |writes| format!("{first}, writes {}", of(writes)))
}

fn split(job: &Job) -> String {
    let used = job.splits.iter().zip(job.rw.sides()).filter(|(_, used)| *used);
    let text = |split: &Vec<(u64, u32)>| {
        split.iter().map(|(bytes, percent)| format!("{bytes} B {percent} %")).collect::<Vec<_>>().join(", ")
    };
    let mut texts: Vec<String> = used.map(|(split, _)| text(split)).collect();
    texts.dedup();
    let text = texts.join("; ");
    if text.is_empty() { "none".to_string() } else { text }
}

fn extent(job: &Job) -> String {
    match (job.size_bytes, job.size_percent) {
        (Some(bytes), _) => format!("{bytes} B"),
        (None, Some(percent)) if percent < 100 => format!("{percent} %"),
        (None, _) => "all".to_string(),
    }
}
