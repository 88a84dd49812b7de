//! Remedies: what could be changed about the hops that lead, and what that gains; and what the answer rests on.

mod numbers;

use hopscope_files::job_options::DEPTH_MAX;
use hopscope_kernel::Time;
use hopscope_machine::run::Failure;
use hopscope_parts::parameters::{Basis, Value};

use numbers::{Number, halved, neighbours, numbers, stands_for};

use super::{Headline, HopGain, Remedy, Rests, with_jobs};
use crate::trials::{Gain, Look, Progress, Setting, Trials};

/// Remedies that are shown.
const REMEDIES: usize = 3;
/// Numbers that are tried out, of those that a glance shows to gain most.
const TRIED_OUT: usize = 4;
/// Sets of numbers that are looked at further, and as many more at most of those that a part refuses together.
const OPEN: usize = 4;
/// A hop's numbers are looked at where twice its pace gains at least this share of what the leading hop gains.
const WORTH: f64 = 0.25;
/// A number that gains less than this is no remedy.
const GAIN_MIN: f64 = 0.005;
/// Numbers that help together: at most so many, and they gain at least this share of what all of them gain.
const TOGETHER_MAX: usize = 4;
const NEARLY: f64 = 0.8;
/// Hops whose numbers are looked at.
const HOPS: usize = 3;

/// What helps most: numbers of the leading hops' parts twice as good, and more requests in flight.
pub(super) fn find(
    trials: &mut Trials<'_>,
    setting: &Setting,
    (leading, profile): (&[String], &[HopGain]),
    (headline, fullest): (Headline, f64),
    progress: Progress<'_>,
) -> Result<Vec<Remedy>, Failure> {
    let most = profile.first().map_or(0.0, |hop| hop.doubled.throughput.mean);
    let worth = |hop: &&HopGain| {
        leading.contains(&hop.hop) || (most >= GAIN_MIN && hop.doubled.throughput.mean >= WORTH * most)
    };
    let mut parts: Vec<String> = Vec::new();
    for hop in profile.iter().filter(worth).take(HOPS.max(leading.len())) {
        parts.extend(
            neighbours(&setting.blueprint, &hop.part)
                .into_iter()
                .filter(|part| !parts.contains(part))
                .collect::<Vec<_>>(),
        );
    }
    let numbers = numbers(&setting.blueprint, &parts);
    let mut of_depth = trials.clone();
    let (remedies, deeper) = rayon::join(
        || if numbers.is_empty() { Ok(Vec::new()) } else { of_numbers(trials, setting, &numbers, progress) },
        || if headline == Headline::Capacity { Ok(None) } else { deeper(&mut of_depth, setting, fullest) },
    );
    let mut remedies = remedies?;
    remedies.extend(deeper?);
    remedies.retain(helps);
    remedies.sort_by(|a, b| {
        b.gain.throughput.mean.total_cmp(&a.gain.throughput.mean).then_with(|| a.change.cmp(&b.change))
    });
    remedies.truncate(REMEDIES);
    Ok(remedies)
}

/// More requests in flight, of jobs that all have as many.
fn deeper(trials: &mut Trials<'_>, setting: &Setting, fullest: f64) -> Result<Option<Remedy>, Failure> {
    let depth = setting.jobs.iter().map(|job| job.iodepth).max().unwrap_or(1);
    if !setting.jobs.iter().all(|job| job.iodepth == depth) {
        return Ok(None);
    }
    // As many as would fill the fullest hop, if nothing else changed.
    let filling = (depth as f64 / fullest.clamp(0.01, 1.0)).ceil() as u64;
    let Some(deeper) = [filling, depth * 2].into_iter().find(|deeper| (depth + 1..=DEPTH_MAX).contains(deeper)) else {
        return Ok(None);
    };
    let changed = with_jobs(setting, |job| job.iodepth = deeper);
    let gain = trials.gains(&[changed], &|_, _| {})?.into_iter().next().flatten();
    let (change, instead_of) = (format!("--iodepth={deeper}"), format!("{depth}"));
    Ok(gain.map(|gain| Remedy { change, instead_of, gain }))
}

fn helps(remedy: &Remedy) -> bool {
    remedy.gain.throughput.mean >= GAIN_MIN && remedy.gain.throughput.is_a_gain()
}

/// The best of some numbers; where none helps by itself, those that help together.
fn of_numbers(
    trials: &mut Trials<'_>,
    setting: &Setting,
    numbers: &[Number],
    progress: Progress<'_>,
) -> Result<Vec<Remedy>, Failure> {
    let all = trials.roughly(&[halved(setting, numbers)], progress)?.swap_remove(0);
    let gain = all.gain;
    let mut remedies = best_of(trials, setting, (numbers, all), progress)?;
    if let Some(all) = gain.filter(|all| all.throughput.is_a_gain())
        && !remedies.iter().any(helps)
    {
        remedies.extend(together(trials, setting, numbers, all, progress)?);
    }
    Ok(remedies)
}

/// The best of some numbers that gain so much together, by halves: where together they change nothing, none of them is
/// looked at.
fn best_of(
    trials: &mut Trials<'_>,
    setting: &Setting,
    all: (&[Number], Look),
    progress: Progress<'_>,
) -> Result<Vec<Remedy>, Failure> {
    let (mut best, mut looks, mut open) = (Vec::new(), Vec::new(), vec![all]);
    while !open.is_empty() {
        let mut further: Vec<(f64, &[Number])> = Vec::new();
        for (numbers, look) in open {
            // Where a part refuses some of them together, each half is looked at.
            let most = look.gain.map_or(f64::INFINITY, |gain| gain.throughput.mean + gain.throughput.half_width);
            match numbers {
                _ if most < GAIN_MIN => {}
                [number] => {
                    best.push(number);
                    looks.push(look);
                }
                _ => {
                    let (one, other) = numbers.split_at(numbers.len() / 2);
                    further.extend([(most, one), (most, other)]);
                }
            }
        }
        // The most promising only.
        further.sort_by(|a, b| b.0.total_cmp(&a.0));
        let refused = further.iter().take(OPEN).filter(|(most, _)| most.is_infinite()).count();
        let halves: Vec<&[Number]> = further.iter().map(|(_, numbers)| *numbers).take(OPEN + refused).collect();
        let settings: Vec<Setting> = halves.iter().map(|numbers| halved(setting, *numbers)).collect();
        open = halves.into_iter().zip(trials.roughly(&settings, progress)?).collect();
    }
    let settings: Vec<Setting> = best.iter().map(|number: &&Number| halved(setting, [*number])).collect();
    let gains = trials.gains_of_best(&settings, looks, TRIED_OUT, progress)?;
    Ok(best.into_iter().zip(gains).filter_map(|(number, gain)| Some(number.remedy(gain?))).collect())
}

/// Where no number helps by itself, but all of them do: the few that do it together.
fn together(
    trials: &mut Trials<'_>,
    setting: &Setting,
    numbers: &[Number],
    all: Gain,
    progress: Progress<'_>,
) -> Result<Option<Remedy>, Failure> {
    let mut gain_enough = |sets: &[Vec<&Number>]| -> Result<Vec<bool>, Failure> {
        let settings: Vec<Setting> = sets.iter().map(|set| halved(setting, set.iter().copied())).collect();
        let enough = |gain: Gain| gain.throughput.mean >= NEARLY * all.throughput.mean;
        Ok(trials.roughly(&settings, progress)?.iter().map(|look| look.gain.is_some_and(enough)).collect())
    };
    let Some(kept) = few_of(numbers, &mut gain_enough)? else { return Ok(None) };
    let tried = trials.gains(&[halved(setting, kept.iter().copied())], progress)?;
    let Some(gain) = tried.into_iter().next().flatten() else { return Ok(None) };
    let each: Vec<Remedy> = kept.iter().map(|number| number.remedy(gain)).collect();
    let change = each.iter().map(|one| one.change.as_str()).collect::<Vec<_>>().join(" with ");
    let instead_of = each.iter().map(|one| one.instead_of.as_str()).collect::<Vec<_>>().join(", ");
    Ok(Some(Remedy { change, instead_of, gain }))
}

/// Which of some sets of numbers gain enough.
type GainEnough<'f, 'n, N> = dyn FnMut(&[Vec<&'n N>]) -> Result<Vec<bool>, Failure> + 'f;

/// The few of some numbers that gain enough by themselves, in their order; nothing where it takes more. All of them do. Of
/// the first ones that do, with those that are known to be needed, and one less does not, the last one is needed, too.
fn few_of<'n, N>(numbers: &'n [N], gain_enough: &mut GainEnough<'_, 'n, N>) -> Result<Option<Vec<&'n N>>, Failure> {
    let (mut needed, mut open) = (Vec::new(), numbers);
    while needed.len() < TOGETHER_MAX {
        let (mut too_few, mut enough) = (0, open.len());
        while enough - too_few > 1 {
            // By thirds: two sets at once.
            let third = (enough - too_few).div_ceil(3);
            let firsts: Vec<usize> = (too_few + third..enough).step_by(third).collect();
            let set = |first: &usize| open[..*first].iter().chain(needed.iter().copied()).collect();
            let gain_enough = gain_enough(&firsts.iter().map(set).collect::<Vec<_>>())?;
            for (first, gains_enough) in firsts.into_iter().zip(gain_enough).rev() {
                *(if gains_enough { &mut enough } else { &mut too_few }) = first;
                if !gains_enough {
                    break;
                }
            }
        }
        let Some((last, before)) = open[..enough].split_last() else { break };
        needed.insert(0, last);
        open = before;
        if open.is_empty() || gain_enough(&[needed.clone()])?[0] {
            return Ok(Some(needed));
        }
    }
    Ok(None)
}

/// What the answer rests on: the numbers of the leading hops' parts, and what it would be were the assumed ones otherwise.
pub(super) fn rests(
    trials: &mut Trials<'_>,
    setting: &Setting,
    leading: &[String],
    progress: Progress<'_>,
) -> Result<Rests, Failure> {
    let blueprint = &setting.blueprint;
    let of_leading = |name: &str| leading.iter().any(|hop| stands_for(hop.split('.').next().unwrap_or(hop), name));
    let (mut numbers, mut assumed) = (0, Vec::new());
    for (path, entry) in blueprint.numbers() {
        if !of_leading(path.split('.').next().unwrap_or(&path)) {
            continue;
        }
        numbers += 1;
        if matches!(entry.basis, Basis::Assumed(_)) {
            assumed.push(path);
        }
    }
    let moved = |tenths: u64| {
        let mut changed = setting.clone();
        for path in &assumed {
            if let Ok(entry) = changed.blueprint.entry_mut(path) {
                let ps = |time: Time| Time::ps((time.as_ps() * tenths / 10).max(u64::from(time > Time::ZERO)));
                entry.value = match &entry.value {
                    Value::Time(time) => Value::Time(ps(*time)),
                    Value::Period(period) => Value::Period(ps(*period)),
                    Value::Rate(rate) => Value::Rate((rate * 10 / tenths).max(1)),
                    other => other.clone(),
                };
            }
        }
        changed
    };
    let moves = if assumed.is_empty() {
        None
    } else {
        let gains = trials.gains_roughly(&[moved(11), moved(9)], progress)?;
        match gains[..] {
            [Some(worse), Some(better)] => Some([worse.throughput.mean, better.throughput.mean]),
            _ => None,
        }
    };
    Ok(Rests { numbers, assumed: assumed.len(), moves, study: blueprint.study.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The few of so many numbers that are found where a set gains that `is_enough`; how many sets were asked for.
    fn found(count: usize, is_enough: impl Fn(&[usize]) -> bool) -> (Option<Vec<usize>>, usize) {
        let (numbers, mut asked) = ((0..count).collect::<Vec<usize>>(), 0);
        let of = |numbers: &Vec<&usize>| numbers.iter().copied().copied().collect::<Vec<usize>>();
        let few = few_of(&numbers, &mut |sets| {
            asked += sets.len();
            Ok(sets.iter().map(|set| is_enough(&of(set))).collect())
        });
        (few.expect("nothing fails").map(|few| of(&few)), asked)
    }

    #[test]
    fn few_numbers_are_found_that_help_only_together() {
        let all_of = |needed: Vec<usize>| move |set: &[usize]| needed.iter().all(|one| set.contains(one));
        for count in 2..24 {
            for one in 0..count {
                for other in one + 1..count {
                    let needed = vec![one, other];
                    let (few, asked) = found(count, all_of(needed.clone()));
                    assert_eq!(few, Some(needed), "of {count}");
                    // By thirds, and not number by number.
                    let rounds = (count as f64).log(3.0).ceil() as usize;
                    assert!(asked <= 2 * (2 * rounds + 1), "{asked} sets for {one} and {other} of {count}");
                    // Where one of two will do, one of them stays.
                    let one_of = |set: &[usize]| set.contains(&0) && (set.contains(&one) || set.contains(&other));
                    let few = found(count, one_of).0.expect("two are few");
                    assert!(one_of(&few) && few.len() <= 2, "{few:?} for {one} or {other} of {count}");
                }
            }
        }
        assert_eq!(found(40, all_of(vec![3, 11, 19, 27])).0, Some(vec![3, 11, 19, 27]));
        assert_eq!(found(40, all_of(vec![3, 11, 19, 27, 35])).0, None);
    }
}
