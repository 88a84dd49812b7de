//! A measurement beside the simulation, as JSON for other programs.

use serde_json::{Value, json};

use crate::measured::{Beside, Ceiling, Comparison, TOLERANCE};

/// The whole comparison. The same run and the same result give the same bytes.
pub fn report(comparison: &Comparison) -> Value {
    let hop = |hop: &Ceiling| json!({ "part": hop.part, "lane": hop.lane, "bytes_per_s": hop.lowest() });
    let at = |index: usize| hop(&comparison.ceilings[index]);
    let rows = comparison.rows.iter().map(|row| {
        json!({
            "measured": row.measured, "simulated": row.simulated, "side": row.side,
            "bytes_per_s": beside(&row.throughput), "iops": beside(&row.iops),
            "latency_mean_ns": beside(&row.latency_ns),
        })
    });
    let got = comparison.throughput.measured;
    let ceilings = comparison.ceilings.iter().map(|hop| {
        json!({
            "part": hop.part, "lane": hop.lane, "busy_share": hop.busy_share,
            "at_this_size_bytes_per_s": hop.at_this_size, "capacity_bytes_per_s": hop.capacity,
            "measured_share": hop.lowest().zip(got).map(|(limit, got)| got / limit),
        })
    });
    let warnings = comparison.warnings.iter().map(|warning| {
        json!({
            "jobs": warning.jobs, "option": warning.option, "measured": warning.measured,
            "simulated": warning.simulated, "why": warning.why, "cause": warning.cause,
        })
    });
    json!({
        "file": comparison.file,
        "version": comparison.version,
        "matched_by": comparison.matched.word(),
        "bytes_per_s": beside(&comparison.throughput),
        "iops": beside(&comparison.iops),
        "jobs": rows.collect::<Vec<_>>(),
        "ceilings": ceilings.collect::<Vec<_>>(),
        "tolerance": TOLERANCE,
        "sits_at": comparison.nearest.filter(|_| comparison.sits_there).map(at),
        "nearest_above": comparison.nearest.filter(|_| !comparison.sits_there).map(at),
        "exceeded": comparison.exceeded.iter().map(|index| at(*index)).collect::<Vec<_>>(),
        "causes": comparison.causes(),
        "warnings": warnings.collect::<Vec<_>>(),
    })
}

fn beside(figure: &Beside) -> Value {
    json!({
        "measured": figure.measured, "simulated": figure.simulated,
        "unexplained": figure.unexplained(), "unexplained_share": figure.unexplained_share(),
    })
}
