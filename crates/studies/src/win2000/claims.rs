//! The report's sentences, each with the run that decides it.

use std::sync::atomic::{AtomicUsize, Ordering};

use hopscope_machine::run::Failure;
use rayon::prelude::*;

use super::bench::{Ask, Got, machine, measure};
use super::{ID, Setup};
use crate::report::CheckedClaim;
use crate::shelf::{self, Claim};

const MANY: &str = "56 Atlas 10K";
const SCSI: &str = "Atlas 10K";
const IDE: &str = "Fireball lct08";
const CIFS: &str = "CIFS";
/// A drive more brings less than this share where the bus is full.
const LESS_THAN: f64 = 0.05;
/// Many disks at work at once need no more simulated time.
const MANY_MS: (u64, u64) = (60, 120);
/// Sizes of requests to the server, KB.
const SERVED_KB: [u64; 2] = [16, 64];

fn mb(got: &Got) -> f64 {
    got.mb_per_s
}

fn rate(got: &Got) -> f64 {
    got.a_second
}

fn sequential(rw: &str, size_kb: u64, depth: u64) -> Ask<'_> {
    Ask { rw, size_kb, depth, direct: true, devices: &[], span_ms: None }
}

/// MB/s of one job.
fn streamed(setup: &Setup, name: &str, rw: &str, size_kb: u64, depth: u64) -> Result<f64, Failure> {
    Ok(measure(setup, name, &sequential(rw, size_kb, depth), mb)?.value)
}

/// Devices that are disks.
fn disks(setup: &Setup, name: &str) -> Vec<String> {
    machine(setup, name).devices().into_iter().filter(|device| device.starts_with("disk")).collect()
}

/// Disks after which one more brings hardly anything, of sequential reads of 64 KB.
fn saturating(setup: &Setup) -> Result<f64, Failure> {
    let all = disks(setup, SCSI);
    let mut before = 0.0;
    for count in 1..=all.len() {
        let ask = Ask { devices: &all[..count], ..sequential("read", 64, 4) };
        let now = measure(setup, SCSI, &ask, mb)?.value;
        if now < before * (1.0 + LESS_THAN) {
            return Ok((count - 1) as f64);
        }
        before = now;
    }
    Ok(all.len() as f64)
}

/// Random reads of 8 KB a second that cross the bus when there are as many disks as there can be.
fn carried(setup: &Setup) -> Result<f64, Failure> {
    let all = disks(setup, MANY);
    let ask = Ask { devices: &all, span_ms: Some(MANY_MS), ..sequential("randread", 8, 16) };
    Ok(super::bench::once(setup, MANY, &ask, 1)?.a_second)
}

/// Random reads of 8 KB a second, one deep.
fn random(setup: &Setup, name: &str) -> Result<f64, Failure> {
    Ok(measure(setup, name, &sequential("randread", 8, 1), rate)?.value)
}

/// Dollars of a disk with its share of an adapter.
fn price(setup: &Setup, name: &str, adapter: &str, disks: f64) -> f64 {
    let of = |wanted: &str| {
        let part = machine(setup, name).parts().iter().find(|part| part.name == wanted);
        let price = part.and_then(|part| part.price.as_ref());
        price.unwrap_or_else(|| panic!("studies/{ID}/study.toml: {wanted} of {name} has no price")).dollars()
    };
    of("disk0") + of(adapter) / disks
}

/// Sequential reads of a card with so many drives, MB/s.
fn drives(setup: &Setup, count: usize) -> Result<f64, Failure> {
    let name = match count {
        1 => "3W-5400, hardware RAID 0, 1 disk".to_string(),
        _ => format!("3W-5400, hardware RAID 0, {count} disks"),
    };
    streamed(setup, &name, "read", 256, 4)
}

/// The best of all sizes that a client asks for.
fn served(setup: &Setup, rw: &str) -> Result<f64, Failure> {
    let rates: Result<Vec<f64>, Failure> =
        SERVED_KB.iter().map(|size_kb| streamed(setup, CIFS, rw, *size_kb, 4)).collect();
    Ok(rates?.into_iter().fold(0.0, f64::max))
}

fn over(setup: &Setup, names: [&str; 2], size_kb: u64, depth: u64) -> Result<f64, Failure> {
    Ok(streamed(setup, names[0], "read", size_kb, depth)? / streamed(setup, names[1], "read", size_kb, depth)?)
}

/// What decides a claim, and how.
fn decide(setup: &Setup, id: &str) -> Result<(f64, &'static str), Failure> {
    Ok(match id {
        "win2000-cifs-read" => (streamed(setup, CIFS, "read", 64, 4)?, "reads of 64 KB, four in flight"),
        "win2000-cifs-write" => (
            served(setup, "write")? / served(setup, "read")?,
            "the best of 16 and 64 KB, four in flight, written through; over the best of reads",
        ),
        "win2000-pci-saturation" => {
            (saturating(setup)?, "sequential reads of 64 KB, a job a disk; until one more brings less than 5 %")
        }
        "win2000-random-ios" => (carried(setup)?, "reads of 8 KB on 56 disks, 16 in flight on each"),
        "win2000-random-disks" => (
            carried(setup)? / random(setup, SCSI)?,
            "reads of 8 KB on 56 disks, 16 in flight on each, over those of one disk, one in flight",
        ),
        "win2000-ide-vs-scsi-random-per-dollar" => (
            random(setup, IDE)? / price(setup, IDE, "raid", 4.0) * price(setup, SCSI, "adapter", 4.0)
                / random(setup, SCSI)?,
            "reads of 8 KB one deep; a disk with a fourth of its adapter's price",
        ),
        "win2000-ide-price-factor" => (
            price(setup, SCSI, "adapter", f64::INFINITY) / price(setup, IDE, "raid", f64::INFINITY),
            "as put in: disks",
        ),
        "win2000-3ware-linear" => (drives(setup, 3)? / drives(setup, 1)?, "sequential reads of 256 KB, four in flight"),
        "win2000-3ware-fourth" => (drives(setup, 4)? / drives(setup, 3)?, "sequential reads of 256 KB, four in flight"),
        "win2000-nt4sp3-unbuffered" => {
            (over(setup, ["NT4 SP3", "NT4 SP6"], 2, 1)?, "2 KB unbuffered synchronous reads, as put in")
        }
        "win2000-volumes" => (over(setup, ["Dynamic volume", SCSI], 64, 1)?, "sequential reads of 64 KB, one deep"),
        "win2000-pio" => (over(setup, ["PIIX4E, PIO 4", "PIIX4E, Ultra DMA"], 64, 1)?, "sequential reads of 64 KB"),
        other => panic!("studies/{ID}/claims.csv: nothing answers {other}"),
    })
}

/// How far a claim's value is from what is published, or from the middle of its range.
pub(super) fn error(setup: &Setup, id: &str) -> Result<f64, Failure> {
    let claim = shelf::claim(ID, id);
    let middle = claim.low.zip(claim.high).map_or(f64::NAN, |(low, high)| f64::midpoint(low, high));
    Ok((decide(setup, id)?.0 / claim.value.parse().unwrap_or(middle) - 1.0).abs())
}

pub(super) fn check(
    setup: &Setup,
    progress: &(dyn Fn(usize, usize, &str) + Sync),
) -> Result<Vec<CheckedClaim>, Failure> {
    let claims: Vec<Claim> = shelf::rows(ID, "claims.csv");
    let (done, count) = (AtomicUsize::new(0), claims.len());
    let checked = claims.into_par_iter().with_max_len(1).map(|claim| {
        let (simulated, how) = decide(setup, &claim.id)?;
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, count, &claim.claim);
        Ok(claim.check(simulated, how))
    });
    checked.collect()
}
