//! What would it buy? A machine and its work, changed, before and after.
//!
//! - `change`: what changes make of a machine and its work.
//! - `knob`: the numbers that can be moved.
//! - `sensitivity`: every number moved a little.
//! - `upgrades`: the changes of `data/upgrades/` that fit a machine.
//! - `comparison`: given changes, before and after, with both accounts.
//! - `json`: all of it as one JSON object.

pub(crate) mod amount;
mod change;
mod comparison;
pub mod json;
mod knob;
mod sensitivity;
pub mod upgrades;

use hopscope_files::library::Library;
use hopscope_files::problem::{Problem, Sources};
use hopscope_kernel::Time;
use hopscope_machine::phases::{Phase, first};
use hopscope_machine::run::{Failure, Options, Outcome, Stop};
use hopscope_parts::parameters::Basis;

use crate::diagnosis::{self, Limiting};
use crate::explain::{EXTENT, Explained, explain, observe, run_at_once};

use crate::trials::Trials;
pub use crate::trials::{Effort, Performance, Setting, Shift};
pub use change::{Changed, apply};
pub use comparison::compare;
pub use sensitivity::sensitivities;
use sensitivity::{Foreseen, sensitivities_with};
pub use upgrades::upgrades;
use upgrades::upgrades_with;

/// How one change of a number acts, against the machine as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The number, as changed; of a column so many times each row, `x0.9`.
    pub changed_to: String,
    /// Of the throughput.
    pub throughput: Shift,
    /// Of the mean latency.
    pub latency: Shift,
}

/// How far a number can be moved in the direction that helps.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The furthest value at which a step still brings about as much as the first one.
    pub value: String,
    /// Relative change of the throughput there.
    pub throughput: f64,
    /// Why no further.
    pub beyond: Beyond,
}

/// What comes after the end of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// A further step brings less than half of what the first one did.
    Less,
    /// The part refuses more.
    Refused,
    /// It was not moved further: to nothing, or to ten times as much.
    NotTried,
}

impl Beyond {
    /// In words, as in JSON and tables.
    pub fn words(self) -> &'static str {
        match self {
            Beyond::Less => "further steps bring less",
            Beyond::Refused => "the part refuses more",
            Beyond::NotTried => "as far as it was moved",
        }
    }
}

/// What one number does to the result.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// Its path, `part.key`, of a table's column `part.table.rows[].key`, or of the jobs `job.iodepth`, `job.bs`, `job.rwmixread` and `job.thinktime`.
    pub parameter: String,
    /// The number as it is.
    pub value: String,
    /// `source`, `measured`, `fitted`, `assumed`; `several` for a column with more than one of these, `job` for what the
    /// workload says.
    pub basis: &'static str,
    /// What less and more of it does; fewer than two where the part refuses.
    pub effects: Vec<Effect>,
    /// Relative change of the throughput over the relative change of the number, over both sides; nothing for a
    /// number that is zero.
    pub elasticity: Option<f64>,
    /// How far that goes, for those with the largest effects.
    pub holds_until: Option<Range>,
}

impl Sensitivity {
    /// The largest change of the throughput that is sure, either way: what the ranking goes by.
    pub fn size(&self) -> f64 {
        self.effects.iter().map(|effect| effect.throughput.sure()).fold(0.0, f64::max)
    }

    /// The same for the mean latency.
    pub fn latency_size(&self) -> f64 {
        self.effects.iter().map(|effect| effect.latency.sure()).fold(0.0, f64::max)
    }

    /// Whether nothing at all changed, to the picosecond.
    pub fn is_nothing(&self) -> bool {
        let still = |shift: Shift| shift.mean == 0.0 && shift.half_width == 0.0;
        self.effects.iter().all(|effect| still(effect.throughput) && still(effect.latency))
    }
}

/// What every number does to the result.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivities {
    /// The machine as it is.
    pub before: Performance,
    /// The largest effect first.
    pub numbers: Vec<Sensitivity>,
    /// Changed values that a part refused.
    pub refused: usize,
    /// How it was found out.
    pub effort: Effort,
}

/// What limits a run: the hop that gains most at twice its pace, or the hops that gain more together.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The part of the hop, or the parts that are alike.
    pub part: String,
    /// The hop, or the first of several; where none limits, the one that gains most.
    pub lane: String,
    /// All that limit together, or the one that does so by itself; empty where none does.
    pub lanes: Vec<String>,
    /// What twice their pace gains.
    pub gain: Shift,
    /// How much of the time the hop works, where an account says so.
    pub busy: Option<f64>,
}

impl Limit {
    /// What limits a setting of which that run was explained; nothing where too few requests ended.
    pub fn of(setting: &Setting, seed: u64, explained: &Explained) -> Result<Option<Limit>, Failure> {
        let Some(trials) = Trials::new(setting, seed, explained) else { return Ok(None) };
        Limit::by(trials, setting, explained)
    }

    /// The same, by trials of the setting.
    fn by(trials: Trials<'_>, setting: &Setting, explained: &Explained) -> Result<Option<Limit>, Failure> {
        let limiting = diagnosis::limiting_of(trials, setting, explained)?;
        Ok(limiting.map(|Limiting { first, hops, doubled }| Limit {
            busy: Some(first.busy),
            part: first.part,
            lane: first.hop,
            lanes: hops,
            gain: doubled.throughput,
        }))
    }

    /// What limits a setting that was changed: of the hops that were at work before, and those that are new.
    fn among(trials: &Trials<'_>, changed: &Setting, before: &Explained) -> Result<Option<Limit>, Failure> {
        let leading = diagnosis::leading_among(trials, changed, before)?;
        Ok(leading.map(|(hop, gain)| {
            let gain = gain.throughput;
            let lanes = if gain.is_a_gain() { vec![hop.name.clone()] } else { Vec::new() };
            Limit { part: hop.part, lane: hop.name, lanes, gain, busy: None }
        }))
    }

    /// The hops in words.
    pub fn what(&self) -> String {
        diagnosis::limited_by(&self.lanes, self.gain.mean)
    }

    /// What was tried, with its gain as it is said there.
    pub fn tried(&self, gain: &str) -> String {
        match &self.lanes[..] {
            [] => format!("{} gains most, {gain} at twice its pace", self.lane),
            [_] => format!("{gain} at twice its pace"),
            _ => format!("{gain} together at twice their pace"),
        }
    }
}

/// What one shipped upgrade buys.
#[derive(Clone, Debug, PartialEq)]
pub struct Upgrade {
    /// Its name in the library.
    pub name: String,
    /// What it is.
    pub title: String,
    /// Why its numbers are what they are.
    pub basis: Basis,
    /// Its changes in words.
    pub changes: Vec<String>,
    /// Devices that it adds and that the same job was run on as well.
    pub also_on: Vec<String>,
    /// What the jobs get with it.
    pub performance: Performance,
    /// Relative change of the throughput.
    pub gain: f64,
    /// Relative change of the mean latency.
    pub latency: f64,
    /// What limits then.
    pub next_limit: Option<Limit>,
}

/// What the shipped upgrades that fit buy.
#[derive(Clone, Debug, PartialEq)]
pub struct Upgrades {
    /// The machine as it is.
    pub before: Performance,
    /// What limits it.
    pub limit: Option<Limit>,
    /// The largest gain first.
    pub upgrades: Vec<Upgrade>,
    /// Those that do not fit, by name, and why.
    pub do_not_fit: Vec<(String, String)>,
    /// How it was found out.
    pub effort: Effort,
}

/// What every upgrade and every number would do to a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlook {
    /// What upgrades buy.
    pub upgrades: Upgrades,
    /// What numbers do.
    pub sensitivities: Sensitivities,
    /// Where something is used up before the jobs are over: all of that is of the time before.
    pub only: Option<Only>,
}

/// The first phase of a run, and what is used up at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Only {
    /// How long it lasts.
    pub lasts: Time,
    /// What is used up, in words.
    pub used_up: String,
}

impl Only {
    /// In a sentence, with the time as whoever asks writes it.
    pub fn words(&self, span: impl Fn(Time) -> String) -> String {
        format!("All of this is of the first {}: then {} are used up.", span(self.lasts), self.used_up)
    }
}

/// One side of a comparison.
#[derive(Clone)]
pub struct Side {
    /// The machine and its work.
    pub setting: Setting,
    /// What the jobs got.
    pub performance: Performance,
    /// What limits them.
    pub limit: Option<Limit>,
    /// The run and its account.
    pub explained: Explained,
}

/// A machine before and after changes.
#[derive(Clone)]
pub struct Comparison {
    /// The changes in words, in the order in which they were made.
    pub changes: Vec<String>,
    /// Devices that were added and that the same job was run on as well.
    pub also_on: Vec<String>,
    /// As it is.
    pub before: Side,
    /// As changed.
    pub after: Side,
}

/// How far the work is; called from several threads.
pub type Progress<'a> = &'a (dyn Fn(News<'_>) + Sync);

/// One piece of the work is done.
#[derive(Clone, Copy, Debug)]
pub struct News<'a> {
    /// So many pieces are done.
    pub done: usize,
    /// Of so many.
    pub of: usize,
    /// What it was.
    pub what: &'a str,
    /// Relative change of the throughput that it found; nothing where the part refused.
    pub throughput: Option<f64>,
}

/// The machine as it is: the run that others are compared with, and its account.
pub fn base(setting: &Setting, options: Options) -> Result<Explained, Failure> {
    explain(&setting.blueprint, &setting.jobs, options, EXTENT, None)
}

/// Tries every upgrade of the library that fits, then every number, against the same run.
pub fn outlook(
    setting: &Setting,
    library: &Library,
    sources: &mut Sources,
    options: Options,
    progress: Progress<'_>,
) -> Result<Outlook, Failure> {
    // Trials compare what is run here with itself: no longer than it says something new.
    let shorter = Options { not_longer_than_needed: true, ..options };
    let (only, setting, outcome) = beginning(setting, shorter)?;
    let (seed, setting) = (options.seed, &setting);
    // While that is accounted for, numbers that do nothing are found.
    let (base, foreseen) = rayon::join(
        || observe(&setting.blueprint, &setting.jobs, shorter, EXTENT, outcome.clone()),
        || Foreseen::of(setting, seed, &outcome),
    );
    let (base, foreseen) = (base?, foreseen?);
    let trials = Trials::new(setting, seed, &base).ok_or_else(|| too_few(setting, &base))?;
    let trials = trials.with(foreseen.as_ref().map(|foreseen| foreseen.trials.clone()));
    let upgrades = upgrades_with(trials.clone(), setting, library, sources, &base, progress)?;
    let sensitivities = sensitivities_with(trials, setting, foreseen, progress)?;
    Ok(Outlook { upgrades, sensitivities, only })
}

/// What a setting gets; where something is used up meanwhile, until then.
fn beginning(setting: &Setting, options: Options) -> Result<(Option<Only>, Setting, Outcome), Failure> {
    let Setting { blueprint, jobs } = setting;
    let run = |by_phases| run_at_once(blueprint, jobs, Options { by_phases, ..options }, None, &|_| {});
    let outcome = run(true)?;
    if outcome.stop != Stop::Emptying {
        return Ok((None, setting.clone(), outcome));
    }
    Ok(match first(blueprint, jobs, options.seed, &outcome)? {
        Some(Phase { blueprint, jobs, outcome, until, used_up, .. }) => {
            let only = used_up.map(|used_up| Only { lasts: until, used_up });
            (only, Setting { blueprint, jobs }, outcome)
        }
        None => (None, setting.clone(), run(false)?),
    })
}

/// Why a run shows nothing that changes could be compared by.
fn too_few(setting: &Setting, base: &Explained) -> Failure {
    let thinking = setting.jobs.iter().find(|job| job.think.time > Time::ZERO);
    let problem = match thinking.filter(|_| base.account.is_idle()) {
        Some(job) => {
            let (from, until) = (base.account.from, base.account.until);
            let title = format!("from {from} to {until} the jobs paused: no change of the machine changes that");
            Problem::at(job.place_of("thinktime"), title).help("ask for a longer `runtime`, or for shorter pauses")
        }
        None => Problem::nowhere("too few transfers ended in the measured time to compare anything")
            .help("give the jobs a longer runtime"),
    };
    Failure::Input(problem.into())
}
