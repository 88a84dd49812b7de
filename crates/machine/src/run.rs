//! Runs jobs on a machine.

mod outcome;

use std::cell::Cell;
use std::sync::atomic::AtomicBool;

use hopscope_files::job_file::Job;
use hopscope_files::problem::{Problem, Problems};
use hopscope_kernel::{Ended, Observer, Sim, Time};
use hopscope_observe::Transfers;
use hopscope_observe::batches::Rate;
use hopscope_parts::protocols::storage::{READ, WRITE};
use hopscope_parts::workload::Running;

use crate::blueprint::Blueprint;
use crate::both::Both;
use crate::convergence::{Ending, Ends, LIMIT, Noted, Span, UNTIL, advance};
use crate::fio_json::Figures;
use crate::processor_cost::{ProcessorCost, processors};
use crate::started::Started;
pub use crate::started::{JOB, process_name};
use outcome::both;
pub use outcome::{JobOutcome, Outcome, Passed, Stage, Stop, Telling};

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Decides every draw.
    pub seed: u64,
    /// Whether regular bursts are booked as trains. Results are the same, to the bit.
    pub trains: bool,
    /// Stop when everything has come to rest and the 95 % interval of the throughput is narrower than this share either
    /// way. Jobs that have no end of their own stop at [`UNTIL`] where nothing is said.
    pub until: Option<f64>,
    /// Stop within a runtime as soon as the rest of it says nothing new: when the mean is known to [`UNTIL`], nothing fills
    /// or empties before the runtime is over, and what was otherwise before weighs no more in it than that. Of a runtime
    /// with writes that parts hold a tenth is simulated at least, or four times as long as it took to be known, while they
    /// hold as much; what was known before is in [`Outcome::early`]. A run may stop within a ramp likewise, if nothing but
    /// what they hold remembers anything.
    pub not_longer_than_needed: bool,
    /// Where that is not so only because a store empties that is used up before the runtime is over, stop as soon as
    /// everything else has come to rest ([`Stop::Emptying`]): [`crate::phases`] goes on from there.
    pub by_phases: bool,
    /// Stop when this is true.
    pub interrupted: Option<&'static AtomicBool>,
    /// Stop as soon as whoever watches has seen enough of who did what.
    pub while_watched: bool,
    /// What the run has come to by then is noted, and told: [`Outcome::passed`]. Not before the ramp is over.
    pub noted_at: Option<Time>,
    /// Stop as soon as the runtime is over, whatever is in flight: what is looked at is a window, and not what jobs get
    /// that end. Without it jobs end as fio's do, with their requests in flight and the pause that they are in.
    pub cut: bool,
}

impl Options {
    /// What most runs are made with.
    pub const USUAL: Options = Options {
        seed: 1,
        trains: true,
        until: None,
        not_longer_than_needed: false,
        by_phases: false,
        interrupted: None,
        while_watched: false,
        noted_at: None,
        cut: false,
    };
}

impl Default for Options {
    fn default() -> Self {
        Options::USUAL
    }
}

/// Why there is no outcome.
#[derive(Debug)]
pub enum Failure {
    /// The jobs do not fit the machine.
    Input(Problems),
    /// The model came to a stop by itself: a defect, with what was going on.
    Defect(String),
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Self {
        Failure::Input(problems)
    }
}

/// Runs `jobs` on the machine, with `watcher` besides.
pub fn run(
    blueprint: &Blueprint,
    jobs: &[Job],
    options: Options,
    watcher: Option<Box<dyn Observer>>,
) -> Result<Outcome, Failure> {
    run_in(Sim::new(), blueprint, jobs, options, watcher)
}

/// The same in a simulation that the caller keeps, to ask it for its lanes afterwards.
pub fn run_in(
    sim: Sim,
    blueprint: &Blueprint,
    jobs: &[Job],
    options: Options,
    watcher: Option<Box<dyn Observer>>,
) -> Result<Outcome, Failure> {
    run_telling(sim, blueprint, jobs, options, watcher, &|_| {})
}

/// The same, and tells what is known before it is over.
pub fn run_telling(
    sim: Sim,
    blueprint: &Blueprint,
    jobs: &[Job],
    options: Options,
    watcher: Option<Box<dyn Observer>>,
    tell: &dyn Fn(Telling<'_>),
) -> Result<Outcome, Failure> {
    let started = Started::of(sim, blueprint, jobs, options.seed, options.trains, &[])?;
    let Started { machine, running, thinks, mut outcomes } = started;
    let sim = &machine.sim;
    let transfers = Transfers::new(Time::ZERO);
    let counting = Box::new(transfers.clone());
    sim.observe(match watcher {
        Some(watcher) => Box::new(Both(counting, watcher)),
        None => counting,
    });
    let last = jobs.iter().map(|job| job.stage).max().unwrap_or(0);
    let mut cost = processors(blueprint).map(ProcessorCost::none);
    let (mut stages, mut early, passed) = (Vec::new(), None, Cell::new(None));
    for number in 0..=last {
        let (processes, start) = (sim.processes(), sim.now());
        let of_stage = |job: &Job| job.stage == number;
        let asked: Vec<&Job> = jobs.iter().filter(|job| of_stage(job)).collect();
        let now: Vec<&Running> = jobs.iter().zip(&running).filter(|(job, _)| of_stage(job)).map(|(_, it)| it).collect();
        let until = options.until.or_else(|| asked.iter().any(|job| is_endless(job)).then_some(UNTIL));
        let all_pauses = jobs.iter().zip(&thinks).filter(|(job, _)| of_stage(job)).map(|(_, time)| *time).max();
        let all_pauses = until.is_none().then(|| all_pauses.unwrap_or(Time::ZERO));
        let span = Span::of(sim, &asked, start, all_pauses);
        let Span { from, pause, .. } = span;
        let ends = Ends::of(&options, until, span.has_runtime);
        let windows = ends.may_be_early().then_some(span.every);
        let count_from = |from: Time| {
            transfers.restart(from, windows);
            sim.meter_from(from, windows.unwrap_or(1));
        };
        for running in &now {
            running.begin();
            // What writes leave behind for the devices to do is not the jobs' any more.
            running.stop_at_end();
        }
        let all_ended = || now.iter().all(|running| running.ended().is_some());
        let got = |outcomes: &mut [JobOutcome], rate: &Rate| {
            for (index, (job, outcome)) in jobs.iter().zip(outcomes).enumerate().filter(|(_, (job, _))| of_stage(job)) {
                let process = processes.iter().position(|name| *name == process_name(index, job)).unwrap_or(0) as u16;
                let sides = [transfers.of(process, &READ), transfers.of(process, &WRITE)];
                (outcome.from, outcome.until) = (rate.warm_up, rate.end);
                (outcome.got, outcome.sides) = (both(&sides), sides);
            }
        };
        let by_now = |Ending { stop, unsettled, settled, .. }, rate: Rate| {
            let warm = Some(transfers.batches().warmed_up()).filter(|warm| warm.warm_up > rate.warm_up).unwrap_or(rate);
            Stage { start, from: from.min(rate.warm_up), end: sim.now(), rate, warm, stop, unsettled, settled }
        };
        let known = |ending: Ending| {
            let (mut jobs, stage) = (outcomes.clone(), by_now(ending, transfers.rate()));
            got(&mut jobs, &stage.rate);
            let outcome = Outcome::of(jobs, vec![stage], None, sim.counts());
            if let Some(outcome) = outcome.filter(|_| last == 0) {
                let outcome = Outcome { passed: passed.get(), ..outcome };
                tell(Telling::Known(&outcome));
                early = Some(outcome);
            }
        };
        let pass = || {
            let mut jobs = outcomes.clone();
            got(&mut jobs, &transfers.rate());
            let got = || jobs.iter().filter_map(|job| job.got.as_ref());
            let (transfers, longest) = (got().map(|got| got.count).sum(), got().map(|got| got.latency_ns.max()).max());
            let (at, longest, counts) = (sim.now(), Time::ns(longest.unwrap_or(0)), sim.counts());
            let noted = Passed { at, from, transfers, longest, counts };
            tell(Telling::Passed(noted));
            passed.set(Some(noted));
        };
        let noted = options.noted_at.filter(|at| last == 0 && *at >= from).map(|at| Noted { at, pass: &pass });
        let mut in_ramp = None;
        if ends.not_longer_than_needed
            && let Some(ramp) = span.needless_ramp(sim, &asked)
        {
            count_from(start);
            in_ramp =
                Some(advance(sim, &transfers, &ramp, ends, all_ended, |_| {}, None)?).filter(|ending| ending.window);
        }
        let ending = match in_ramp {
            Some(ending) => ending,
            None => {
                count_from(from);
                advance(sim, &transfers, &span, ends, all_ended, known, noted)?
            }
        };
        let (stop, window) = (ending.stop, ending.window);
        // What ends after the runtime says nothing of when it had warmed up, and of how the rate varies.
        let mut stage = by_now(ending, transfers.rate());
        let rate = &mut stage.rate;
        let ends_as_in_fio = !window && !options.cut && stop != Stop::Interrupted;
        if ends_as_in_fio {
            end_all(sim, &now, pause)?;
        }
        got(&mut outcomes, rate);
        let of_jobs = jobs.iter().zip(&mut outcomes).zip(&running);
        for ((job, outcome), running) in of_jobs.filter(|((job, _), _)| of_stage(job) && !window) {
            let last_end = outcome.got.as_ref().map_or(Time::ZERO, |got| got.last_end);
            outcome.until = match running.ended() {
                Some(ended) => ended,
                None if options.cut => last_end,
                None => sim.now(),
            };
            // A pause that the ramp ends in is of the ramp.
            let issued = outcome.got.as_ref().map_or(rate.warm_up, |got| got.first_issue);
            if from > start && job.think.time > Time::ZERO {
                outcome.from = outcome.from.max(issued);
            }
        }
        if ends_as_in_fio {
            let together = jobs.iter().zip(&outcomes).filter(|(job, _)| of_stage(job)).map(|(_, outcome)| outcome);
            rate.bytes_per_second = Figures::of_all(together).map_or(0.0, |all| all.bytes_per_second);
            rate.end = sim.now();
        }
        if let Some(cost) = &mut cost {
            let ended =
                jobs.iter().zip(&outcomes).filter(|(job, _)| of_stage(job)).filter_map(|(_, job)| job.got.as_ref());
            let ended = ended.fold((0, 0), |(count, bytes), got| (count + got.count, bytes + got.bytes));
            add_stage(cost, sim, rate, ended)?;
        }
        stages.push(Stage { end: sim.now(), ..stage });
        if stop == Stop::Interrupted {
            break;
        }
        if number < last {
            end_all(sim, &now, pause)?;
        }
    }
    sim.tear_down();
    let Some(outcome) = Outcome::of(outcomes, stages, cost, sim.counts()) else {
        return Err(Failure::Defect("a run without a stage".to_string()));
    };
    let early = early.filter(|early| outcome.confirms(early)).map(Box::new);
    Ok(Outcome { early, passed: passed.get(), ..outcome })
}

/// What a stage cost the processors, in the window that its requests are of.
fn add_stage(cost: &mut ProcessorCost, sim: &Sim, rate: &Rate, ended: (u64, u64)) -> Result<(), Failure> {
    if ended.0 == 0 {
        return Ok(());
    }
    let Rate { warm_up, end, .. } = *rate;
    let metered = sim.metered(warm_up, end);
    let Some(metered) = metered else {
        return Err(Failure::Defect(format!("nothing was metered from {warm_up} to {end}")));
    };
    cost.add(end.saturating_sub(warm_up), &metered, ended);
    Ok(())
}

/// What looks at a window of a run looks at jobs that run at the same time.
pub fn at_once(jobs: &[Job]) -> Result<(), Problem> {
    match jobs.iter().find(|job| job.stage > 0) {
        None => Ok(()),
        Some(later) => {
            let problem = Problem::at(later.place_of("stonewall"), format!("`{}` runs after other jobs", later.name));
            Err(problem
                .label("not at the same time")
                .help("`run` takes such jobs; here, write one file for each stage"))
        }
    }
}

/// Whether a job goes on for ever: nothing says how long it runs, or how much it moves.
pub fn is_endless(job: &Job) -> bool {
    job.runtime.is_none() && job.size_bytes.is_none() && job.size_percent.is_none()
}

/// Lets jobs end whose time is over: what is in flight ends, and so does a pause; nothing more is issued.
fn end_all(sim: &Sim, running: &[&Running], pause: Time) -> Result<(), Failure> {
    for running in running {
        running.end();
    }
    let end = sim.now().saturating_add(pause + LIMIT * 60);
    while !running.iter().all(|running| running.ended().is_some()) {
        match sim.run(end) {
            Ended::Finished | Ended::Stopped => {}
            Ended::Deadlock(lines) => return Err(defect("everybody waits for somebody", sim, &lines)),
            Ended::Livelock(lines) => return Err(defect("time stands still", sim, &lines)),
            Ended::Limit => return Err(defect("requests in flight do not end", sim, &[])),
        }
    }
    Ok(())
}

pub(crate) fn defect(what: &str, sim: &Sim, lines: &[String]) -> Failure {
    Failure::Defect(format!("at {}: {what}\n  {}", sim.now(), lines.join("\n  ")))
}
