//! The account of a run as JSON, for other programs.

use hopscope_observe::account::{Account, Entry, LaneAccount, Split, Use};
use hopscope_parts::parameters::Basis;
use serde_json::{Map, Value, json};

use crate::blueprint::Blueprint;
use crate::bottleneck::Bottleneck;
use crate::explain::Explained;

/// Classes, in the order of the report.
pub const CLASSES: [Use; 5] = [Use::Payload, Use::WidthUnused, Use::Protocol, Use::Waiting, Use::Nothing];

/// The whole report. The same run gives the same bytes.
pub fn report(blueprint: &Blueprint, explained: &Explained, bottleneck: Option<&Bottleneck>) -> Value {
    let account = &explained.account;
    let hops: Vec<Value> = account.lanes.iter().map(|lane| hop(account, lane)).collect();
    json!({
        "throughput_bytes_per_s": explained.throughput(),
        "window": {
            "from_ps": account.from.as_ps(),
            "until_ps": account.until.as_ps(),
            "requests": account.latency.as_ref().map_or(0, |latency| latency.mean.count),
        },
        "hops": hops,
        "bottleneck": bottleneck.map(|b| json!({
            "part": b.part, "lane": b.lane, "phase": b.phase, "share": b.share, "why": b.why, "next": b.next,
            "number": b.number,
        })),
        "critical_path": account.path.iter().map(entry).collect::<Vec<_>>(),
        "latency": account.latency.as_ref().map(|latency| {
            let mut mean = split(&latency.mean);
            mean["median"] = split(&latency.median);
            mean["p99"] = split(&latency.p99);
            mean
        }),
        "assumed": numbers(blueprint, |basis| matches!(basis, Basis::Assumed(_))),
        "fitted": numbers(blueprint, |basis| matches!(basis, Basis::Fitted(_))),
    })
}

fn hop(account: &Account, lane: &LaneAccount) -> Value {
    let span = account.span().as_ps() as f64;
    let capacity = lane.capacity.as_ref();
    let times: Map<String, Value> =
        CLASSES.iter().map(|class| (class.word().to_string(), lane.time_in(*class).as_ps().into())).collect();
    let losses = lane.entries.iter().filter(|e| e.class != Use::Payload).map(|e| {
        let share = e.time.as_ps() as f64 / span;
        let mut loss = entry(e);
        loss["share"] = share.into();
        loss["bytes_per_s"] = capacity.map(|capacity| capacity.bytes_per_second * share).into();
        loss
    });
    let slice = span / lane.busy.len() as f64;
    json!({
        "part": lane.part,
        "lane": lane.lane,
        "time_ps": times,
        "capacity_bytes_per_s": capacity.map(|capacity| capacity.bytes_per_second),
        "capacity_from": capacity.map(|capacity| &capacity.how),
        "delivered_bytes_per_s": lane.delivered(),
        "busy_share": lane.busy_share(),
        "losses": losses.collect::<Vec<_>>(),
        "payload": lane.entries.iter().filter(|e| e.class == Use::Payload).map(entry).collect::<Vec<_>>(),
        "busy_over_time": lane.busy.iter().map(|busy| busy.as_ps() as f64 / slice).collect::<Vec<_>>(),
    })
}

fn entry(entry: &Entry) -> Value {
    let cause = if entry.cause.is_empty() { entry.class.word() } else { &entry.cause };
    json!({
        "class": entry.class.word(), "cause": cause, "part": entry.part, "lane": entry.lane, "phase": entry.phase,
        "ps": entry.time.as_ps(),
    })
}

fn split(split: &Split) -> Value {
    json!({
        "mean_ns": split.latency.as_ps() as f64 / 1e3,
        "requests": split.count,
        "sum_ps": split.sum.as_ps(),
        "phases": split.entries.iter().map(entry).collect::<Vec<_>>(),
    })
}

fn numbers(blueprint: &Blueprint, of: impl Fn(&Basis) -> bool) -> Vec<Value> {
    let all = blueprint.numbers().into_iter().chain(blueprint.choices());
    let wanted = all.filter(|(_, entry)| of(&entry.basis));
    wanted.map(|(name, e)| json!({ "name": name, "value": e.written, "from": e.basis.text() })).collect()
}
