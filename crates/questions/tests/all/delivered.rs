//! What hops deliver is what the job gets, where each of its bytes crosses them once: however wide, and at whatever pace,
//! those who move them do it.

use hopscope_machine::run::Options;
use hopscope_observe::account::{LaneAccount, Use};
use hopscope_questions::explain::{EXTENT, explain};

use crate::machines;

const IN_ORDER: &str = "--rw=read --bs=64k --iodepth=2 --size=512m --time_based --runtime=400ms";
/// Where that is many thousand bursts a request.
const BRIEFLY: &str = "--rw=read --bs=4k --iodepth=1 --time_based --runtime=5ms";
/// Two drives on one cable by turns.
const TWO: &str = "--time_based --runtime=400ms --rw=read --bs=64k --iodepth=2 --size=512m \
                   --name=a --filename=disk --name=b --filename=disk2";

/// The lanes with those names, having compared what each has delivered (or `one+other` together) with what has ended in
/// the same time.
fn delivered(system: &str, changes: &[&str], options: &str, lanes: &[&str]) -> Vec<LaneAccount> {
    let (mut blueprint, jobs) = machines::read(system, options);
    for change in changes {
        blueprint.set(change).expect("a right change");
    }
    let account = explain(&blueprint, &jobs, Options::default(), EXTENT, None).expect("the job runs").account;
    let block = jobs[0].block_bytes_max as f64;
    let bytes = account.requests as f64 * block;
    // Those under way at either end have crossed in part.
    let in_flight = jobs.iter().map(|job| job.iodepth).sum::<u64>() as f64 * block;
    let of = |names: &&str| {
        let used = |name: &str| account.lanes.iter().find(|lane| lane.lane == name).expect("the lane was used").clone();
        let used: Vec<LaneAccount> = names.split('+').map(used).collect();
        let got: f64 = used.iter().map(|lane| lane.delivered().expect("it moves bytes")).sum();
        let got = got * account.span().as_seconds_f64();
        assert!((got - bytes).abs() <= in_flight, "{system} {changes:?}: {names} {got} of {bytes} bytes");
        used
    };
    assert!(bytes > 10.0 * in_flight, "{system} {changes:?}: {bytes} bytes are too few");
    lanes.iter().flat_map(of).collect()
}

fn capacity(lane: &LaneAccount) -> f64 {
    lane.capacity.as_ref().expect("it moves bytes").bytes_per_second
}

/// Half of it, to the picosecond that halves are rounded by.
fn is_half_used(lane: &LaneAccount) -> bool {
    let (used, unused) = (lane.time_in(Use::Payload), lane.time_in(Use::WidthUnused));
    used.as_ps() > 0 && used.as_ps().abs_diff(unused.as_ps()) <= 1
}

#[test]
fn what_hops_deliver_is_what_the_job_gets() {
    for (system, options, lanes) in [
        ("piix4e-one-disk", IN_ORDER, &["pci", "cable"][..]),
        ("scsi-ultra160", IN_ORDER, &["host.memory", "hub.up", "pci", "scsi"]),
        ("win2000-3ware-raid0-2", IN_ORDER, &["host.memory", "hub.up", "pci"]),
        ("myrinet-x5dl8-behind-bridge", BRIEFLY, &["host.memory", "pci", "pci2"]),
        ("sata-ssd", BRIEFLY, &["root.memory", "dmi.up", "cable"]),
        ("nvme-chipset", BRIEFLY, &["root.memory", "dmi.up", "link.up"]),
    ] {
        delivered(system, &[], options, lanes);
    }
}

#[test]
fn words_of_programmed_io_use_half_of_the_bus() {
    let [pci, cable] = &delivered("piix4e-one-disk-pio", &[], IN_ORDER, &["pci", "cable"])[..] else { unreachable!() };
    assert!(is_half_used(pci));
    assert_eq!(cable.time_in(Use::WidthUnused).as_ps(), 0);
    let by_dma = &delivered("piix4e-one-disk", &[], IN_ORDER, &["pci"])[0];
    assert_eq!(pci.capacity, by_dma.capacity);
    let wide = &delivered("piix4e-one-disk-pio", &["driver.words.width=4B"], IN_ORDER, &["pci"])[0];
    assert_eq!(wide.time_in(Use::WidthUnused).as_ps(), 0);
}

#[test]
fn drives_that_share_a_cable_in_different_modes_leave_some_of_it_unused() {
    let system = "piix4e-two-disks-same-channel";
    let alike = &delivered(system, &[], TWO, &["cable"])[0];
    assert_eq!(alike.time_in(Use::WidthUnused).as_ps(), 0);
    for slower in ["disk.transfer_mode=ultra-dma-0", "disk2.transfer_mode=ultra-dma-0", "disk2.transfer_mode=pio-4"] {
        let [pci, cable] = &delivered(system, &[slower], TWO, &["pci", "cable"])[..] else { unreachable!() };
        assert_eq!(capacity(cable), capacity(alike), "{slower}");
        assert!(cable.time_in(Use::WidthUnused).as_ps() > 0, "{slower}");
        assert_eq!(pci.time_in(Use::WidthUnused).as_ps() > 0, slower.ends_with("pio-4"), "{slower}");
    }
}

#[test]
fn drives_of_different_pace_on_one_scsi_bus_deliver_what_they_get() {
    let bus = &delivered("scsi-ultra160", &["disk0.interface.rate=40MB/s"], IN_ORDER, &["scsi"])[0];
    assert_eq!(capacity(bus), 160e6);
    assert!(bus.time_in(Use::WidthUnused).as_ps().abs_diff(3 * bus.time_in(Use::Payload).as_ps()) <= 3);
    let array = "raid-5-megaraid-64-66";
    for slower in ["disk0.interface.rate=40MB/s", "disk3.interface.rate=80MB/s"] {
        let [one, other] = &delivered(array, &[slower], IN_ORDER, &["scsi0+scsi1"])[..] else { unreachable!() };
        let [one, other] = [one, other].map(|bus| bus.time_in(Use::WidthUnused).as_ps() > 0);
        assert!(one != other, "{slower}: one bus has a slower drive");
    }
}

#[test]
fn a_card_of_32_bits_uses_half_of_a_segment_of_64() {
    for (system, change) in [("win2000-3ware-raid0-2", "pci.width=8B"), ("raid-megaraid-64-66", "raid.pci.width=4B")] {
        assert!(is_half_used(&delivered(system, &[change], IN_ORDER, &["pci"])[0]), "{system}");
    }
    for (change, narrow, wide) in [("nic.pci.width=4B", "pci2", "pci"), ("below.pci.width=4B", "pci", "pci2")] {
        let lanes = &delivered("myrinet-x5dl8-behind-bridge", &[change], BRIEFLY, &[narrow, wide])[..];
        let [narrow, wide] = lanes else { unreachable!() };
        assert!(is_half_used(narrow), "{change}");
        assert_eq!(wide.time_in(Use::WidthUnused).as_ps(), 0, "{change}");
    }
}
