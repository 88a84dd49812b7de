//! The account of a run as JSON, for other programs.

use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::phases::Phase;
use hopscope_machine::run::JobOutcome;
use hopscope_observe::account::{Account, Entry, LaneAccount, Names, Use};
use hopscope_observe::lives::{Split, Stage, StageKind};
use hopscope_parts::parameters::Basis;
use serde_json::{Map, Value, json};

use crate::diagnosis::{Diagnosis, HopGain, Limiting, Remedy};
use crate::explain::Explained;
use crate::trials::{Shift, performance};

/// Classes, in the order of the report.
pub const CLASSES: [Use; 5] = [Use::Payload, Use::WidthUnused, Use::Protocol, Use::Waiting, Use::Nothing];

/// The shape of what `explain` and `compare` write: it counts up where a reader of the one before would misread it.
pub const SHAPE: u64 = 1;

/// The whole report. The same run gives the same bytes.
pub fn report(blueprint: &Blueprint, explained: &Explained, diagnosis: Option<&Diagnosis>) -> Value {
    let account = &explained.account;
    let hops: Vec<Value> = account.lanes.iter().map(|lane| hop(explained, lane)).collect();
    let mut report = json!({
        "shape": SHAPE,
        "machine": blueprint.title,
        "workload": explained.outcome.jobs.iter().map(workload).collect::<Vec<_>>(),
        "throughput_bytes_per_s": explained.throughput(),
        "iops": explained.iops(),
        "interval": Some(explained.outcome.rate.relative_half_width).filter(|share| share.is_finite()),
        "completions": completions(explained),
        "window": {
            "from_ps": (explained.phase_begins() + account.from).as_ps(),
            "until_ps": (explained.phase_begins() + account.until).as_ps(),
            "requests": account.requests,
        },
        "hops": hops,
        "bottleneck": diagnosis.and_then(bottleneck),
        "profile": diagnosis.map_or(Vec::new(), |diagnosis| diagnosis.profile.iter().map(gain).collect()),
        "remedies": diagnosis.map_or(Vec::new(), |diagnosis| diagnosis.remedies.iter().map(remedy).collect()),
        "rests_on": diagnosis.map(|diagnosis| json!({
            "numbers": diagnosis.rests.numbers,
            "assumed": diagnosis.rests.assumed,
            "throughput_if_worse_and_better": diagnosis.rests.moves,
            "study": diagnosis.rests.study,
        })),
        "latency": explained.latency.as_ref().map(|latency| {
            let split = |of: &Split| split(of, &explained.names);
            let mut mean = split(&latency.mean);
            mean["median"] = split(&latency.median);
            mean["p99"] = latency.p99.as_ref().map_or(Value::Null, split);
            mean["in_flight"] = latency.in_flight.into();
            mean
        }),
        "assumed": numbers(blueprint, |basis| matches!(basis, Basis::Assumed(_))),
        "fitted": numbers(blueprint, |basis| matches!(basis, Basis::Fitted(_))),
    });
    if let Some((phases, of)) = &explained.phases {
        report["phases"] = phases.iter().map(phase).collect();
        report["window"]["phase"] = (*of).into();
    }
    if let Some(cost) = &explained.outcome.processor {
        report["processor"] = cost.json();
    }
    if let Some(price) = blueprint.price() {
        report["price_usd"] = price.json(explained.throughput(), explained.iops());
    }
    report
}

/// What the jobs get in a phase of the run, and what is used up at its end.
fn phase(phase: &Phase) -> Value {
    let got = performance(&phase.outcome);
    json!({
        "from_ps": phase.from.as_ps(),
        "until_ps": phase.until.as_ps(),
        "throughput_bytes_per_s": got.map(|got| got.throughput_bytes_per_s),
        "latency_mean_ns": got.map(|got| got.latency_mean_ns),
        "interval": Some(phase.outcome.rate.relative_half_width).filter(|share| share.is_finite()),
        "used_up": phase.used_up,
    })
}

fn workload(job: &JobOutcome) -> Value {
    json!({
        "name": job.name, "target": job.target, "rw": job.rw.word(), "bs": job.block_bytes, "iodepth": job.iodepth,
    })
}

/// The latencies of the whole run, of all jobs together.
fn completions(explained: &Explained) -> Option<Value> {
    let got = explained.outcome.jobs.iter().filter_map(|job| job.got.clone()).reduce(|a, b| a.with(&b))?;
    let at = |quantile| got.latency_ns.value_at_quantile(quantile);
    let mean = explained.performance()?.latency_mean_ns;
    Some(json!({ "count": got.count, "latency_mean_ns": mean, "latency_p50_ns": at(0.5), "latency_p99_ns": at(0.99) }))
}

fn bottleneck(diagnosis: &Diagnosis) -> Option<Value> {
    let Limiting { first, hops, .. } = diagnosis.limiting()?;
    let together = diagnosis.together.iter().map(|t| {
        json!({
            "lanes": t.hops, "throughput_gain": t.doubled.throughput.mean, "interval": t.doubled.throughput.half_width,
        })
    });
    Some(json!({
        "part": first.part,
        "lane": first.hop,
        "lanes": hops,
        "kind": diagnosis.headline.word(),
        "why": diagnosis.why,
        "next": diagnosis.then,
        "next_lane": diagnosis.next.as_ref().map(|(hop, _)| hop),
        "together": together.collect::<Vec<_>>(),
        "another_rhythm": diagnosis.another_rhythm,
        "without_think_time": diagnosis.without_thinking.map(|gain| shift(gain.throughput)),
    }))
}

fn shift(shift: Shift) -> Value {
    json!({ "throughput_gain": shift.mean, "interval": shift.half_width })
}

fn gain(hop: &HopGain) -> Value {
    json!({
        "part": hop.part,
        "lane": hop.hop,
        "throughput_gain": hop.doubled.throughput.mean,
        "latency_gain": hop.doubled.latency.mean,
        "interval": hop.doubled.throughput.half_width,
        "share": {
            "throughput": hop.share.throughput.mean,
            "latency": hop.share.latency.mean,
            "interval": hop.share.throughput.half_width,
        },
        "busy_share": hop.busy,
    })
}

fn remedy(remedy: &Remedy) -> Value {
    json!({
        "change": remedy.change,
        "instead_of": remedy.instead_of,
        "throughput_gain": remedy.gain.throughput.mean,
        "latency_gain": remedy.gain.latency.mean,
        "interval": remedy.gain.throughput.half_width,
    })
}

fn hop(explained: &Explained, lane: &LaneAccount) -> Value {
    let account: &Account = &explained.account;
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
    json!({
        "part": lane.part,
        "lane": lane.lane,
        "time_ps": times,
        "capacity_bytes_per_s": capacity.map(|capacity| capacity.bytes_per_second),
        "capacity_from": capacity.map(|capacity| &capacity.how),
        "delivered_bytes_per_s": lane.delivered(),
        "busy_share": lane.busy_share(),
        "worked_for_ps": explained.shares.get(&lane.lane).map(|shares| json!({
            "in_life": shares.in_life.as_ps(),
            "outside": shares.outside.as_ps(),
            "housekeeping": shares.housekeeping.as_ps(),
        })),
        "losses": losses.collect::<Vec<_>>(),
        "payload": lane.entries.iter().filter(|e| e.class == Use::Payload).map(entry).collect::<Vec<_>>(),
        "busy_over_time": account.busy_over_time(lane),
    })
}

fn entry(entry: &Entry) -> Value {
    let cause = if entry.cause.is_empty() { entry.class.word() } else { &entry.cause };
    json!({
        "class": entry.class.word(), "cause": cause, "part": entry.part, "lane": entry.lane, "phase": entry.phase,
        "ps": entry.time.as_ps(),
    })
}

fn split(split: &Split, names: &Names) -> Value {
    json!({
        "mean_ns": split.sum.as_ps() as f64 / 1e3 / split.count.max(1) as f64,
        "requests": split.count,
        "sum_ps": split.sum.as_ps(),
        "phases": split.phases().iter().map(entry).collect::<Vec<_>>(),
        "stages": split.stages.iter().map(|of| stage(of, names)).collect::<Vec<_>>(),
    })
}

fn stage(stage: &Stage, names: &Names) -> Value {
    let kind = match stage.kind {
        StageKind::Service => "service",
        StageKind::Shared => "shared",
        StageKind::Wait => "wait",
    };
    let behind = Some(&stage.behind).filter(|behind| !behind.is_empty());
    json!({
        "part": stage.part, "lane": stage.lane, "phase": stage.phase, "ps": stage.time.as_ps(), "kind": kind,
        "behind": behind, "alike": names.of(&stage.lane),
    })
}

fn numbers(blueprint: &Blueprint, of: impl Fn(&Basis) -> bool) -> Vec<Value> {
    let all = blueprint.numbers().into_iter().chain(blueprint.choices());
    let wanted = all.filter(|(_, entry)| of(&entry.basis));
    wanted.map(|(name, e)| json!({ "name": name, "value": e.written, "from": e.basis.text() })).collect()
}
