//! The study's sentences, checked against the cells and runs of their own.

use hopscope_machine::run::{self, Failure, Options};

use super::cells::{FAST, MEGARAID, NO_LOAD, Row, SLOW, average, blueprint};
use super::jobs::timed;
use super::{ID, Setup};
use crate::measure::Mean;
use crate::report::CheckedClaim;
use crate::shelf::{self, Claim};

/// MB/s of the first job; or of the load beside it.
fn rate(setup: &Setup, machine: &str, text: &str, depth: u64, last: bool, trains: bool) -> Result<f64, Failure> {
    let jobs = timed(text, last, depth, 1, 3)?;
    let options = Options { seed: 1, trains, cut: true, ..Options::default() };
    let outcome = run::run(blueprint(setup, machine), &jobs, options, None)?;
    let job = if last { outcome.jobs.last() } else { outcome.jobs.first() };
    let bytes = job.and_then(|job| job.got.as_ref()).map_or(0, |got| got.bytes);
    Ok(bytes as f64 / outcome.measured.as_seconds_f64() / 1e6)
}

/// The claim that the drive's outermost tracks are fitted to.
pub(super) const ONE_DRIVE: &str = "raid-pci-disk-seq";

/// MB/s of one drive that is read from its beginning.
pub(super) fn one_drive(setup: &Setup, trains: bool) -> Result<f64, Failure> {
    rate(setup, "one drive", "[sequential]\nrw=read\nbs=64k\nsize=1g\n", 8, false, trains)
}

pub(super) fn check(setup: &Setup, measured: &[(Row, Mean)], trains: bool) -> Result<Vec<CheckedClaim>, Failure> {
    let machine = |bus: &str, load: &str| format!("{MEGARAID}, {bus}, {load}");
    let load = "25 MB/s on the same bus";
    let fast = average(measured, &machine(FAST, NO_LOAD));
    let gain = |slow: String| 100.0 * (fast / average(measured, &slow) - 1.0);
    let sequential = "[sequential]\nfilename=raid\nrw=read\nbs=64k\nsize=8g\n";
    let random = "[random]\nrw=randread\nbs=16k\nnorandommap=1\n";
    let benchmark = setup.numbers.job("office-heavy");
    let streamed = rate(setup, &machine(FAST, NO_LOAD), sequential, 8, false, trains)?;
    let beside = rate(setup, &machine(SLOW, load), &benchmark, 1, true, trains)?;
    let outside = one_drive(setup, trains)?;
    let scattered = rate(setup, "one drive", random, 1, false, trains)?;
    let answer = |claim: Claim| {
        let (simulated, how) = match claim.id.as_str() {
            "raid-pci-desktop-gain" => (gain(machine(SLOW, NO_LOAD)), "simple mean of the six benchmarks"),
            "raid-pci-desktop-gain-loaded" => (gain(machine(SLOW, load)), "simple mean of the six benchmarks"),
            "raid-pci-background" => (beside, "beside office-heavy"),
            ONE_DRIVE => (outside, "the outermost tracks"),
            "raid-pci-disk-random" => (scattered, "reads of 16 KiB over the whole drive, one in flight"),
            "raid-pci-megaraid-writeback" => (streamed, "sequential reads of 64 KiB, eight in flight, PCI 64/66"),
            other => panic!("studies/{ID}/claims.csv: nothing answers {other}"),
        };
        claim.check(simulated, how)
    };
    let claims: Vec<Claim> = shelf::rows(ID, "claims.csv");
    Ok(claims.into_iter().map(answer).collect())
}
