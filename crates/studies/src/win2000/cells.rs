//! The tables: figures that are known of the report, and those that nobody here has seen. Each row names its run.

use std::sync::atomic::{AtomicUsize, Ordering};

use hopscope_machine::run::Failure;
use hopscope_parts::parameters::Value as Quantity;
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::bench::{self, Ask, Got};
use super::{ID, Setup};
use crate::measure::Mean;
use crate::report::{Alternative, Cell, CellBasis, Table};
use crate::shelf;

/// A figure, and the run that answers it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Row {
    config: String,
    op: String,
    request_kb: String,
    depth: String,
    disks: String,
    metric: String,
    metric_unit: String,
    #[serde(default)]
    published: Option<f64>,
    #[serde(default)]
    basis: String,
    /// As `study.toml` calls it.
    machine: String,
    /// The device; the machine's own choice where there is none.
    device: String,
    /// Directions as fio calls them; of two, the mean.
    rw: String,
    /// Sizes of a request that are tried; the best counts.
    sizes_kb: String,
}

impl Row {
    fn key(&self) -> Map<String, Value> {
        let Row { config, op, request_kb, depth, disks, metric, metric_unit, .. } = self;
        let key = json!({
            "config": config, "op": op, "request_kb": request_kb, "depth": depth, "disks": disks, "metric": metric,
            "metric_unit": metric_unit
        });
        key.as_object().cloned().unwrap_or_default()
    }

    pub(super) fn basis(&self) -> CellBasis {
        match self.basis.as_str() {
            "input" => CellBasis::Input,
            "fitted" => CellBasis::Fitted,
            _ => CellBasis::Seen,
        }
    }

    /// The word that a fit calls it by.
    pub(super) fn machine(&self) -> &str {
        &self.machine
    }

    pub(super) fn published(&self) -> Option<f64> {
        self.published
    }

    /// Requests in flight; where a row has a range, deep enough for the best.
    fn deep(&self) -> u64 {
        match self.depth.parse() {
            Ok(depth) => depth,
            Err(_) if self.metric.contains("peak") || self.metric.contains("limit") => 4,
            Err(_) => 1,
        }
    }

    fn measure(&self, setup: &Setup) -> Result<Mean, Failure> {
        let of: fn(&Got) -> f64 = match self.metric.as_str() {
            "IO rate" | "IO per revolution" | "service time" => |got| got.a_second,
            "processor time a request" => |got| got.processor_us,
            _ => |got| got.mb_per_s,
        };
        let directions: Result<Vec<Mean>, Failure> = self.rw.split(' ').map(|rw| self.best(setup, rw, of)).collect();
        let directions = directions?;
        let mean = |of: fn(&Mean) -> f64| directions.iter().map(of).sum::<f64>() / directions.len() as f64;
        let (value, half_width) = (mean(|mean| mean.value), mean(|mean| mean.half_width));
        Ok(match self.metric.as_str() {
            "IO per revolution" => {
                let turn = revolution_s(setup, &self.machine);
                Mean { value: value * turn, half_width: half_width * turn }
            }
            "service time" => Mean { value: 1e3 / value, half_width: 1e3 * half_width / (value * value) },
            _ => Mean { value, half_width },
        })
    }

    /// The best of all sizes, one way.
    fn best(&self, setup: &Setup, rw: &str, of: fn(&Got) -> f64) -> Result<Mean, Failure> {
        let mut best = Mean { value: 0.0, half_width: 0.0 };
        let devices = if self.device.is_empty() { &[] } else { std::slice::from_ref(&self.device) };
        for size in self.sizes_kb.split(' ') {
            let size_kb = size.parse().unwrap_or_else(|_| panic!("studies/{ID}: {size} is no size of a request"));
            let (depth, direct) = (self.deep(), !self.config.ends_with(" buffered"));
            let ask = Ask { rw, size_kb, depth, direct, devices, span_ms: None };
            let mean = bench::measure(setup, &self.machine, &ask, of)?;
            if mean.value > best.value {
                best = mean;
            }
        }
        Ok(best)
    }
}

/// Seconds in which the machine's first disk turns once.
fn revolution_s(setup: &Setup, name: &str) -> f64 {
    let numbers = bench::machine(setup, name).numbers();
    let turn = numbers.iter().find_map(|(path, entry)| match entry.value {
        Quantity::Period(period) if path.ends_with(".rotation") => Some(period.as_seconds_f64()),
        _ => None,
    });
    turn.unwrap_or_else(|| panic!("studies/{ID}/study.toml: no disk of {name} turns"))
}

pub(super) fn rows(file: &str) -> Vec<Row> {
    shelf::rows(ID, file)
}

/// Simulates rows in parallel.
pub(super) fn measure(
    setup: &Setup,
    rows: Vec<Row>,
    progress: &(dyn Fn(usize, usize, &str) + Sync),
) -> Result<Vec<(Row, Mean)>, Failure> {
    let (done, count) = (AtomicUsize::new(0), rows.len());
    let answered = rows.into_par_iter().with_max_len(1).map(|row| {
        let mean = row.measure(setup)?;
        let what = format!("{}, {} of {} KB", row.config, row.op, row.sizes_kb);
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, count, &what);
        Ok((row, mean))
    });
    answered.collect()
}

fn cells(measured: &[(Row, Mean)]) -> Vec<Cell> {
    let cell =
        |(row, mean): &(Row, Mean)| Cell::new(row.key(), row.published, mean.value, row.basis(), mean.half_width);
    measured.iter().map(cell).collect()
}

const UNIT: &str = "as each cell says";

/// What is known of the report.
pub(super) fn known(measured: &[(Row, Mean)]) -> Table {
    let title = "Figures that are known of the report: disks, and processor time".into();
    Table { id: "figures".into(), title, unit: UNIT.into(), cells: cells(measured) }
}

/// What is not known of it.
pub(super) fn asked(measured: &[(Row, Mean)]) -> Table {
    let title = "Forecasts of figures of the full report that nobody here has seen".into();
    Table { id: "report".into(), title, unit: UNIT.into(), cells: cells(measured) }
}

/// What came into view by accident before it was forecast.
pub(super) fn in_view(measured: &[(Row, Mean)]) -> Alternative {
    let what = "figures of the full report that came into view before anything was forecast: no forecasts; what was \
                published stays out of the repository";
    Alternative::of("report-in-view", what.into(), cells(measured))
}

/// The machine that answers a cell.
pub(super) fn machine_of(table: &str, key: &Map<String, Value>) -> Option<String> {
    let file = format!("{table}.csv");
    shelf::text_if_there(ID, &file)?;
    rows(&file).into_iter().find(|row| row.key() == *key).map(|row| row.machine)
}
