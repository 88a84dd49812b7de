//! How far a run is, on stderr, where that is a terminal and the run takes a while.

use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use hopscope_files::harmless::harmless;
use hopscope_kernel::{Observer, Record, Time};
use hopscope_questions::explanation::News;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::panics::doing;

/// Runs shorter than this show nothing.
const PATIENCE: Duration = Duration::from_millis(400);

/// A line that shows how far a run is, until it is dropped.
pub struct Progress(ProgressBar);

impl Progress {
    /// A line for a run that ends at `end`, if it is known when it ends; nothing where nobody looks.
    pub fn of(end: Option<Time>) -> Option<Progress> {
        if !stderr().is_terminal() {
            return None;
        }
        let template = match end {
            Some(_) => "{bar:40} {percent} %  {msg}  {elapsed}",
            None => "{spinner} {msg}  {elapsed}",
        };
        let bar = ProgressBar::with_draw_target(end.map(in_microseconds), ProgressDrawTarget::hidden());
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
        Some(Progress(bar))
    }

    /// What moves the line on.
    pub fn watcher(&self) -> Box<dyn Observer> {
        self.watcher_from(Time::ZERO)
    }

    /// The same, of a part of the run that begins then.
    fn watcher_from(&self, from: Time) -> Box<dyn Observer> {
        Box::new(Watcher { bar: self.0.clone(), since: Instant::now(), from })
    }

    /// The run has come so far.
    fn at(&self, time: Time) {
        show(&self.0, time);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// How far an explanation is: its run, then its trials.
pub struct Explaining {
    run: Mutex<Option<Progress>>,
    trials: OnceLock<Steps>,
    system: String,
    what: String,
}

impl Explaining {
    /// For a run of jobs that end then, and `what` the trials are.
    pub fn of(end: Option<Time>, system: &str, what: String) -> Explaining {
        let (run, trials) = (Mutex::new(Progress::of(end)), OnceLock::new());
        Explaining { run, trials, system: system.to_string(), what }
    }

    /// What moves the line of the run on, of the part of it that begins then.
    pub fn watcher(&self, from: Time) -> Option<Box<dyn Observer>> {
        self.run.lock().ok()?.as_ref().map(|run| run.watcher_from(from))
    }

    /// Shows what is told.
    pub fn hear(&self, news: News) {
        match news {
            News::Come(time) => {
                if let Ok(run) = self.run.lock() {
                    run.iter().for_each(|run| run.at(time));
                }
            }
            News::Explained => {
                drop(self.run.lock().map(|mut run| run.take()));
                doing(format!("trying the hops of {}", self.system));
                self.trials.get_or_init(Steps::new);
            }
            News::Tried(done, of) => self.trials.get_or_init(Steps::new).at(done, of, &self.what),
        }
    }
}

/// A line for work that is counted in steps; silent where nobody looks, and for the first moments.
pub struct Steps {
    bar: ProgressBar,
    since: Instant,
}

impl Steps {
    /// A line that has not begun.
    pub fn new() -> Steps {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len}  {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Steps { bar, since: Instant::now() }
    }

    /// So much of so much is done; `what` was the last of it. Called from several threads.
    pub fn at(&self, done: usize, of: usize, what: &str) {
        if self.since.elapsed() < PATIENCE || !stderr().is_terminal() {
            return;
        }
        if self.bar.is_hidden() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_length(of as u64);
        self.bar.set_position(done as u64);
        self.bar.set_message(harmless(what));
    }

    /// A result that is worth a line of its own before all of them are there; nothing where nobody looks.
    pub fn line(&self, text: &str) {
        if stderr().is_terminal() {
            self.bar.suspend(|| eprintln!("{}", harmless(text)));
        }
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A line for a file that is read; silent where nobody looks, and for the first moments.
pub struct Bytes {
    bar: ProgressBar,
    since: Instant,
}

impl Bytes {
    /// A line for a file of so many bytes, if that is known.
    pub fn of(length: Option<u64>) -> Bytes {
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden());
        let template = match length {
            Some(_) => "{bar:40} {percent} %  {msg}  {elapsed}",
            None => "{spinner} {bytes}  {msg}  {elapsed}",
        };
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
        Bytes { bar, since: Instant::now() }
    }

    /// So much has been read, and `what` came of it.
    pub fn at(&self, bytes: u64, what: &str) {
        if self.since.elapsed() < PATIENCE || !stderr().is_terminal() {
            return;
        }
        if self.bar.is_hidden() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(bytes);
        self.bar.set_message(harmless(what));
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

struct Watcher {
    bar: ProgressBar,
    since: Instant,
    /// When the part of the run begins that is seen.
    from: Time,
}

impl Observer for Watcher {
    fn wants_phases(&self) -> bool {
        false
    }

    fn records(&mut self, batch: &[Record]) {
        // What is shown may be something else by now, while the run goes on.
        if self.since.elapsed() < PATIENCE || self.bar.is_finished() {
            return;
        }
        let transferred = |record: &Record| match *record {
            Record::Transfer { at, .. } => Some(at),
            _ => None,
        };
        if let Some(at) = batch.iter().rev().find_map(transferred) {
            show(&self.bar, self.from + at);
        }
    }
}

/// A run has come so far.
fn show(bar: &ProgressBar, time: Time) {
    if bar.is_hidden() {
        bar.set_draw_target(ProgressDrawTarget::stderr());
    }
    bar.set_position(in_microseconds(time));
    bar.set_message(format!("simulated {:.1} s", time.as_seconds_f64()));
}

fn in_microseconds(time: Time) -> u64 {
    time.as_ps() / 1_000_000
}
