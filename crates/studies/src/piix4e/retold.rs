//! What the paper says of its losses, retold by the account: nobody tells it where to look.

use hopscope_files::job_file::Job;
use hopscope_kernel::Time;
use hopscope_machine::run::{Failure, Options};
use hopscope_observe::account::{Entry, Extent, LaneAccount, Use};
use hopscope_questions::explain::{EXTENT, explain};

use super::{PLACEMENTS, Setup};

/// Simulated time of an account, and how much of it is looked at: some dozens of requests.
const SPAN: Time = Time::ms(600);
const REQUESTS: Extent = Extent { spans: 200_000, requests: 40, ..EXTENT };

/// What the accounts of some runs with 64 KB requests to one block say, in percent unless the name says otherwise.
pub(super) struct Retold {
    /// Writes: of the cable's time, what is lost within bursts, and of that, what the bridge waits for once its
    /// buffer is empty, memory's latency included.
    pub(super) write_embedded: f64,
    pub(super) write_embedded_until_memory: f64,
    /// Writes: of the cable's time, what is lost between bursts.
    pub(super) write_set_up: f64,
    /// Reads: of the cable's time, what is lost, and of that, what is lost to commands: before and after the data.
    pub(super) read_lost: f64,
    pub(super) read_set_up: f64,
    /// Reads: of what is lost to commands, register accesses and the driver between them, microseconds a request;
    /// and the same for the drive that is not ready yet.
    pub(super) read_registers_us: f64,
    pub(super) read_not_ready_us: f64,
    /// Two disks on one channel: of a drive's time, how long it waits for the channel.
    pub(super) same_channel: f64,
    /// Two disks on two channels: of what a cable loses, what it loses to the shared buffer.
    pub(super) two_channels: f64,
}

struct Lane {
    account: LaneAccount,
    requests: u64,
}

fn lane(setup: &Setup, placement: &str, jobs: &str, depth: u64, name: &str, trains: bool) -> Result<Lane, Failure> {
    let resize = |job: &Job| Job {
        block_bytes_min: 64 << 10,
        block_bytes_max: 64 << 10,
        size_bytes: Some(64 << 10),
        iodepth: depth,
        ramp_time: Time::ZERO,
        runtime: Some(SPAN),
        time_based: true,
        ..job.clone()
    };
    let jobs: Vec<Job> = setup.jobs[jobs].iter().map(resize).collect();
    let options = Options { trains, cut: true, ..Options::default() };
    let account = explain(&setup.machines.0[placement], &jobs, options, REQUESTS, None)?.account;
    let requests = account.requests;
    let found = account.lanes.into_iter().find(|line| line.lane == name);
    let account = found.ok_or_else(|| Failure::Defect(format!("{name} was not used")))?;
    Ok(Lane { account, requests })
}

impl Lane {
    fn time(&self, of: impl Fn(&Entry) -> bool) -> f64 {
        let entries = self.account.entries.iter().filter(|entry| of(entry));
        entries.map(|entry| entry.time.as_ps() as f64).sum()
    }

    fn percent(&self, part: impl Fn(&Entry) -> bool, whole: impl Fn(&Entry) -> bool) -> f64 {
        100.0 * self.time(part) / self.time(whole)
    }

    fn us_per_request(&self, of: impl Fn(&Entry) -> bool) -> f64 {
        self.time(of) / 1e6 / self.requests as f64
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

/// Lost at a descriptor: the burst ends, eight bytes are fetched, another burst begins.
fn at_descriptor(entry: &Entry) -> bool {
    let ends = entry.class == Use::Protocol && entry.phase.starts_with("burst");
    ends || (entry.class == Use::Waiting && entry.cause.is_empty() && entry.part != "cpu" && !is_register(entry))
}

fn is_register(entry: &Entry) -> bool {
    entry.phase.contains("register") || entry.phase.contains("retry")
}

impl Retold {
    pub(super) fn observe(setup: &Setup, trains: bool) -> Result<Retold, Failure> {
        let write = lane(setup, PLACEMENTS[0], "single-block write one", setup.depth, "cable", trains)?;
        let read = lane(setup, PLACEMENTS[0], "single-block read one", 1, "cable", trains)?;
        let same = lane(setup, PLACEMENTS[1], "single-block read two", 1, "disk2.firmware", trains)?;
        let two = lane(setup, PLACEMENTS[2], "single-block read two", setup.depth, "cable", trains)?;
        // On the way to memory's first data: the bridge asks again, PHLDA# comes, the address, memory answers.
        let until_memory = |entry: &Entry| {
            embedded(entry)
                && matches!(
                    entry.phase.as_str(),
                    "re-request delay" | "PHOLD# to PHLDA#" | "address" | "wait for memory"
                )
        };
        let set_up = |entry: &Entry| lost(entry) && !embedded(entry) && !at_descriptor(entry);
        let registers = |entry: &Entry| set_up(entry) && (entry.part == "cpu" || is_register(entry));
        Ok(Retold {
            write_embedded: write.percent(embedded, all),
            write_embedded_until_memory: write.percent(until_memory, embedded),
            write_set_up: write.percent(|entry| lost(entry) && !embedded(entry), all),
            read_lost: read.percent(lost, all),
            read_set_up: read.percent(set_up, lost),
            read_registers_us: read.us_per_request(registers),
            read_not_ready_us: read.us_per_request(|entry| entry.cause == "drive not ready"),
            same_channel: same.percent(|entry| entry.cause == "channel busy with another command", all),
            two_channels: two.percent(|entry| lost(entry) && entry.lane == "ide.buffer", lost),
        })
    }
}
