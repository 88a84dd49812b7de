//! The paper's sentences, checked against what short runs show.

use super::ID;
use super::bus::Observed;
use super::retold::Retold;
use crate::report::CheckedClaim;
use crate::shelf::{self, Claim};

/// Ultra DMA mode 2, bytes per second over 10^6: two bytes every 60 ns.
const SPECIFIED_MB_PER_S: f64 = 33.333;

pub(super) fn check(observed: &Observed, retold: &Retold) -> Vec<CheckedClaim> {
    let claims: Vec<Claim> = shelf::rows(ID, "claims.csv");
    claims.into_iter().map(|claim| check_one(observed, retold, claim)).collect()
}

fn check_one(observed: &Observed, retold: &Retold, claim: Claim) -> CheckedClaim {
    let Observed { read_64k, read_128k, write_64k, write_64k_queued, .. } = observed;
    let lost = |rate: f64| 100.0 * (1.0 - rate / SPECIFIED_MB_PER_S);
    let (simulated, how) = match claim.id.as_str() {
        "piix4e-read-burst" => (read_64k.burst_mb_per_s(), "64 KiB over their data phase, descriptors included"),
        "piix4e-write-burst" => (observed.write_cycle_mb_per_s(), "64 bytes over their bus cycle"),
        "piix4e-read-64k" => (read_64k.rate_mb_per_s(), "one request in flight, 10^6 bytes"),
        "piix4e-read-128k" => (read_128k.rate_mb_per_s(), "one request in flight, two commands of 64 KiB"),
        "piix4e-write-64k" => (write_64k_queued.rate_mb_per_s(), "two requests in flight, 10^6 bytes"),
        "piix4e-read-loss" => (lost(read_64k.rate_mb_per_s()), "of the mode's rate, 64 KiB, one request in flight"),
        "piix4e-write-loss-embedded" => {
            (lost(observed.write_cycle_mb_per_s()), "of the mode's rate, within the 64-byte cycle")
        }
        "piix4e-write-loss-setup" => (
            100.0 * (1.0 - write_64k_queued.rate_mb_per_s() / write_64k_queued.burst_mb_per_s()),
            "two requests in flight",
        ),
        "piix4e-read-64k-phase" => (read_64k.data_phase.as_seconds_f64() * 1e3, "from the first to the last word"),
        "piix4e-write-64k-phase" => (write_64k.data_phase.as_seconds_f64() * 1e3, "from the first to the last word"),
        "piix4e-read-setup" => (read_64k.set_up().as_seconds_f64() * 1e6, "one request in flight"),
        "piix4e-write-setup" => (write_64k_queued.set_up().as_seconds_f64() * 1e6, "best case: two requests in flight"),
        "piix4e-prd-per-64k" => (read_64k.descriptors, "counted on the bus"),
        "piix4e-pio-retry" => (observed.retry_clocks, "clocks of a retried transaction"),
        "piix4e-pio-tries" => (observed.tries_max as f64, "most transactions of one register access"),
        "account-write-embedded" => (retold.write_embedded, "account of the cable, 64 KiB, pauses within bursts"),
        "account-write-until-memory" => (retold.write_embedded_until_memory, "what those pauses went into"),
        "account-write-set-up" => (retold.write_set_up, "account of the cable, everything else"),
        "account-read-lost" => (retold.read_lost, "account of the cable, 64 KiB, one request in flight"),
        "account-read-set-up" => (retold.read_set_up, "of those losses, what is not at a descriptor"),
        "account-read-registers" => (retold.read_registers_us, "the cable waits for the processor or a register"),
        "account-read-not-ready" => (retold.read_not_ready_us, "the cable waits for the drive"),
        "account-same-channel" => (retold.same_channel, "account of the second drive, 64 KiB reads"),
        "account-two-channels" => (retold.two_channels, "account of a cable, 64 KiB reads"),
        other => panic!("studies/{ID}/claims.csv: nothing answers {other}"),
    };
    claim.check(simulated, how)
}
