//! fio's own result, as `fio --output-format=json` writes it: figures, and the options that it keeps of each job.
//!
//! Read is what fio 3 writes, in all its versions. Text may stand before the object (warnings, fio's other formats) and
//! after it; of several objects (`--status-interval`) the last one counts. Of a key that is there twice in one object
//! the last one counts: fio 3.1 repeats `0.00` among its percentiles. Where fio could not divide,
//! it writes `nan` or `inf`, which are no JSON; such a figure is taken as absent.
//!
//! Times are those of fio's `clat_ns`, nanoseconds; rates are `bw_bytes`, or `bw` (KiB/s) before fio 3.7.

pub mod inferred;

use std::fmt;
use std::ops::Range;

use hopscope_parts::parameters::Place;
use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::problem::{Problem, Problems, Sources, place};

/// A result of fio.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The program that measured, such as `fio-3.36`; empty where it is not said.
    pub version: String,
    /// Options that all jobs share.
    pub global: Vec<Given>,
    /// What was measured, in the order of the result: jobs, or groups of them.
    pub jobs: Vec<MeasuredJob>,
    /// Half-width of the 95 % interval of all throughput, over its mean, as hopscope writes it.
    pub interval: Option<f64>,
}

/// One job of a result, or a group of them that was reported as one.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredJob {
    /// Its name.
    pub name: String,
    /// What it ended with; 0 is success.
    pub error: i64,
    /// Its own options.
    pub options: Vec<Given>,
    /// What it read, wrote and trimmed; nothing where it did not.
    pub sides: [Option<Got>; 3],
    /// Its group: fio counts them up at `stonewall` and `new_group`.
    pub group: f64,
    /// Its times and its bytes.
    pub ran: Ran,
    /// Where its name is written.
    pub place: Place,
}

/// For how long a job was at work, and how much it moved, as far as the result has it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ran {
    /// When it began, milliseconds since 1970; fio 3.36 has it.
    pub started_ms: Option<f64>,
    /// How long fio had been at work when all jobs were done, seconds, rounded up.
    pub elapsed_s: Option<f64>,
    /// `job_runtime`: the times of all its threads, added up, milliseconds.
    pub threads_ms: Option<f64>,
    /// The longest time that one direction was measured, milliseconds.
    pub ran_ms: Option<f64>,
    /// Bytes in all directions.
    pub bytes: Option<f64>,
}

/// What fio calls the sides of [`MeasuredJob::sides`].
pub const SIDES: [&str; 3] = ["read", "write", "trim"];

/// What was got in one direction, as far as the result has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Got {
    /// Bytes per second.
    pub bytes_per_second: Option<f64>,
    /// Transfers per second.
    pub iops: Option<f64>,
    /// Mean completion latency, nanoseconds.
    pub latency_ns: Option<f64>,
    /// Its 99th percentile.
    pub p99_ns: Option<f64>,
}

/// An option as a result keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Its name.
    pub key: String,
    /// Its value; nothing for an option that stands alone.
    pub value: Option<String>,
    /// Where its name is written.
    pub key_place: Place,
    /// Where its value is written.
    pub value_place: Place,
}

impl Given {
    /// As in a job file.
    pub fn text(&self) -> String {
        self.value.as_ref().map_or_else(|| self.key.clone(), |value| format!("{}={value}", self.key))
    }
}

impl Measured {
    /// The options of a job: those of all jobs, then its own, which decide where both say something.
    pub fn options<'a>(&'a self, job: &'a MeasuredJob) -> impl Iterator<Item = &'a Given> {
        self.global.iter().chain(&job.options)
    }

    /// An option of a job, as it counts: the last one of that name.
    pub fn option<'a>(&'a self, job: &'a MeasuredJob, key: &str) -> Option<&'a Given> {
        self.options(job).filter(|option| option.key == key).last()
    }

    /// Whether hopscope wrote it, not fio.
    pub fn is_simulated(&self) -> bool {
        self.version.starts_with("hopscope-")
    }
}

/// The 99th percentile, as fio names it.
const P99: &str = "99.000000";
const MOST_JOBS: usize = 4_096;
const MOST_OBJECTS: usize = 10_000;
/// Largest figure that is believed: an exabyte a second, 30 years.
const LARGEST: f64 = 1e18;

/// Whether a text is a result of fio, going by its name and by its looks: no line of a job file begins with a brace.
pub fn is_result(name: &str, text: &str) -> bool {
    name.ends_with(".json") || start(text, 0).is_some()
}

/// Which of fio's other outputs a text is; nothing where it is none of them.
pub fn other_output(text: &str) -> Option<&'static str> {
    const LINES: usize = 200;
    let is_terse = |line: &str| {
        let mut fields = line.split(';');
        fields.next().is_some_and(|version| matches!(version.trim(), "2" | "3" | "4" | "5"))
            && fields.next().is_some_and(|program| program.starts_with("fio-"))
    };
    let is_normal = |line: &str| {
        let group = line.split_once(": (g=").or_else(|| line.split_once(": (groupid="));
        group.is_some_and(|(name, rest)| !name.is_empty() && rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let mut lines = text.lines().take(LINES);
    lines.find_map(|line| match line {
        line if is_terse(line) => Some("terse"),
        line if is_normal(line) => Some("text"),
        _ => None,
    })
}

/// That a text is one of fio's other outputs, and what to do.
pub(crate) fn refuse_other_output(text: &str, file: u32) -> Option<Problem> {
    let which = other_output(text)?;
    let end = text.lines().next().map_or(0, str::len);
    let problem = Problem::at(place(file, 0..end), format!("this is fio's {which} output"));
    Some(problem.help("run it again with --output-format=json --output=result.json"))
}

/// Reads the result that `sources` keeps under the number `file`.
pub fn read(sources: &Sources, file: u32) -> Result<Measured, Problems> {
    let text = without_nan(sources.text(file));
    let reader = Reader { file, text: &text };
    Ok(reader.result()?)
}

/// Where an object begins, from `from` on: at a brace that is the first of its line.
fn start(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    for line in text[from..].split_inclusive('\n') {
        let code = line.trim_start();
        // What follows an object on its last line is no line of its own.
        if code.starts_with('{') && (at == 0 || text.as_bytes()[at - 1] == b'\n') {
            return Some(at + line.len() - code.len());
        }
        at += line.len();
    }
    None
}

/// The text, of the same length, with what fio writes for no number as something that is JSON and no number.
fn without_nan(text: &str) -> String {
    const NAMES: [(&str, &str); 4] = [("-nan", "null"), ("-inf", "null"), ("nan", NO_NUMBER), ("inf", NO_NUMBER)];
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped, mut before) = (false, false, ' ');
    for (at, c) in text.char_indices() {
        let found = match c {
            '-' | 'n' | 'i' if !in_string && before == ':' => {
                let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric());
                NAMES.iter().find(|(name, _)| text[at..].strip_prefix(name).is_some_and(ends))
            }
            _ => None,
        };
        // What was replaced has moved on already.
        if out.len() > at {
            continue;
        }
        match found {
            Some((_, json)) => out.push_str(json),
            None => out.push(c),
        }
        in_string = if c == '"' && !escaped { !in_string } else { in_string && c != '\n' };
        escaped = c == '\\' && !escaped;
        before = if c.is_whitespace() { before } else { c };
    }
    out
}

/// Three letters that are JSON and no number.
const NO_NUMBER: &str = "\" \"";

/// An object, with every key as it stands there.
struct Object<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Object<'a> {
    /// The last value of a key.
    fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Object(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

struct Reader<'a> {
    file: u32,
    text: &'a str,
}

impl<'a> Reader<'a> {
    fn result(&self) -> Result<Measured, Problem> {
        let root = self.root()?;
        let Some(jobs) = root.1.get("jobs") else {
            let problem =
                Problem::at(place(self.file, root.0..root.0 + 1), "this is no result of fio: it has no `jobs`");
            return Err(problem.help("expected what `fio --output-format=json` writes"));
        };
        let list: Vec<&RawValue> = self.parsed(jobs, "expected a list of jobs")?;
        match list.len() {
            0 => return Err(Problem::at(self.place(jobs), "there is no job in this result")),
            1..=MOST_JOBS => {}
            _ => return Err(Problem::at(self.place(jobs), format!("there are more than {MOST_JOBS} jobs"))),
        }
        let version = root.1.get("fio version").and_then(|version| serde_json::from_str(version.get()).ok());
        Ok(Measured {
            version: version.unwrap_or_default(),
            global: self.options(root.1.get("global options"))?,
            jobs: list.into_iter().map(|job| self.job(job)).collect::<Result<_, _>>()?,
            interval: self.interval(root.1.get("hopscope"))?,
        })
    }

    /// What hopscope says of how well the throughput is known.
    fn interval(&self, raw: Option<&'a RawValue>) -> Result<Option<f64>, Problem> {
        const KEY: &str = "relative_half_width_95";
        let Some(raw) = raw else { return Ok(None) };
        let own: Object<'a> = self.parsed(raw, "expected an object")?;
        let Some(raw) = own.get("interval") else { return Ok(None) };
        let interval: Object<'a> = self.parsed(raw, "expected an object")?;
        interval.get(KEY).map_or(Ok(None), |raw| self.figure(KEY, raw))
    }

    /// The last object of the text with jobs in it, and where it begins; the first object where none has.
    fn root(&self) -> Result<(usize, Object<'a>), Problem> {
        if self.text.trim().is_empty() {
            return Err(Problem::at(place(self.file, 0..0), "this file is empty").help("did fio end as it should?"));
        }
        let first = start(self.text, 0);
        if first.is_none()
            && let Some(problem) = refuse_other_output(self.text, self.file)
        {
            return Err(problem);
        }
        let Some(first) = first.or_else(|| self.text.find('{')) else {
            let problem = Problem::at(place(self.file, 0..0), "there is no JSON object in this file");
            return Err(problem.help("expected what `fio --output-format=json` writes"));
        };
        let (mut root, mut end) = self.object(first)?;
        let mut at = first;
        for _ in 0..MOST_OBJECTS {
            let Some(next) = start(self.text, end) else { break };
            // What is not whole is text like any other that follows.
            let Ok((later, later_end)) = self.object(next) else { break };
            if later.get("jobs").is_some() {
                (at, root) = (next, later);
            }
            end = later_end;
        }
        Ok((at, root))
    }

    /// The object that begins there, and where it ends.
    fn object(&self, at: usize) -> Result<(Object<'a>, usize), Problem> {
        let text = &self.text[at..];
        let mut objects = serde_json::Deserializer::from_str(text).into_iter::<Object<'a>>();
        match objects.next() {
            Some(Ok(object)) => Ok((object, at + objects.byte_offset())),
            Some(Err(error)) => Err(self.not_json(at, text, &error)),
            None => Err(Problem::at(place(self.file, at..at), "there is no JSON object in this file")),
        }
    }

    fn not_json(&self, from: usize, text: &str, error: &serde_json::Error) -> Problem {
        let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
        let line_start = lines.map(str::len).sum::<usize>();
        // A line's end is column 0 of the next one.
        let at = (from + line_start + error.column()).saturating_sub(1).min(self.text.len());
        if error.is_eof() {
            let problem = Problem::at(place(self.file, at..at), "this result is cut: its object does not end");
            return problem.help("did fio end as it should?");
        }
        let said = error.to_string();
        let what = said.split(" at line ").next().unwrap_or_default();
        let problem = Problem::at(place(self.file, at..(at + 1).min(self.text.len())), "this is not JSON").label(what);
        problem.help("expected what `fio --output-format=json` writes")
    }

    fn job(&self, raw: &'a RawValue) -> Result<MeasuredJob, Problem> {
        let job: Object<'a> = self.parsed(raw, "expected a job")?;
        let Some(named) = job.get("jobname") else {
            let start = self.span(raw).start;
            return Err(Problem::at(place(self.file, start..start + 1), "this job has no `jobname`"));
        };
        let figure = |key: &str| job.get(key).map_or(Ok(None), |raw| self.figure(key, raw));
        let mut sides = [None; 3];
        let mut ran = Ran {
            started_ms: figure("job_start")?,
            elapsed_s: figure("elapsed")?,
            threads_ms: figure("job_runtime")?,
            ..Ran::default()
        };
        for (side, key) in sides.iter_mut().zip(SIDES) {
            let Some(raw) = job.get(key) else { continue };
            *side = self.got(raw)?;
            let object: Object<'a> = self.parsed(raw, "expected figures")?;
            let figure = |key: &str| object.get(key).map_or(Ok(None), |raw| self.figure(key, raw));
            ran.ran_ms = figure("runtime")?.into_iter().chain(ran.ran_ms).reduce(f64::max);
            ran.bytes = figure("io_bytes")?.into_iter().chain(ran.bytes).reduce(|a, b| a + b);
        }
        Ok(MeasuredJob {
            name: self.parsed(named, "expected a name")?,
            error: job.get("error").map_or(Ok(0), |error| self.parsed(error, "expected a whole number"))?,
            options: self.options(job.get("job options"))?,
            sides,
            group: figure("groupid")?.unwrap_or(0.0),
            ran,
            place: self.place(named),
        })
    }

    /// What was got in one direction; nothing where nothing was moved.
    fn got(&self, raw: &'a RawValue) -> Result<Option<Got>, Problem> {
        let side: Object<'a> = self.parsed(raw, "expected figures")?;
        let figure = |key: &str| side.get(key).map_or(Ok(None), |raw| self.figure(key, raw));
        let kibibytes = figure("bw")?.map(|kibibytes| 1024.0 * kibibytes);
        let bytes_per_second = figure("bw_bytes")?.or(kibibytes);
        let iops = figure("iops")?;
        let (mut latency_ns, mut p99_ns) = (None, None);
        if let Some(raw) = side.get("clat_ns") {
            let latency: Object<'a> = self.parsed(raw, "expected figures")?;
            latency_ns = latency.get("mean").map_or(Ok(None), |raw| self.figure("mean", raw))?;
            if let Some(raw) = latency.get("percentile").filter(|raw| raw.get().starts_with('{')) {
                let percentiles: Object<'a> = self.parsed(raw, "expected percentiles")?;
                p99_ns = percentiles.get(P99).map_or(Ok(None), |raw| self.figure(P99, raw))?;
            }
        }
        // Where no transfer ended, no mean is known, and fio writes 0.
        let latency_ns = latency_ns.filter(|ns| *ns > 0.0);
        let p99_ns = p99_ns.filter(|_| latency_ns.is_some());
        let moved = bytes_per_second.into_iter().chain(iops).any(|rate| rate > 0.0);
        Ok(moved.then_some(Got { bytes_per_second, iops, latency_ns, p99_ns }))
    }

    /// A number that can be; nothing where fio had none.
    fn figure(&self, key: &str, raw: &RawValue) -> Result<Option<f64>, Problem> {
        match raw.get() {
            "null" | NO_NUMBER => Ok(None),
            // Not through serde_json: it may be off by the last bit.
            text => match text.parse::<f64>() {
                Ok(number) if (0.0..=LARGEST).contains(&number) => Ok(Some(number)),
                _ => {
                    let problem = Problem::at(self.place(raw), format!("`{key}` is no figure that can be"));
                    Err(problem.label("expected a number from 0 to 10^18"))
                }
            },
        }
    }

    fn options(&self, raw: Option<&'a RawValue>) -> Result<Vec<Given>, Problem> {
        let Some(raw) = raw else { return Ok(Vec::new()) };
        let Object(pairs) = self.parsed(raw, "expected options")?;
        let given = |(key, raw): (String, &'a RawValue)| {
            let value: String = self.parsed(raw, "expected a text, as fio writes every option")?;
            let value = Some(value.trim().to_string()).filter(|value| !value.is_empty());
            let value_span = self.span(raw);
            // Within the quotes.
            let value_place = place(self.file, value_span.start + 1..value_span.end - 1);
            Ok(Given { key_place: self.key_place(&key, &value_span), value_place, key, value })
        };
        pairs.into_iter().map(given).collect()
    }

    /// Where the key before a value is written; the value's place where that cannot be known.
    fn key_place(&self, key: &str, value: &Range<usize>) -> Place {
        let before = self.text[..value.start].trim_end().strip_suffix(':').map(str::trim_end);
        let start = before.and_then(|text| text.strip_suffix('"')?.strip_suffix(key)).map(str::len);
        place(self.file, start.map_or(value.clone(), |start| start..start + key.len()))
    }

    fn parsed<T: Deserialize<'a>>(&self, raw: &'a RawValue, expected: &str) -> Result<T, Problem> {
        serde_json::from_str(raw.get()).map_err(|_| {
            let span = self.span(raw);
            // The first line of what may be long.
            let end = span.start + raw.get().lines().next().map_or(0, str::len);
            Problem::at(place(self.file, span.start..end), "this is not as fio writes it").label(expected)
        })
    }

    /// Where a value is written: it lies within the text.
    fn span(&self, raw: &RawValue) -> Range<usize> {
        let start = (raw.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        start..start + raw.get().len()
    }

    fn place(&self, raw: &RawValue) -> Place {
        place(self.file, self.span(raw))
    }
}
