//! A decoded cable for programs.

use serde_json::{Value, json};

use super::pins::Pins;
use super::register;
use super::summary::Summary;
use super::together::{Delay, Measured};
use super::{Access, Burst, direction};

fn ns(ps: u64) -> f64 {
    ps as f64 / 1e3
}

fn access(one: &Access) -> Value {
    json!({
        "start_ns": ns(one.start_ps),
        "end_ns": ns(one.end_ps),
        "register": register(one.control, one.da, one.writes),
        "writes": one.writes,
        "value": one.value,
    })
}

fn burst(one: &Burst) -> Value {
    let crc = one.crc.map(|(right, sent)| json!({ "computed": right, "sent": sent, "right": sent == Some(right) }));
    let pauses = one.pauses.iter().map(|(from, to)| json!([ns(*from), ns(*to)]));
    json!({
        "start_ns": ns(one.start_ps),
        "end_ns": ns(one.end_ps),
        "protocol": one.protocol.word(),
        "direction": direction(one.reads),
        "bytes": 2 * one.words,
        "first_strobe_ns": ns(one.strobes_ps.0),
        "last_strobe_ns": ns(one.strobes_ps.1),
        "word_ns": one.word_ps.map(ns),
        "pauses_ns": pauses.collect::<Vec<_>>(),
        "crc": crc,
        "cut": one.cut,
    })
}

/// A cable: what it adds up to, and all of it.
pub fn cable(pins: &Pins, summary: &Summary, delays: &[(Delay, Measured)]) -> Value {
    let mut all = in_short(pins, summary, delays);
    all["accesses"] = pins.decoder.accesses.iter().map(access).collect();
    all["bursts"] = pins.decoder.bursts.iter().map(burst).collect();
    all
}

/// What a cable adds up to.
pub fn in_short(pins: &Pins, summary: &Summary, delays: &[(Delay, Measured)]) -> Value {
    let registers = summary.registers.iter().map(|((name, writes), (count, spent))| {
        json!({ "register": name, "writes": writes, "count": count, "strobe_ns": ns(*spent) })
    });
    let bursts = summary.bursts.iter().map(|((protocol, reads), of)| {
        json!({
            "protocol": protocol.word(),
            "direction": direction(*reads),
            "bursts": of.bursts,
            "bytes": of.bytes,
            "held_ns": ns(of.held_ps),
            "around_ns": ns(of.around_ps),
            "pauses": of.pauses.0,
            "paused_ns": ns(of.pauses.1),
            "word_ns": of.word_ps.map(ns),
            "wrong_crc": of.wrong_crc,
        })
    });
    let delays = delays.iter().map(|(delay, of)| {
        json!({
            "delay": delay.word(),
            "count": of.count,
            "least_ns": ns(of.least_ps),
            "median_ns": ns(of.median_ps),
            "longest_ns": ns(of.longest_ps),
        })
    });
    json!({
        "scope": pins.scope,
        "without": pins.without,
        "summary": {
            "registers": registers.collect::<Vec<_>>(),
            "bursts": bursts.collect::<Vec<_>>(),
            "interrupts": summary.interrupts.0,
            "interrupt_ns": (summary.interrupts.2 > 0).then(|| ns(summary.interrupts.1) / summary.interrupts.2 as f64),
            "delays": delays.collect::<Vec<_>>(),
        },
    })
}
