//! A run that is made again and watched within a window, and what was seen there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hopscope_files::job_file::Job;
use hopscope_kernel::{Observer, Record, Sim, Time};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::both::Both;
use hopscope_machine::hops::{Hop, hops, names};
use hopscope_machine::run::{Failure, JOB, Options, Outcome, Passed, Stop, process_name};
use hopscope_observe::account::{Extent, Ledger};
use hopscope_observe::lives::Enough;
use hopscope_observe::{Account, Lives};
use hopscope_parts::workload::THINK_TIME;

use super::window::{Window, window_ahead, window_of};
use super::{EXTENT, Explained, account_of, observe, over_too_early, over_too_soon, run_until};
use crate::trials::Setting;

/// What was seen in a window of a run.
pub(crate) struct Seen {
    window: Window,
    watched: Watched,
    /// Nothing where no lane worked in it.
    account: Option<Account>,
}

impl Seen {
    pub(super) fn of(
        blueprint: &Blueprint,
        jobs: &[Job],
        options: Options,
        window: Window,
        extent: Extent,
    ) -> Result<Seen, Failure> {
        watch(blueprint, jobs, options, window, (extent, None))?.seen(window)
    }

    /// What will most likely be looked at of a run that has passed the first tenths of its runtime; nothing once that is in vain.
    pub(crate) fn ahead(
        Setting { blueprint, jobs }: &Setting,
        options: Options,
        passed: Passed,
        is_in_vain: &Arc<AtomicBool>,
    ) -> Result<Option<Seen>, Failure> {
        let window = window_ahead(passed, jobs);
        let watching = watch(blueprint, jobs, options, window, (EXTENT, Some(is_in_vain)))?;
        if is_in_vain.load(Ordering::Relaxed) {
            return Ok(None);
        }
        watching.seen(window).map(Some)
    }

    /// With what the whole run says, where that was what had to be looked at.
    pub(crate) fn explained_if_right(
        self,
        Setting { blueprint, jobs }: &Setting,
        options: Options,
        outcome: Outcome,
    ) -> Result<Explained, Failure> {
        if self.window == window_of(&outcome, jobs) {
            self.explained(blueprint, jobs, options, EXTENT, outcome)
        } else {
            observe(blueprint, jobs, options, EXTENT, outcome)
        }
    }

    pub(super) fn explained(
        self,
        blueprint: &Blueprint,
        jobs: &[Job],
        options: Options,
        extent: Extent,
        outcome: Outcome,
    ) -> Result<Explained, Failure> {
        let Seen { window, watched, account } = self;
        if let Some(account) = account {
            return Ok(watched.explained(blueprint, outcome, (account, window.until)));
        }
        // The window was too short for anything to end in it: by the end of the run it has.
        let (simulated, stop) = (outcome.first_known().simulated, outcome.first_known().stop);
        let longer = Seen::of(blueprint, jobs, options, Window { until: simulated, ..window }, extent)?;
        if let Some(account) = longer.account {
            return Ok(longer.watched.explained(blueprint, outcome, (account, simulated)));
        }
        match jobs.iter().position(|job| job.think.time > Time::ZERO) {
            _ if stop == Stop::Finished => Err(over_too_soon(&jobs[0], window.from, simulated)),
            Some(index) => {
                let pause = (&process_name(index, &jobs[index])[..], &THINK_TIME);
                let (from, until) = (window.from, window.until);
                let idle = Account::idle(&watched.sim, (from, until), pause, |lane| !lane.starts_with(JOB));
                Ok(watched.explained(blueprint, outcome, (idle, until)))
            }
            None => Err(over_too_early(&jobs[0], window.from, simulated)),
        }
    }
}

/// A run that has been watched, and what an account is made of.
struct Watching {
    watched: Watched,
    ledger: Ledger,
    outcome: Outcome,
}

impl Watching {
    fn seen(self, window: Window) -> Result<Seen, Failure> {
        let account = account_of(&self.watched.sim, &self.ledger, &self.outcome)?;
        Ok(Seen { window, watched: self.watched, account })
    }
}

/// Runs `jobs` again and watches them within a window, until there is enough, or until that is in vain.
fn watch(
    blueprint: &Blueprint,
    jobs: &[Job],
    options: Options,
    Window { since: (since, traced), from, until }: Window,
    (extent, is_in_vain): (Extent, Option<&Arc<AtomicBool>>),
) -> Result<Watching, Failure> {
    let (sim, ledger) = (Sim::new(), Ledger::new(from, extent));
    let lives = Lives::since(&sim, (since, from), Enough::FOR_AN_ACCOUNT).traced_since(traced);
    let both = Box::new(Both(Box::new(ledger.clone()), Box::new(lives.clone())));
    let observer: Box<dyn Observer> = match is_in_vain {
        Some(is_in_vain) => Box::new(Wanted { by: both, is_in_vain: is_in_vain.clone() }),
        None => both,
    };
    let options = Options { while_watched: true, ..options };
    let outcome = run_until(&sim, blueprint, jobs, options, until, observer)?;
    Ok(Watching { watched: Watched { sim, lives }, ledger, outcome })
}

/// Whoever watches for as long as that is not in vain.
struct Wanted {
    by: Box<dyn Observer>,
    is_in_vain: Arc<AtomicBool>,
}

impl Observer for Wanted {
    fn records(&mut self, batch: &[Record]) {
        self.by.records(batch);
    }

    fn wants_phases(&self) -> bool {
        !self.is_in_vain.load(Ordering::Relaxed) && self.by.wants_phases()
    }

    fn wants_phases_from(&self) -> Time {
        self.by.wants_phases_from()
    }
}

/// A run that was watched.
pub(super) struct Watched {
    pub(super) sim: Sim,
    pub(super) lives: Lives,
}

impl Watched {
    /// With what the whole run said.
    fn explained(&self, blueprint: &Blueprint, outcome: Outcome, (account, watched): (Account, Time)) -> Explained {
        let Watched { sim, lives } = self;
        let lanes: Vec<String> = sim.lanes().into_iter().map(|lane| lane.0).collect();
        let shares = lanes.iter().cloned().zip(lives.shares()).collect();
        let (hops, names) = (self.hops_at_work(blueprint), names(blueprint.parts(), sim));
        let phases = None;
        let (latency, too_long) = (lives.latency(), lives.are_too_long());
        Explained { outcome, account, latency, too_long, shares, hops, names, watched, phases }
    }

    /// The hops that were seen to work.
    pub(super) fn hops_at_work(&self, blueprint: &Blueprint) -> Vec<Hop> {
        let (lanes, at_work) = (self.sim.lanes(), self.lives.at_work());
        let works = |hop: &Hop| hop.lanes.iter().any(|lane| at_work.get(usize::from(*lane)) == Some(&true));
        let jobs_lanes = |hop: &Hop| lanes[usize::from(hop.lanes[0])].0.starts_with(JOB);
        hops(blueprint.parts(), &self.sim).into_iter().filter(|hop| works(hop) && !jobs_lanes(hop)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::run_at_once;
    use super::*;

    /// However long the requests of the first tenths took, those of the window are seen from their beginning.
    #[test]
    fn what_is_seen_ahead_is_what_whoever_watches_from_the_beginning_sees() {
        for (system, job) in [
            ("win2000-atlas-10k", "--rw=randread --bs=4k --iodepth=2 --runtime=4"),
            ("raid-acceleraid-64-66", "--rw=write --bs=64k --iodepth=2 --runtime=2"),
            ("piix4e-one-disk", "--rw=randrw --bs=64k --iodepth=2 --runtime=4"),
            ("nvme-server", "--rw=randrw --bs=4k --iodepth=8 --runtime=50ms"),
        ] {
            let setting = Setting::shipped(system, job);
            let Setting { blueprint, jobs } = &setting;
            let options = Options::default();
            let outcome = run_at_once(blueprint, jobs, options, None, &|_| {}).expect("it runs");
            let passed = outcome.passed.expect("it goes on");
            let ahead =
                Seen::ahead(&setting, options, passed, &Arc::default()).expect("it runs").expect("it is wanted");
            let since = (Time::ZERO, Time::ZERO);
            let all = Seen::of(blueprint, jobs, options, Window { since, ..ahead.window }, EXTENT).expect("it runs");
            assert!(ahead.window.since.1 > Time::ZERO && ahead.window == window_of(&outcome, jobs), "{system} {job}");
            let [ahead, all] = [ahead, all].map(|seen| {
                let latency = seen.watched.lives.latency().expect("requests ended");
                (format!("{latency:?}"), format!("{:?}", seen.account.expect("lanes worked").lanes))
            });
            assert!(ahead == all, "{system} {job}");
        }
        let setting = Setting::shipped("sata-ssd", "--rw=randread --bs=4k --runtime=100ms");
        let outcome = run_at_once(&setting.blueprint, &setting.jobs, Options::default(), None, &|_| {});
        let passed = outcome.expect("it runs").passed.expect("it goes on");
        let in_vain = Seen::ahead(&setting, Options::default(), passed, &Arc::new(true.into())).expect("it runs");
        assert!(in_vain.is_none());
    }
}
