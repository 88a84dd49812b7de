//! All that an explanation answers: a run with its account, what limits it, and a measurement beside it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use hopscope_files::fio_result::{self, Measured};
use hopscope_files::job_file::Job;
use hopscope_files::problem::{Problems, Sources};
use hopscope_files::text_file;
use hopscope_kernel::{Observer, Time};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::phases::{Phase, phases};
use hopscope_machine::run::{Failure, Options, Outcome, Passed, Stop, Telling};
use serde_json::Value;

use crate::diagnosis::{Diagnosis, Foreseen, diagnose_with};
use crate::explain::{EXTENT, Explained, Seen, is_known_ahead, may_be_known_ahead, observe, run_at_once};
use crate::explain_json;
use crate::measured::{self, Comparison, Pairing, json as measured_json};
use crate::trials::{Begun, Setting};

/// What is going on, for whoever waits. It is said from several threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The run has come to that time, although nothing of it was simulated for some while.
    Come(Time),
    /// The run was made and accounted for; trials begin.
    Explained,
    /// So many trials of so many are done.
    Tried(usize, usize),
}

/// Whoever waits.
pub struct Listening<'a> {
    /// Makes who sees the run while it is made, from that time of it on: it may be made phase by phase.
    pub watcher: &'a (dyn Fn(Time) -> Option<Box<dyn Observer>> + Sync),
    /// Is told what is going on.
    pub news: &'a (dyn Fn(News) + Sync),
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The run and its account.
    pub explained: Explained,
    /// What limits it; nothing where too little ended to say so.
    pub diagnosis: Option<Diagnosis>,
    /// A measurement beside it.
    pub measured: Option<Comparison>,
}

/// What was measured of the same jobs, and which of them is which.
pub struct Beside {
    file: String,
    result: Measured,
    pairing: Pairing,
}

impl Beside {
    /// Reads a result of fio that is to stand beside these jobs.
    pub fn read(sources: &mut Sources, path: &Path, jobs: &[Job]) -> Result<Beside, Problems> {
        let file = path.display().to_string();
        let text = text_file::read_result(path)?;
        let number = sources.add(file.clone(), text);
        let result = fio_result::read(sources, number)?;
        let pairing = measured::pair(&result, jobs)?;
        Ok(Beside { file, result, pairing })
    }
}

impl Explanation {
    /// Makes the run, accounts for it, and tries what limits it.
    pub fn of(
        setting: &Setting,
        options: Options,
        beside: Option<&Beside>,
        listening: Listening<'_>,
    ) -> Result<Explanation, Failure> {
        let Listening { watcher, news } = listening;
        let Setting { blueprint, jobs } = setting;
        let by_phases = Options { by_phases: true, ..options };
        let run = |tell: &dyn Fn(Telling<'_>)| run_at_once(blueprint, jobs, by_phases, watcher(Time::ZERO), tell);
        let (explained, diagnosis) = match (Answering { setting, options, news }).answer(run)? {
            Answered::Whole(answer) => *answer,
            Answered::Emptying(first) => {
                let run = |blueprint: &Blueprint, jobs: &[Job], from: Time, by_phases: bool| {
                    run_at_once(blueprint, jobs, Options { by_phases, ..options }, watcher(from), &|_| {})
                };
                let phases = phases(blueprint, jobs, options.seed, *first, (&run, &|come| news(News::Come(come))))?;
                in_phases(setting, options, news, phases)?
            }
        };
        let compare = |of: &Beside| measured::compare(&of.file, &of.result, &of.pairing, jobs, &explained);
        let measured = beside.map(compare);
        Ok(Explanation { explained, diagnosis, measured })
    }

    /// As JSON, with system and job as they were named.
    pub fn json(&self, blueprint: &Blueprint, (system, job): (&str, &str)) -> Value {
        let mut report = explain_json::report(blueprint, &self.explained, self.diagnosis.as_ref());
        report["system"] = system.into();
        report["job"] = job.into();
        if let Some(compared) = &self.measured {
            report["measured"] = measured_json::report(compared);
        }
        report
    }
}

/// What a run has told.
enum Told {
    /// The first tenths of its runtime are over.
    Passed(Passed),
    /// What it will most likely come to.
    Early(Outcome),
    /// What it came to.
    Made(Outcome),
}

/// A run with its account, and what limits it.
type Answer = (Explained, Option<Diagnosis>);

/// What comes of a run.
enum Answered {
    /// The answer.
    Whole(Box<Answer>),
    /// It ended where a store empties: it is the first phase of several.
    Emptying(Box<Outcome>),
}

/// What comes of making a run.
enum Made<'a> {
    /// It came to what it had told.
    AsTold(Box<Outcome>),
    /// It is accounted for.
    Accounted(Box<Explained>),
    /// Somebody else accounts for it. Some of the trials, if there are any.
    Tried(Box<Outcome>, Option<Box<Foreseen<'a>>>),
    Emptying(Box<Outcome>),
}

/// What limits the longest phase of a run, the last one of those that are as long; and what the jobs get in all of them.
fn in_phases(
    whole: &Setting,
    options: Options,
    news: &(dyn Fn(News) + Sync),
    phases: Vec<Phase>,
) -> Result<Answer, Failure> {
    let longest = (0..phases.len()).max_by_key(|index| phases[*index].lasts()).unwrap_or(0);
    let Phase { blueprint, jobs, outcome, .. } = &phases[longest];
    let setting = Setting { blueprint: blueprint.clone(), jobs: jobs.clone() };
    let answering = Answering { setting: &setting, options, news };
    let (explained, diagnosis) = answering.diagnosed(answering.accounted_for(outcome.clone())?, None)?;
    if phases.len() == 1 {
        return Ok((explained, diagnosis));
    }
    Ok((explained.in_phases(&whole.jobs, phases, longest), diagnosis))
}

/// What was done beside a run.
enum Meanwhile<'a> {
    /// The answer, if the run comes to what it has told.
    Answered(Box<Answer>),
    /// Some of the trials, if there are any.
    Foreseen(Option<Box<Foreseen<'a>>>),
    /// The account of the run, which had been watched before it was over.
    Accounted(Box<Explained>),
}

/// What those who make a run, and who does something meanwhile, know of each other.
#[derive(Default)]
struct Beginnings {
    /// Who makes the run is done with it.
    is_over: AtomicBool,
    /// Somebody watches it, to account for it.
    is_watched: AtomicBool,
    /// It is not to be watched where it was.
    is_in_vain: Arc<AtomicBool>,
    /// Who does something meanwhile has accounted for it.
    is_accounted_for: AtomicBool,
}

/// An answer in the making.
struct Answering<'a> {
    setting: &'a Setting,
    options: Options,
    news: &'a (dyn Fn(News) + Sync),
}

impl<'a> Answering<'a> {
    /// Makes the run, accounts for it, and tries what limits it. Trials begin meanwhile: to where all of them do while it is
    /// made, and with what they change while it is accounted for. Where it is known early what it will come to, or what of it
    /// will be looked at, that is done beside it.
    fn answer(
        &self,
        run: impl FnOnce(&dyn Fn(Telling<'_>)) -> Result<Outcome, Failure> + Send,
    ) -> Result<Answered, Failure> {
        let beginnings = &Beginnings::default();
        let (tell, told) = mpsc::channel();
        let made = move || {
            let made = self.made(run, &tell, beginnings);
            beginnings.is_over.store(true, Ordering::Relaxed);
            made
        };
        let (made, meanwhile) = rayon::join(made, move || self.meanwhile(&told, beginnings));
        let answer = match (made?, meanwhile) {
            (Made::Emptying(outcome), _) => return Ok(Answered::Emptying(outcome)),
            (Made::AsTold(outcome), Ok(Meanwhile::Answered(answer))) => {
                let (explained, diagnosis) = *answer;
                (Explained { outcome: *outcome, ..explained }, diagnosis)
            }
            (Made::AsTold(_), Err(failure)) => return Err(failure),
            (Made::AsTold(outcome), _) => self.diagnosed(self.accounted_for(*outcome)?, None)?,
            (Made::Accounted(explained), Ok(Meanwhile::Foreseen(foreseen))) => self.diagnosed(*explained, foreseen)?,
            (Made::Tried(_, foreseen), Ok(Meanwhile::Accounted(explained))) => self.diagnosed(*explained, foreseen)?,
            // What it told was wrong.
            (Made::Accounted(explained), _) => self.diagnosed(*explained, None)?,
            (Made::Tried(outcome, foreseen), _) => self.diagnosed(self.accounted_for(*outcome)?, foreseen)?,
        };
        Ok(Answered::Whole(Box::new(answer)))
    }

    /// Makes the run, and accounts for it where it did not come to what it had told, and nobody else does.
    fn made(
        &self,
        run: impl FnOnce(&dyn Fn(Telling<'_>)) -> Result<Outcome, Failure>,
        tell: &mpsc::Sender<Told>,
        beginnings: &Beginnings,
    ) -> Result<Made<'a>, Failure> {
        // Nobody listens where trials have failed.
        let tell = |told| drop(tell.send(told));
        let say_if_in_vain = |outcome: &Outcome| {
            if !is_known_ahead(outcome, &self.setting.jobs) {
                beginnings.is_in_vain.store(true, Ordering::Relaxed);
            }
        };
        let run = run(&|telling| match telling {
            Telling::Passed(passed) => tell(Told::Passed(passed)),
            Telling::Known(early) => {
                say_if_in_vain(early);
                tell(Told::Early(early.clone()));
            }
        });
        let outcome = run.inspect_err(|_| beginnings.is_in_vain.store(true, Ordering::Relaxed))?;
        say_if_in_vain(&outcome);
        if outcome.early.is_some() {
            return Ok(Made::AsTold(Box::new(outcome)));
        }
        if outcome.stop == Stop::Emptying {
            return Ok(Made::Emptying(Box::new(outcome)));
        }
        tell(Told::Made(outcome.clone()));
        if beginnings.is_watched.swap(true, Ordering::Relaxed) {
            let foreseen = self.foreseen(&outcome, Begun::default(), &beginnings.is_accounted_for)?;
            return Ok(Made::Tried(Box::new(outcome), foreseen));
        }
        Ok(Made::Accounted(Box::new(self.accounted_for(outcome)?)))
    }

    /// What is done until the run is over.
    fn meanwhile(&self, told: &mpsc::Receiver<Told>, beginnings: &Beginnings) -> Result<Meanwhile<'a>, Failure> {
        let Beginnings { is_over, is_watched, is_in_vain, is_accounted_for } = beginnings;
        // Watching saves more than a short ramp.
        let begun = match may_be_known_ahead(&self.setting.jobs) {
            Some(_) => Begun::default(),
            None => Begun::of(self.setting, self.options.seed, &|| !is_over.load(Ordering::Relaxed))?,
        };
        let mut seen = None;
        loop {
            match told.recv() {
                Ok(Told::Passed(passed)) => {
                    if !is_watched.swap(true, Ordering::Relaxed) {
                        seen = Some(Seen::ahead(self.setting, self.options, passed, is_in_vain)?);
                    }
                }
                Ok(Told::Early(outcome)) => {
                    let answer = match seen {
                        None => self.early(outcome, begun, is_over)?,
                        Some(seen) => {
                            let explained = self.accounted_for_ahead(outcome.clone(), seen)?;
                            let foreseen = self.foreseen(&outcome, begun, &AtomicBool::new(true))?;
                            self.diagnosed(explained, foreseen)?
                        }
                    };
                    return Ok(Meanwhile::Answered(Box::new(answer)));
                }
                Ok(Told::Made(outcome)) => {
                    let Some(seen) = seen else {
                        return Ok(Meanwhile::Foreseen(self.foreseen(&outcome, begun, is_over)?));
                    };
                    let explained = self.accounted_for_ahead(outcome, seen);
                    is_accounted_for.store(true, Ordering::Relaxed);
                    return Ok(Meanwhile::Accounted(Box::new(explained?)));
                }
                // There is no run.
                Err(_) => return Ok(Meanwhile::Foreseen(None)),
            }
        }
    }

    /// The answer of a run that will most likely come to that.
    fn early(&self, outcome: Outcome, begun: Begun, is_over: &AtomicBool) -> Result<Answer, Failure> {
        let (is_accounted_for, mut explained) = (&AtomicBool::new(false), None);
        let foreseen = rayon::in_place_scope(|scope| {
            scope.spawn(|_| {
                explained = Some(self.accounted_for(outcome.clone()));
                is_accounted_for.store(true, Ordering::Relaxed);
            });
            if !is_over.load(Ordering::Relaxed) {
                // Nobody else is there to do it.
                rayon::yield_now();
            }
            self.foreseen(&outcome, begun, is_accounted_for)
        });
        self.diagnosed(explained.unwrap_or_else(|| self.accounted_for(outcome))?, foreseen?)
    }

    fn accounted_for(&self, outcome: Outcome) -> Result<Explained, Failure> {
        let Setting { blueprint, jobs } = self.setting;
        observe(blueprint, jobs, self.options, EXTENT, outcome)
    }

    /// The same with what has been seen of it before, if that was not in vain.
    fn accounted_for_ahead(&self, outcome: Outcome, seen: Option<Seen>) -> Result<Explained, Failure> {
        match seen {
            Some(seen) => seen.explained_if_right(self.setting, self.options, outcome),
            None => self.accounted_for(outcome),
        }
    }

    fn foreseen(
        &self,
        outcome: &Outcome,
        begun: Begun,
        is_accounted_for: &AtomicBool,
    ) -> Result<Option<Box<Foreseen<'a>>>, Failure> {
        let wanted = || !is_accounted_for.load(Ordering::Relaxed);
        Ok(Foreseen::of(self.setting, self.options.seed, outcome, begun, &wanted)?.map(Box::new))
    }

    fn diagnosed(&self, explained: Explained, foreseen: Option<Box<Foreseen<'_>>>) -> Result<Answer, Failure> {
        (self.news)(News::Explained);
        let tried = |done, of| (self.news)(News::Tried(done, of));
        let diagnosis =
            diagnose_with(self.setting, self.options.seed, &explained, foreseen.map(|foreseen| *foreseen), &tried)?;
        Ok((explained, diagnosis))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::diagnose;
    use crate::explain::explain;

    const OPTIONS: Options = Options { not_longer_than_needed: true, ..Options::USUAL };

    /// One thing after the other.
    fn answer(setting: &Setting) -> Result<Answer, Failure> {
        let explained = explain(&setting.blueprint, &setting.jobs, OPTIONS, EXTENT, None)?;
        let diagnosis = diagnose(setting, 1, &explained, &|_, _| {})?;
        Ok((explained, diagnosis))
    }

    fn report(setting: &Setting, (explained, diagnosis): &Answer) -> Value {
        explain_json::report(&setting.blueprint, explained, diagnosis.as_ref())
    }

    /// Has so many processors answer.
    fn by<T: Send>(processors: usize, answer: impl FnOnce() -> T + Send) -> T {
        rayon::ThreadPoolBuilder::new().num_threads(processors).build().expect("threads").install(answer)
    }

    #[test]
    fn what_is_done_beside_a_run_is_what_would_be_done_after_it() {
        let (early, ahead) = ([true, false], [false, true]);
        for (system, job, is_known) in [
            ("nvme-desktop", "--rw=randwrite --bs=4k --iodepth=32 --runtime=200ms", early),
            ("nvme-desktop", "--rw=randread --bs=4k --iodepth=32 --runtime=200ms", [false; 2]),
            ("raid-acceleraid-64-66", "--rw=write --bs=4k --iodepth=1 --size=256k --time_based --runtime=2", early),
            ("raid-acceleraid-64-66", "--rw=randwrite --bs=4k --iodepth=2 --runtime=500ms", ahead),
            ("win2000-atlas-10k", "--rw=randread --bs=4k --iodepth=32 --runtime=8", [false; 2]),
        ] {
            let setting = Setting::shipped(system, job);
            let expected = answer(&setting).expect("it runs");
            let outcome = &expected.0.outcome;
            assert_eq!([outcome.early.is_some(), is_known_ahead(outcome, &setting.jobs)], is_known, "{system} {job}");
            for processors in [1, 2] {
                let listening = Listening { watcher: &|_| None, news: &|_| {} };
                let ours = by(processors, || Explanation::of(&setting, OPTIONS, None, listening)).expect("it runs");
                let (ours, expected) =
                    (report(&setting, &(ours.explained, ours.diagnosis)), report(&setting, &expected));
                assert!(ours == expected, "{system} {job} by {processors}");
            }
        }
    }

    #[test]
    fn what_a_run_did_not_come_to_is_in_no_answer() {
        let setting = Setting::shipped("nvme-desktop", "--rw=randread --bs=4k --iodepth=32 --runtime=50ms");
        let other = Setting::shipped("nvme-desktop", "--rw=randwrite --bs=4k --iodepth=32 --runtime=50ms");
        let run = |of: &Setting| run_at_once(&of.blueprint, &of.jobs, OPTIONS, None, &|_| {}).expect("it runs");
        let (expected, told) = (answer(&setting).expect("it runs"), run(&other));
        for processors in [1, 2] {
            let tells = |tell: &dyn Fn(Telling<'_>)| {
                tell(Telling::Known(&told));
                Ok(run(&setting))
            };
            let answering = Answering { setting: &setting, options: OPTIONS, news: &|_| {} };
            let ours = match by(processors, || answering.answer(tells)).expect("it runs") {
                Answered::Whole(answer) => *answer,
                Answered::Emptying(_) => panic!("nothing is written"),
            };
            assert!(report(&setting, &ours) == report(&setting, &expected), "by {processors}");
        }
        // It was done before its account could begin.
        let done = Setting::shipped("nvme-desktop", "--rw=randwrite --bs=4k --iodepth=32 --size=32m --runtime=1");
        let listening = Listening { watcher: &|_| None, news: &|_| {} };
        let failures = [answer(&done).err(), Explanation::of(&done, OPTIONS, None, listening).err()];
        let [expected, ours] = failures.map(|failure| format!("{:?}", failure.expect("there is no answer")));
        assert_eq!(ours, expected);
    }
}
