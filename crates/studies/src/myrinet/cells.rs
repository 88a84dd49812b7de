//! The published table, a chain of 32 blocks a cell; and the same for shorter bursts, beside the limit of the bus.

use std::sync::atomic::{AtomicUsize, Ordering};

use hopscope_files::job_file::{self, Job};
use hopscope_files::problem::Sources;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::fio_json::Figures;
use hopscope_machine::run::{self, Failure, Options};
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{BLOCKS, ID, Setup};
use crate::report::{Cell, CellBasis, Table};
use crate::shelf;

/// Bytes of a block.
pub(super) const BLOCK_BYTES: u64 = 4_096;
/// Lengths of bursts that the figure shows.
const BURST_BYTES: [u64; 6] = [128, 256, 512, 1_024, 2_048, 4_096];
/// Hosts on which numbers are fitted, by words of their names, with the clock of their slots.
const FITTED: [(&str, u64); 3] = [("Melody", 133), ("X5DPE", 133), ("Tyan", 133)];
/// Hosts on which none is, though all were in view.
const SEEN: [(&str, u64); 6] = [
    ("Navion", 133),
    ("Newisys", 133),
    ("Quartet", 133),
    ("E7500 chipset, 400MHz", 133),
    ("Sunfire", 100),
    ("Tyan", 100),
];

/// One direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
}

pub(super) const DIRECTIONS: [Direction; 2] = [Direction::Read, Direction::Write];

impl Direction {
    pub(super) fn word(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
        }
    }
}

/// A row of the published table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Row {
    pub(super) host: String,
    pub(super) slot_clock_mhz: u64,
    bus_read_mb_per_s: f64,
    bus_write_mb_per_s: f64,
}

impl Row {
    pub(super) fn published(&self, direction: Direction) -> f64 {
        match direction {
            Direction::Read => self.bus_read_mb_per_s,
            Direction::Write => self.bus_write_mb_per_s,
        }
    }

    pub(super) fn key(&self, direction: Direction) -> Map<String, Value> {
        let key = json!({ "host": self.host, "slot_clock_mhz": self.slot_clock_mhz, "op": direction.word() });
        key.as_object().cloned().unwrap_or_default()
    }

    pub(super) fn is(&self, (words, clock): (&str, u64)) -> bool {
        self.host.contains(words) && self.slot_clock_mhz == clock
    }

    /// A host that is neither fitted nor seen has numbers of its own, from its own cells.
    pub(super) fn basis(&self) -> CellBasis {
        if FITTED.iter().any(|host| self.is(*host)) {
            CellBasis::Fitted
        } else if SEEN.iter().any(|host| self.is(*host)) {
            CellBasis::Seen
        } else {
            CellBasis::Input
        }
    }
}

/// Every row.
pub(super) fn all() -> Vec<Row> {
    shelf::rows(ID, "hosts.csv")
}

/// A row with what was simulated: reads and writes, MB/s.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) row: Row,
    pub(super) mb_per_s: [f64; 2],
}

pub(super) fn job(words: &[String]) -> Result<Job, Failure> {
    Ok(job_file::read_options(&mut Sources::default(), words)?.jobs.remove(0))
}

/// A chain of blocks, one way.
pub(super) fn chain(direction: Direction, block_bytes: u64, depth: u64) -> Result<Job, Failure> {
    let size = block_bytes * BLOCKS.max(depth);
    job(&[
        "--filename=nic".into(),
        format!("--rw={}", direction.word()),
        format!("--bs={block_bytes}"),
        format!("--size={size}"),
        format!("--iodepth={depth}"),
    ])
}

/// MB/s of all jobs. Nothing of this is random: one run.
pub(super) fn rate(machine: &Blueprint, jobs: &[Job], trains: bool) -> Result<f64, Failure> {
    let outcome = run::run(machine, jobs, Options { seed: 1, trains, ..Options::default() }, None)?;
    let figures = outcome.jobs.iter().filter_map(Figures::of);
    Ok(figures.map(|figures| figures.bytes_per_second).sum::<f64>() / 1e6)
}

/// Simulates rows in parallel.
pub(super) fn measure(
    setup: &Setup,
    rows: Vec<Row>,
    progress: &(dyn Fn(usize, usize, &str) + Sync),
) -> Result<Vec<Measured>, Failure> {
    let (done, count) = (AtomicUsize::new(0), rows.len());
    let answered = rows.into_par_iter().with_max_len(1).map(|row| {
        let machine = &setup.machines.0[&row.host];
        let of = |direction| rate(machine, &[chain(direction, BLOCK_BYTES, setup.depth)?], setup.trains);
        let mb_per_s = [of(Direction::Read)?, of(Direction::Write)?];
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, count, &row.host);
        Ok(Measured { row, mb_per_s })
    });
    answered.collect()
}

/// The published table.
pub(super) fn table(measured: &[Measured]) -> Table {
    let cells = measured.iter().flat_map(|Measured { row, mb_per_s }| {
        let of = |(direction, rate): (Direction, f64)| {
            Cell::new(row.key(direction), row.published(direction), rate, row.basis(), 0.0)
        };
        DIRECTIONS.into_iter().zip(*mb_per_s).map(of)
    });
    Table {
        id: "hosts".into(),
        title: "Average rate of 32 chained DMA blocks of 4 KB".into(),
        unit: "MB/s".into(),
        cells: cells.collect(),
    }
}

/// Slots of one drawing: as many as can be told apart.
pub(super) const GROUP: usize = 6;

/// The drawing that a row is in, from 1.
fn group(number: usize) -> String {
    (number / GROUP + 1).to_string()
}

/// What the paper gives as the limit of a bus with this clock, MB/s.
pub(super) fn limit(slot_clock_mhz: u64) -> f64 {
    shelf::claim(ID, &format!("myrinet-pcix-{slot_clock_mhz}")).number()
}

/// Rates of shorter bursts, beside what the paper gives as the limit of the bus.
pub(super) fn by_burst(setup: &Setup) -> Result<Table, Failure> {
    let mut points = Vec::new();
    for (number, row) in all().into_iter().enumerate() {
        for direction in DIRECTIONS {
            points.extend(BURST_BYTES.map(|bytes| (row.clone(), group(number), direction, bytes)));
        }
    }
    let cells: Result<Vec<Cell>, Failure> = points
        .into_par_iter()
        .with_max_len(1)
        .map(|(row, group, direction, bytes)| {
            let rate = rate(&setup.machines.0[&row.host], &[chain(direction, bytes, setup.depth)?], setup.trains)?;
            let limit = limit(row.slot_clock_mhz);
            let (slot, direction) = (&row.host, direction.word());
            let key = json!({ "group": group, "slot": slot, "direction": direction, "burst_bytes": bytes });
            Ok(Cell::new(key.as_object().cloned().unwrap_or_default(), limit, rate, CellBasis::Seen, 0.0))
        })
        .collect();
    Ok(Table {
        id: "bursts".into(),
        title: "Rate by length of a burst; what is published is the limit of the bus, and the error what is lost of it"
            .into(),
        unit: "MB/s".into(),
        cells: cells?,
    })
}
