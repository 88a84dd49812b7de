//! What is compared: one machine with one job, as far as a report has it.
//!
//! Everything comes from the JSON that `explain` writes, also where it was simulated just now: a saved report and a
//! fresh one say the same.

use hopscope_files::harmless::{INSTEAD, harmless};
use serde::{Deserialize, Deserializer, Serialize};

use crate::diagnosis::limited_by;

/// Longest name that is shown whole.
const NAME_MAX: usize = 200;
/// Largest figure that is believed.
const LARGEST: f64 = 1e18;

/// What a column rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum From {
    /// A run that was explained.
    Explained,
    /// A run.
    Run,
    /// What fio measured.
    Measured,
}

/// One machine with one job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object: a column of a comparison")]
pub struct Column {
    /// What it is called beside the others.
    pub name: String,
    /// What it rests on.
    pub from: From,
    /// The system, as a command line named it.
    #[serde(default)]
    pub system: Option<String>,
    /// The job, as a command line named it.
    #[serde(default)]
    pub job: Option<String>,
    /// The title of the machine.
    #[serde(default)]
    pub machine: Option<String>,
    /// Bytes per second.
    #[serde(default, deserialize_with = "figure")]
    pub throughput_bytes_per_s: Option<f64>,
    /// Requests per second.
    #[serde(default, deserialize_with = "figure")]
    pub iops: Option<f64>,
    /// Half-width of the 95 % interval of both, over the mean.
    #[serde(default, deserialize_with = "figure")]
    pub interval: Option<f64>,
    /// Requests in flight, of all jobs.
    #[serde(default, deserialize_with = "figure")]
    pub in_flight: Option<f64>,
    /// Mean latency of all requests of the run.
    #[serde(default, deserialize_with = "figure")]
    pub latency_mean_ns: Option<f64>,
    /// Its 99th percentile.
    #[serde(default, deserialize_with = "figure")]
    pub latency_p99_ns: Option<f64>,
    /// What limits, as trials confirmed it.
    #[serde(default)]
    pub limit: Option<Limit>,
    /// Where the run is not the same all along: the time of it that what limits, and where latencies went, are of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Where the mean latency went, the longest stage first; of the requests that were looked at.
    #[serde(default)]
    pub stages: Vec<Stage>,
    /// What the processor did.
    #[serde(default)]
    pub processor: Option<Processor>,
    /// What the machine costs.
    #[serde(default)]
    pub price_usd: Option<Price>,
}

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object: a phase of a run")]
pub struct Phase {
    /// When it begins.
    #[serde(deserialize_with = "amount")]
    pub from_ps: f64,
    /// When it ends.
    #[serde(deserialize_with = "amount")]
    pub until_ps: f64,
}

/// What limits a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object: what limits")]
pub struct Limit {
    /// The hop that gains most, or the hops that gain most together; empty where none gains for sure.
    pub hops: Vec<String>,
    /// `latency`, `capacity`, `workload` or `mixed`.
    pub kind: String,
    /// What twice its pace gains; where the workload limits, what it gains without think time.
    #[serde(deserialize_with = "share")]
    pub gain: f64,
    /// Half-width of the 95 % interval of that.
    #[serde(default, deserialize_with = "share")]
    pub interval: f64,
    /// What limits once that is faster.
    #[serde(default)]
    pub next: Option<String>,
}

/// A stage of a request's life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object: a stage of the latency")]
pub struct Stage {
    /// The hop; empty where it is said of several columns whose hops have other names.
    #[serde(default)]
    pub hop: String,
    /// What the hop did.
    pub what: String,
    /// Whether that was for others, and the request waited.
    pub is_wait: bool,
    /// How long, mean of all requests.
    #[serde(deserialize_with = "amount")]
    pub mean_ns: f64,
}

/// What requests cost the processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object: what the processor did")]
pub struct Processor {
    /// How much of the time it works.
    #[serde(default, deserialize_with = "figure")]
    pub utilisation: Option<f64>,
    /// Its clocks a second.
    #[serde(default, deserialize_with = "figure")]
    pub clock_hz: Option<f64>,
    /// Its time for a request.
    #[serde(default, deserialize_with = "figure")]
    pub ps_per_request: Option<f64>,
    /// Where that goes.
    #[serde(default)]
    pub layers: Vec<Layer>,
}

/// A layer of the software.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object: a layer of the software")]
pub struct Layer {
    /// Its name.
    pub layer: String,
    /// Its time, of all requests.
    #[serde(default, deserialize_with = "figure")]
    pub ps: Option<f64>,
    /// Clocks for a request, whatever its size.
    #[serde(default, deserialize_with = "figure")]
    pub clocks_per_request: Option<f64>,
    /// Clocks for each byte.
    #[serde(default, deserialize_with = "figure")]
    pub clocks_per_byte: Option<f64>,
}

/// What a machine costs, and what it gives for that.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object: a price")]
pub struct Price {
    /// All of it, dollars.
    #[serde(default, deserialize_with = "figure")]
    pub total: Option<f64>,
    /// Throughput for a dollar.
    #[serde(default, deserialize_with = "figure")]
    pub mb_per_s_per_usd: Option<f64>,
    /// Requests for a dollar.
    #[serde(default, deserialize_with = "figure")]
    pub iops_per_usd: Option<f64>,
    /// Of the total, the computer as a whole, where it has a price.
    #[serde(default, deserialize_with = "figure")]
    pub computer: Option<f64>,
    /// What a dollar of the parts gets.
    #[serde(default)]
    pub of_parts: Option<OfParts>,
}

/// What a dollar of the parts with a price of their own gets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object: what a dollar gets")]
pub struct OfParts {
    /// Throughput.
    #[serde(default, deserialize_with = "figure")]
    pub mb_per_s_per_usd: Option<f64>,
    /// Requests.
    #[serde(default, deserialize_with = "figure")]
    pub iops_per_usd: Option<f64>,
}

impl Price {
    /// The same without the computer.
    pub fn without_computer(self) -> Price {
        let (Some(computer), Some(of_parts)) = (self.computer, self.of_parts) else { return self };
        let OfParts { mb_per_s_per_usd, iops_per_usd } = of_parts;
        Price {
            total: self.total.map(|total| total - computer),
            mb_per_s_per_usd,
            iops_per_usd,
            computer: None,
            of_parts: None,
        }
    }
}

impl Stage {
    /// In a few words, as `explain` has them; without its hop where that is another one in each column.
    pub fn words(&self) -> String {
        match (self.is_wait, self.hop.is_empty()) {
            (true, true) => format!("waits: {}", self.what),
            (true, false) => format!("waits for {}: {}", self.hop, self.what),
            (false, true) => self.what.clone(),
            (false, false) => format!("{} at {}", self.what, self.hop),
        }
    }
}

impl Limit {
    /// The hops, or the workload.
    pub fn what(&self) -> String {
        if self.kind == "workload" { "the workload".to_string() } else { limited_by(&self.hops, self.gain) }
    }

    /// What was tried to confirm it.
    pub fn tried(&self) -> &'static str {
        match &self.hops[..] {
            _ if self.kind == "workload" => "without think time",
            [] => "at most, at twice the pace of any",
            [_, _, ..] => "together at twice their pace",
            _ => "at twice its pace",
        }
    }
}

impl Column {
    /// Half-width of the 95 % interval of the mean latency, over the mean.
    ///
    /// Of requests in flight that do not change, mean latency and pause together are their number over the rate: that
    /// sum is known as well as the rate is. Of jobs that pause, the latency is a part of it.
    pub fn latency_interval(&self) -> Option<f64> {
        let (interval, mean) = (self.interval?, self.latency_mean_ns?);
        let (iops, in_flight) = (self.iops.filter(|iops| *iops > 0.0)?, self.in_flight?);
        let whole_ns = 1e9 * in_flight / iops;
        (mean > 0.0).then(|| interval * (whole_ns / mean).max(1.0))
    }

    /// The same with names that may be shown.
    pub(super) fn shown(mut self) -> Column {
        let mut texts: Vec<&mut String> = vec![&mut self.name];
        texts.extend([&mut self.system, &mut self.job, &mut self.machine].into_iter().flatten());
        if let Some(limit) = &mut self.limit {
            texts.push(&mut limit.kind);
            texts.extend(limit.hops.iter_mut().chain(&mut limit.next));
        }
        texts.extend(self.stages.iter_mut().flat_map(|stage| [&mut stage.hop, &mut stage.what]));
        texts.extend(self.processor.iter_mut().flat_map(|of| of.layers.iter_mut().map(|layer| &mut layer.layer)));
        texts.into_iter().for_each(|text| *text = shown(text));
        self
    }
}

/// A name from a file of others: one line, of bounded length, that steers no terminal.
pub(super) fn shown(text: &str) -> String {
    let mut out =
        harmless(&text.chars().take(NAME_MAX).collect::<String>()).replace(['\n', '\t'], &INSTEAD.to_string());
    if text.chars().nth(NAME_MAX).is_some() {
        out.push('…');
    }
    out
}

fn believed<E: serde::de::Error>(number: f64, what: &str, range: std::ops::RangeInclusive<f64>) -> Result<f64, E> {
    if range.contains(&number) { Ok(number) } else { Err(E::custom(format!("{number} is no {what} that can be"))) }
}

/// A figure that can be, or none.
pub(super) fn figure<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let number = Option::<f64>::deserialize(deserializer)?;
    number.map(|number| believed(number, "figure", 0.0..=LARGEST)).transpose()
}

/// A figure that can be.
pub(super) fn amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    believed(f64::deserialize(deserializer)?, "figure", 0.0..=LARGEST)
}

/// A gain or a share that can be.
pub(super) fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    believed(f64::deserialize(deserializer)?, "share", -LARGEST..=LARGEST)
}
