//! The published table: requests a second of six benchmarks and their average, by adapter, bus and load.

use std::sync::atomic::{AtomicUsize, Ordering};

use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{self, Failure, Options};
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::jobs::timed;
use super::{ID, Setup};
use crate::measure::{Mean, over_seeds};
use crate::report::{Cell, CellBasis, Table};
use crate::shelf;

pub(super) const MEGARAID: &str = "LSI MegaRAID Elite 1600";
pub(super) const SLOW: &str = "PCI32/33";
pub(super) const FAST: &str = "PCI64/66";
pub(super) const FASTEST: &str = "PCI-X 100";
pub(super) const NO_LOAD: &str = "none";
pub(super) const AVERAGE: &str = "desktop-weighted-average";

/// Simulated seconds until caches are as they stay.
const RAMP_S: u64 = 3;

/// How long and how often.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    runtime_s: u64,
    seeds: u64,
    trains: bool,
}

/// What the published table deserves.
pub(super) fn full_effort(trains: bool) -> Effort {
    Effort { runtime_s: 5, seeds: 3, trains }
}

/// One run a cell, for what needs hundreds of whole studies.
pub(super) fn coarse_effort() -> Effort {
    Effort { runtime_s: 3, seeds: 1, trains: true }
}

/// One row of the published table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Row {
    pub(super) benchmark: String,
    pub(super) adapter: String,
    pub(super) bus: String,
    pub(super) background_load: String,
    pub(super) iops: f64,
}

impl Row {
    fn key(&self) -> Map<String, Value> {
        let Row { benchmark, adapter, bus, background_load, .. } = self;
        let key = json!({
            "benchmark": benchmark, "adapter": adapter, "bus": bus, "background_load": background_load
        });
        key.as_object().cloned().unwrap_or_default()
    }

    /// The machine, as `study.toml` calls it.
    pub(super) fn machine(&self) -> String {
        format!("{}, {}, {}", self.adapter, self.bus, self.background_load)
    }

    pub(super) fn is_loaded(&self) -> bool {
        self.background_load != NO_LOAD
    }

    /// Fitted without a load and on conventional PCI; the load and PCI-X were in view.
    pub(super) fn basis(&self) -> CellBasis {
        if self.is_loaded() || self.bus == FASTEST { CellBasis::Seen } else { CellBasis::Fitted }
    }
}

/// Every published figure.
pub(super) fn all() -> Vec<Row> {
    shelf::rows(ID, "storagemark_2003.csv")
}

/// Those of single benchmarks.
pub(super) fn benchmarks() -> Vec<Row> {
    all().into_iter().filter(|row| row.benchmark != AVERAGE).collect()
}

pub(super) fn blueprint<'a>(setup: &'a Setup, machine: &str) -> &'a Blueprint {
    setup.machines.0.get(machine).unwrap_or_else(|| panic!("studies/{ID}/study.toml: no machine {machine}"))
}

/// Requests a second of the first job.
pub(super) fn iops(setup: &Setup, machine: &str, text: &str, loaded: bool, effort: Effort) -> Result<Mean, Failure> {
    let jobs = timed(text, loaded, setup.depth, RAMP_S, effort.runtime_s)?;
    let mut rates = Vec::new();
    for seed in 1..=effort.seeds {
        let options = Options { seed, trains: effort.trains, cut: true, ..Options::default() };
        let outcome = run::run(blueprint(setup, machine), &jobs, options, None)?;
        let ended = outcome.jobs.first().and_then(|job| job.got.as_ref()).map_or(0, |got| got.count);
        rates.push(ended as f64 / outcome.measured.as_seconds_f64());
    }
    Ok(over_seeds(&rates).as_said())
}

/// Simulates the cells in parallel.
pub(super) fn measure(
    setup: &Setup,
    rows: Vec<Row>,
    effort: Effort,
    progress: &(dyn Fn(usize, usize, &str) + Sync),
) -> Result<Vec<(Row, Mean)>, Failure> {
    let done = AtomicUsize::new(0);
    let count = rows.len();
    let answered = rows.into_par_iter().with_max_len(1).map(|row| {
        let text = setup.numbers.job(&row.benchmark);
        let mean = iops(setup, &row.machine(), &text, row.is_loaded(), effort)?;
        let what = format!("{}, {}", row.benchmark, row.machine());
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, count, &what);
        Ok((row, mean))
    });
    answered.collect()
}

/// The simple mean of the six benchmarks of a machine: the published weights are not known.
pub(super) fn average(measured: &[(Row, Mean)], machine: &str) -> f64 {
    let of: Vec<f64> =
        measured.iter().filter(|(row, _)| row.machine() == machine).map(|(_, mean)| mean.value).collect();
    of.iter().sum::<f64>() / of.len().max(1) as f64
}

/// All 35 cells, in the order of the published table.
pub(super) fn table(measured: &[(Row, Mean)]) -> Table {
    let cell = |row: Row| {
        let found = measured.iter().find(|(known, _)| *known == row);
        let (value, half_width) =
            found.map_or_else(|| (average(measured, &row.machine()), 0.0), |(_, mean)| (mean.value, mean.half_width));
        Cell::new(row.key(), row.iops, value, row.basis(), half_width)
    };
    let title = "Desktop benchmarks in RAID 0 of four drives, one request in flight; of the averages the published \
                 weights are not known: ours is the simple mean"
        .into();
    Table { id: "storagemark".into(), title, unit: "IOPS".into(), cells: all().into_iter().map(cell).collect() }
}
