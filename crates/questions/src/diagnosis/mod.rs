//! The diagnosis: which hop limits, as trials confirm it, and what would help.
//!
//! The account says where time went; that a hop limits is another question, and it is answered by changing it. Every hop
//! that is at work is tried at twice its pace, and at a little more than its pace, with the same requests and draws. Their
//! gains are the profile. What leads it is named, and nothing that a trial does not confirm.
//!
//! - `profile`: every hop by itself, pairs where none helps by itself, and what limits next.
//! - `remedies`: numbers of the leading hops, and the depth, that would help.
//! - `words`: one of four headlines, and why.

mod profile;
mod remedies;
mod words;

use hopscope_files::job_file::Job;
use hopscope_machine::hops::Hop;
use hopscope_machine::run::{Failure, Outcome};

use crate::explain::{Explained, hops_at_work_first};
use crate::trials::{Begun, Effort, Gain, Progress, Setting, Shift, Trials};
use profile::Ahead;

/// What holds a run back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headline {
    /// No hop is near its capacity: what counts is how long each request takes.
    Latency,
    /// A hop is full.
    Capacity,
    /// The workload asks for little: it thinks, or nothing is under way.
    Workload,
    /// Several of these together.
    Mixed,
}

impl Headline {
    /// In one word, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Headline::Latency => "latency",
            Headline::Capacity => "capacity",
            Headline::Workload => "workload",
            Headline::Mixed => "mixed",
        }
    }
}

/// What a hop does to the result.
#[derive(Clone, Debug, PartialEq)]
pub struct HopGain {
    /// Its part, or the parts that are alike.
    pub part: String,
    /// Its name, as `--pace` takes it.
    pub hop: String,
    /// At twice its pace.
    pub doubled: Gain,
    /// The share of its pace in the result: the gain at a little more than its pace, over that little. None where only what
    /// limits is asked for.
    pub share: Gain,
    /// How much of the time it works, of its lanes the one that works most.
    pub busy: f64,
}

impl HopGain {
    /// Whether chance does not hide its share: it is known at least to all of the pace.
    pub fn knows_share(&self) -> bool {
        self.share.throughput.half_width <= 1.0
    }
}

/// Hops that were tried together.
#[derive(Clone, Debug, PartialEq)]
pub struct Together {
    /// Their names.
    pub hops: Vec<String>,
    /// All of them at twice their pace.
    pub doubled: Gain,
}

impl Together {
    /// What they gain, as a share.
    fn gains(&self) -> f64 {
        self.doubled.throughput.mean
    }
}

/// What limits, as trials have it.
#[derive(Clone, Debug, PartialEq)]
pub struct Limiting {
    /// The hop that limits, or the first of several; where none does, the one that gains most.
    pub first: HopGain,
    /// The names of all that limit together, or of the one that does so by itself; empty where none does for sure.
    pub hops: Vec<String>,
    /// All of them at twice their pace; where there is none, the one that gains most.
    pub doubled: Gain,
}

/// Something to try.
#[derive(Clone, Debug, PartialEq)]
pub struct Remedy {
    /// What is changed, as `--set` or the job has it.
    pub change: String,
    /// What that is now.
    pub instead_of: String,
    /// What it gains.
    pub gain: Gain,
}

/// What the answer rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Rests {
    /// Numbers of the leading hop and of what is plugged into it.
    pub numbers: usize,
    /// Of those, assumed.
    pub assumed: usize,
    /// What all of those do to the throughput, each a tenth for the worse, and each a tenth for the better.
    pub moves: Option<[f64; 2]>,
    /// The study whose measurements the machine was compared with.
    pub study: Option<String>,
}

/// The diagnosis of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// Which of the four.
    pub headline: Headline,
    /// Every hop that is at work, the largest gain first.
    pub profile: Vec<HopGain>,
    /// What think time does: none of it, against as it is. Nothing where the jobs do not think.
    pub without_thinking: Option<Gain>,
    /// Where no hop helps by itself: those that were tried together, the largest gain first.
    pub together: Vec<Together>,
    /// The stage of the latencies that is longest, where latency limits: hop, phase, and its share.
    pub longest: Option<(String, String, f64)>,
    /// What limits once the leading hop is faster: hop and what twice its pace gains then.
    pub next: Option<(String, Gain)>,
    /// What could be tried, the largest gain first.
    pub remedies: Vec<Remedy>,
    /// What the machine as it is gets in another rhythm of its requests, as a gain: chance decides which it is, and nothing
    /// is known better than that. Nothing where no other was found.
    pub another_rhythm: Option<f64>,
    /// What it rests on.
    pub rests: Rests,
    /// Why, in a sentence that begins with what limits.
    pub why: String,
    /// What limits next, in a sentence.
    pub then: String,
    /// How it was found out.
    pub effort: Effort,
}

/// A gain below this is none.
pub const GAIN_MIN: f64 = 0.003;

impl Diagnosis {
    /// The hop that leads the profile.
    pub fn leading(&self) -> Option<&HopGain> {
        self.profile.first()
    }

    /// What limits; nothing where nothing is at work.
    pub fn limiting(&self) -> Option<Limiting> {
        let mut limiting = limiting(&self.profile, &self.together)?;
        if self.headline == Headline::Workload {
            limiting.hops.clear();
        }
        Some(limiting)
    }
}

/// Hops in words.
pub fn named(hops: &[String]) -> String {
    match hops {
        [] => String::new(),
        [hop] => hop.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// What limits, in words, where that gains so much: hops, or none.
pub fn limited_by(hops: &[String], gain: f64) -> String {
    match hops {
        [] if gain > GAIN_MIN => "no hop for sure".to_string(),
        [] => "no hop by itself".to_string(),
        hops => named(hops),
    }
}

/// Those that gain more together than any gains by itself, or else the one that leads the profile, where that is a gain for
/// sure.
fn limiting(profile: &[HopGain], together: &[Together]) -> Option<Limiting> {
    let lead = profile.first()?;
    let is_a_gain = |of: &Gain| of.throughput.is_a_gain();
    let more = together.first().filter(|all| all.gains() > lead.doubled.throughput.mean && is_a_gain(&all.doubled));
    let (hops, doubled) = match more {
        Some(all) => (all.hops.clone(), all.doubled),
        None if is_a_gain(&lead.doubled) => (vec![lead.hop.clone()], lead.doubled),
        None => (Vec::new(), lead.doubled),
    };
    let first = hops.first().and_then(|first| profile.iter().find(|hop| hop.hop == *first)).unwrap_or(lead);
    Some(Limiting { first: first.clone(), hops, doubled })
}

impl Shift {
    /// Whether it is a gain for sure.
    pub(crate) fn is_a_gain(self) -> bool {
        self.mean > GAIN_MIN.max(self.half_width)
    }
}

/// Finds out what limits a run that was explained; nothing where too few requests ended, or trials say nothing of any hop.
pub fn diagnose(
    setting: &Setting,
    seed: u64,
    explained: &Explained,
    progress: Progress<'_>,
) -> Result<Option<Diagnosis>, Failure> {
    diagnose_with(setting, seed, explained, None, progress)
}

/// What is likely to be asked for, tried while a run is still accounted for.
pub(crate) struct Foreseen<'a> {
    trials: Trials<'a>,
    ahead: Ahead,
}

impl<'a> Foreseen<'a> {
    /// Of a run that has been made, with trials that have begun; nothing where too few requests ended. What is not begun once
    /// nobody wants it any more is left.
    pub(crate) fn of(
        setting: &'a Setting,
        seed: u64,
        outcome: &Outcome,
        begun: Begun,
        wanted: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Foreseen<'a>>, Failure> {
        let Some(trials) = Trials::foreseen(setting, seed, outcome, begun)? else { return Ok(None) };
        let hops = if wanted() { hops_at_work_first(setting, seed, trials.turns_take())? } else { Vec::new() };
        let ahead = Ahead::of(&mut trials.clone(), setting, &hops, wanted)?;
        Ok(Some(Foreseen { trials, ahead }))
    }
}

/// The same where something may have been tried already.
pub(crate) fn diagnose_with(
    setting: &Setting,
    seed: u64,
    explained: &Explained,
    foreseen: Option<Foreseen<'_>>,
    progress: Progress<'_>,
) -> Result<Option<Diagnosis>, Failure> {
    let Some(trials) = Trials::new(setting, seed, explained) else { return Ok(None) };
    let (foreseen, ahead) = foreseen.map(|foreseen| (foreseen.trials, foreseen.ahead)).unzip();
    // What other trials say is not what these would.
    let ahead = ahead.filter(|_| foreseen.as_ref().is_some_and(|foreseen| trials.are_as(foreseen))).unwrap_or_default();
    let mut trials = trials.with(foreseen);
    let Some(mut profile) = profile::of(&mut trials, setting, explained, &ahead, progress)? else { return Ok(None) };
    let without_thinking = profile::without_thinking(&mut trials, setting, progress)?;
    let together = profile::together(&mut trials, setting, &profile, progress)?;
    let limiting = limiting(&profile, &together);
    let headline = words::headline(&profile, limiting.as_ref(), without_thinking.as_ref());
    let leading = limiting.map_or(Vec::new(), |Limiting { first, hops, .. }| match hops.is_empty() {
        true => vec![first.hop],
        false => hops,
    });
    let fullest = profile.iter().map(|hop| hop.busy).fold(0.0, f64::max);
    // None of these needs what the others say. How far the longest is, is told.
    let [mut of_shares, of_next, mut of_rests] = [trials.clone(), trials.clone(), trials.clone()];
    let ((remedies, shares), (next, rests)) = rayon::join(
        || {
            rayon::join(
                || remedies::find(&mut trials, setting, (&leading, &profile), (headline, fullest), progress),
                || profile::shares(&mut of_shares, setting, (&profile, &ahead)),
            )
        },
        || {
            rayon::join(
                || profile::next(&of_next, setting, (&leading, &profile), &|_, _| {}),
                || remedies::rests(&mut of_rests, setting, &leading, &|_, _| {}),
            )
        },
    );
    let (remedies, shares, next, rests) = (remedies?, shares?, next?, rests?);
    profile.iter_mut().zip(shares).for_each(|(hop, share)| hop.share = share);
    let longest = longest_stage(explained);
    let another_rhythm = trials.another_rhythm()?;
    let effort = trials.effort().clone();
    let (why, then) = (String::new(), String::new());
    let mut diagnosis = Diagnosis {
        headline,
        profile,
        without_thinking,
        together,
        longest,
        next,
        remedies,
        another_rhythm,
        rests,
        why,
        then,
        effort,
    };
    (diagnosis.why, diagnosis.then) = (words::why(&diagnosis), words::then(&diagnosis));
    Ok(Some(diagnosis))
}

/// What limits a run that was explained, by trials of its setting.
pub fn limiting_of(
    mut trials: Trials<'_>,
    setting: &Setting,
    explained: &Explained,
) -> Result<Option<Limiting>, Failure> {
    let Some(profile) = profile::of(&mut trials, setting, explained, &Ahead::default(), &|_, _| {})? else {
        return Ok(None);
    };
    let together = profile::together(&mut trials, setting, &profile, &|_, _| {})?;
    Ok(limiting(&profile, &together))
}

/// Of the hops of a changed setting that were at work before it was changed, or were not there, the one that gains most.
pub fn leading_among(
    trials: &Trials<'_>,
    changed: &Setting,
    before: &Explained,
) -> Result<Option<(Hop, Gain)>, Failure> {
    let was_there = |hop: &Hop| before.names.is_known(&hop.name);
    let worked = |hop: &Hop| before.hops.iter().any(|known| known.name == hop.name);
    let hops: Vec<Hop> = changed.blueprint.hops().into_iter().filter(|hop| worked(hop) || !was_there(hop)).collect();
    profile::best_of(&mut trials.of_another(changed)?, changed, hops)
}

/// Of what requests went through themselves, the longest.
fn longest_stage(explained: &Explained) -> Option<(String, String, f64)> {
    let latency = explained.latency_alike()?;
    let longest = latency.mean.stages.first()?;
    let share = longest.time.as_ps() as f64 / latency.mean.sum.as_ps().max(1) as f64;
    let phase = if longest.behind.is_empty() { &longest.phase } else { &longest.behind };
    Some((longest.lane.clone(), phase.clone(), share))
}

/// The setting with every job changed.
fn with_jobs(setting: &Setting, change: impl Fn(&mut Job)) -> Setting {
    let mut changed = setting.clone();
    changed.jobs.iter_mut().for_each(change);
    changed
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use hopscope_machine::run::Options;

    use super::*;
    use crate::explain::{EXTENT, explain};

    /// However many hops were tried while the run was accounted for, the answer is the same.
    #[test]
    fn what_was_foreseen_changes_nothing_of_a_diagnosis() {
        let setting = Setting::shipped("sata-ssd", "--rw=randread --bs=4k --iodepth=32 --runtime=1 --time_based");
        let explained = explain(&setting.blueprint, &setting.jobs, Options::default(), EXTENT, None).expect("it runs");
        let expected = diagnose(&setting, 1, &explained, &|_, _| {}).expect("trials run").expect("requests ended");
        let hops = expected.profile.len();
        for most in [usize::MAX, hops + 1, hops / 2, 0] {
            let asked = AtomicUsize::new(0);
            let wanted = || asked.fetch_add(1, Ordering::Relaxed) < most;
            let foreseen =
                Foreseen::of(&setting, 1, &explained.outcome, Begun::default(), &wanted).expect("trials run");
            let trials = Trials::new(&setting, 1, &explained).expect("requests ended");
            assert!(foreseen.as_ref().is_some_and(|foreseen| trials.are_as(&foreseen.trials)));
            let known = |hop: &HopGain| foreseen.as_ref().is_some_and(|foreseen| foreseen.ahead.knows(&hop.hop));
            let known = expected.profile.iter().filter(|hop| known(hop)).count();
            assert_eq!(known == hops, most >= hops, "{known} of {hops} hops, of {most}");
            assert_eq!(known == 0, most == 0, "{known} of {hops} hops, of {most}");
            let diagnosis = diagnose_with(&setting, 1, &explained, foreseen, &|_, _| {}).expect("trials run");
            assert_eq!(diagnosis.as_ref(), Some(&expected), "{most} trials were foreseen");
        }
    }
}
