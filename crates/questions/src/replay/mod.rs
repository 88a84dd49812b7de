//! Replays recorded traces of requests on a machine.
//!
//! Where a trace has response times of its own, those of the simulation stand beside them: both distributions, how far
//! they are apart (the demerit figure), and request by request.

mod demerit;
mod figures;
mod player;
mod report;

use std::io::Read;

use hopscope_files::problem::{Problem, Problems};
use hopscope_files::trace_file::{
    Format, Gaps, Gate, Limits, Lines, Only, Requests, Told, TraceProblem, Wrong, gaps_of, suspicious_unit,
};
use hopscope_kernel::{Ended, Sim, Time};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::both::Both;
use hopscope_machine::hops::names;
use hopscope_machine::run::Failure;
use hopscope_observe::account::Ledger;
use hopscope_observe::lives::{Enough, Latency};
use hopscope_observe::{Account, Lives};
use hopscope_parts::nearest::did_you_mean;

pub use self::figures::{Figures, Paired, Responses};
pub use self::report::report;
use crate::explain::EXTENT;

/// No simulation goes beyond it.
const END: Time = Time::ms(150 * 24 * 3_600 * 1_000);
/// Requests of a sample by which a format and its units are judged.
const SAMPLE_BYTES: usize = 64 << 10;

/// Hears, now and then, of bytes read, requests ended and simulated time.
pub type Progress = Box<dyn FnMut(u64, u64, Time)>;

/// What is to be replayed, and how.
pub struct Trace {
    /// Its name in messages.
    pub name: String,
    /// Where it comes from.
    pub input: Box<dyn Read>,
    /// Its format; nothing where its beginning decides.
    pub format: Option<Format>,
    /// Which of its devices are played; nothing where it has one only.
    pub only: Option<Only>,
    /// What gaps lie between, in traces that have gaps; nothing where the platter decides.
    pub gaps: Option<Gaps>,
}

/// How to replay.
#[derive(Clone, Debug)]
pub struct Options {
    /// The part that it is played on; nothing for the system's default.
    pub target: Option<String>,
    /// Decides every draw of the machine.
    pub seed: u64,
    /// Whether regular bursts are booked as trains. Results are the same, to the bit.
    pub trains: bool,
    /// Whether hops are accounted for, over the first of the requests.
    pub account: bool,
}

/// What hops did during the first requests of a replay, and what those waited for.
#[derive(Clone, Debug)]
pub struct Accounted {
    /// Where the time went, hops that are alike as one.
    pub account: Account,
    /// Where the response times went, likewise; nothing where no request ended.
    pub latency: Option<Latency>,
}

/// What a replay gave.
#[derive(Debug)]
pub struct Replayed {
    /// The format it was read as.
    pub format: Format,
    /// What its gaps lie between, and how that is known; nothing where it has times.
    pub gaps: Option<(Gaps, Told)>,
    /// The part that it was played on.
    pub target: String,
    /// What was computed, even where the trace could not be read to its end.
    pub figures: Figures,
    /// Lines with requests that move no data, which were passed over.
    pub without_data: u64,
    /// Why the trace could not be read to its end.
    pub problem: Option<TraceProblem>,
    /// Simulated time.
    pub simulated: Time,
    /// Events of the kernel.
    pub events: u64,
    /// What hops did, where that was asked for.
    pub accounted: Option<Accounted>,
}

/// Why nothing was replayed.
#[derive(Debug)]
pub enum Refused {
    /// The trace is none.
    Trace(TraceProblem),
    /// The machine does not fit, or the model came to a stop by itself.
    Machine(Failure),
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Refused {
        Refused::Machine(failure)
    }
}

impl From<TraceProblem> for Refused {
    fn from(problem: TraceProblem) -> Refused {
        Refused::Trace(problem)
    }
}

/// Replays a trace on a device of the machine.
pub fn replay(blueprint: &Blueprint, trace: Trace, options: &Options, progress: Progress) -> Result<Replayed, Refused> {
    let machine = blueprint.instantiate(Sim::new(), options.seed).map_err(Failure::Input)?;
    let sim = &machine.sim;
    if !options.trains {
        sim.without_trains();
    }
    let target = options.target.clone().unwrap_or(blueprint.default_target.clone());
    let Some(volume) = machine.volumes.get(&target) else {
        let names: Vec<&str> = machine.volumes.keys().map(String::as_str).collect();
        let help = format!("{} (devices: {})", did_you_mean(&target, &names), names.join(", "));
        let problem = Problem::nowhere(format!("this system has no device `{target}`")).help(help);
        return Err(Failure::Input(Problems::from(problem)).into());
    };
    let limits = Limits { size_bytes: volume.size_bytes(), block_bytes: u64::from(volume.block_bytes()) };
    let mut lines = Lines::new(trace.input, trace.name);
    let whole = lines.sample()?;
    let sample = &whole[..cut(whole)];
    let Some(format) = trace.format.or_else(|| Format::of(sample)) else {
        return Err(none_of_them(&mut lines)?.into());
    };
    let gate = || Gate::new(limits, trace.only);
    // Whoever names the format says what the units are.
    let suspicion = if trace.format.is_none() { suspicious_unit(format, sample, gate()) } else { None };
    let asked = || trace.gaps.map(|gaps| (gaps, Told::Asked));
    let told = || gaps_of(whole).map(|gaps| (gaps, Told::Platter));
    let follows = format.follows_completions();
    let gaps = follows.then(|| asked().or_else(told).unwrap_or((Gaps::SinceLast, Told::Nothing)));
    let requests = Requests::new(format, gaps.map_or(Gaps::SinceLast, |(gaps, _)| gaps), gate(), sample);
    if gaps.is_none() && trace.gaps.is_some() {
        let problem = format!("a trace in the format {} has times, and no gaps", format.word());
        return Err(lines.nowhere(problem, "leave --gaps away").into());
    }
    if let Some(suspicion) = suspicion {
        let help = format!("if they are right as they are, say so with --format {}", format.word());
        return Err(lines.nowhere(suspicion, &help).into());
    }
    let watched = options.account.then(|| {
        let (ledger, lives) = (Ledger::new(Time::ZERO, EXTENT), Lives::new(sim, Time::ZERO, Enough::FOR_AN_ACCOUNT));
        sim.observe(Box::new(Both(Box::new(ledger.clone()), Box::new(lives.clone()))));
        (ledger, lives)
    });
    let player = player::start(sim, volume.clone(), lines, requests, format.follows_completions(), progress);
    match sim.run(END) {
        Ended::Finished | Ended::Stopped | Ended::Limit => {}
        // The parts wait for the next request, which never comes.
        Ended::Deadlock(_) if player.has_ended() => {}
        Ended::Deadlock(who) => return Err(defect("everybody waits for somebody", sim, &who).into()),
        Ended::Livelock(who) => return Err(defect("time stands still", sim, &who).into()),
    }
    let (figures, without_data) = (player.figures(), player.without_data());
    let problem = player.problem.borrow_mut().take();
    let (simulated, events) = (sim.now(), sim.counts().events);
    let accounted = match watched {
        Some((ledger, lives)) => accounted(blueprint, sim, (&ledger, &lives))?,
        None => None,
    };
    sim.tear_down();
    Ok(Replayed { format, gaps, target, figures, without_data, problem, simulated, events, accounted })
}

/// What came of watching; nothing where no lane worked.
fn accounted(
    blueprint: &Blueprint,
    sim: &Sim,
    (ledger, lives): (&Ledger, &Lives),
) -> Result<Option<Accounted>, Failure> {
    let account = Account::of(sim, ledger, true)
        .map_err(|what| Failure::Defect(format!("the account does not add up: {what}")))?;
    let names = names(blueprint.parts(), sim);
    let latency = lives.latency().map(|latency| latency.alike(&names));
    Ok(account.map(|account| Accounted { account: account.alike(&names), latency }))
}

/// A sample ends with a line.
fn cut(sample: &[u8]) -> usize {
    if sample.len() <= SAMPLE_BYTES {
        return sample.len();
    }
    sample[..SAMPLE_BYTES].iter().rposition(|byte| *byte == b'\n').map_or(SAMPLE_BYTES, |last| last + 1)
}

fn defect(what: &str, sim: &Sim, lines: &[String]) -> Failure {
    Failure::Defect(format!("at {}: {what}\n  {}", sim.now(), lines.join("\n  ")))
}

/// A text that is no trace.
fn none_of_them(lines: &mut Lines) -> Result<TraceProblem, TraceProblem> {
    if !lines.advance()? {
        return Ok(lines.nowhere("there is no request in this trace", "is it empty?"));
    }
    let words: Vec<&str> = Format::ALL.iter().map(|format| format.word()).collect();
    let end = lines.line().len();
    let wrong = Wrong::at(0..end, "this is no line of a trace that is known here").label("which format is that?");
    let help = format!("formats: {}; name one with --format, and see `hopscope replay --help`", words.join(", "));
    Ok(lines.problem(wrong.help(help)))
}
