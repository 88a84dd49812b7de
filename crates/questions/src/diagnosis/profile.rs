//! The profile: what each hop gains when it alone is faster.

use std::collections::BTreeMap;

use hopscope_kernel::{Pace, Time};
use hopscope_machine::hops::Hop;
use hopscope_machine::run::Failure;

use super::{GAIN_MIN, HopGain, Together, with_jobs};
use crate::explain::Explained;
use crate::trials::{Gain, Known, Progress, Setting, Shift, Trials};

/// Twice the pace, and a little more than it.
const TWICE: Pace = pace(2, 1);
const LITTLE: Pace = pace(21, 20);
/// The leading hop is so much faster when what limits next is looked for.
const MUCH: Pace = pace(8, 1);
/// Below this gain no hop helps by itself, several are tried together, and one of them is not needed.
const HELPS: f64 = 0.02;
/// Hops that are tried together, and when it is looked for what limits next: those that work most, or gain most.
const TOGETHER: usize = 4;
const NEXT: usize = 6;
/// Of those, so many that a glance shows to gain most are tried out.
const BEST: usize = 2;

const fn pace(times: u32, over: u32) -> Pace {
    match Pace::new(times, over) {
        Some(pace) => pace,
        None => Pace::ONE,
    }
}

/// The setting with hops at a pace; they have it besides what the machine was given.
fn paced(setting: &Setting, hops: &[&str], pace: Pace) -> Setting {
    let mut changed = setting.clone();
    for hop in hops {
        changed.blueprint.faster(hop, pace);
    }
    changed
}

/// The setting with each of some hops at a pace.
fn each_paced(setting: &Setting, hops: &[&str], pace: Pace) -> Vec<Setting> {
    hops.iter().map(|hop| paced(setting, &[hop], pace)).collect()
}

/// Whether a gain at twice the pace is one at all, for sure: where it is none, a little more than the pace moves nothing
/// either, and no more than that where chance hides what it is.
fn moves(gain: Gain) -> bool {
    [gain.throughput, gain.latency].iter().any(|shift| shift.mean.abs() >= GAIN_MIN && shift.sure() > 0.0)
}

/// What a little more than the pace gives at most where twice the pace may give nothing; nothing where it does.
fn at_most(doubled: Gain) -> Gain {
    let most = |Shift { mean, half_width }: Shift| match mean.abs() + half_width {
        most if most < GAIN_MIN => Shift { mean: 0.0, half_width: 0.0 },
        most => Shift { mean: 0.0, half_width: most },
    };
    Gain { throughput: most(doubled.throughput), latency: most(doubled.latency) }
}

/// To how much a gain at a pace is worth to be known: of a little more pace one that may as well be none as all of it says
/// nothing, and chance may be larger than that, however long one looks.
fn worth(pace: Pace) -> Option<f64> {
    (pace == LITTLE).then(a_little)
}

/// By how much more [`LITTLE`] is than the pace.
fn a_little() -> f64 {
    LITTLE.as_f64() - 1.0
}

/// What single hops gain at a pace, as far as it was tried ahead.
#[derive(Default)]
pub(super) struct Ahead {
    twice: BTreeMap<String, Known>,
    little: BTreeMap<String, Known>,
}

impl Ahead {
    /// Tries hops as [`of`] will, as long as that is wanted.
    pub(super) fn of(
        trials: &mut Trials<'_>,
        setting: &Setting,
        hops: &[Hop],
        wanted: &(dyn Fn() -> bool + Sync),
    ) -> Result<Ahead, Failure> {
        let mut tried = |hops: &[&str], pace: Pace| -> Result<BTreeMap<String, Known>, Failure> {
            let known = trials.gains_while(wanted, &each_paced(setting, hops, pace), worth(pace))?;
            Ok(hops.iter().zip(known).filter_map(|(hop, known)| Some((hop.to_string(), known?))).collect())
        };
        let names: Vec<&str> = hops.iter().map(|hop| hop.name.as_str()).collect();
        let twice = tried(&names, TWICE)?;
        let moving = |name: &&str| twice.get(*name).and_then(|known| known.of(names.len())?).is_some_and(moves);
        let moving: Vec<&str> = names.iter().copied().filter(moving).collect();
        let little = tried(&moving, LITTLE)?;
        Ok(Ahead { twice, little })
    }

    /// Whether a hop was tried.
    #[cfg(test)]
    pub(super) fn knows(&self, hop: &str) -> bool {
        self.twice.contains_key(hop)
    }
}

/// What each of some hops gains at a pace, of which some is known.
fn gains(
    trials: &mut Trials<'_>,
    setting: &Setting,
    (hops, pace): (&[&str], Pace),
    ahead: &BTreeMap<String, Known>,
    progress: Progress<'_>,
) -> Result<Vec<Option<Gain>>, Failure> {
    let known = |hop: &&str| ahead.get(*hop).and_then(|known| known.of(hops.len()));
    let unknown: Vec<&str> = hops.iter().copied().filter(|hop| known(hop).is_none()).collect();
    let mut tried =
        trials.gains_among(&each_paced(setting, &unknown, pace), (hops.len(), worth(pace)), progress)?.into_iter();
    Ok(hops.iter().map(|hop| known(hop).unwrap_or_else(|| tried.next().flatten())).collect())
}

/// Every hop that is at work at twice its pace, the largest gain first; nothing where trials say nothing of any of them.
/// Their shares are not asked for ([`shares`]).
pub(super) fn of(
    trials: &mut Trials<'_>,
    setting: &Setting,
    explained: &Explained,
    ahead: &Ahead,
    progress: Progress<'_>,
) -> Result<Option<Vec<HopGain>>, Failure> {
    let hops = &explained.hops;
    let names: Vec<&str> = hops.iter().map(|hop| hop.name.as_str()).collect();
    let twice = gains(trials, setting, (&names, TWICE), &ahead.twice, progress)?;
    if !hops.is_empty() && twice.iter().all(Option::is_none) {
        return Ok(None);
    }
    let of_hop = |(hop, doubled): (&Hop, Option<Gain>)| {
        let (doubled, share) = (doubled.unwrap_or(Gain::NONE), Gain::NONE);
        let (part, hop, busy) = (hop.part.clone(), hop.name.clone(), explained.busy_share(&hop.name));
        HopGain { part, hop, doubled, share, busy }
    };
    let mut profile: Vec<HopGain> = hops.iter().zip(twice).map(of_hop).collect();
    // What gains nothing for sure comes by how much it works.
    profile.sort_by(|a, b| {
        let key = |hop: &HopGain| (hop.doubled.throughput.mean, hop.busy);
        key(b).0.total_cmp(&key(a).0).then(key(b).1.total_cmp(&key(a).1)).then_with(|| a.hop.cmp(&b.hop))
    });
    Ok(Some(profile))
}

/// The share of the pace of each hop of a profile in the result.
pub(super) fn shares(
    trials: &mut Trials<'_>,
    setting: &Setting,
    (profile, ahead): (&[HopGain], &Ahead),
) -> Result<Vec<Gain>, Failure> {
    let moving: Vec<&str> = profile.iter().filter(|hop| moves(hop.doubled)).map(|hop| hop.hop.as_str()).collect();
    let mut little = gains(trials, setting, (&moving, LITTLE), &ahead.little, &|_, _| {})?.into_iter();
    let over = |shift: Shift| Shift { mean: shift.mean / a_little(), half_width: shift.half_width / a_little() };
    let share = |hop: &HopGain| {
        let little = match moves(hop.doubled) {
            true => little.next().flatten().unwrap_or(Gain::NONE),
            false => at_most(hop.doubled),
        };
        Gain { throughput: over(little.throughput), latency: over(little.latency) }
    };
    Ok(profile.iter().map(share).collect())
}

/// Of some hops the one that gains most at twice its pace.
pub(super) fn best_of(
    trials: &mut Trials<'_>,
    setting: &Setting,
    hops: Vec<Hop>,
) -> Result<Option<(Hop, Gain)>, Failure> {
    let settings: Vec<Setting> = hops.iter().map(|hop| paced(setting, &[&hop.name], TWICE)).collect();
    let looks = trials.roughly(&settings, &|_, _| {})?;
    let gains = trials.gains_of_best(&settings, looks, BEST, &|_, _| {})?;
    let tried = hops.into_iter().zip(gains).filter_map(|(hop, gain)| Some((hop, gain?)));
    Ok(tried.max_by(|a, b| a.1.throughput.mean.total_cmp(&b.1.throughput.mean)))
}

/// What the jobs gain where they do not think; nothing where they do not think as it is.
pub(super) fn without_thinking(
    trials: &mut Trials<'_>,
    setting: &Setting,
    progress: Progress<'_>,
) -> Result<Option<Gain>, Failure> {
    if setting.jobs.iter().all(|job| job.think.time == Time::ZERO) {
        return Ok(None);
    }
    let changed = with_jobs(setting, |job| job.think.time = Time::ZERO);
    Ok(trials.gains(&[changed], progress)?.into_iter().next().flatten())
}

/// The hops that work most, together: all of them, and fewer as long as the rest gains nearly as much; or pairs of them,
/// where all do not gain. Nothing where a hop helps by itself.
pub(super) fn together(
    trials: &mut Trials<'_>,
    setting: &Setting,
    profile: &[HopGain],
    progress: Progress<'_>,
) -> Result<Vec<Together>, Failure> {
    if profile.first().is_some_and(|hop| hop.doubled.throughput.mean >= HELPS) {
        return Ok(Vec::new());
    }
    let mut busiest: Vec<&HopGain> = profile.iter().collect();
    busiest.sort_by(|a, b| b.busy.total_cmp(&a.busy));
    let busiest: Vec<String> = busiest.into_iter().take(TOGETHER).map(|hop| hop.hop.clone()).collect();
    let mut try_out = |sets: Vec<Vec<String>>| -> Result<Vec<Together>, Failure> {
        let faster = |hops: &Vec<String>| paced(setting, &hops.iter().map(String::as_str).collect::<Vec<_>>(), TWICE);
        let gains = trials.gains(&sets.iter().map(faster).collect::<Vec<_>>(), progress)?;
        let tried = sets.into_iter().zip(gains);
        Ok(tried.filter_map(|(hops, gain)| Some(Together { hops, doubled: gain? })).collect())
    };
    let all = if busiest.len() > 1 { try_out(vec![busiest.clone()])? } else { Vec::new() };
    let Some(mut needed) = all.into_iter().next() else { return Ok(Vec::new()) };
    let mut tried = vec![needed.clone()];
    if needed.gains() < HELPS && busiest.len() > 2 {
        let pairs = |(at, one): (usize, &String)| -> Vec<Vec<String>> {
            busiest[at + 1..].iter().map(|other| vec![one.clone(), other.clone()]).collect()
        };
        tried.extend(try_out(busiest.iter().enumerate().flat_map(pairs).collect())?);
    }
    while needed.gains() >= HELPS && needed.hops.len() > 2 {
        let without = |left: &String| needed.hops.iter().filter(|hop| *hop != left).cloned().collect();
        let fewer = try_out(needed.hops.iter().map(without).collect())?;
        let most = fewer.iter().max_by(|a, b| a.gains().total_cmp(&b.gains())).cloned();
        tried.extend(fewer);
        match most.filter(|most| most.gains() >= needed.gains() - HELPS) {
            Some(most) => needed = most,
            None => break,
        }
    }
    // Fewer that gain as much as more hops do say it.
    tried.sort_by(|a, b| {
        let key = |t: &Together| t.gains() - HELPS * t.hops.len() as f64;
        key(b).total_cmp(&key(a)).then_with(|| a.hops.cmp(&b.hops))
    });
    Ok(tried)
}

/// What limits once the leading hops are much faster.
pub(super) fn next(
    trials: &Trials<'_>,
    setting: &Setting,
    (leading, profile): (&[String], &[HopGain]),
    progress: Progress<'_>,
) -> Result<Option<(String, Gain)>, Failure> {
    let leading: Vec<&str> = leading.iter().map(String::as_str).collect();
    let faster = paced(setting, &leading, MUCH);
    let mut trials = trials.of_another(&faster)?;
    let mut others: Vec<&HopGain> = profile.iter().filter(|hop| !leading.contains(&hop.hop.as_str())).collect();
    others.sort_by(|a, b| (b.busy + b.doubled.throughput.mean).total_cmp(&(a.busy + a.doubled.throughput.mean)));
    others.truncate(NEXT);
    let settings: Vec<Setting> = others.iter().map(|hop| paced(&faster, &[&hop.hop], TWICE)).collect();
    let looks = trials.roughly(&settings, progress)?;
    let gains = trials.gains_of_best(&settings, looks, BEST, progress)?;
    let best = others.iter().zip(gains).filter_map(|(hop, gain)| Some((hop.hop.clone(), gain?)));
    Ok(best.max_by(|a, b| a.1.throughput.mean.total_cmp(&b.1.throughput.mean)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_little_more_than_the_pace_gives_no_more_than_twice_the_pace_may() {
        let gain = |mean: f64, half_width: f64| {
            let throughput = Shift { mean, half_width };
            Gain { throughput, latency: Shift { mean: 0.0, half_width } }
        };
        let most = |mean, half_width| at_most(gain(mean, half_width)).throughput.half_width;
        assert!(moves(gain(0.02, 0.01)) && moves(gain(-0.004, 0.003)));
        for (mean, half_width, expected) in [(0.02, 0.03, 0.05), (-0.01, 0.02, 0.03), (0.0, 0.002, 0.0)] {
            assert!(!moves(gain(mean, half_width)), "{mean} ±{half_width}");
            assert!((most(mean, half_width) - expected).abs() < 1e-12, "{mean} ±{half_width}");
        }
        // A latency may be moved where the throughput is not.
        assert!(moves(Gain { latency: Shift { mean: 0.2, half_width: 0.1 }, ..gain(0.0, 0.0) }));
    }
}
