//! Both published tables: bandwidth over the size of a transfer, and median latencies.

use std::sync::atomic::{AtomicUsize, Ordering};

use hopscope_files::job_file::{self, Job};
use hopscope_files::problem::Sources;
use hopscope_kernel::{Label, Time};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{self, Failure, Options};
use hopscope_observe::Interval;
use hopscope_parts::parameters::Value as Quantity;
use hopscope_parts::protocols::pcie::{DATA, HEADER};
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ID, IVY_BRIDGE, SANDY_BRIDGE, Setup};
use crate::measure::{Effort, Mean, throughput, trace};
use crate::report::{Cell, CellBasis, Table};
use crate::shelf;

const LINK: &str = "bus/pcie-link";
/// Transfers begin at lines of so many bytes.
pub(super) const LINE_BYTES: u64 = 64;
/// The sizes at which the Sandy Bridge host's bandwidths are fitted.
pub(super) const FITTED_BYTES: [u64; 4] = [64, 256, 512, 2_048];
/// Simulated time of a trace.
const SPAN: Time = Time::us(40);

/// One row of the published figures.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Row {
    /// The host's processor.
    pub(super) host: String,
    /// Bandwidth or latency.
    pub(super) metric: String,
    /// What the adapter did.
    pub(super) op: String,
    /// Of one transfer.
    pub(super) size_bytes: u64,
    /// As published.
    pub(super) value: f64,
    /// Largest payload that the link is set to.
    pub(super) mps_bytes: u64,
    /// Largest read request that the link is set to.
    pub(super) mrrs_bytes: u64,
}

impl Row {
    fn key(&self) -> Map<String, Value> {
        let Row { host, metric, op, size_bytes, .. } = self;
        let key = json!({ "host": host, "metric": metric, "op": op, "size_bytes": size_bytes });
        key.as_object().cloned().unwrap_or_default()
    }

    /// A bandwidth, or a latency.
    pub(super) fn is_bandwidth(&self) -> bool {
        self.metric == "bandwidth"
    }

    /// How it relates to the model. Everything is fitted on the Sandy Bridge host, on four sizes and the latencies; the
    /// command path gives the other host's latencies to its root complex.
    pub(super) fn basis(&self) -> CellBasis {
        let commands = self.op.starts_with("cmd-");
        let allowed = self.host == SANDY_BRIDGE && (!self.is_bandwidth() || FITTED_BYTES.contains(&self.size_bytes));
        match (allowed, commands) {
            (true, _) => CellBasis::Fitted,
            (false, true) => CellBasis::Input,
            (false, false) => CellBasis::Seen,
        }
    }

    pub(super) fn is(&self, host: &str, op: &str, size_bytes: u64) -> bool {
        (self.host.as_str(), self.op.as_str(), self.size_bytes) == (host, op, size_bytes)
    }

    fn both_ways(&self) -> bool {
        self.op == "read-and-write"
    }

    /// The adapter's device, and the direction of the job.
    fn device(&self) -> (&'static str, &'static str) {
        match self.op.as_str() {
            "read" | "dma-read" => ("nfp", "randread"),
            "write" => ("nfp", "randwrite"),
            "read-and-write" => ("nfp.mixed", "randread"),
            "dma-write-then-read" => ("nfp.write-then-read", "randread"),
            "cmd-read" => ("nfp.command", "randread"),
            "cmd-write-then-read" => ("nfp.command", "randwrite"),
            other => panic!("studies/{ID}: no device of the adapter does {other}"),
        }
    }
}

/// Every published figure.
pub(super) fn all() -> Vec<Row> {
    shelf::rows(ID, "pcie_bench.csv")
}

/// What a published table deserves: half a percent, eight seeds.
pub(super) fn full_effort(trains: bool) -> Effort {
    Effort { share: 0.005, seeds_max: 8, trains }
}

/// One run a cell, for what needs hundreds of whole studies.
pub(super) fn coarse_effort() -> Effort {
    Effort { share: 0.01, seeds_max: 1, trains: true }
}

/// The window that addresses are drawn from, warm in the cache: pcie-bench, section 6.
const WINDOW_BYTES: u64 = 8 << 10;

/// Random transfers within the window, as many in flight as are asked for.
fn job(row: &Row, depth: u64, ramp: &str, runtime: &str) -> Result<Job, Failure> {
    let (device, rw) = row.device();
    let size = row.size_bytes;
    let slots = (WINDOW_BYTES / size.next_multiple_of(LINE_BYTES)).max(1);
    let words = [
        format!("--filename={device}"),
        format!("--rw={rw}"),
        "--norandommap".into(),
        format!("--bs={size}"),
        format!("--size={}", slots * size),
        format!("--iodepth={depth}"),
        format!("--ramp_time={ramp}"),
        format!("--runtime={runtime}"),
        "--time_based".into(),
    ];
    let mut file = job_file::read_options(&mut Sources::default(), &words)?;
    Ok(file.jobs.remove(0))
}

fn machine<'a>(setup: &'a Setup, row: &Row) -> &'a Blueprint {
    &setup.machines.0[&row.host]
}

/// Gb/s; of one direction, where both are in use.
fn bandwidth(setup: &Setup, row: &Row, effort: Effort) -> Result<Mean, Failure> {
    let jobs = [job(row, setup.depth, "40us", "400us")?];
    let Mean { value, half_width } = throughput(machine(setup, row), &jobs, effort)?.as_said();
    let share = 8.0 / 1e9 / if row.both_ways() { 2.0 } else { 1.0 };
    Ok(Mean { value: value * share, half_width: half_width * share })
}

/// Median, ns, with one transfer in flight. Nothing of it is random but the address.
fn latency(setup: &Setup, row: &Row, trains: bool) -> Result<Mean, Failure> {
    let jobs = [job(row, 1, "0us", "100us")?];
    let options = Options { seed: 1, trains, cut: true, ..Options::default() };
    let outcome = run::run(machine(setup, row), &jobs, options, None)?;
    let got = outcome.jobs.into_iter().find_map(|job| job.got);
    let median = got.map_or(0, |transfers| transfers.latency_ns.value_at_quantile(0.5));
    Ok(Mean { value: median as f64, half_width: 0.0 })
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
        let mean =
            if row.is_bandwidth() { bandwidth(setup, &row, effort)? } else { latency(setup, &row, effort.trains)? };
        let what = format!("{} of {} B, {}", row.op, row.size_bytes, row.host);
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, count, &what);
        Ok((row, mean))
    });
    answered.collect()
}

fn cells(measured: &[(Row, Mean)], of: impl Fn(&Row) -> bool) -> Vec<Cell> {
    let cell = |(row, mean): &(Row, Mean)| Cell::new(row.key(), row.value, mean.value, row.basis(), mean.half_width);
    measured.iter().filter(|(row, _)| of(row)).map(cell).collect()
}

/// Bandwidths first.
pub(super) fn tables(setup: &Setup, measured: &[(Row, Mean)]) -> Vec<Table> {
    let title = format!(
        "DMA bandwidth within a warm window of {} KiB, {} transfers in flight; reads and writes at once: one direction",
        WINDOW_BYTES >> 10,
        setup.depth
    );
    let bandwidths = cells(measured, Row::is_bandwidth);
    let latencies = cells(measured, |row| !row.is_bandwidth());
    vec![
        Table { id: "bandwidth".into(), title, unit: "Gb/s".into(), cells: bandwidths },
        Table { id: "latency".into(), title: "Median latency".into(), unit: "ns".into(), cells: latencies },
    ]
}

/// Most read requests under way at a time: sent by the adapter, their completion not yet there. Counted on the wires of
/// the Ivy Bridge host's link, with transfers of one line, so that each has one request and one completion.
pub(super) fn requests_under_way(setup: &Setup, trains: bool) -> Result<usize, Failure> {
    let rows = all();
    let row = rows.iter().find(|row| row.is(IVY_BRIDGE, "read", LINE_BYTES));
    let row = row.unwrap_or_else(|| panic!("studies/{ID}: reads of a line are published"));
    let jobs = [job(row, setup.depth, "0us", "1ms")?];
    let trace = trace(machine(setup, row), &jobs, SPAN, trains)?;
    let Quantity::Time(flight) = setup.machines.number(LINK, "flight").value else {
        panic!("{LINK}: the flight is a time")
    };
    let of = |lane: &str, label: &'static Label| -> Vec<Interval> {
        trace.lane(lane).into_iter().filter(|phase| std::ptr::eq(phase.phase, label)).collect()
    };
    let (requests, answers) = (of("link.up", &HEADER), of("link.down", &DATA));
    let under_way = |(index, sent): (usize, &Interval)| {
        index + 1 - answers.partition_point(|answer| answer.end() + flight <= sent.at)
    };
    Ok(requests.iter().enumerate().map(under_way).max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use hopscope_files::library::Library;

    use super::super::ADAPTER;
    use super::*;

    fn setup() -> Setup {
        Setup::read(&Library::new(None).expect("the shipped files can be read")).expect("a setup")
    }

    #[test]
    fn never_are_more_reads_under_way_than_there_are_tags() {
        let mut setup = setup();
        for tags in [4, 32, 64] {
            setup.machines.set(ADAPTER, "pcie.tags", &Quantity::Count(tags), "tags").expect("the adapter has tags");
            let most = requests_under_way(&setup, true).expect("a run") as u64;
            assert!(most <= tags, "{most} of {tags}");
            assert!(tags > 32 || most == tags, "{most} of {tags}: the contexts keep all of them in use");
        }
    }

    #[test]
    fn rate_times_latency_of_small_reads_is_about_the_tags() {
        let setup = setup();
        let of = |row: &Row| row.op == "read" && [16, 32, 64].contains(&row.size_bytes);
        let rows: Vec<Row> = all().into_iter().filter(of).collect();
        assert_eq!(rows.len(), 6);
        for (row, mean) in measure(&setup, rows, coarse_effort(), &|_, _, _| {}).expect("runs") {
            let per_ns = mean.value / 8.0 / row.size_bytes as f64;
            let alone = Row { metric: "latency-median".into(), op: "dma-read".into(), ..row };
            let in_flight = per_ns * latency(&setup, &alone, true).expect("a run").value;
            assert!(in_flight > 30.0 && in_flight <= 37.0, "{in_flight} with reads of {} bytes", alone.size_bytes);
        }
    }

    #[test]
    fn the_other_host_only_repeats_the_first() {
        let rows: Vec<Row> = all().into_iter().filter(Row::is_bandwidth).collect();
        let of = |host: &'static str| rows.iter().filter(move |row| row.host == host);
        let apart: Vec<f64> = of(IVY_BRIDGE)
            .map(|row| {
                let same = of(SANDY_BRIDGE).find(|other| other.is(SANDY_BRIDGE, &row.op, row.size_bytes));
                (row.value / same.expect("the same transfer").value - 1.0).abs()
            })
            .collect();
        assert_eq!(apart.len(), 120);
        let mean = apart.iter().sum::<f64>() / apart.len() as f64;
        assert!((0.0025..0.0027).contains(&mean), "{mean}");
        let file = crate::study_file::read(ID);
        assert_eq!((file.repeat[0].value.as_str(), file.repeat[0].of.as_str()), (IVY_BRIDGE, SANDY_BRIDGE));
    }
}
