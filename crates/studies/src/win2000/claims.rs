//! The report's sentences, each with the run that decides it.

use std::collections::BTreeMap;
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
/// Until the disks' caches are full of what is written, and what is measured then.
const SERVED_MS: (u64, u64) = (250, 200);

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

/// What a client gets of files that lie on the server's disks, MB/s.
fn served(setup: &Setup, rw: &str) -> Result<f64, Failure> {
    let ask = Ask { span_ms: Some(SERVED_MS), ..sequential(rw, 64, 4) };
    Ok(measure(setup, CIFS, &ask, mb)?.value)
}

/// A run, or several, that give one figure.
type Figure = fn(&Setup) -> Result<f64, Failure>;

/// What several claims rest on, each run once.
const VALUES: [(&str, Figure); 16] = [
    ("cifs read", |setup| served(setup, "read")),
    ("cifs write", |setup| served(setup, "write")),
    ("saturating", saturating),
    ("carried", carried),
    ("scsi random", |setup| random(setup, SCSI)),
    ("ide random", |setup| random(setup, IDE)),
    ("one drive", |setup| drives(setup, 1)),
    ("three drives", |setup| drives(setup, 3)),
    ("four drives", |setup| drives(setup, 4)),
    ("sp3", |setup| streamed(setup, "NT4 SP3", "read", 2, 1)),
    ("sp6", |setup| streamed(setup, "NT4 SP6", "read", 2, 1)),
    ("dynamic", |setup| streamed(setup, "Dynamic volume", "read", 64, 1)),
    ("basic", |setup| streamed(setup, SCSI, "read", 64, 1)),
    ("pio", |setup| streamed(setup, "PIIX4E, PIO 4", "read", 64, 1)),
    ("dma", |setup| streamed(setup, "PIIX4E, Ultra DMA", "read", 64, 1)),
    ("prices", |setup| Ok(price(setup, SCSI, "adapter", 4.0) / price(setup, IDE, "raid", 4.0))),
];

fn value(setup: &Setup, name: &str) -> Result<f64, Failure> {
    let known = VALUES.iter().find(|(known, _)| *known == name);
    known.unwrap_or_else(|| panic!("studies/{ID}: no {name}")).1(setup)
}

/// What decides a claim, and how; `of` gives what it rests on.
fn decide(setup: &Setup, id: &str, of: &dyn Fn(&str) -> Result<f64, Failure>) -> Result<(f64, &'static str), Failure> {
    const DRIVES: &str = "sequential reads of 256 KB, four in flight";
    Ok(match id {
        "win2000-cifs-read" => (of("cifs read")?, "reads of 64 KB, four in flight"),
        "win2000-cifs-write" => (
            of("cifs write")? / of("cifs read")?,
            "writes of 64 KB, four in flight, over reads; when the disks' caches are full",
        ),
        "win2000-pci-saturation" => {
            (of("saturating")?, "sequential reads of 64 KB, a job a disk; until one more brings less than 5 %")
        }
        "win2000-random-ios" => (of("carried")?, "reads of 8 KB on 56 disks, 16 in flight on each"),
        "win2000-random-disks" => (
            of("carried")? / of("scsi random")?,
            "reads of 8 KB on 56 disks, 16 in flight on each, over those of one disk, one in flight",
        ),
        "win2000-ide-vs-scsi-random-per-dollar" => (
            of("ide random")? / of("scsi random")? * of("prices")?,
            "reads of 8 KB one deep; a disk with a fourth of its adapter's price",
        ),
        "win2000-ide-price-factor" => (
            price(setup, SCSI, "adapter", f64::INFINITY) / price(setup, IDE, "raid", f64::INFINITY),
            "as put in: disks",
        ),
        "win2000-3ware-linear" => (of("three drives")? / of("one drive")?, DRIVES),
        "win2000-3ware-fourth" => (of("four drives")? / of("three drives")?, DRIVES),
        "win2000-nt4sp3-unbuffered" => (of("sp3")? / of("sp6")?, "2 KB unbuffered synchronous reads, as put in"),
        "win2000-volumes" => (of("dynamic")? / of("basic")?, "sequential reads of 64 KB, one deep"),
        "win2000-pio" => (of("pio")? / of("dma")?, "sequential reads of 64 KB"),
        other => panic!("studies/{ID}/claims.csv: nothing answers {other}"),
    })
}

/// How far a claim's value is from what is published, or from the middle of its range.
pub(super) fn error(setup: &Setup, id: &str) -> Result<f64, Failure> {
    let claim = shelf::claim(ID, id);
    Ok((decide(setup, id, &|name| value(setup, name))?.0 / claim.value.parse().unwrap_or_else(|_| claim.middle())
        - 1.0)
        .abs())
}

pub(super) fn check(
    setup: &Setup,
    progress: &(dyn Fn(usize, usize, &str) + Sync),
) -> Result<Vec<CheckedClaim>, Failure> {
    let (done, count) = (AtomicUsize::new(0), VALUES.len());
    let values: Result<BTreeMap<&str, f64>, Failure> = VALUES
        .into_par_iter()
        .with_max_len(1)
        .map(|(name, of)| {
            let value = of(setup)?;
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, count, name);
            Ok((name, value))
        })
        .collect();
    let values = values?;
    let claims: Vec<Claim> = shelf::rows(ID, "claims.csv");
    let checked = claims.into_iter().map(|claim| {
        let (simulated, how) = decide(setup, &claim.id, &|name| Ok(values[name]))?;
        Ok(claim.check(simulated, how))
    });
    checked.collect()
}
