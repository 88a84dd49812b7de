//! A measurement beside the simulation: what was measured, what is simulated, and every hop's ceiling.
//!
//! The ceiling of a hop at this request size is the rate at which it would be busy all the time, if it did for each
//! request what it does in the account: simulated throughput over the share of the time in which it is busy. Of several
//! jobs it is that of all of them together, each with the share that it has in the simulation. It is given for hops that requests wait for. What works behind them, as the arm below a write cache does, may be busy
//! all the time and limit nothing.

pub mod file;
pub mod json;
mod words;

use hopscope_kernel::Time;
use hopscope_observe::account::Account;
use hopscope_observe::lives::Latency;

use self::file::{Given, Got, Measured, MeasuredJob, SIDES};
use crate::explain::Explained;
use crate::fio_json::{Figures, six_decimals};
use crate::job_file::{self, Job};
use crate::job_options::{Class, classify};
use crate::problem::{Problem, Problems};
use crate::run::JobOutcome;

/// A measurement sits at a ceiling that it misses by less than this share of it, either way.
pub const TOLERANCE: f64 = 0.05;
/// A hop that moves the workload's bytes to within this share moves each of them once: counts are whole, and an account
/// covers a window of the run only.
const SAME_BYTES: f64 = 0.1;

/// How jobs of a result were found among those simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matched {
    /// Their names are the same.
    Name,
    /// Their names differ, and they are as many.
    Order,
    /// The result reports all of them as one.
    Group,
}

impl Matched {
    /// In one word, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Matched::Name => "name",
            Matched::Order => "order",
            Matched::Group => "group",
        }
    }
}

/// Which jobs of a result are which of the simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairing {
    /// How they were found.
    pub matched: Matched,
    /// For each job of the result, in its order, the indices of those simulated.
    pub simulated: Vec<Vec<usize>>,
}

/// A figure, measured and simulated; nothing where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Beside {
    /// As fio has it.
    pub measured: Option<f64>,
    /// As fio would have rounded it.
    pub simulated: Option<f64>,
}

impl Beside {
    /// What the model does not explain: measured less simulated.
    pub fn unexplained(&self) -> Option<f64> {
        Some(self.measured? - self.simulated?)
    }

    /// The same as a share of what was measured.
    pub fn unexplained_share(&self) -> Option<f64> {
        self.unexplained().zip(self.measured).filter(|(_, measured)| *measured > 0.0).map(|(rest, all)| rest / all)
    }
}

/// One direction of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its name in the result.
    pub measured: String,
    /// The names of the simulated jobs.
    pub simulated: Vec<String>,
    /// `read`, `write` or `trim`.
    pub side: &'static str,
    /// Bytes per second.
    pub throughput: Beside,
    /// Transfers per second.
    pub iops: Beside,
    /// Mean completion latency, nanoseconds.
    pub latency_ns: Beside,
}

/// What one hop could carry of this workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// The part.
    pub part: String,
    /// Its lane.
    pub lane: String,
    /// Share of the time in which it is busy.
    pub busy_share: f64,
    /// Bytes per second of the workload at which it would be busy all the time; nothing where no request waits for it.
    pub at_this_size: Option<f64>,
    /// Bytes per second of the workload that it could carry if it did nothing else; nothing where it has no rate.
    pub capacity: Option<f64>,
}

impl Ceiling {
    /// The lower of the two.
    pub fn lowest(&self) -> Option<f64> {
        self.at_this_size.into_iter().chain(self.capacity).reduce(f64::min)
    }
}

/// Something about the measurement that is not as it was simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The jobs of the result that it is about.
    pub jobs: Vec<String>,
    /// The option; empty where it is about none.
    pub option: String,
    /// What was measured.
    pub measured: String,
    /// What is simulated; empty where nothing is.
    pub simulated: String,
    /// Why it matters.
    pub why: String,
}

/// A measurement beside a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The file of the result.
    pub file: String,
    /// The program that measured.
    pub version: String,
    /// How jobs were found.
    pub matched: Matched,
    /// Job by job, and direction by direction.
    pub rows: Vec<Row>,
    /// All of them: bytes per second.
    pub throughput: Beside,
    /// Transfers per second.
    pub iops: Beside,
    /// Every hop, in the order of the account.
    pub ceilings: Vec<Ceiling>,
    /// The hop whose ceiling is the lowest that the measurement does not exceed.
    pub nearest: Option<usize>,
    /// Whether the measurement sits at that ceiling.
    pub sits_there: bool,
    /// Hops whose ceiling it exceeds.
    pub exceeded: Vec<usize>,
    /// What differs.
    pub warnings: Vec<Warning>,
}

/// Finds the jobs of a result among those that are simulated: by name where names agree, else by their order where
/// they are as many, else all of them where the result reports one group.
pub fn pair(measured: &Measured, jobs: &[Job]) -> Result<Pairing, Problems> {
    let named = |name: &str| -> Vec<usize> { (0..jobs.len()).filter(|index| jobs[*index].name == name).collect() };
    let mut by_name: Vec<Vec<usize>> = Vec::new();
    for (index, job) in measured.jobs.iter().enumerate() {
        let same: Vec<usize> = (0..measured.jobs.len()).filter(|i| measured.jobs[*i].name == job.name).collect();
        let simulated = named(&job.name);
        match (same.len(), simulated.len()) {
            (1, 1..) => by_name.push(simulated),
            (all, count) if all == count => {
                let nth = same.iter().position(|i| *i == index).unwrap_or(0);
                by_name.push(vec![simulated[nth]]);
            }
            _ => break,
        }
    }
    let all_found = by_name.len() == measured.jobs.len();
    if all_found && by_name.iter().map(Vec::len).sum::<usize>() == jobs.len() {
        return Ok(Pairing { matched: Matched::Name, simulated: by_name });
    }
    if measured.jobs.len() == jobs.len() {
        let simulated = (0..jobs.len()).map(|index| vec![index]).collect();
        return Ok(Pairing { matched: Matched::Order, simulated });
    }
    if let [group] = &measured.jobs[..]
        && measured.is_group(group)
    {
        return Ok(Pairing { matched: Matched::Group, simulated: vec![(0..jobs.len()).collect()] });
    }
    let list = |names: &mut dyn Iterator<Item = &str>, count: usize| {
        const SHOWN: usize = 8;
        let shown: Vec<String> = names.take(SHOWN).map(|name| format!("`{name}`")).collect();
        let more = if count > SHOWN { format!(" and {} more", count - SHOWN) } else { String::new() };
        format!("{}{more}", shown.join(", "))
    };
    let (there, here) = (measured.jobs.len(), jobs.len());
    let there_names = list(&mut measured.jobs.iter().map(|job| job.name.as_str()), there);
    let here_names = list(&mut jobs.iter().map(|job| job.name.as_str()), here);
    let place = measured.jobs.first().map(|job| job.place);
    let title = "the jobs of the result are not those that are simulated";
    let problem = place.map_or_else(|| Problem::nowhere(title), |place| Problem::at(place, title));
    let help = format!("measured: {there_names}; simulated: {here_names}. Give them the same names, or as many jobs");
    Err(problem.help(help).into())
}

/// Puts a result beside a run of these jobs.
pub fn compare(file: &str, measured: &Measured, pairing: &Pairing, jobs: &[Job], explained: &Explained) -> Comparison {
    let pairs: Vec<(&MeasuredJob, &Vec<usize>)> = measured.jobs.iter().zip(&pairing.simulated).collect();
    let mut rows = Vec::new();
    for (job, simulated) in &pairs {
        rows.extend((0..SIDES.len()).filter_map(|side| row(job, side, simulated, explained)));
    }
    let sum = |of: fn(&Row) -> Beside| Beside {
        measured: rows.iter().filter_map(|row| of(row).measured).reduce(|a, b| a + b),
        simulated: rows.iter().filter_map(|row| of(row).simulated).reduce(|a, b| a + b),
    };
    let (throughput, iops) = (sum(|row| row.throughput), sum(|row| row.iops));
    let ceilings = ceilings(&explained.account, explained.latency.as_ref(), explained.throughput());
    let got = throughput.measured.unwrap_or(0.0);
    let limits = || ceilings.iter().enumerate().filter_map(|(index, hop)| Some((index, hop.lowest()?)));
    let is_exceeded = |limit: f64| got > limit * (1.0 + TOLERANCE);
    let nearest = limits().filter(|(_, limit)| !is_exceeded(*limit)).min_by(|a, b| a.1.total_cmp(&b.1));
    let exceeded = limits().filter(|(_, limit)| is_exceeded(*limit)).map(|(index, _)| index).collect();
    let sits_there = nearest.is_some_and(|(_, limit)| got >= limit * (1.0 - TOLERANCE));
    let mut warnings = Vec::new();
    for (job, simulated) in &pairs {
        differences(measured, job, simulated, jobs, &mut |warning| add(&mut warnings, warning));
    }
    Comparison {
        file: file.to_string(),
        version: measured.version.clone(),
        matched: pairing.matched,
        throughput,
        iops,
        ceilings,
        nearest: nearest.map(|(index, _)| index),
        sits_there,
        exceeded,
        warnings,
        rows,
    }
}

/// One direction of a job; nothing where nothing was measured and nothing simulated.
fn row(job: &MeasuredJob, side: usize, simulated: &[usize], explained: &Explained) -> Option<Row> {
    let outcomes = || simulated.iter().filter_map(|index| explained.outcome.jobs.get(*index));
    let got = || outcomes().filter(|outcome| outcome.rw.sides().get(side) == Some(&true));
    let figures: Vec<Got> = got().filter_map(|outcome| as_fio_has_it(outcome, side)).collect();
    let measured = job.sides[side];
    if measured.is_none() && figures.is_empty() {
        return None;
    }
    let iops: f64 = figures.iter().filter_map(|figures| figures.iops).sum();
    // Of several jobs, the mean over their transfers.
    let latency = match &figures[..] {
        [one] => one.latency_ns,
        several => {
            let weighted: f64 = several.iter().filter_map(|one| Some(one.latency_ns? * one.iops?)).sum();
            Some(weighted / iops).filter(|mean| mean.is_finite())
        }
    };
    let of = |figure: fn(&Got) -> Option<f64>| Beside {
        measured: measured.as_ref().and_then(figure),
        simulated: figures.iter().filter_map(figure).reduce(|a, b| a + b),
    };
    Some(Row {
        measured: job.name.clone(),
        simulated: got().map(|outcome| outcome.name.clone()).collect(),
        side: SIDES[side],
        throughput: of(|got| got.bytes_per_second),
        iops: of(|got| got.iops),
        latency_ns: Beside { measured: measured.and_then(|got| got.latency_ns), simulated: latency },
    })
}

/// What a job got in one direction in the simulation, rounded as fio rounds it.
fn as_fio_has_it(job: &JobOutcome, side: usize) -> Option<Got> {
    let figures = Figures::of_side(job, side)?;
    Some(Got {
        bytes_per_second: Some(figures.bytes_per_second.round()),
        iops: Some(six_decimals(figures.iops)),
        latency_ns: job.sides[side].as_ref().map(|got| six_decimals(got.latency_ns.mean())),
    })
}

fn ceilings(account: &Account, latency: Option<&Latency>, throughput: f64) -> Vec<Ceiling> {
    let is_waited_for = |lane: &str| {
        let stages = latency.iter().flat_map(|latency| &latency.mean.stages);
        let stages = stages.map(|stage| stage.lane.as_str());
        account.path.iter().map(|entry| entry.lane.as_str()).chain(stages).any(|known| known == lane)
    };
    let hops = account.lanes.iter().map(|lane| {
        let busy_share = lane.busy_share();
        let is_asked = throughput > 0.0 && busy_share > 0.0 && is_waited_for(&lane.lane);
        // A hop may move some of the bytes only, or each of them several times.
        let passes = lane.delivered().map_or(0.0, |delivered| delivered / throughput);
        let capacity = lane.capacity.as_ref().map(|capacity| capacity.bytes_per_second);
        Ceiling {
            part: lane.part.clone(),
            lane: lane.lane.clone(),
            busy_share,
            at_this_size: is_asked.then(|| throughput / busy_share),
            capacity: match capacity {
                Some(capacity) if (passes - 1.0).abs() <= SAME_BYTES => Some(capacity),
                Some(capacity) if passes.is_finite() && passes > 0.0 => Some(capacity / passes),
                _ => None,
            },
        }
    });
    hops.collect()
}

/// Adds a warning, or its jobs to one that says the same.
fn add(warnings: &mut Vec<Warning>, warning: Warning) {
    let same = |a: &Warning| {
        (&a.option, &a.measured, &a.simulated, &a.why)
            == (&warning.option, &warning.measured, &warning.simulated, &warning.why)
    };
    match warnings.iter_mut().find(|known| same(known)) {
        Some(known) => known.jobs.extend(warning.jobs),
        None => warnings.push(warning),
    }
}

/// Engines of fio that have one request under way, whatever `iodepth` says (HOWTO.rst, "I/O depth").
const SYNCHRONOUS: [&str; 6] = ["psync", "sync", "vsync", "pvsync", "pvsync2", "mmap"];
/// Engines that go to the device past the page cache.
const PAST_THE_CACHE: [&str; 3] = ["io_uring_cmd", "sg", "xnvme"];

/// What was measured otherwise than it is simulated.
fn differences(
    measured: &Measured,
    entry: &MeasuredJob,
    simulated: &[usize],
    jobs: &[Job],
    warn: &mut dyn FnMut(Warning),
) {
    let mut say = |option: &str, measured: String, simulated: String, why: &str| {
        let (option, why) = (option.to_string(), why.to_string());
        warn(Warning { jobs: vec![entry.name.clone()], option, measured, simulated, why });
    };
    if entry.error != 0 {
        say("", format!("error {}", entry.error), String::new(), "the job failed: its figures may be those of a part");
    }
    if entry.sides.iter().all(Option::is_none) {
        say("", "nothing".to_string(), String::new(), "no transfer ended, or the result says nothing of any");
    }
    let Some(job) = simulated.first().and_then(|index| jobs.get(*index)) else { return };
    let all: Vec<&Given> = measured.options(entry).collect();
    if all.iter().all(|option| option.key == "name") {
        say("", "no options".to_string(), String::new(), "the result does not say what was done: nothing is compared");
        return;
    }
    let value = |key: &str| all.iter().rev().find(|option| option.key == key).map(|option| option.value.as_deref());
    let (done, rest) = job_file::of_options(all.iter().copied());
    for option in &rest {
        let why = match classify(&option.key, option.value.as_deref()) {
            Class::Modelled(_) => "the model does not do that",
            Class::NotModelled if option.key == "direct" || option.key == "buffered" => continue,
            Class::NotModelled => "it changes the result and is not modelled",
            _ => "it is not known here whether this changes the result",
        };
        say(&option.key, option.text(), String::new(), why);
    }
    let is_read = |main: &str| !rest.iter().any(|option| is_named(option, main));
    let mut differ = |option: &str, measured: String, simulated: String, why: &str| {
        if measured != simulated && is_read(option) {
            say(option, measured, simulated, why);
        }
    };
    differ("rw", done.rw.word().into(), job.rw.word().into(), "another direction or order");
    differ("bs", sizes(&done), sizes(job), "other requests");
    if [done.rw, job.rw].iter().all(|rw| rw.sides() == [true, true]) {
        differ("rwmixread", done.reads_percent.to_string(), job.reads_percent.to_string(), "another mix");
    }
    differ("bssplit", split(&done), split(job), "other requests");
    if done.rw.is_random() && job.rw.is_random() {
        let law = |job: &Job| format!("{:?}", (job.distribution, &job.zones)).to_lowercase();
        if law(&done) != law(job) {
            let word = |job: &Job| job.written.get("random_distribution").cloned().unwrap_or("random".to_string());
            differ("random_distribution", word(&done), word(job), "other parts of the device come more often");
        }
        let random = |job: &Job| format!("{} % of reads, {} % of writes", job.random_percent[0], job.random_percent[1]);
        differ("percentage_random", random(&done), random(job), "other requests follow each other");
    }
    let think = |job: &Job| match job.think.time {
        Time::ZERO => "none".to_string(),
        time => format!("{time} after every {}", job.think.every),
    };
    differ("thinktime", think(&done), think(job), "the job asks for less");
    differ("iodepth", done.iodepth.to_string(), job.iodepth.to_string(), "other requests under way at a time");
    differ("size", extent(&done), extent(job), "another part of the device: other seeks, other hits in caches");
    differ("offset", done.offset_bytes.to_string(), job.offset_bytes.to_string(), "another part of the device");
    let runtime = |job: &Job| job.runtime.map_or("no end".to_string(), |time| format!("{} s", time.as_seconds_f64()));
    differ("runtime", runtime(&done), runtime(job), "what warms up or wears out shows in the longer one");
    let ramp = |job: &Job| format!("{} s", job.ramp_time.as_seconds_f64());
    differ("ramp_time", ramp(&done), ramp(job), "what is left away at the beginning differs");
    if done.rw.is_random() && job.rw.is_random() {
        let map = |job: &Job| if job.random_map { "0" } else { "1" }.to_string();
        differ("norandommap", map(&done), map(job), "blocks come twice before all came once, or not");
    }
    let threads = value("numjobs").flatten().and_then(|text| text.parse::<usize>().ok()).unwrap_or(1);
    if measured.is_group(entry) && threads != simulated.len() {
        differ("numjobs", threads.to_string(), simulated.len().to_string(), "as many threads ask at the same time");
    }
    if measured.is_simulated() {
        return;
    }
    let engine = value("ioengine").flatten().unwrap_or("psync");
    if SYNCHRONOUS.contains(&engine) && done.iodepth > 1 {
        let what = format!("{} with ioengine={engine}", done.iodepth);
        say("iodepth", what, job.iodepth.to_string(), "this engine has one request under way, whatever iodepth says");
    }
    let is_direct = all.iter().rev().find_map(|option| match (option.key.as_str(), option.value.as_deref()) {
        ("direct", value) => Some(value != Some("0")),
        ("buffered", value) => Some(value == Some("0")),
        _ => None,
    });
    if !is_direct.unwrap_or(false) && !PAST_THE_CACHE.contains(&engine) {
        let given = if is_direct.is_some() { "0" } else { "0 (fio's default)" };
        let why = "the host's page cache stood between the job and the device, and is not simulated";
        say("direct", given.to_string(), "1".to_string(), why);
    }
    if done.rw.is_random() && value("randrepeat") != Some(Some("0")) && value("randseed").is_none() {
        let given = if value("randrepeat").is_some() { "1" } else { "1 (fio's default)" };
        let why = "every run asks for the same blocks: caches may know them from the run before";
        say("randrepeat", given.to_string(), String::new(), why);
    }
}

fn is_named(option: &Given, main: &str) -> bool {
    // A value that cannot be read does not change which option it is.
    matches!(classify(&option.key, Some("")), Class::Modelled(name) if name == main)
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
