//! Which hop limits each cell, and what share of a benchmark's time the bus costs: from the account of a run.

use hopscope_kernel::Time;
use hopscope_machine::run::{Failure, Options};
use hopscope_observe::account::{Account, Extent};
use hopscope_questions::explain::explain;
use rayon::prelude::*;

use super::Setup;
use super::cells::{self, AVERAGE, Effort, FAST, Row, SLOW, blueprint, iops};
use super::jobs::{DESKTOP, timed};
use crate::Wish;
use crate::report::{Alternative, Cell};

/// The part of a machine that is the adapters' bus.
const BUS: &str = "pci";
/// What an account covers.
const EXTENT: Extent = Extent { spans: 400_000, requests: 250, spans_max: 4_000_000 };
/// Simulated seconds before it.
const RAMP_S: u64 = 3;

/// Time along the critical path, by part and lane: the largest first.
fn path_by_lane(account: &Account) -> Vec<(String, String, Time)> {
    let mut lanes: Vec<(String, String, Time)> = Vec::new();
    for entry in &account.path {
        match lanes.iter_mut().find(|(_, lane, _)| *lane == entry.lane) {
            Some((_, _, time)) => *time += entry.time,
            None => lanes.push((entry.part.clone(), entry.lane.clone(), entry.time)),
        }
    }
    lanes.sort_by(|a, b| (b.2, &a.1).cmp(&(a.2, &b.1)));
    lanes
}

/// A cell's critical path: the hop that has most of it, that hop's share, and that of the bus.
fn path(setup: &Setup, row: &Row, wish: &Wish) -> Result<(String, f64, f64), Failure> {
    let jobs = timed(&setup.numbers.job(&row.benchmark), row.is_loaded(), setup.depth, RAMP_S, 1)?;
    let options = Options { seed: 1, trains: wish.trains, cut: true, ..Options::default() };
    let explained = explain(blueprint(setup, &row.machine()), &jobs, options, EXTENT, None)?;
    let lanes = path_by_lane(&explained.account);
    let whole = lanes.iter().fold(Time::ZERO, |sum, lane| sum + lane.2).as_ps().max(1) as f64;
    let share = |of: &dyn Fn(&str) -> bool| {
        lanes.iter().filter(|lane| of(&lane.0)).map(|lane| lane.2.as_ps() as f64).sum::<f64>() / whole
    };
    // The drives are one hop: a request takes whichever has its data.
    let drives = share(&|part| part.starts_with("disk"));
    let other = lanes.iter().find(|lane| !lane.0.starts_with("disk"));
    let (hop, most) = match other {
        Some((_, lane, time)) if time.as_ps() as f64 / whole > drives => (lane.clone(), time.as_ps() as f64 / whole),
        _ => ("drives".to_string(), drives),
    };
    Ok((hop, most, share(&|part| part == BUS)))
}

/// For each machine its cells again, with what limits them.
pub(super) fn beside(setup: &Setup, cells: &[Cell], wish: &Wish) -> Result<Vec<Alternative>, Failure> {
    let rows = cells::all();
    let single: Vec<&Row> = rows.iter().filter(|row| row.benchmark != AVERAGE).collect();
    let paths: Result<Vec<_>, Failure> = single.par_iter().with_max_len(1).map(|row| path(setup, row, wish)).collect();
    let paths = paths?;
    let mut alternatives = Vec::new();
    for average in rows.iter().filter(|row| row.benchmark == AVERAGE) {
        let machine = average.machine();
        let of =
            |benchmark: &&str| single.iter().position(|row| row.machine() == machine && row.benchmark == **benchmark);
        let said: Vec<String> = DESKTOP
            .iter()
            .filter_map(|benchmark| {
                let (hop, most, bus) = &paths[of(benchmark)?];
                Some(format!("{benchmark}: {hop} {:.0} %, bus {:.0} %", 100.0 * most, 100.0 * bus))
            })
            .collect();
        let what =
            format!("what most of the time goes through, and the share of the PCI bus, {machine}: {}", said.join("; "));
        let ours = rows.iter().zip(cells).filter(|(row, _)| row.machine() == machine).map(|(_, cell)| cell.clone());
        let id = format!("hops-{}", alternatives.len());
        alternatives.push(Alternative::of(&id, what, ours.collect()));
    }
    Ok(alternatives)
}

/// Servers in RAID 5, which the publication only says differ less: without a published figure.
pub(super) fn server(setup: &Setup, effort: Effort) -> Result<Alternative, Failure> {
    let gain = |text: &str, machines: [String; 2]| -> Result<f64, Failure> {
        let [fast, slow] = machines.map(|machine| iops(setup, &machine, text, false, effort));
        Ok(100.0 * (fast?.value / slow?.value - 1.0))
    };
    let server = gain(&setup.numbers.server(), [FAST, SLOW].map(|bus| format!("server, {bus}")))?;
    let what = format!(
        "no figure is published: in RAID 5, a server's requests of {} B gain {server:.1} % by PCI 64/66 over 32/33, less than the \
         desktop benchmarks in RAID 0; the publication says that they differ less, its figures are not known",
        setup.numbers.get("server_size")
    );
    Ok(Alternative::of("server-raid-5", what, Vec::new()))
}
