//! The paper's sentences, checked against the cells, traces of a bus, and runs of both engines.

use hopscope_files::job_file::Job;
use hopscope_kernel::Time;
use hopscope_machine::run::Failure;
use hopscope_observe::Interval;
use hopscope_parts::parameters::Value;
use hopscope_parts::protocols::pci::{ADDRESS, DATA, SPLIT_RESPONSE};
use serde_json::json;

use super::cells::{BLOCK_BYTES, DIRECTIONS, Direction, Measured, chain, job, rate};
use super::{BLOCKS, ID, Setup, TWO_PORTS};
use crate::measure::trace;
use crate::report::{Alternative, Cell, CellBasis, CheckedClaim};
use crate::shelf::{self, Claim};

const X5DL8: (&str, u64) = ("X5DL8", 133);
const MELODY: (&str, u64) = ("Melody", 133);
const TYAN: &str = "Tyan";
/// Simulated time of a trace.
const SPAN: Time = Time::us(60);

pub(super) fn check(setup: &Setup, measured: &[Measured]) -> Result<Vec<CheckedClaim>, Failure> {
    let [limit_133, limit_100] = [burst_rate(setup, measured, 133)?, burst_rate(setup, measured, 100)?];
    let (start, formula) = (read_start(setup, measured)?, balanced(host(measured, X5DL8).mb_per_s));
    let user = user(setup)?;
    let Value::Bytes(burst) = setup.machines.number("network/myricom-pcixd", "pci.burst").value else {
        panic!("a burst is an amount of data")
    };
    let answer = |claim: Claim| {
        let (simulated, how) = match claim.id.as_str() {
            "myrinet-pcix-133" => (limit_133, "4,096 bytes over the data phases of a burst"),
            "myrinet-pcix-100" => (limit_100, "4,096 bytes over the data phases of a burst"),
            "myrinet-burst" => (burst as f64, "as it is put in"),
            "myrinet-read-start" => (start, "Melody, from the split response to the first data, clocks of the bus"),
            "myrinet-balanced-x5dl8" => (formula, "the paper's formula on the simulated rates"),
            "myrinet-gm-two-way" => (user, "packets sent and received in turn over two ports"),
            other => panic!("studies/{ID}/claims.csv: nothing answers {other}"),
        };
        claim.check(simulated, how)
    };
    let claims: Vec<Claim> = shelf::rows(ID, "claims.csv");
    Ok(claims.into_iter().map(answer).collect())
}

fn host<'a>(measured: &'a [Measured], which: (&str, u64)) -> &'a Measured {
    measured.iter().find(|m| m.row.is(which)).unwrap_or_else(|| panic!("studies/{ID}/hosts.csv has {}", which.0))
}

/// The paper's formula: one engine waits for the other.
fn balanced([read, write]: [f64; 2]) -> f64 {
    2.0 / (1.0 / read + 1.0 / write)
}

/// The rate that a user sees over two ports, MB/s of both ways.
pub(super) fn user(setup: &Setup) -> Result<f64, Failure> {
    both_ways(setup, TWO_PORTS, "nic.user")
}

/// Blocks read and written in turn, MB/s of both.
fn both_ways(setup: &Setup, machine: &str, device: &str) -> Result<f64, Failure> {
    let jobs = [job(&[
        format!("--filename={device}"),
        "--rw=read".into(),
        format!("--bs={BLOCK_BYTES}"),
        format!("--iodepth={}", 2 * BLOCKS),
        "--ramp_time=200us".into(),
        "--runtime=5ms".into(),
        "--time_based".into(),
    ])?];
    rate(&setup.machines.0[machine], &jobs, setup.trains)
}

/// Both engines of the X5DL8 at work, beside the formula that lets one wait for the other.
pub(super) fn both_engines(setup: &Setup, measured: &[Measured]) -> Result<Alternative, Failure> {
    let row = &host(measured, X5DL8).row;
    let machine = &row.host;
    let contending = both_ways(setup, machine, "nic.both")?;
    let published = balanced(DIRECTIONS.map(|direction| row.published(direction)));
    let key = json!({ "slot": machine, "direction": "both at once" });
    let key = key.as_object().cloned().unwrap_or_default();
    let cell = Cell::new(key, published, contending, CellBasis::Seen, 0.0);
    let what = "both engines at once on the X5DL8, beside the paper's formula on its published rates: blocks are \
                written while a read is under way at the host, and bursts are cut by the latency timer while the \
                other engine asks";
    Ok(Alternative::of("both-engines", what.into(), vec![cell]))
}

fn bus(setup: &Setup, machine: &str, direction: Direction) -> Result<Vec<Interval>, Failure> {
    let jobs: [Job; 1] = [chain(direction, BLOCK_BYTES, BLOCKS)?];
    Ok(trace(&setup.machines.0[machine], &jobs, SPAN, setup.trains)?.lane("pci"))
}

/// MB/s of the data phases between two addresses of the Tyan's writes.
fn burst_rate(setup: &Setup, measured: &[Measured], clock_mhz: u64) -> Result<f64, Failure> {
    let phases = bus(setup, &host(measured, (TYAN, clock_mhz)).row.host, Direction::Write)?;
    let bursts = phases.split(|phase| std::ptr::eq(phase.phase, &ADDRESS));
    let data = |burst: &[Interval]| {
        let data = burst.iter().filter(|phase| std::ptr::eq(phase.phase, &DATA));
        data.fold(Time::ZERO, |sum, phase| sum + phase.span)
    };
    // The part before the first address is empty.
    let longest = bursts.map(data).max().unwrap_or(Time::ZERO);
    Ok(BLOCK_BYTES as f64 / longest.as_seconds_f64() / 1e6)
}

/// Clocks from the end of a split response to the first data after it, the mean over a trace.
fn read_start(setup: &Setup, measured: &[Measured]) -> Result<f64, Failure> {
    let machine = &host(measured, MELODY).row.host;
    let phases = bus(setup, machine, Direction::Read)?;
    let Value::Period(clock) = setup.machines.number("bus/pci-x-133", "clock").value else {
        panic!("a clock is a frequency")
    };
    let answered = phases.iter().filter(|phase| std::ptr::eq(phase.phase, &SPLIT_RESPONSE));
    let starts = answered.filter_map(|answer| {
        let first = phases.iter().find(|phase| std::ptr::eq(phase.phase, &DATA) && phase.at >= answer.end())?;
        Some((first.at - answer.end()).as_seconds_f64() / clock.as_seconds_f64())
    });
    let starts: Vec<f64> = starts.collect();
    Ok(starts.iter().sum::<f64>() / starts.len().max(1) as f64)
}
