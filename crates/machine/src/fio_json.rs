//! What a run gave, in the shape of fio's own `--output-format=json`, so that whatever reads fio reads this.

use std::time::Duration;

use hopscope_files::job_file::{Job, JobFile};
use hopscope_kernel::Time;
use hopscope_observe::JobTransfers;
use serde_json::{Value, json};

use crate::price::MachinePrice;
use crate::run::{JobOutcome, Outcome};

/// fio's default list.
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// A run, as far as its report depends on it.
pub struct Run<'a> {
    /// What was asked for.
    pub jobs: &'a JobFile,
    /// What it gave.
    pub outcome: &'a Outcome,
    /// The seed of the run.
    pub seed: u64,
    /// The time that the run took on this computer, where it is to be in the report.
    pub wall: Option<Duration>,
    /// What the machine costs, where that is known.
    pub price: Option<&'a MachinePrice>,
}

/// What one job got, as fio defines it (`backend.c` and `stat.c` of fio 3.33): from the end of the ramp to the end of the
/// job, with what was in flight when its time was over, and with the pause after its last transfer. A direction has the
/// time of the whole job, several jobs that of the longest. Of a run that was to converge, the window that had come to
/// rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Bytes moved.
    pub bytes: u64,
    /// Transfers ended.
    pub count: u64,
    /// From there to there.
    pub span: Time,
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// Transfers per second.
    pub iops: f64,
}

impl Figures {
    /// What a job got; nothing where no transfer ended.
    pub fn of(job: &JobOutcome) -> Option<Figures> {
        Figures::of_all([job])
    }

    /// The same of its reads (0) or writes (1).
    pub fn of_side(job: &JobOutcome, side: usize) -> Option<Figures> {
        Figures::of_all_in(side, [job])
    }

    /// What jobs got together that ran at the same time.
    pub fn of_all<'a>(jobs: impl IntoIterator<Item = &'a JobOutcome>) -> Option<Figures> {
        Figures::sum(jobs.into_iter().map(|job| (job, job.got.as_ref())))
    }

    /// The same in one direction.
    pub fn of_all_in<'a>(side: usize, jobs: impl IntoIterator<Item = &'a JobOutcome>) -> Option<Figures> {
        Figures::sum(jobs.into_iter().map(|job| (job, job.sides.get(side).and_then(Option::as_ref))))
    }

    fn sum<'a>(got: impl Iterator<Item = (&'a JobOutcome, Option<&'a JobTransfers>)>) -> Option<Figures> {
        let each = got.filter_map(|(job, got)| Some((job.from, job.until, got?.bytes, got?.count)));
        let all = each.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1), a.2 + b.2, a.3 + b.3));
        all.map(|(from, until, bytes, count)| Figures::over(from, until, bytes, count))
    }

    fn over(from: Time, until: Time, bytes: u64, count: u64) -> Figures {
        let span = until.saturating_sub(from);
        let seconds = span.as_seconds_f64();
        let per_second = |amount: u64| if seconds > 0.0 { amount as f64 / seconds } else { 0.0 };
        Figures { bytes, count, span, bytes_per_second: per_second(bytes), iops: per_second(count) }
    }
}

/// The whole report. The same run gives the same bytes, unless it asks for wall time.
pub fn report(run: &Run<'_>) -> Value {
    let pairs = run.jobs.jobs.iter().zip(&run.outcome.jobs);
    let jobs: Vec<Value> = pairs.map(|(asked, job)| job_report(run, asked, job)).collect();
    let mut report = json!({
        "fio version": concat!("hopscope-", env!("CARGO_PKG_VERSION")),
        "timestamp": 0,
        "timestamp_ms": 0,
        "time": "Thu Jan  1 00:00:00 1970",
        "jobs": jobs,
        "hopscope": {
            "simulated_seconds": run.outcome.simulated.as_seconds_f64(),
            "seed": run.seed,
            "options_without_effect": run.jobs.without_effect,
            "ended": run.outcome.stop.word(),
            "interval": {
                "from_seconds": run.outcome.rate.warm_up.as_seconds_f64(),
                "relative_half_width_95": finite(run.outcome.rate.relative_half_width),
            },
        },
    });
    if let Some(cost) = &run.outcome.processor {
        report["hopscope"]["processor"] = cost.json();
    }
    if let [_, _, ..] = &run.outcome.stages[..] {
        let stages = run.outcome.stages.iter().map(|stage| {
            json!({
                "from_seconds": stage.start.as_seconds_f64(),
                "until_seconds": stage.end.as_seconds_f64(),
                "ended": stage.stop.word(),
            })
        });
        report["hopscope"]["stages"] = stages.collect();
    }
    if !run.jobs.notes.is_empty() {
        report["hopscope"]["notes"] = json!(run.jobs.notes);
    }
    if let Some(unsettled) = run.outcome.stages.last().and_then(|stage| stage.unsettled.as_ref()) {
        report["hopscope"]["not_converged"] = json!(unsettled.words());
    }
    if let Some(wall) = run.wall {
        let counts = run.outcome.counts;
        report["hopscope"]["timing"] = json!({
            "wall_seconds": wall.as_secs_f64(),
            "events": counts.events,
            "grants": counts.grants,
            "trains": counts.trains,
            "trains_cut": counts.trains_cut,
            "bursts_in_trains": counts.bursts_in_trains,
        });
    }
    if let Some(price) = run.price {
        let got = Figures::of_all(&run.outcome.jobs).map_or((0.0, 0.0), |all| (all.bytes_per_second, all.iops));
        report["hopscope"]["price_usd"] = price.json(got.0, got.1);
    }
    report
}

/// JSON has no infinity: an interval that is not known is `null`.
fn finite(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { Value::Null }
}

fn job_report(run: &Run<'_>, asked: &Job, job: &JobOutcome) -> Value {
    let stage = &run.outcome.stages[asked.stage.min(run.outcome.stages.len() - 1)];
    json!({
        "jobname": job.name,
        "groupid": asked.group,
        "error": 0,
        "eta": 0,
        "elapsed": (stage.end - stage.start).as_seconds_f64().ceil() as u64,
        "job options": options(asked),
        "read": direction(Some(job), 0),
        "write": direction(Some(job), 1),
        "trim": direction(None, 0),
        "job_runtime": job.until.saturating_sub(job.from).as_ps() / 1_000_000_000,
    })
}

/// The modelled options of a job, as they were written.
fn options(job: &Job) -> Value {
    let written = job.written.iter().map(|(option, value)| (option.clone(), json!(value)));
    Value::Object([("name".to_string(), json!(job.name))].into_iter().chain(written).collect())
}

fn direction(job: Option<&JobOutcome>, side: usize) -> Value {
    let zero = Figures { bytes: 0, count: 0, span: Time::ZERO, bytes_per_second: 0.0, iops: 0.0 };
    let figures = job.and_then(|job| Figures::of_side(job, side)).unwrap_or(zero);
    let got = job.and_then(|job| job.sides[side].as_ref());
    json!({
        "io_bytes": figures.bytes,
        "io_kbytes": figures.bytes >> 10,
        "bw_bytes": figures.bytes_per_second.round() as u64,
        "bw": (figures.bytes_per_second / 1024.0).floor() as u64,
        "iops": six_decimals(figures.iops),
        "runtime": milliseconds(figures.span),
        "total_ios": figures.count,
        "short_ios": 0,
        "drop_ios": 0,
        // Submission is part of the way of a request here, as for the synchronous engines of fio.
        "slat_ns": latency(None, false),
        "clat_ns": latency(got, true),
        "lat_ns": latency(got, false),
    })
}

fn latency(got: Option<&JobTransfers>, with_percentiles: bool) -> Value {
    let Some(got) = got else {
        return json!({ "min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0 });
    };
    let ns = &got.latency_ns;
    let mut latency = json!({
        "min": ns.min(),
        "max": ns.max(),
        "mean": six_decimals(ns.mean()),
        "stddev": six_decimals(ns.stdev()),
        "N": got.count,
    });
    if with_percentiles {
        let value = |percent: f64| (format!("{percent:.6}"), json!(ns.value_at_quantile(percent / 100.0)));
        latency["percentile"] = Value::Object(PERCENTILES.into_iter().map(value).collect());
    }
    latency
}

/// fio counts whole microseconds and rounds a direction's time up to milliseconds; it rounds a job's down.
fn milliseconds(span: Time) -> u64 {
    (span.as_ps() / 1_000_000).div_ceil(1_000)
}

/// fio prints six decimals.
pub fn six_decimals(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
