//! Reads what `explain`, `run` and `compare` wrote with `--json`, and what fio wrote.
//!
//! Whatever is wrong is shown with file, line and column. A report of a shape that this program does not know is refused:
//! half of it would be misread.

use std::collections::BTreeMap;
use std::path::Path;

use hopscope_files::fio_result::{self, Measured, MeasuredJob};
use hopscope_files::problem::{Problem, Problems, Sources, place};
use hopscope_parts::parameters::Place;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::column::{Column, From, Limit, Phase, Price, Processor, Stage, amount, figure, share, shown};
use crate::explain_json::SHAPE;
use crate::trials;

/// More stand beside each other nowhere.
pub const COLUMNS_MAX: usize = 64;
/// Neither has a request more stages, nor software more layers.
const STAGES_MAX: usize = 4_096;

/// What tells reports apart.
#[derive(Deserialize)]
#[serde(expecting = "an object, as `explain`, `run` and `compare` write it")]
struct Looks {
    shape: Option<Value>,
    columns: Option<IgnoredAny>,
    throughput_bytes_per_s: Option<IgnoredAny>,
    hops: Option<IgnoredAny>,
    jobs: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(expecting = "a comparison")]
struct Comparison {
    columns: Vec<Column>,
}

/// What `explain` writes, as far as it is compared.
#[derive(Deserialize)]
#[serde(expecting = "what `explain` writes")]
struct Explanation {
    system: Option<String>,
    job: Option<String>,
    machine: Option<String>,
    #[serde(default)]
    workload: Vec<Job>,
    #[serde(default, deserialize_with = "figure")]
    throughput_bytes_per_s: Option<f64>,
    #[serde(default, deserialize_with = "figure")]
    iops: Option<f64>,
    #[serde(default, deserialize_with = "figure")]
    interval: Option<f64>,
    completions: Option<Completions>,
    #[serde(default)]
    window: Window,
    #[serde(default)]
    phases: Vec<Phase>,
    bottleneck: Option<Bottleneck>,
    #[serde(default)]
    profile: Vec<Gain>,
    latency: Option<Split>,
    processor: Option<Processor>,
    price_usd: Option<Price>,
}

/// What `run` writes besides what fio does, as far as it is compared.
#[derive(Deserialize)]
#[serde(expecting = "what `run` writes")]
struct Simulated {
    #[serde(default)]
    hopscope: Besides,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "what `run` says besides")]
struct Besides {
    processor: Option<Processor>,
    price_usd: Option<Price>,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "a window of the run")]
struct Window {
    phase: Option<usize>,
}

#[derive(Deserialize)]
#[serde(expecting = "a job")]
struct Job {
    #[serde(deserialize_with = "amount")]
    iodepth: f64,
}

#[derive(Deserialize)]
#[serde(expecting = "latencies")]
struct Completions {
    #[serde(deserialize_with = "amount")]
    latency_mean_ns: f64,
    #[serde(default, deserialize_with = "figure")]
    latency_p99_ns: Option<f64>,
}

#[derive(Deserialize)]
#[serde(expecting = "a bottleneck")]
struct Bottleneck {
    lane: String,
    kind: String,
    next_lane: Option<String>,
    #[serde(default)]
    together: Vec<Together>,
    without_think_time: Option<Shift>,
}

#[derive(Deserialize)]
#[serde(expecting = "hops that help together")]
struct Together {
    lanes: Vec<String>,
    #[serde(flatten)]
    shift: Shift,
}

#[derive(Deserialize)]
#[serde(expecting = "the gain of a hop")]
struct Gain {
    lane: String,
    #[serde(flatten)]
    shift: Shift,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(expecting = "a gain")]
struct Shift {
    #[serde(deserialize_with = "share")]
    throughput_gain: f64,
    #[serde(default, deserialize_with = "share")]
    interval: f64,
}

#[derive(Deserialize)]
#[serde(expecting = "a latency with its stages")]
struct Split {
    #[serde(deserialize_with = "amount")]
    requests: f64,
    #[serde(deserialize_with = "amount")]
    mean_ns: f64,
    stages: Vec<Span>,
}

#[derive(Deserialize)]
#[serde(expecting = "a stage")]
struct Span {
    lane: String,
    alike: Option<String>,
    phase: String,
    kind: String,
    behind: Option<String>,
    #[serde(deserialize_with = "amount")]
    ps: f64,
}

/// The columns of the report that `sources` keeps under the number `file`: one, or those of a comparison.
pub fn read(sources: &Sources, file: u32) -> Result<Vec<Column>, Problems> {
    let columns = columns(sources, file)?;
    let parts = |column: &Column| column.stages.len().max(column.processor.as_ref().map_or(0, |of| of.layers.len()));
    match columns.iter().map(parts).max() {
        Some(most) if most > STAGES_MAX => {
            let title = format!("a request with {most} stages");
            Err(Problem::at(key(file, sources.text(file), "stages"), title)
                .help(format!("at most {STAGES_MAX}"))
                .into())
        }
        _ => Ok(columns),
    }
}

fn columns(sources: &Sources, file: u32) -> Result<Vec<Column>, Problems> {
    let (name, text) = (sources.name(file), sources.text(file));
    let name = Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or(name);
    let looks: Looks = match serde_json::from_str(text) {
        Ok(looks) => looks,
        // fio writes warnings before its object, and `nan` within.
        Err(_) if text.contains("\"fio version\"") => return of_fio(sources, file, name).map(|column| vec![column]),
        Err(error) => return Err(wrong(file, text, &error).into()),
    };
    if let Some(problem) = looks.shape.and_then(|shape| of_another_shape(file, text, &shape)) {
        return Err(problem.into());
    }
    if looks.columns.is_some() {
        let comparison: Comparison = parsed(file, text)?;
        if comparison.columns.len() > COLUMNS_MAX {
            let title = format!("{} columns in one comparison", comparison.columns.len());
            return Err(Problem::at(key(file, text, "columns"), title).help(format!("at most {COLUMNS_MAX}")).into());
        }
        let named = |column: Column| Column { name: format!("{name}: {}", column.name), ..column };
        return Ok(comparison.columns.into_iter().map(named).map(Column::shown).collect());
    }
    if looks.throughput_bytes_per_s.is_some() && looks.hops.is_some() {
        let explanation: Explanation = parsed(file, text)?;
        return Ok(vec![explanation.column(name)]);
    }
    if looks.jobs.is_some() {
        return of_fio(sources, file, name).map(|column| vec![column]);
    }
    let problem = Problem::at(place(file, 0..1), "this is no result of explain, run or compare");
    Err(problem.help("they write one with --json; a job that fio measured is one, too").into())
}

/// The column of a report that was made just now.
pub fn of_report(name: &str, report: Value) -> Result<Column, String> {
    let explanation: Explanation = serde_json::from_value(report).map_err(|error| error.to_string())?;
    Ok(explanation.column(name))
}

fn parsed<T: DeserializeOwned>(file: u32, text: &str) -> Result<T, Problem> {
    serde_json::from_str(text).map_err(|error| wrong(file, text, &error))
}

/// Where a key is written first.
fn key(file: u32, text: &str, key: &str) -> Place {
    let start = text.find(&format!("\"{key}\"")).unwrap_or(0);
    place(file, start..(start + key.len() + 2).min(text.len()))
}

fn of_another_shape(file: u32, text: &str, shape: &Value) -> Option<Problem> {
    let problem = |title: String| Problem::at(key(file, text, "shape"), title);
    match shape.as_u64() {
        Some(SHAPE) => None,
        Some(newer) if newer > SHAPE => Some(
            problem(format!("this result has shape {newer}, and this program reads shape {SHAPE}"))
                .help("a newer hopscope wrote it: read it with that one"),
        ),
        _ => Some(problem(format!("`shape` is {}, and this program reads {SHAPE}", shown(&shape.to_string())))),
    }
}

fn wrong(file: u32, text: &str, error: &serde_json::Error) -> Problem {
    if text.trim().is_empty() {
        return Problem::at(place(file, 0..0), "this file is empty").help("did the command that wrote it end well?");
    }
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    let line_start = lines.map(str::len).sum::<usize>();
    // A line's end is column 0 of the next one.
    let at = (line_start + error.column()).saturating_sub(1).min(text.len());
    if error.is_eof() {
        let problem = Problem::at(place(file, at..at), "this result is cut: its object does not end");
        return problem.help("did the command that wrote it end well?");
    }
    let said = error.to_string();
    let what = said.rsplit_once(" at line ").map_or(&said[..], |(what, _)| what);
    let title = if error.is_data() { "this is not as hopscope writes it" } else { "this is not JSON" };
    let problem = Problem::at(place(file, at..(at + 1).min(text.len())), title).label(what);
    problem.help("expected what `explain`, `run` or `compare` write with --json")
}

impl Explanation {
    fn column(self, name: &str) -> Column {
        let limit = self.limit();
        let latency = self.latency.as_ref().filter(|latency| latency.requests > 0.0);
        let (completions, split_mean) = (self.completions.as_ref(), latency.map(|latency| latency.mean_ns));
        let in_flight: f64 = self.workload.iter().map(|job| job.iodepth).sum();
        Column {
            name: name.to_string(),
            from: From::Explained,
            // A run in which no transfer ended has no throughput.
            throughput_bytes_per_s: self.throughput_bytes_per_s.filter(|rate| *rate > 0.0),
            iops: self.iops.filter(|iops| *iops > 0.0),
            interval: self.interval,
            in_flight: Some(in_flight).filter(|in_flight| *in_flight > 0.0),
            latency_mean_ns: completions.map(|of| of.latency_mean_ns).or(split_mean),
            latency_p99_ns: completions.and_then(|of| of.latency_p99_ns),
            limit,
            phase: self.window.phase.and_then(|of| self.phases.get(of).copied()),
            stages: latency.map_or(Vec::new(), |latency| latency.stages()),
            system: self.system,
            job: self.job,
            machine: self.machine,
            processor: self.processor,
            price_usd: self.price_usd,
        }
        .shown()
    }

    /// What the headline of `explain` says that limits.
    fn limit(&self) -> Option<Limit> {
        let Bottleneck { lane, kind, next_lane, together, without_think_time } = self.bottleneck.as_ref()?;
        let alone = self.profile.iter().find(|hop| hop.lane == *lane).map(|hop| hop.shift);
        let alone_gain = alone.map_or(0.0, |shift| shift.throughput_gain);
        let best = together.first().filter(|best| best.shift.throughput_gain > alone_gain);
        let (hops, shift) = match (best, without_think_time) {
            (_, Some(shift)) if kind == "workload" => (vec![lane.clone()], Some(*shift)),
            (Some(best), _) => (best.lanes.clone(), Some(best.shift)),
            (None, _) => (vec![lane.clone()], alone),
        };
        let Shift { throughput_gain: gain, interval } = shift?;
        let is_sure = trials::Shift { mean: gain, half_width: interval }.is_a_gain();
        let hops = if is_sure { hops } else { Vec::new() };
        Some(Limit { hops, kind: kind.clone(), gain, interval, next: next_lane.clone() })
    }
}

impl Split {
    /// The stages with lanes that are alike as one, and waits with whatever reason as one.
    fn stages(&self) -> Vec<Stage> {
        let mut stages: Vec<Stage> = Vec::new();
        let mut known: BTreeMap<(String, String, bool), usize> = BTreeMap::new();
        for span in &self.stages {
            let behind = span.behind.as_deref().filter(|behind| !behind.is_empty());
            let is_wait = span.kind == "wait" && behind.is_some();
            let hop = span.alike.as_ref().unwrap_or(&span.lane).clone();
            let what = behind.unwrap_or(&span.phase).to_string();
            let mean_ns = span.ps / 1e3 / self.requests;
            match known.get(&(hop.clone(), what.clone(), is_wait)) {
                Some(index) => stages[*index].mean_ns += mean_ns,
                None => {
                    known.insert((hop.clone(), what.clone(), is_wait), stages.len());
                    stages.push(Stage { hop, what, is_wait, mean_ns });
                }
            }
        }
        stages.sort_by(|a, b| b.mean_ns.total_cmp(&a.mean_ns).then_with(|| (&a.hop, &a.what).cmp(&(&b.hop, &b.what))));
        stages
    }
}

/// What fio measured, or what `run` simulated in its place.
fn of_fio(sources: &Sources, file: u32, name: &str) -> Result<Column, Problems> {
    let result = fio_result::read(sources, file)?;
    if let Some(job) = result.jobs.iter().find(|job| job.error != 0) {
        let title = format!("`{}` ended with error {}", shown(&job.name), job.error);
        return Err(Problem::at(job.place, title).help("what it moved until then says nothing of a whole job").into());
    }
    let later = result.jobs.iter().skip(1).find(|job| result.option(job, "stonewall").is_some());
    if let Some(job) = later {
        let title = format!("`{}` ran after other jobs", shown(&job.name));
        return Err(Problem::at(job.place, title).help("compare takes jobs that run at the same time").into());
    }
    let sides = || result.jobs.iter().flat_map(|job| job.sides.iter().flatten());
    let sum = |figures: Vec<f64>| Some(figures).filter(|of| !of.is_empty()).map(|of| of.iter().sum::<f64>());
    let iops = sum(sides().filter_map(|got| got.iops).collect());
    let weighed = sides().map(|got| Some((got.iops?, got.latency_ns?))).collect::<Option<Vec<(f64, f64)>>>();
    let latency_mean_ns = weighed.zip(iops).filter(|(of, iops)| !of.is_empty() && *iops > 0.0);
    let only: Vec<_> = sides().collect();
    let Besides { processor, price_usd } = match result.is_simulated() {
        true => parsed::<Simulated>(file, sources.text(file))?.hopscope,
        false => Besides::default(),
    };
    let column = Column {
        name: name.to_string(),
        from: if result.is_simulated() { From::Run } else { From::Measured },
        system: None,
        job: None,
        machine: None,
        throughput_bytes_per_s: sum(sides().filter_map(|got| got.bytes_per_second).collect()),
        iops,
        interval: result.interval,
        in_flight: in_flight(&result),
        latency_mean_ns: latency_mean_ns.map(|(of, iops)| of.iter().map(|(each, ns)| each * ns).sum::<f64>() / iops),
        // Percentiles of several do not add up.
        latency_p99_ns: if let [only] = only[..] { only.p99_ns } else { None },
        limit: None,
        phase: None,
        stages: Vec::new(),
        processor,
        price_usd,
    };
    Ok(column.shown())
}

/// Requests in flight of all jobs, where every job says its depth or has fio's own, which is one.
fn in_flight(result: &Measured) -> Option<f64> {
    let of = |job: &MeasuredJob| match result.option(job, "iodepth") {
        Some(depth) => depth.value.as_ref()?.parse::<u32>().ok().map(f64::from),
        None => Some(1.0),
    };
    result.jobs.iter().map(of).sum()
}
