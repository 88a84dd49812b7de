//! Every number of a machine and of its work moved a little, one at a time: what that does to the result.
//!
//! Most numbers do nothing to a job. Those of a part, or of a piece of a table, are moved together; where no request ends
//! a picosecond earlier or later for it, none of them does anything, and where one does, they are halved. What is left is
//! looked at one by one, and what does most is tried out.

use std::collections::{BTreeMap, BTreeSet};

use hopscope_files::change::JOB;
use hopscope_files::job_file::Job;
use hopscope_files::quantity;
use hopscope_kernel::Time;
use hopscope_machine::blueprint::Part;
use hopscope_machine::run::Failure;
use hopscope_parts::parameters::{Place, Value};
use rayon::prelude::*;

use super::amount::{a_little, amount, further};
use super::{Beyond, Effect, News, Progress, Range, Sensitivities, Sensitivity, Setting, too_few};
use crate::explain::Explained;
use crate::trials::{Gain, Trials};

/// Numbers whose range is found out.
const RANGES: usize = 6;
/// Numbers that are tried out, at least: those that do most as far as a look shows.
const TRIED_OUT: usize = 16;
/// So many changed machines are kept at once.
const AT_ONCE: usize = 64;
/// An effect below this has none.
const RANGE_MIN: f64 = 0.002;
/// A further step that brings less than this share of the first one ends the range.
const CLEARLY_LESS: f64 = 0.5;

/// A number that can be moved.
#[derive(Clone)]
struct Knob {
    /// Its path; `job.…` is an option of all jobs.
    path: String,
    written: String,
    value: Value,
    basis: &'static str,
}

/// The machine as it is, to which every other one is compared.
struct Bench<'a> {
    setting: &'a Setting,
    trials: Trials<'a>,
}

/// Moves every number a tenth either way (what is counted by one at least; a size that is a power of two to its
/// half and its double), tries each against the machine as it is, of which `base` is a run, and ranks them by their
/// effects.
pub fn sensitivities(
    setting: &Setting,
    seed: u64,
    base: &Explained,
    progress: Progress<'_>,
) -> Result<Sensitivities, Failure> {
    let trials = Trials::new(setting, seed, base).ok_or_else(|| too_few(setting, base))?;
    let mut bench = Bench { setting, trials };
    let knobs = knobs(setting);
    let moves: Vec<(usize, String)> = knobs
        .iter()
        .enumerate()
        .flat_map(|(index, knob)| {
            a_little(&knob.written, &knob.value).into_iter().flatten().map(move |text| (index, text))
        })
        .collect();
    let looks = bench.looks_at(&knobs, &moves, progress)?;
    let refused = looks.iter().filter(|effect| effect.is_none()).count();
    let mut numbers: Vec<Sensitivity> = knobs.iter().map(Knob::untouched).collect();
    for ((index, _), effect) in moves.iter().zip(looks) {
        numbers[*index].effects.extend(effect);
    }
    bench.try_out_largest(&knobs, &mut numbers, progress)?;
    for (number, knob) in numbers.iter_mut().zip(&knobs) {
        number.elasticity = elasticity(&knob.value, &number.effects);
    }
    let mut ranked: Vec<(Sensitivity, Knob)> = numbers.into_iter().zip(knobs).collect();
    ranked.sort_by(|(a, _), (b, _)| {
        let by_size = b.size().total_cmp(&a.size()).then(b.latency_size().total_cmp(&a.latency_size()));
        by_size.then_with(|| a.parameter.cmp(&b.parameter))
    });
    bench.find_ranges(&mut ranked, progress)?;
    let numbers = ranked.into_iter().map(|(number, _)| number).collect();
    let (before, effort) = (bench.trials.performance()?, bench.trials.effort().clone());
    Ok(Sensitivities { before, numbers, refused, effort })
}

impl Bench<'_> {
    /// What each move does as far as a look shows; nothing for those that are refused.
    fn looks_at(
        &mut self,
        knobs: &[Knob],
        moves: &[(usize, String)],
        progress: Progress<'_>,
    ) -> Result<Vec<Option<Effect>>, Failure> {
        let mut effects: Vec<Option<Effect>> = vec![None; moves.len()];
        let allowed = self.allowed(knobs, moves);
        let still = self.without_effect(knobs, moves, &allowed)?;
        for number in &still {
            effects[*number] = Some(effect(&moves[*number].1, Gain::NONE));
        }
        let news = |done| progress(News { done, of: moves.len(), what: "numbers moved", throughput: None });
        let mut done = moves.len() - allowed.len() + still.len();
        (1..=done).for_each(news);
        let open: Vec<usize> = allowed.into_iter().filter(|number| !still.contains(number)).collect();
        for some in open.chunks(AT_ONCE) {
            let one = |number: &usize| turned(self.setting, [(&knobs[moves[*number].0], &moves[*number].1)]);
            let settings = some.iter().map(one).collect();
            let looks = self.ask(settings, |trials, of| trials.at_a_glance(of, &|more, _| news(done + more)))?;
            done += some.len();
            for (number, look) in some.iter().zip(looks) {
                effects[*number] = look.and_then(|look| look.gain).map(|gain| effect(&moves[*number].1, gain));
            }
        }
        Ok(effects)
    }

    /// The moves that no part refuses.
    fn allowed(&self, knobs: &[Knob], moves: &[(usize, String)]) -> Vec<usize> {
        let firsts = firsts_alike(self.setting.blueprint.parts());
        let key = |number: usize| {
            let (index, text) = &moves[number];
            let (part, key) = knobs[*index].path.split_once('.').unwrap_or((&knobs[*index].path, ""));
            (firsts.get(part), key, text)
        };
        let first_of: BTreeMap<_, usize> = (0..moves.len()).rev().map(|number| (key(number), number)).collect();
        let is_right = |number: &usize| {
            let (index, text) = &moves[*number];
            turned(self.setting, [(&knobs[*index], text)]).is_some_and(|changed| changed.blueprint.check().is_ok())
        };
        let firsts: Vec<usize> = first_of.values().copied().collect();
        let right: BTreeSet<usize> = firsts.into_par_iter().filter(is_right).collect();
        (0..moves.len()).filter(|number| right.contains(&first_of[&key(*number)])).collect()
    }

    /// Which moves make no difference at all. Those of a part that lie side by side are made together, in one direction
    /// at a time, and halved where they do make one.
    fn without_effect(
        &mut self,
        knobs: &[Knob],
        moves: &[(usize, String)],
        allowed: &[usize],
    ) -> Result<BTreeSet<usize>, Failure> {
        // Of two moves of a number the second is the other way.
        let is_second = |number: usize| number > 0 && moves[number - 1].0 == moves[number].0;
        let part = |number: usize| knobs[moves[number].0].path.split('.').next();
        let (mut still, mut open) = (BTreeSet::new(), Vec::new());
        for second in [false, true] {
            let side: Vec<usize> = allowed.iter().copied().filter(|number| is_second(*number) == second).collect();
            open.extend(side.chunk_by(|a, b| part(*a) == part(*b)).map(<[usize]>::to_vec));
        }
        while !open.is_empty() {
            // What is alone is looked at by itself anyway.
            open.retain(|group: &Vec<usize>| group.len() > 1);
            let mut halves = Vec::new();
            for some in open.chunks(AT_ONCE) {
                let together = |group: &Vec<usize>| {
                    turned(self.setting, group.iter().map(|number| (&knobs[moves[*number].0], &moves[*number].1)))
                };
                let settings = some.iter().map(together).collect();
                let same = self.ask(settings, |trials, of| trials.without_difference(of, &|_, _| {}))?;
                for (group, same) in some.iter().zip(same) {
                    if same == Some(true) {
                        still.extend(group);
                    } else {
                        let (one, other) = group.split_at(group.len() / 2);
                        halves.extend([one.to_vec(), other.to_vec()]);
                    }
                }
            }
            open = halves;
        }
        Ok(still)
    }

    /// Tries out the moves of the numbers that do most, as far as a look shows.
    fn try_out_largest(
        &mut self,
        knobs: &[Knob],
        numbers: &mut [Sensitivity],
        progress: Progress<'_>,
    ) -> Result<(), Failure> {
        let most = |number: &Sensitivity| {
            let means = number.effects.iter().map(|effect| effect.throughput.mean.abs().max(effect.latency.mean.abs()));
            (number.size(), means.fold(0.0, f64::max))
        };
        let mut largest: Vec<usize> = (0..numbers.len()).filter(|index| !numbers[*index].is_nothing()).collect();
        largest.sort_by(|a, b| {
            let ((a_sure, a_most), (b_sure, b_most)) = (most(&numbers[*a]), most(&numbers[*b]));
            b_sure.total_cmp(&a_sure).then(b_most.total_cmp(&a_most)).then(a.cmp(b))
        });
        let affordable = self.trials.affordable()?;
        let mut moves: Vec<(usize, String)> = Vec::new();
        for (rank, index) in largest.into_iter().enumerate() {
            let own = numbers[index].effects.iter().map(|effect| (index, effect.changed_to.clone()));
            if rank >= TRIED_OUT && moves.len() + own.len() > affordable {
                break;
            }
            moves.extend(own);
        }
        let effects = self.effects_of(knobs, &moves, progress)?;
        moves.iter().for_each(|(index, _)| numbers[*index].effects.clear());
        for ((index, _), effect) in moves.iter().zip(effects) {
            numbers[*index].effects.extend(effect);
        }
        Ok(())
    }

    /// What each move does; nothing for those that are refused.
    fn effects_of(
        &mut self,
        knobs: &[Knob],
        moves: &[(usize, String)],
        progress: Progress<'_>,
    ) -> Result<Vec<Option<Effect>>, Failure> {
        let settings = moves.iter().map(|(index, text)| turned(self.setting, [(&knobs[*index], text)])).collect();
        let news = |done, of| progress(News { done, of, what: "numbers tried out", throughput: None });
        let gains = self.ask(settings, |trials, of| trials.gains(of, &news))?;
        Ok(moves.iter().zip(gains).map(|((_, text), gain)| Some(effect(text, gain.flatten()?))).collect())
    }

    /// Asks something of each setting that can be; nothing of the others.
    fn ask<T>(
        &mut self,
        settings: Vec<Option<Setting>>,
        ask: impl FnOnce(&mut Trials<'_>, &[Setting]) -> Result<Vec<T>, Failure>,
    ) -> Result<Vec<Option<T>>, Failure> {
        let can_be: Vec<bool> = settings.iter().map(Option::is_some).collect();
        let possible: Vec<Setting> = settings.into_iter().flatten().collect();
        let mut answers = ask(&mut self.trials, &possible)?.into_iter();
        Ok(can_be.into_iter().map(|can_be| if can_be { answers.next() } else { None }).collect())
    }

    /// Moves the first few that help further in the direction that helps.
    fn find_ranges(&mut self, ranked: &mut [(Sensitivity, Knob)], progress: Progress<'_>) -> Result<(), Failure> {
        let helps = |(number, knob): &&mut (Sensitivity, Knob)| {
            number.size() >= RANGE_MIN && helping(&knob.value, &number.effects).is_some()
        };
        let mut chosen: Vec<&mut (Sensitivity, Knob)> = ranked.iter_mut().filter(helps).take(RANGES).collect();
        let knobs: Vec<Knob> = chosen.iter().map(|(_, knob)| knob.clone()).collect();
        let mut moves = Vec::new();
        for (index, (number, knob)) in chosen.iter().enumerate() {
            let more = helping(&knob.value, &number.effects).is_some_and(|(_, more)| more);
            moves.extend(further(&knob.written, &knob.value, more).into_iter().map(|text| (index, text)));
        }
        let effects = self.effects_of(&knobs, &moves, progress)?;
        for (index, (number, knob)) in chosen.iter_mut().enumerate() {
            let steps = moves.iter().zip(&effects).filter(|((of, _), _)| *of == index).map(|(_, effect)| effect);
            let first = helping(&knob.value, &number.effects);
            number.holds_until = first.map(|(first, _)| range(&knob.value, first, steps));
        }
        Ok(())
    }
}

impl Knob {
    fn untouched(&self) -> Sensitivity {
        Sensitivity {
            parameter: self.path.clone(),
            value: self.written.clone(),
            basis: self.basis,
            effects: Vec::new(),
            elasticity: None,
            holds_until: None,
        }
    }

    /// Sets this number to `text`; nothing where that cannot be.
    fn turn(&self, changed: &mut Setting, text: &str) -> Option<()> {
        match self.path.split_once('.') {
            Some((JOB, option)) => {
                // fio's sizes and counts come without the unit that they have here.
                let value = quantity::parse(text).ok()?;
                let number = match (option, amount(&value)) {
                    ("thinktime", ps) => (ps / 1e6).round() as u64,
                    ("rwmixread", millionths) => (millionths / 1e4).round() as u64,
                    (_, amount) => amount as u64,
                };
                let set = |job: &mut Job| job.set(option, &number.to_string(), Place::default()).ok();
                changed.jobs.iter_mut().try_for_each(set)
            }
            _ => changed.blueprint.assign(&self.path, text, None).ok().map(drop),
        }
    }
}

/// A setting with these numbers at these values; nothing where one of them cannot be.
fn turned<'k>(setting: &Setting, moves: impl IntoIterator<Item = (&'k Knob, &'k String)>) -> Option<Setting> {
    let mut changed = setting.clone();
    moves.into_iter().try_for_each(|(knob, text)| knob.turn(&mut changed, text))?;
    Some(changed)
}

/// Of each part, by name, the first that is alike: what that refuses, all of them do.
fn firsts_alike(parts: &[Part]) -> BTreeMap<&str, usize> {
    let first = |part: &Part| parts.iter().position(|other| part.is_alike(other)).unwrap_or(parts.len());
    parts.iter().map(|part| (&part.name[..], first(part))).collect()
}

fn effect(text: &str, gain: Gain) -> Effect {
    Effect { changed_to: text.to_string(), throughput: gain.throughput, latency: gain.latency.inverse() }
}

/// Every number of the machine; of the jobs, what all of them have in common.
fn knobs(setting: &Setting) -> Vec<Knob> {
    let numbers = setting.blueprint.numbers().into_iter();
    let mut knobs: Vec<Knob> = numbers
        .map(|(path, entry)| {
            let (written, value, basis) = (entry.written.clone(), entry.value.clone(), entry.basis.word());
            Knob { path, written, value, basis }
        })
        .collect();
    let Some(first) = setting.jobs.first() else { return knobs };
    let same = |of: fn(&Job) -> u64| setting.jobs.iter().all(|job| of(job) == of(first));
    let mut of_jobs = |option: &str, written: String, value: Value| {
        knobs.push(Knob { path: format!("{JOB}.{option}"), written, value, basis: JOB });
    };
    if same(|job| job.iodepth) {
        let noun = if first.iodepth == 1 { "request" } else { "requests" };
        of_jobs("iodepth", format!("{} {noun}", first.iodepth), Value::Count(first.iodepth));
    }
    let of_one_size = |job: &Job| job.block_bytes_min == job.block_bytes_max && job.write_blocks.is_none();
    if same(|job| job.block_bytes_min) && setting.jobs.iter().all(of_one_size) {
        let bytes = first.block_bytes_min;
        let written = if bytes.is_multiple_of(1_024) { format!("{} KiB", bytes / 1_024) } else { format!("{bytes} B") };
        of_jobs("bs", written, Value::Bytes(bytes));
    }
    let percent = u64::from(first.reads_percent);
    if same(|job| job.reads_percent.into()) && setting.jobs.iter().all(|job| job.rw.sides() == [true, true]) {
        of_jobs("rwmixread", format!("{percent} %"), Value::Share(10_000 * percent));
    }
    if same(|job| job.think.time.as_ps()) && first.think.time > Time::ZERO {
        let us = first.think.time.as_ps() / 1_000_000;
        of_jobs("thinktime", format!("{us} us"), Value::Time(Time::ps(us * 1_000_000)));
    }
    knobs
}

/// The amount of a number as changed.
fn amount_of(effect: &Effect) -> f64 {
    quantity::parse(&effect.changed_to).as_ref().map_or(0.0, amount)
}

/// From the least to the most of it.
fn elasticity(value: &Value, effects: &[Effect]) -> Option<f64> {
    let unmoved = amount(value);
    let sides = effects.iter().map(|effect| (amount_of(effect) / unmoved, effect.throughput.mean));
    let (low, high) =
        sides.chain([(1.0, 0.0)]).fold(((1.0, 0.0), (1.0, 0.0)), |(low, high): ((f64, f64), (f64, f64)), side| {
            (if side.0 < low.0 { side } else { low }, if side.0 > high.0 { side } else { high })
        });
    (unmoved > 0.0 && high.0 > low.0).then(|| (high.1 - low.1) / (high.0 - low.0))
}

/// The change that helps most, and whether it is more of the number; nothing where none helps.
fn helping<'a>(value: &Value, effects: &'a [Effect]) -> Option<(&'a Effect, bool)> {
    let best = effects.iter().max_by(|a, b| a.throughput.mean.total_cmp(&b.throughput.mean))?;
    (best.throughput.mean > best.throughput.half_width).then(|| (best, amount_of(best) > amount(value)))
}

/// The last step before one that brings clearly less, for its size, than the first one did.
fn range<'a>(value: &Value, first: &'a Effect, steps: impl Iterator<Item = &'a Option<Effect>>) -> Range {
    // Of the part of the time that the number alone decides, a share is left; a step takes some of it away.
    let share = |effect: &Effect| {
        let moved = amount_of(effect) / amount(value);
        if moved > 1.0 { moved.recip() } else { moved }
    };
    let time = |effect: &Effect| 1.0 / (1.0 + effect.throughput.mean);
    let first_slope = (1.0 - time(first)) / (1.0 - share(first));
    let (mut last, mut beyond) = (first, Beyond::NotTried);
    for step in steps {
        let Some(step) = step else {
            beyond = Beyond::Refused;
            break;
        };
        if share(step) >= share(last) {
            continue;
        }
        if (time(last) - time(step)) / (share(last) - share(step)) < CLEARLY_LESS * first_slope {
            beyond = Beyond::Less;
            break;
        }
        last = step;
    }
    Range { value: last.changed_to.clone(), throughput: last.throughput.mean, beyond }
}
