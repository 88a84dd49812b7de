//! What a replay gave, as JSON.

use serde_json::{Value, json};

use super::{Replayed, Responses};

/// Shares at which response times are given.
const PERCENTILES: [f64; 8] = [1.0, 5.0, 25.0, 50.0, 75.0, 95.0, 99.0, 99.9];

/// The whole report. The same replay gives the same bytes.
pub fn report(trace: &str, system: &str, seed: u64, replayed: &Replayed) -> Value {
    let figures = &replayed.figures;
    let beside = figures.recorded.count() > 0;
    json!({
        "trace": trace,
        "format": replayed.format.word(),
        "gaps": replayed.gaps.map(|(gaps, told)| json!({ "lie": gaps.word(), "told_by": told.word() })),
        "system": system,
        "target": replayed.target,
        "seed": seed,
        "requests": figures.count(),
        "reads": figures.requests[0],
        "writes": figures.requests[1],
        "bytes": figures.bytes,
        "seconds": figures.last_end.as_seconds_f64(),
        "iops": figures.iops(),
        "bytes_per_s": figures.bytes_per_second(),
        "held_back": figures.held_back,
        "without_data": replayed.without_data,
        "simulated": responses(&figures.simulated),
        "recorded": beside.then(|| responses(&figures.recorded)),
        "demerit_ns": figures.demerit_ns(),
        "paired": beside.then(|| json!({
            "requests": figures.paired.count,
            "mean_absolute_error_ns": figures.paired.mean_absolute_error_ns(),
            "within_1_ms": figures.paired.close_share(),
        })),
        "problem": replayed.problem.as_ref().map(|problem| {
            let (line, column) = problem.line_and_column();
            json!({ "title": problem.title(), "line": line, "column": column })
        }),
    })
}

fn responses(responses: &Responses) -> Value {
    let at = |percent: &f64| (format!("{percent}"), json!(responses.at_ns(percent / 100.0)));
    json!({
        "mean_ns": responses.mean_ns(),
        "min_ns": responses.ns.min(),
        "max_ns": responses.ns.max(),
        "percentile_ns": PERCENTILES.iter().map(at).collect::<serde_json::Map<String, Value>>(),
    })
}
