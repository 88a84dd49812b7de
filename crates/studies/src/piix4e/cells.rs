//! The SQLIO table: 108 cells of throughput.

use std::sync::atomic::{AtomicUsize, Ordering};

use hopscope_files::job_file::Job;
use hopscope_machine::run::Failure;
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ID, PLACEMENTS, Setup};
use crate::measure::{Effort, Mean, throughput};
use crate::report::{Alternative, Cell, CellBasis, Table};
use crate::shelf;

/// One row of the published table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Row {
    pub(super) pattern: String,
    pub(super) request_kib: u64,
    pub(super) placement: String,
    pub(super) op: String,
    pub(super) throughput_mb_per_s: f64,
}

impl Row {
    fn key(&self) -> Map<String, Value> {
        let Row { pattern, request_kib, placement, op, .. } = self;
        let key = json!({ "pattern": pattern, "request_kib": request_kib, "placement": placement, "op": op });
        key.as_object().cloned().unwrap_or_default()
    }

    pub(super) fn one_disk(&self) -> bool {
        self.placement == PLACEMENTS[0]
    }

    /// The cells on which the dead time of a channel switch is fitted.
    pub(super) fn shows_channel_switch(&self) -> bool {
        (self.pattern.as_str(), self.placement.as_str(), self.op.as_str()) == ("single-block", PLACEMENTS[2], "read")
    }

    pub(super) fn basis(&self) -> CellBasis {
        if self.one_disk() || self.shows_channel_switch() { CellBasis::Fitted } else { CellBasis::Seen }
    }
}

pub(super) fn all() -> Vec<Row> {
    shelf::rows(ID, "sqlio.csv")
}

/// What a published table deserves: half a percent, eight seeds.
pub(super) fn full_effort(trains: bool) -> Effort {
    Effort { share: 0.005, seeds_max: 8, trains }
}

/// The jobs of a cell: those shipped for its pattern, with its block size.
pub(super) fn jobs(setup: &Setup, row: &Row) -> Vec<Job> {
    let disks = if row.one_disk() { "one" } else { "two" };
    let shipped = &setup.jobs[&format!("{} {} {disks}", row.pattern, row.op)];
    let bytes = row.request_kib << 10;
    let size_bytes = match row.pattern.as_str() {
        "single-block" => Some(bytes),
        "random" => Some(setup.random_span),
        _ => None,
    };
    let sized = |job: &Job| Job {
        block_bytes_min: bytes,
        block_bytes_max: bytes,
        size_bytes,
        iodepth: setup.depth,
        ..job.clone()
    };
    shipped.iter().map(sized).collect()
}

/// Simulates the cells, the slow ones first, in parallel.
pub(super) fn measure(
    setup: &Setup,
    rows: Vec<Row>,
    effort: Effort,
    progress: &(dyn Fn(usize, usize, &str) + Sync),
) -> Result<Vec<(Row, Mean)>, Failure> {
    let done = AtomicUsize::new(0);
    let count = rows.len();
    let mut order: Vec<(usize, Row)> = rows.into_iter().enumerate().collect();
    order.sort_by_key(|(_, row)| (row.pattern != "random", row.op != "write", row.one_disk(), row.request_kib < 64));
    let results: Result<Vec<(usize, Row, Mean)>, Failure> = order
        .into_par_iter()
        .with_max_len(1)
        .map(|(index, row)| {
            let mean = throughput(&setup.machines.0[&row.placement], &jobs(setup, &row), effort)?;
            let what = format!("{} {} {} KiB, {}", row.pattern, row.op, row.request_kib, row.placement);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, count, &what);
            Ok((index, row, mean))
        })
        .collect();
    let mut results = results?;
    results.sort_by_key(|(index, ..)| *index);
    Ok(results.into_iter().map(|(_, row, mean)| (row, mean)).collect())
}

/// The cells, with a megabyte of so many bytes.
pub(super) fn cells(measured: &[(Row, Mean)], megabyte: u64) -> Vec<Cell> {
    let unit = megabyte as f64;
    let cell = |(row, mean): &(Row, Mean)| {
        Cell::new(row.key(), row.throughput_mb_per_s, mean.value / unit, row.basis(), mean.half_width / unit)
    };
    measured.iter().map(cell).collect()
}

pub(super) fn table(setup: &Setup, measured: &[(Row, Mean)], megabyte: u64) -> Table {
    let unit = if megabyte == 1 << 20 { "MB/s (2^20 B)" } else { "MB/s (10^6 B)" };
    let title = format!("SQLIO raw throughput, {} requests in flight a disk", setup.depth);
    Table { id: "sqlio".into(), title, unit: unit.into(), cells: cells(measured, megabyte) }
}

/// The table with the other megabyte, and what simple rules say of two disks.
pub(super) fn other_readings(setup: &Setup, measured: &[(Row, Mean)], cells: &[Cell]) -> Vec<Alternative> {
    let (other, name) = if setup.megabyte == 1 << 20 { (1_000_000, "10^6") } else { (1 << 20, "2^20") };
    let read_otherwise = self::cells(measured, other);
    let what = format!("the table's MB read as {name} bytes, all else equal");
    let mut alternatives = vec![Alternative::of("other-megabyte", what, read_otherwise)];
    let published = |row: &Row| row.throughput_mb_per_s;
    // One disk with the same pattern and size, twice that, but no more than the best that one disk gives.
    let twice = |row: &Row| {
        let alike = measured.iter().map(|(r, _)| r).filter(|r| r.one_disk() && r.op == row.op);
        let best = alike.clone().map(published).fold(0.0, f64::max);
        let one =
            alike.clone().find(|r| r.pattern == row.pattern && r.request_kib == row.request_kib).map_or(0.0, published);
        (one, (2.0 * one).min(best))
    };
    let held = |row: &Row| {
        let (one, twice) = twice(row);
        let waits = row.placement == PLACEMENTS[1] && row.op == "read" && row.pattern != "sequential";
        if waits { one } else { twice }
    };
    let guessed = |rule: &dyn Fn(&Row) -> f64| -> Vec<Cell> {
        let two_disks = measured.iter().map(|(row, _)| row).filter(|row| !row.one_disk());
        two_disks.map(|row| Cell::new(row.key(), published(row), rule(row), row.basis(), 0.0)).collect()
    };
    let ours: Vec<Cell> = cells.iter().filter(|c| c.key["placement"] != PLACEMENTS[0]).cloned().collect();
    let rule = "two disks give twice what one gives, but no more than the best that one gives";
    alternatives.push(Alternative::null_model("null-model", rule, guessed(&|row| twice(row).1), &ours));
    let rule = "the same; but on one channel a read that is not sequential holds the channel, so that two disks give \
                what one gives";
    alternatives.push(Alternative::null_model("null-model-held", rule, guessed(&held), &ours));
    alternatives
}
