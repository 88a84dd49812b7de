//! Runs what was read: as `run` does, as `explain` does, and now and then as `whatif` does, with every hop and every
//! number tried. Little time is simulated, and few events.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use hopscope_files::job_file::Job;
use hopscope_files::problem::{Problems, Sources};
use hopscope_kernel::{Observer, Record, Time};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Failure, Options, Stop, run};
use hopscope_questions::diagnosis::diagnose;
use hopscope_questions::explain::{EXTENT, Explained, explain};
use hopscope_questions::explain_json;
use hopscope_questions::trials::Setting;
use hopscope_questions::whatif;

use super::drawn::Drawn;

/// Simulated time of a run where an input does not ask for less, and of its ramp.
const SPAN: Time = Time::ms(20);
/// Records of a run, about: what follows is at most as long.
const RECORDS: usize = 8_000;
/// The same of a run that is tried with every hop and number changed, and of one with every number.
const EVENTS_TO_TRY: u64 = 300;
const EVENTS_TO_MOVE: u64 = 150;
const HOPS_TO_TRY: usize = 24;

/// Stops a run that has made so many records.
struct Fuse(usize, &'static AtomicBool);

impl Observer for Fuse {
    fn records(&mut self, batch: &[Record]) {
        self.0 = self.0.saturating_sub(batch.len());
        if self.0 == 0 {
            self.1.store(true, Ordering::Relaxed);
        }
    }

    fn wants_phases(&self) -> bool {
        true
    }
}

/// One of this thread's own.
fn blown() -> &'static AtomicBool {
    thread_local! {
        static BLOWN: RefCell<Option<&'static AtomicBool>> = const { RefCell::new(None) };
    }
    let blown = BLOWN.with(|mine| *mine.borrow_mut().get_or_insert_with(|| Box::leak(Box::default())));
    blown.store(false, Ordering::Relaxed);
    blown
}

/// Runs and explains a machine, as drawn. A driver's steps are a program, and one of `text` may well leave the machine
/// waiting.
pub fn runs(blueprint: &Blueprint, jobs: &[Job], drawn: &Drawn, sources: &Sources, text: &str) {
    let Some(setting) = runs_briefly(blueprint, jobs, drawn, sources, text) else { return };
    let options = options(drawn);
    let explained = match explain(&setting.blueprint, &setting.jobs, options, EXTENT, None) {
        Ok(explained) => explained,
        Err(failure) => return failed(failure, sources, text),
    };
    adds_up(&setting.blueprint, &explained);
    if !drawn.is_tried() || !can_be_tried(&explained) {
        return;
    }
    match diagnose(&setting, drawn.seed, &explained, &|_, _| {}) {
        Ok(Some(diagnosis)) => {
            assert!(!diagnosis.why.is_empty());
            let report = explain_json::report(&setting.blueprint, &explained, Some(&diagnosis));
            assert!(!report["bottleneck"].is_null());
        }
        Ok(None) => {}
        Err(failure) => return failed(failure, sources, text),
    }
    if explained.outcome.counts.events <= EVENTS_TO_MOVE {
        match whatif::sensitivities(&setting, drawn.seed, &explained, &|_| {}) {
            Ok(numbers) => assert!(numbers.numbers.iter().all(|number| number.size().is_finite())),
            Err(failure) => failed(failure, sources, text),
        }
    }
}

/// Whether trials of a run do not take too long.
pub fn can_be_tried(explained: &Explained) -> bool {
    explained.outcome.counts.events <= 2 * EVENTS_TO_TRY && explained.hops.len() <= HOPS_TO_TRY
}

/// How an input is run.
pub fn options(drawn: &Drawn) -> Options {
    // Requests of any length and pauses of any time would end first, as in fio.
    Options { seed: drawn.seed, trains: drawn.trains, cut: true, ..Options::default() }
}

/// Runs a machine for a moment. What it was run with is what can be afforded again; nothing where it was refused.
pub fn runs_briefly(
    blueprint: &Blueprint,
    jobs: &[Job],
    drawn: &Drawn,
    sources: &Sources,
    text: &str,
) -> Option<Setting> {
    let brief = |job: &Job| {
        let job = drawn.with_options(job);
        let runtime = Some(job.runtime.unwrap_or(SPAN).min(SPAN));
        Job { runtime, ramp_time: job.ramp_time.min(SPAN), ..job }
    };
    let mut jobs: Vec<Job> = jobs.iter().map(brief).collect();
    // Jobs start and stop together; that others are refused is tested elsewhere.
    let first = jobs.first().map(|job| (job.runtime, job.ramp_time))?;
    jobs.iter_mut().for_each(|job| (job.runtime, job.ramp_time) = first);
    let blown = blown();
    let fuse = Some(Box::new(Fuse(RECORDS, blown)) as Box<dyn Observer>);
    let outcome = match run(blueprint, &jobs, Options { interrupted: Some(blown), ..options(drawn) }, fuse) {
        Ok(outcome) => outcome,
        Err(failure) => {
            failed(failure, sources, text);
            return None;
        }
    };
    let (runtime, ramp) = (first.0.unwrap_or(SPAN), first.1);
    for stage in &outcome.stages {
        // Between two stages what is in flight ends, however long that takes.
        let took = stage.end - stage.start;
        assert!(took <= ramp + runtime, "{took} instead of {ramp} and {runtime}");
    }
    let is_too_long = drawn.is_tried() && outcome.counts.events > EVENTS_TO_TRY;
    if outcome.stop == Stop::Interrupted || is_too_long {
        let over = if is_too_long { outcome.counts.events.div_ceil(EVENTS_TO_TRY) } else { 1 };
        let span = Time::ps((outcome.simulated.as_ps() / over).max(1));
        let (ramp, runtime) = if ramp < span { (ramp, span - ramp) } else { (Time::ZERO, span) };
        jobs.iter_mut().for_each(|job| (job.runtime, job.ramp_time) = (Some(runtime), ramp));
    }
    Some(Setting { blueprint: blueprint.clone(), jobs })
}

/// What is said of a run can be said.
fn adds_up(blueprint: &Blueprint, explained: &Explained) {
    let (throughput, iops) = (explained.throughput(), explained.iops());
    assert!(throughput.is_finite() && throughput >= 0.0 && iops.is_finite() && iops >= 0.0, "{throughput}, {iops}");
    for hop in &explained.hops {
        let share = explained.busy_share(&hop.name);
        assert!((0.0..=1.0).contains(&share), "{} is at work {share} of the time", hop.name);
    }
    let report = explain_json::report(blueprint, explained, None);
    assert!(report["bottleneck"].is_null() && !report.to_string().is_empty());
}

/// A failure that says something. A defect of the program is none.
#[track_caller]
pub fn failed(failure: Failure, sources: &Sources, text: &str) {
    match failure {
        Failure::Input(problems) => said(&problems, sources),
        Failure::Defect(what) => {
            assert!(text.contains("cycle") && what.contains("everybody waits for somebody"), "{what}");
        }
    }
}

#[track_caller]
fn said(problems: &Problems, sources: &Sources) {
    assert!(!problems.0.is_empty() && problems.0.iter().all(|problem| !problem.title.is_empty()));
    assert!(!problems.render(sources, false).is_empty());
}
