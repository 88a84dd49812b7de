//! A decoded capture as one JSON object.

use serde_json::{Map, Value, json};

use super::Transaction;
use super::pattern::Pattern;
use super::pins::Pins;
use super::summary::{Summary, quantile};

/// A transaction.
pub fn transaction(pins: &Pins, one: &Transaction) -> Value {
    json!({
        "start_ns": one.start_ps as f64 / 1e3,
        "end_ns": one.end_ps as f64 / 1e3,
        "initiator": pins.initiator(one.initiator),
        "command": one.command.word(),
        "address": one.address,
        "bytes": one.bytes,
        "data_phases": one.data_phases,
        "wait_clocks": one.wait_clocks,
        "initiator_wait_clocks": one.initiator_waits,
        "target_wait_clocks": one.target_waits,
        "after_clocks": one.after_clocks,
        "devsel_clocks": one.devsel_clocks,
        "idle_before_clocks": one.idle_before_clocks,
        "bits": if one.wide == (true, true) { 64 } else { 32 },
        "parity_errors": one.parity_errors,
        "ended_by": one.ended_by.word(),
        "attributes": one.attributes.map(|of| json!({ "requester": of.requester, "tag": of.tag, "bytes": of.bytes })),
    })
}

/// A period, a row a transaction.
fn table(pins: &Pins, pattern: &Pattern) -> Vec<Value> {
    let row = |step: &super::pattern::Step| {
        json!({
            "initiator": pins.initiator(step.initiator),
            "command": step.command.word(),
            "idle_before_clocks": step.idle_before,
            "address_clocks": step.address,
            "wait_clocks": step.wait,
            "data_clocks": step.data,
            "between_clocks": step.between,
            "after_clocks": step.after,
            "clocks": step.clocks(),
            "bytes": step.bytes,
            "ended_by": step.ended_by.word(),
        })
    };
    pattern.steps.iter().map(row).collect()
}

/// All of it.
pub fn report(pins: &Pins, summary: &Summary, pattern: Option<&Pattern>, cut: Option<&str>) -> Value {
    let mut all = in_short(pins, summary, pattern, cut);
    all["transactions"] = pins.decoder.transactions.iter().map(|one| transaction(pins, one)).collect();
    all
}

/// All but the transactions one by one.
pub fn in_short(pins: &Pins, summary: &Summary, pattern: Option<&Pattern>, cut: Option<&str>) -> Value {
    let decoder = &pins.decoder;
    let counts = |of: &std::collections::BTreeMap<u64, u64>| -> Value {
        of.iter().map(|(value, count)| json!([value, count])).collect::<Vec<_>>().into()
    };
    let shares = summary.shares.iter().map(|((who, command), share)| {
        let ended: Map<String, Value> =
            share.ended_by.iter().map(|(how, count)| (how.word().to_string(), (*count).into())).collect();
        json!({
            "initiator": pins.initiator(*who), "command": command.word(), "transactions": share.transactions,
            "bytes": share.bytes, "data_phases": share.data_phases, "clocks": share.clocks,
            "wait_clocks_mean": share.waits as f64 / share.transactions as f64, "wait_clocks_max": share.wait_max,
            "clocks_to_first_data": {
                "least": quantile(&share.latencies, 0.0), "median": quantile(&share.latencies, 0.5),
                "p99": quantile(&share.latencies, 0.99), "most": quantile(&share.latencies, 1.0),
            },
            "ended_by": ended, "bursts": counts(&share.bursts),
        })
    });
    let unknown = pins.unknown_clocks().map(|(pin, clocks)| (pin.to_string(), clocks.into()));
    let timers =
        summary.timers.found().into_iter().map(
            |of| json!({ "initiator": pins.initiator(Some(of.initiator)), "clocks": of.clocks, "bursts": of.bursts }),
        );
    json!({
        "kind": "pci",
        "scope": pins.scope,
        "other_buses": pins.others,
        "initiators": pins.initiators,
        "without": pins.without,
        "cut": cut,
        "unknown_clocks": unknown.collect::<Map<String, Value>>(),
        "bus": {
            "protocol": decoder.protocol(),
            "clock_ns": summary.clock_ps / 1e3,
            "clocks": summary.clocks,
            "transactions": summary.transactions,
            "busy_share": summary.busy(),
            "payload_bytes_per_s": summary.bytes_per_second(),
            "efficiency": summary.efficiency(),
            "spent_clocks": summary.spent.iter().map(|(what, clocks)| json!({ "what": what, "clocks": clocks })).collect::<Vec<_>>(),
            "idle_clocks": counts(&summary.idles),
            "clocks_to_first_data": counts(&summary.latencies()),
            "parity_errors": summary.parity_errors,
            "latency_timers": timers.collect::<Vec<_>>(),
            "shares": shares.collect::<Vec<_>>(),
        },
        "table": pattern.map_or(Vec::new(), |pattern| table(pins, pattern)),
        "pattern": pattern.map(|pattern| json!({
            "clocks": pattern.clocks(), "bytes": pattern.bytes(), "times": pattern.times,
            "transactions": pattern.transactions,
        })),
        "violations": decoder.violations.iter().map(|of| json!({ "at_ns": of.at_ps as f64 / 1e3, "rule": of.rule })).collect::<Vec<_>>(),
    })
}
