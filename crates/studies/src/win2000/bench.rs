//! One run: a machine, a request, and what is measured of it.

use hopscope_files::job_file::{self, Job};
use hopscope_files::problem::Sources;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{self, Failure, Options, Outcome};
use hopscope_observe::JobTransfers;

use super::{ID, Setup};
use crate::measure::{Mean, over_seeds};

/// Simulated time until a run is as it stays, and what is measured then, milliseconds: of requests that follow each
/// other, and of drawn ones. Those that follow each other get some more for every KB: several have to end.
const SEQUENTIAL_MS: (u64, u64) = (60, 100);
pub(super) const KB_A_MS: u64 = 4;
const RANDOM_MS: (u64, u64) = (100, 1_500);
/// Seeds of drawn requests, and of long ones.
const SEEDS: u64 = 4;
const SEEDS_OF_LONG: u64 = 2;
const LONG_KB: u64 = 256;

/// What is asked of the devices.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ask<'a> {
    /// As fio calls it.
    pub(super) rw: &'a str,
    pub(super) size_kb: u64,
    pub(super) depth: u64,
    /// Past the system's cache.
    pub(super) direct: bool,
    /// Devices, each with a job of its own; the machine's first where there is none.
    pub(super) devices: &'a [String],
    /// Simulated time to warm up and to measure, milliseconds, if it is not the usual.
    pub(super) span_ms: Option<(u64, u64)>,
}

impl Ask<'_> {
    fn is_random(&self) -> bool {
        self.rw.starts_with("rand")
    }

    fn jobs(&self) -> Result<Vec<Job>, Failure> {
        let more = self.size_kb / KB_A_MS;
        let usual = if self.is_random() { RANDOM_MS } else { (SEQUENTIAL_MS.0 + more, SEQUENTIAL_MS.1 + more) };
        let (ramp, runtime) = self.span_ms.unwrap_or(usual);
        let (rw, size, depth, direct) = (self.rw, self.size_kb, self.depth, u8::from(self.direct));
        let mut words = format!(
            "[global]\nrw={rw}\nbs={size}k\niodepth={depth}\ndirect={direct}\nnorandommap=1\ntime_based=1\n\
             ramp_time={ramp}ms\nruntime={runtime}ms\n"
        );
        if self.devices.is_empty() {
            words += "[all]\n";
        }
        for device in self.devices {
            words += &format!("[{device}]\nfilename={device}\n");
        }
        let mut sources = Sources::default();
        let file = sources.add("job", words);
        Ok(job_file::read(&sources, file)?.jobs)
    }
}

/// What a run gave.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Got {
    pub(super) mb_per_s: f64,
    pub(super) a_second: f64,
    pub(super) processor_us: f64,
}

pub(super) fn machine<'a>(setup: &'a Setup, name: &str) -> &'a Blueprint {
    setup.machines.0.get(name).unwrap_or_else(|| panic!("studies/{ID}/study.toml: no machine {name}"))
}

/// Runs it once.
pub(super) fn once(setup: &Setup, name: &str, ask: &Ask, seed: u64) -> Result<Got, Failure> {
    let options = Options { seed, trains: setup.trains, cut: true, ..Options::default() };
    Ok(got(ask, &run::run(machine(setup, name), &ask.jobs()?, options, None)?))
}

/// Requests a second, of whole ones: when the first that counts was issued, the others in flight had not ended.
fn a_second(ask: &Ask, got: &JobTransfers) -> f64 {
    (got.count + ask.depth - 1) as f64 / (got.last_end - got.first_issue).as_seconds_f64()
}

fn got(ask: &Ask, outcome: &Outcome) -> Got {
    let all = || outcome.jobs.iter().filter_map(|job| job.got.as_ref());
    let a_second: f64 = match ask.is_random() && ask.depth > 1 {
        true => all().map(|got| got.count).sum::<u64>() as f64 / outcome.measured.as_seconds_f64(),
        false => all().map(|got| a_second(ask, got)).sum(),
    };
    let count = all().map(|got| got.count).sum::<u64>() as f64;
    let busy = outcome.processor.as_ref().map_or(0.0, |cost| cost.busy().as_seconds_f64());
    Got {
        mb_per_s: a_second * (ask.size_kb * 1_024) as f64 / 1e6,
        a_second,
        processor_us: if count > 0.0 { busy * 1e6 / count } else { 0.0 },
    }
}

/// Runs it as often as chance asks for, and measures one thing.
pub(super) fn measure(setup: &Setup, name: &str, ask: &Ask, of: fn(&Got) -> f64) -> Result<Mean, Failure> {
    let seeds = match ask.is_random() {
        false => 1,
        true if ask.size_kb >= LONG_KB => SEEDS_OF_LONG,
        true => SEEDS,
    };
    let values: Result<Vec<f64>, Failure> = (1..=seeds).map(|seed| Ok(of(&once(setup, name, ask, seed)?))).collect();
    Ok(over_seeds(&values?).as_said())
}
