//! A change of one number, and the window for what becomes of a job.

use std::collections::BTreeMap;

use hopscope_files::quantity;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::run;

use crate::shipped::{WINDOW, jobs, machine};

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Measure {
    /// Bytes per second of all jobs.
    Rate,
    /// Mean latency of the first job.
    Time,
}

/// One number changed, and what becomes of a job.
#[derive(Debug)]
pub struct Bite {
    pub system: &'static str,
    job: &'static str,
    /// On both sides; several in one are apart by `;`.
    given: &'static [&'static str],
    /// The number first, and behind `;` what has to change with it.
    change: &'static str,
    measure: Measure,
    /// With the change over without it, from and to.
    ratio: (f64, f64),
}

impl Bite {
    /// The path of its number.
    pub fn number(&self) -> &'static str {
        self.change.split('=').next().expect("path=value")
    }
}

/// A number that changes the throughput of all jobs of a run together.
pub const fn rate(
    system: &'static str,
    job: &'static str,
    given: &'static [&'static str],
    change: &'static str,
    ratio: (f64, f64),
) -> Bite {
    Bite { system, job, given, change, measure: Measure::Rate, ratio }
}

/// A number that changes the mean latency of the first job.
pub const fn time(
    system: &'static str,
    job: &'static str,
    given: &'static [&'static str],
    change: &'static str,
    ratio: (f64, f64),
) -> Bite {
    Bite { system, job, given, change, measure: Measure::Time, ratio }
}

/// A shipped machine with all of the changes at once, since some are possible only together.
fn changed(system: &str, changes: &[&str]) -> Blueprint {
    let mut blueprint = machine(system, &[]);
    for change in changes.iter().flat_map(|changes| changes.split(';')) {
        let (path, text) = change.trim().split_once('=').expect("path=value");
        let entry = blueprint.entry_mut(path).unwrap_or_else(|problem| panic!("{system} {change}: {problem:?}"));
        entry.value = quantity::parse(text).unwrap_or_else(|expected| panic!("{system} {change}: {expected}"));
    }
    let checked = blueprint.check();
    checked.unwrap_or_else(|problems| panic!("{system} {changes:?}: {problems}"));
    blueprint
}

/// Machines whose bridge stops bursts at a cache line, and what lets them go on: that bus hides what is behind it.
const STOPPED: (&str, &str) = ("win2000-", "bridge.boundary=4 KiB");

/// Bytes per second of all jobs, and the mean latency of the first one.
fn measured(system: &str, changes: &[&str], job: &str) -> (f64, f64) {
    let go_on = system.starts_with(STOPPED.0).then_some(STOPPED.1);
    let changes: Vec<&str> = go_on.into_iter().chain(changes.iter().copied()).collect();
    let outcome = run(&changed(system, &changes), &jobs(job), WINDOW, None);
    let outcome = outcome.unwrap_or_else(|failure| panic!("{system} {changes:?} {job}: {failure:?}"));
    let got: Vec<_> = outcome.jobs.iter().filter_map(|job| job.got.as_ref()).collect();
    let bytes: u64 = got.iter().map(|got| got.bytes).sum();
    let latency = got.first().map_or(0.0, |got| got.latency_ns.mean());
    (bytes as f64 / outcome.measured.as_seconds_f64(), latency)
}

/// Whether a window says that there is an effect at all.
fn excludes_no_effect((from, to): (f64, f64)) -> bool {
    from <= to && (from > 1.001 || to < 0.999)
}

/// Measures every one of them, and says all that are outside their windows.
#[track_caller]
pub fn check(bites: &[Bite]) {
    let mut plain: BTreeMap<(&str, &[&str], &str), (f64, f64)> = BTreeMap::new();
    let mut missed = Vec::new();
    for bite in bites {
        let Bite { system, job, given, change, measure, ratio } = *bite;
        assert!(excludes_no_effect(ratio), "{change}: {ratio:?} is also what no effect is");
        let before = *plain.entry((system, given, job)).or_insert_with(|| measured(system, given, job));
        let after = measured(system, &[given, &[change]].concat(), job);
        let of = |(rate, time): (f64, f64)| if measure == Measure::Rate { rate } else { time };
        let got = of(after) / of(before);
        if !(ratio.0..=ratio.1).contains(&got) {
            missed.push(format!(
                "{system} {change} after {given:?}: {measure:?} {got:.4} of {:.4e}, expected {ratio:?}: {job}",
                of(before)
            ));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn a_window_that_no_effect_lies_in_is_no_test() {
    for (ratio, holds) in [((0.5, 0.9), true), ((1.1, 2.0), true), ((0.9, 1.0), false), ((0.97, 1.03), false)] {
        assert_eq!(excludes_no_effect(ratio), holds, "{ratio:?}");
    }
}
