//! Where the time of an IDE cable goes, the lane `cable`, and that of a second drive, the lane `disk2.firmware`.

use hopscope_observe::account::{Account, Entry, LaneAccount, Use};

use super::{Figure, Probe};

const CABLE: &str = "cable";

const DISK2: &str = "disk2.firmware";

macro_rules! share {
    ($name:literal, $what:literal, $lane:expr, $part:expr, $whole:expr) => {
        Probe::accounted($name, "%", $what, |account| percent(account, $lane, $part, $whole))
    };
}

pub(super) const PROBES: [Probe; 9] = [
    share!("cable_lost_in_bursts", "of the time of `cable`, pauses within bursts", CABLE, embedded, all),
    share!("cable_pauses_until_memory", "of pauses of `cable`, until memory answers", CABLE, until_memory, embedded),
    share!("cable_lost_between_bursts", "of the time of `cable`, what is lost outside bursts", CABLE, between, all),
    share!("cable_lost", "of the time of `cable`, what moves no data", CABLE, lost, all),
    share!("cable_lost_to_commands", "of what `cable` loses, that before and after a command", CABLE, set_up, lost),
    share!("cable_lost_to_buffer", "of what `cable` loses, that to `ide.buffer` of all channels", CABLE, buffer, lost),
    share!("second_drive_waits", "of `disk2.firmware`, waits for another drive's command", DISK2, other_command, all),
    Probe::accounted("cable_register_time", "us", "a request of register accesses and their driver on `cable`", |of| {
        us_per_request(of, |entry| set_up(entry) && (entry.part == "cpu" || is_register(entry)))
    }),
    Probe::accounted("cable_not_ready_time", "us", "a request in which `cable` waits for the drive", |account| {
        us_per_request(account, |entry| entry.cause == "drive not ready")
    }),
];

fn lane<'a>(account: &'a Account, name: &str) -> Result<&'a LaneAccount, String> {
    let found = account.lanes.iter().find(|line| line.lane == name);
    found.ok_or_else(|| format!("nobody used a lane `{name}`, or the machine has none"))
}

fn time(lane: &LaneAccount, of: fn(&Entry) -> bool) -> f64 {
    let entries = lane.entries.iter().filter(|entry| of(entry));
    entries.map(|entry| entry.time.as_ps() as f64).sum()
}

fn percent(account: &Account, name: &str, part: fn(&Entry) -> bool, whole: fn(&Entry) -> bool) -> Figure {
    let lane = lane(account, name)?;
    match time(lane, whole) {
        0.0 => Err(format!("the lane `{name}` has no time of which that is a share")),
        whole => Ok(100.0 * time(lane, part) / whole),
    }
}

fn us_per_request(account: &Account, of: fn(&Entry) -> bool) -> Figure {
    let cable = lane(account, CABLE)?;
    match account.requests {
        0 => Err("no request ended in it".to_string()),
        requests => Ok(time(cable, of) / 1e6 / requests as f64),
    }
}

fn all(_: &Entry) -> bool {
    true
}

fn lost(entry: &Entry) -> bool {
    entry.class != Use::Payload
}

/// Lost within a burst: a pause between words.
fn embedded(entry: &Entry) -> bool {
    entry.cause == "pause"
}

fn between(entry: &Entry) -> bool {
    lost(entry) && !embedded(entry)
}

/// Lost to the bridge's buffer, which its channels share.
fn buffer(entry: &Entry) -> bool {
    lost(entry) && entry.lane == "ide.buffer"
}

fn other_command(entry: &Entry) -> bool {
    entry.cause == "channel busy with another command"
}

/// On the way to memory's first data: the bridge asks again, PHLDA# comes, the address, memory answers.
fn until_memory(entry: &Entry) -> bool {
    let on_the_way = ["re-request delay", "PHOLD# to PHLDA#", "address", "wait for memory"];
    embedded(entry) && on_the_way.contains(&entry.phase.as_str())
}

/// Lost at a descriptor: the burst ends, eight bytes are fetched, another burst begins.
fn at_descriptor(entry: &Entry) -> bool {
    let ends = entry.class == Use::Protocol && entry.phase.starts_with("burst");
    ends || (entry.class == Use::Waiting && entry.cause.is_empty() && entry.part != "cpu" && !is_register(entry))
}

/// Lost to commands: before and after the data.
fn set_up(entry: &Entry) -> bool {
    between(entry) && !at_descriptor(entry)
}

fn is_register(entry: &Entry) -> bool {
    entry.phase.contains("register") || entry.phase.contains("retry")
}
