//! A comparison as one JSON object. Saved, it can be compared again.

use serde_json::{Value, json};

use super::{Change, Comparison, Difference, Group};
use crate::explain_json::SHAPE;

/// All of it.
pub fn report(comparison: &Comparison) -> Value {
    let groups: Vec<Value> = comparison.groups.iter().map(|of| group(comparison, of)).collect();
    json!({
        "shape": SHAPE,
        "columns": comparison.columns,
        "groups": groups,
        "tolerance": comparison.tolerance.map(|share| json!({ "share": share, "exceeded": comparison.exceeded() })),
    })
}

fn group(comparison: &Comparison, group: &Group) -> Value {
    let against = group.columns.first();
    let differences = comparison.differences(group).map(|(index, of)| difference((index, against), &of));
    json!({
        "job": group.job,
        "columns": group.columns,
        "differences": differences.collect::<Vec<_>>(),
        "verdict": comparison.verdict(group),
    })
}

fn difference((column, against): (usize, Option<&usize>), difference: &Difference) -> Value {
    let stages = difference.stages.iter().map(|change| {
        let stage = &change.stage;
        json!({
            "hop": stage.hop, "what": stage.what, "is_wait": stage.is_wait, "mean_ns": stage.mean_ns,
            "against_ns": change.against_ns, "longer_ns": change.longer_ns(),
        })
    });
    json!({
        "column": column,
        "against": against,
        "throughput": change(difference.throughput),
        "iops": change(difference.iops),
        "latency_mean": change(difference.latency_mean),
        "latency_p99": change(difference.latency_p99),
        "stages": stages.collect::<Vec<_>>(),
    })
}

fn change(change: Option<Change>) -> Value {
    change.map_or(Value::Null, |change| json!({ "change": change.share, "sure": change.sure }))
}
