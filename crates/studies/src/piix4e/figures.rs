//! What the report shows in pictures: Figure 2 from the SQLIO table, Figure 1 from a run.

use hopscope_files::job_file::Job;
use hopscope_kernel::{Class, Time};
use hopscope_machine::run::Failure;
use hopscope_observe::Interval;
use hopscope_parts::parameters::Value;

use super::{ID, PLACEMENTS, Setup, bus};
use crate::Wish;
use crate::measure;
use crate::pictures::{Axis, Chart, NamedSpan, Panel, Pictures, Timeline, TimelineLane};
use crate::study_file;

/// Simulated time of the run: a few requests of 64 KB.
const SPAN: Time = Time::ms(20);
/// Cycles shown on either side of the one that the report shows.
const CYCLES_AROUND: u64 = 4;

/// Figures 1 and 2.
pub fn pictures(wish: &Wish) -> Result<Pictures, Failure> {
    let setup = Setup::read(wish.library)?;
    Ok(Pictures { charts: vec![figure_2()], timelines: vec![timeline(&setup, wish.trains)?] })
}

fn figure_2() -> Chart {
    let Some(accuracy) = study_file::read(ID).accuracy else { panic!("studies/{ID}/study.toml states an accuracy") };
    let accuracy = accuracy.read().unwrap_or_else(|wrong| panic!("studies/{ID}/study.toml: {wrong}"));
    let panel = |mark: &str, title: &str, pattern: &str, op: &str| Panel {
        mark: mark.into(),
        title: title.into(),
        keys: vec![("pattern".into(), pattern.into()), ("op".into(), op.into())],
    };
    let curves = ["one disk", "two disks, same channel", "two disks, two channels"];
    Chart {
        id: "figure-2".into(),
        title: "Figure 2: throughput by request size".into(),
        about: "The report's drawing of its table, with the simulated throughput over it.".into(),
        table: "sqlio".into(),
        along: Axis { key: "request_kib".into(), title: "request size, KB (1,024 bytes)".into(), unit: "KB".into() },
        shows: "throughput".into(),
        curves_by: "placement".into(),
        curves: PLACEMENTS.iter().zip(curves).map(|(value, name)| (value.to_string(), name.to_string())).collect(),
        panels: vec![
            panel("(a)", "random reads", "random", "read"),
            panel("(b)", "random writes", "random", "write"),
            panel("(c)", "sequential reads", "sequential", "read"),
            panel("(d)", "sequential writes", "sequential", "write"),
            panel("(e)", "reads of a single block", "single-block", "read"),
            panel("(f)", "writes of a single block", "single-block", "write"),
        ],
        accuracy: Some(accuracy),
        limit: false,
    }
}

/// Both lanes of a 64-byte cycle of a disk write, and of some cycles before and after.
fn timeline(setup: &Setup, trains: bool) -> Result<Timeline, Failure> {
    // As the trace was taken: one request at a time.
    let alone = |job: &Job| Job { iodepth: 1, ..job.clone() };
    let jobs: Vec<Job> = setup.jobs["single-block write one"].iter().map(alone).collect();
    let trace = measure::trace(&setup.machines.0[PLACEMENTS[0]], &jobs, SPAN, trains)?;
    let (pci, cable) = (trace.lane("pci"), trace.lane("cable"));
    let (start, next) = bus::write_cycle_of(&pci);
    let cycle = next - start;
    let (from, until) = (start.saturating_sub(cycle * CYCLES_AROUND), next + cycle * CYCLES_AROUND);
    let Value::Period(clock) = setup.machines.number("bus/pci-32-33", "clock").value else {
        panic!("a clock is a frequency")
    };

    let clocks = cycle.as_ps() as f64 / clock.as_ps() as f64;
    let whole = NamedSpan { name: format!("one cycle: {clocks:.0} clocks"), lost: false, from: start, until: next };
    let words: Vec<&Interval> = cable.iter().filter(|i| moves_bytes(i) && i.at > start).take(3).collect();
    let gaps = match words[..] {
        [first, second, after] => {
            let gap = |name: &str, a: &Interval, b: &Interval| NamedSpan {
                name: name.into(),
                lost: true,
                from: a.end(),
                until: b.at,
            };
            vec![gap("pause", first, second), gap("bubble", second, after)]
        }
        _ => Vec::new(),
    };
    let within = |phases: Vec<Interval>| phases.into_iter().filter(|i| i.at < until && i.end() > from).collect();
    let lane = |name: &str, kind: &str, phases: Vec<Interval>, spans: Vec<NamedSpan>| TimelineLane {
        name: name.into(),
        kind: kind.into(),
        phases: within(phases),
        spans,
    };
    Ok(Timeline {
        id: "figure-1".into(),
        title: "Figure 1: PCI and IDE in one 64-byte cycle of a disk write".into(),
        about:
            "A run of 64 KiB writes, one request in flight. The bridge fetches 32 bytes twice; the cable sends them \
                and then has nothing to send until the first bytes of the next fetch have arrived: the bubble."
                .into(),
        from,
        until,
        focus: (start, next + Time::ps(cycle.as_ps() * 3 / 10)),
        clock: (clock, "PCI clocks".into()),
        lanes: vec![lane("PCI", "32 bits", pci, vec![whole]), lane("IDE cable", "Ultra DMA 2", cable, gaps)],
    })
}

fn moves_bytes(phase: &Interval) -> bool {
    matches!(phase.phase.class, Class::Payload | Class::Through)
}
