//! The study's sentences, checked against the cells and one trace.

use hopscope_machine::run::Failure;

use super::cells::{Row, requests_under_way};
use super::{ID, IVY_BRIDGE, Setup};
use crate::measure::Mean;
use crate::report::CheckedClaim;
use crate::shelf::{self, Claim};

/// Sizes of a line and less.
const SMALL_BYTES: [u64; 4] = [16, 32, 63, 64];

pub(super) fn check(setup: &Setup, measured: &[(Row, Mean)], trains: bool) -> Result<Vec<CheckedClaim>, Failure> {
    let of = |op: &str, size_bytes: u64| {
        let found = measured.iter().find(|(row, _)| row.is(IVY_BRIDGE, op, size_bytes));
        found.map_or(0.0, |(_, mean)| mean.value)
    };
    let millions = |op: &str, size_bytes: u64| of(op, size_bytes) * 1e3 / 8.0 / size_bytes as f64;
    let most = |op: &str| SMALL_BYTES.iter().map(|size| millions(op, *size)).fold(0.0, f64::max);
    let latency_ns = of("dma-read", 64);
    let raw_gb_per_s = super::null::raw_gb_per_s();
    let under_way = requests_under_way(setup, trains)?;
    let answer = |claim: Claim| {
        let (simulated, how) = match claim.id.as_str() {
            "reads-in-flight" => (most("read") * latency_ns / 1e3, "median latency of 64 bytes with one in flight"),
            "tags-in-use" => (under_way as f64, "counted on the link: requests sent less completions come"),
            "writes-per-second" => (most("write"), "16, 32, 63 and 64 bytes"),
            "reads-per-second" => (most("read"), "16, 32, 63 and 64 bytes"),
            "write-ceiling" => (100.0 * of("write", 2_048) / raw_gb_per_s, "2,048 bytes"),
            "read-latency" => (latency_ns, "one in flight"),
            other => panic!("studies/{ID}/claims.csv: nothing answers {other}"),
        };
        claim.check(simulated, how)
    };
    let claims: Vec<Claim> = shelf::rows(ID, "claims.csv");
    Ok(claims.into_iter().map(answer).collect())
}
