//! What a whatif answers, as one JSON object.

use serde_json::{Value, json};

use super::{
    Comparison, Effect, Effort, Limit, Only, Performance, Range, Sensitivities, Sensitivity, Side, Upgrade, Upgrades,
};
use crate::explain_json;

/// Upgrades and sensitivities of a system.
pub fn outlook(system: &str, upgrades: &Upgrades, sensitivities: &Sensitivities, only: Option<&Only>) -> Value {
    let mut before = performance(&sensitivities.before);
    before["limit"] = limit(upgrades.limit.as_ref());
    let mut all = json!({
        "system": system,
        "effort": effort(&sensitivities.effort),
        "before": before,
        "upgrades": upgrades.upgrades.iter().map(upgrade).collect::<Value>(),
        "do_not_fit": upgrades.do_not_fit.iter().map(|(name, why)| json!({ "name": name, "why": why })).collect::<Value>(),
        "sensitivities": sensitivities.numbers.iter().map(sensitivity).collect::<Value>(),
        "refused": sensitivities.refused,
    });
    if let Some(Only { lasts, used_up }) = only {
        all["only"] = json!({ "until_ps": lasts.as_ps(), "used_up": used_up });
    }
    all
}

/// A system before and after given changes.
pub fn comparison(system: &str, comparison: &Comparison) -> Value {
    let Comparison { changes, also_on, before, after } = comparison;
    json!({
        "system": system,
        "changes": changes,
        "also_on": also_on,
        "gain": after.performance.throughput_bytes_per_s / before.performance.throughput_bytes_per_s - 1.0,
        "before": side(before),
        "after": side(after),
    })
}

fn performance(got: &Performance) -> Value {
    json!({
        "throughput_bytes_per_s": got.throughput_bytes_per_s,
        "latency_mean_ns": got.latency_mean_ns,
        "transfers": got.transfers,
    })
}

fn side(side: &Side) -> Value {
    let mut all = performance(&side.performance);
    all["limit"] = limit(side.limit.as_ref());
    all["account"] = explain_json::report(&side.setting.blueprint, &side.explained, None);
    all
}

fn limit(limit: Option<&Limit>) -> Value {
    limit.map_or(Value::Null, |limit| {
        json!({
            "part": limit.part,
            "lane": limit.lane,
            "lanes": limit.lanes,
            "gain": limit.gain.mean,
            "interval": limit.gain.half_width,
            "busy_share": limit.busy,
        })
    })
}

fn effort(effort: &Effort) -> Value {
    json!({
        "ramp_seconds": effort.ramp.as_seconds_f64(),
        "simulated_seconds": effort.runtime.as_seconds_f64(),
        "seeds": effort.seeds,
    })
}

fn upgrade(upgrade: &Upgrade) -> Value {
    json!({
        "name": upgrade.name,
        "title": upgrade.title,
        "basis": upgrade.basis.word(),
        "from": upgrade.basis.text(),
        "changes": upgrade.changes,
        "also_on": upgrade.also_on,
        "throughput_bytes_per_s": upgrade.performance.throughput_bytes_per_s,
        "latency_mean_ns": upgrade.performance.latency_mean_ns,
        "gain": upgrade.gain,
        "latency_effect": upgrade.latency,
        "next_limit": limit(upgrade.next_limit.as_ref()),
    })
}

fn sensitivity(number: &Sensitivity) -> Value {
    let effects = |of: fn(&Effect) -> Value| number.effects.iter().map(of).collect::<Value>();
    json!({
        "parameter": number.parameter,
        "value": number.value,
        "basis": number.basis,
        "changed_to": effects(|effect| json!(effect.changed_to)),
        "throughput_effect": effects(|effect| json!(effect.throughput.mean)),
        "throughput_half_width_95": effects(|effect| json!(effect.throughput.half_width)),
        "latency_effect": effects(|effect| json!(effect.latency.mean)),
        "latency_half_width_95": effects(|effect| json!(effect.latency.half_width)),
        "elasticity": number.elasticity,
        "holds_until": number.holds_until.as_ref().map(range),
    })
}

fn range(range: &Range) -> Value {
    json!({ "value": range.value, "throughput_effect": range.throughput, "beyond": range.beyond.words() })
}
