//! Every number of a machine and of its work moved a little, one at a time: what that does to the result.
//!
//! Most numbers do nothing to a job. Those of a part, or of a piece of a table, are moved together; where no request ends
//! a picosecond earlier or later for it, none of them does anything, and where one does, they are halved. Of what is left
//! many rows of a column are one number (`knob`); each is looked at, and what does most is tried out.

use std::collections::{BTreeMap, BTreeSet};

use hopscope_machine::blueprint::{Part, column_of};
use hopscope_machine::run::{Failure, Outcome};
use rayon::prelude::*;

use super::knob::{Knob, columns, knobs, turned};
use super::{Beyond, Effect, News, Progress, Range, Sensitivities, Sensitivity, Setting, too_few};
use crate::explain::Explained;
use crate::trials::{Begun, Gain, Trials};

/// Numbers whose range is found out.
const RANGES: usize = 6;
/// Numbers that are tried out, at least: those that do most as far as a look shows.
const TRIED_OUT: usize = 16;
/// A table of more rows is a drawing: one or none of its rows is moved by itself.
const DRAWING: usize = 8;
/// Of others so many rows that do something are moved one by one, at most.
const ROWS_ONE_BY_ONE: usize = 4;
/// So many changed machines are kept at once.
const AT_ONCE: usize = 64;
/// An effect below this has none.
const RANGE_MIN: f64 = 0.002;
/// A further step that brings less than this share of the first one ends the range.
const CLEARLY_LESS: f64 = 0.5;

/// A number, by its place among all, at another value.
type Move = (usize, String);

/// What is known of a move before it is looked at by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// A part refuses it.
    Refused,
    /// It makes no difference to any request.
    Still,
    Open,
}

/// Numbers, their moves, and what is known of each of these.
#[derive(Default)]
struct Board {
    knobs: Vec<Knob>,
    moves: Vec<Move>,
    fates: Vec<Fate>,
}

/// What makes no difference.
#[derive(Default)]
struct Still {
    moves: BTreeSet<usize>,
    /// Columns of which many rows do make one.
    columns: BTreeSet<String>,
}

impl Board {
    fn add(&mut self, knob: Knob, moves: impl IntoIterator<Item = (String, Fate)>) {
        for (text, fate) in moves {
            self.moves.push((self.knobs.len(), text));
            self.fates.push(fate);
        }
        self.knobs.push(knob);
    }
}

/// The machine as it is, to which every other one is compared.
struct Bench<'a> {
    setting: &'a Setting,
    trials: Trials<'a>,
}

/// Which numbers do anything, found out with trials as long as they are likely to be.
pub(super) struct Foreseen<'a> {
    /// Before anything was tried.
    pub(super) trials: Trials<'a>,
    bench: Bench<'a>,
    board: Board,
}

impl<'a> Foreseen<'a> {
    /// After a run that has not been accounted for; nothing where too little ended in it.
    pub(super) fn of(setting: &'a Setting, seed: u64, outcome: &Outcome) -> Result<Option<Foreseen<'a>>, Failure> {
        let Some(trials) = Trials::foreseen(setting, seed, outcome, Begun::default())? else { return Ok(None) };
        let mut bench = Bench { setting, trials: trials.clone() };
        let board = bench.board()?;
        Ok(Some(Foreseen { trials, bench, board }))
    }
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
    sensitivities_with(trials, setting, None, progress)
}

/// The same by trials of the setting, with what was foreseen while its run was accounted for.
pub(super) fn sensitivities_with<'a>(
    trials: Trials<'a>,
    setting: &'a Setting,
    foreseen: Option<Foreseen<'a>>,
    progress: Progress<'_>,
) -> Result<Sensitivities, Failure> {
    let (mut bench, board) = match foreseen.filter(|foreseen| foreseen.trials.are_as_long_as(&trials)) {
        Some(Foreseen { bench, board, .. }) => (bench, board),
        None => {
            let mut bench = Bench { setting, trials };
            let board = bench.board()?;
            (bench, board)
        }
    };
    let looks = bench.looks_at(&board, progress)?;
    let refused = looks.iter().filter(|effect| effect.is_none()).count();
    let Board { knobs, moves, .. } = board;
    let mut numbers: Vec<Sensitivity> = knobs.iter().map(Knob::untouched).collect();
    for ((index, _), effect) in moves.iter().zip(looks) {
        numbers[*index].effects.extend(effect);
    }
    bench.try_out_largest(&knobs, &mut numbers, progress)?;
    for (number, knob) in numbers.iter_mut().zip(&knobs) {
        number.elasticity = elasticity(knob, &number.effects);
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
    /// The numbers that are moved, and how: columns instead of rows of which many do something.
    fn board(&mut self) -> Result<Board, Failure> {
        let knobs = knobs(self.setting);
        let both_ways = |(index, knob): (usize, &Knob)| knob.a_little().into_iter().map(move |text| (index, text));
        let moves: Vec<Move> = knobs.iter().enumerate().flat_map(both_ways).collect();
        let firsts = firsts_alike(self.setting.blueprint.parts());
        let allowed = self.allowed(&knobs, &moves, &firsts);
        let still = self.without_effect(&knobs, &moves, &allowed)?;
        let open = |number: &usize| !still.moves.contains(number);
        let open = allowed.iter().copied().filter(open).map(|number| knobs[moves[number].0].path());
        let mut columns = columns(&knobs, &as_alike_parts(still.columns.clone(), open, &firsts));
        // Where all rows together cannot be moved at all, they are moved one by one.
        columns.retain(|_, column| column.a_little().iter().any(|text| self.allows(column, text)));
        let first_of = |index: usize| moves.partition_point(|(of, _)| *of < index);
        let of_column = |knob: &Knob| column_of(knob.path()).filter(|column| columns.contains_key(column));
        let mut board = Board::default();
        for (index, knob) in knobs.iter().enumerate() {
            if of_column(knob).is_none() {
                let own = first_of(index)..first_of(index + 1);
                let fate = |number: usize| match allowed.binary_search(&number) {
                    Err(_) => Fate::Refused,
                    Ok(_) if still.moves.contains(&number) => Fate::Still,
                    Ok(_) => Fate::Open,
                };
                board.add(knob.clone(), own.map(|number| (moves[number].1.clone(), fate(number))));
            }
        }
        for column in columns.into_values() {
            let fate = |text: &String| if self.allows(&column, text) { Fate::Open } else { Fate::Refused };
            let texts: Vec<(String, Fate)> =
                column.a_little().into_iter().map(|text| (text.clone(), fate(&text))).collect();
            board.add(column, texts);
        }
        Ok(board)
    }

    /// What each move does as far as a look shows; nothing for those that are refused.
    fn looks_at(&mut self, board: &Board, progress: Progress<'_>) -> Result<Vec<Option<Effect>>, Failure> {
        let Board { knobs, moves, fates } = board;
        let still = |(fate, (_, text)): (&Fate, &Move)| (*fate == Fate::Still).then(|| effect(text, Gain::NONE));
        let mut effects: Vec<Option<Effect>> = fates.iter().zip(moves).map(still).collect();
        let news = |done| progress(News { done, of: moves.len(), what: "numbers moved", throughput: None });
        let open: Vec<usize> = (0..moves.len()).filter(|number| fates[*number] == Fate::Open).collect();
        let mut done = moves.len() - open.len();
        (1..=done).for_each(news);
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
    fn allowed(&self, knobs: &[Knob], moves: &[Move], firsts: &BTreeMap<&str, usize>) -> Vec<usize> {
        let key = |number: usize| {
            let (index, text) = &moves[number];
            let (part, key) = knobs[*index].path().split_once('.').unwrap_or((knobs[*index].path(), ""));
            (firsts.get(part), key, text)
        };
        let first_of: BTreeMap<_, usize> = (0..moves.len()).rev().map(|number| (key(number), number)).collect();
        let is_right = |number: &usize| self.allows(&knobs[moves[*number].0], &moves[*number].1);
        let firsts: Vec<usize> = first_of.values().copied().collect();
        let right: BTreeSet<usize> = firsts.into_par_iter().filter(is_right).collect();
        (0..moves.len()).filter(|number| right.contains(&first_of[&key(*number)])).collect()
    }

    /// Whether no part refuses a move.
    fn allows(&self, knob: &Knob, text: &String) -> bool {
        turned(self.setting, [(knob, text)]).is_some_and(|changed| changed.blueprint.check().is_ok())
    }

    /// Which moves make no difference at all, and the columns of which many rows make one. Moves of a part that lie side by
    /// side are made together, in one direction at a time, and halved where they do make one: between numbers and columns,
    /// then within a column until it is known to be such a one.
    fn without_effect(&mut self, knobs: &[Knob], moves: &[Move], allowed: &[usize]) -> Result<Still, Failure> {
        // Of two moves of a number the second is the other way.
        let is_second = |number: usize| number > 0 && moves[number - 1].0 == moves[number].0;
        let part = |number: usize| knobs[moves[number].0].path().split('.').next();
        let columns: Vec<Option<String>> = knobs.iter().map(|knob| column_of(knob.path())).collect();
        let column = |number: usize| columns[moves[number].0].as_ref();
        let mut in_all: BTreeMap<&String, usize> = BTreeMap::new();
        columns.iter().flatten().for_each(|column| *in_all.entry(column).or_default() += 1);
        let mut open: Vec<Vec<usize>> = Vec::new();
        for second in [false, true] {
            let side: Vec<usize> = allowed.iter().copied().filter(|number| is_second(*number) == second).collect();
            open.extend(side.chunk_by(|a, b| part(*a) == part(*b)).map(<[usize]>::to_vec));
        }
        open.iter_mut().for_each(|group| group.sort_by_key(|number| column(*number)));
        let mut found = Still::default();
        // Rows of a column that make a difference by themselves, in one direction.
        let mut alone: BTreeMap<(bool, &String), usize> = BTreeMap::new();
        while !open.is_empty() {
            let mut differ: Vec<Vec<usize>> = Vec::new();
            for some in open.chunks(AT_ONCE) {
                let together = |group: &Vec<usize>| {
                    turned(self.setting, group.iter().map(|number| (&knobs[moves[*number].0], &moves[*number].1)))
                };
                let settings = some.iter().map(together).collect();
                let same = self.ask(settings, |trials, of| trials.without_difference(of, &|_, _| {}))?;
                for (group, same) in some.iter().zip(same) {
                    if same == Some(true) {
                        found.moves.extend(group);
                    } else {
                        differ.push(group.clone());
                    }
                }
            }
            let within = |group: &[usize]| {
                let (first, last) = (column(*group.first()?)?, column(*group.last()?)?);
                (first == last).then_some((is_second(group[0]), first))
            };
            let mut rows = alone.clone();
            for group in &differ {
                let Some(of) = within(group) else { continue };
                *rows.entry(of).or_default() += 1;
                if group.len() == 1 {
                    *alone.entry(of).or_default() += 1;
                }
            }
            let one_by_one = |column| if in_all[column] > DRAWING { 1 } else { ROWS_ONE_BY_ONE };
            let many = rows.into_iter().filter(|((_, column), rows)| *rows > one_by_one(*column));
            found.columns.extend(many.map(|((_, column), _)| column.clone()));
            open.clear();
            for group in differ {
                let is_known = within(&group).is_some_and(|(_, column)| found.columns.contains(column));
                if group.len() > 1 && !is_known {
                    let (one, other) = group.split_at(middle(&group, column));
                    open.extend([one.to_vec(), other.to_vec()]);
                }
            }
            // A number that is alone is looked at by itself anyway.
            open.retain(|group| group.len() > 1 || column(group[0]).is_some());
        }
        Ok(found)
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
        let mut moves: Vec<Move> = Vec::new();
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
        moves: &[Move],
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
            number.size() >= RANGE_MIN && helping(knob, &number.effects).is_some()
        };
        let mut chosen: Vec<&mut (Sensitivity, Knob)> = ranked.iter_mut().filter(helps).take(RANGES).collect();
        let knobs: Vec<Knob> = chosen.iter().map(|(_, knob)| knob.clone()).collect();
        let mut moves = Vec::new();
        for (index, (number, knob)) in chosen.iter().enumerate() {
            let more = helping(knob, &number.effects).is_some_and(|(_, more)| more);
            moves.extend(knob.further(more).into_iter().map(|text| (index, text)));
        }
        let effects = self.effects_of(&knobs, &moves, progress)?;
        for (index, (number, knob)) in chosen.iter_mut().enumerate() {
            let steps = moves.iter().zip(&effects).filter(|((of, _), _)| *of == index).map(|(_, effect)| effect);
            let first = helping(knob, &number.effects);
            number.holds_until = first.map(|(first, _)| range(knob, first, steps));
        }
        Ok(())
    }
}

/// Where a group is halved: at the end of a column, if it has more than one or other numbers.
fn middle<'k>(group: &[usize], column: impl Fn(usize) -> Option<&'k String>) -> usize {
    let half = group.len() / 2;
    let is_end = |at: usize| column(group[at]).is_none() || column(group[at - 1]) != column(group[at]);
    (1..group.len()).filter(|at| is_end(*at)).min_by_key(|at| at.abs_diff(half)).unwrap_or(half)
}

/// Columns, and the same ones of parts that are alike if these numbers are rows of them: alike is told alike.
fn as_alike_parts<'k>(
    mut columns: BTreeSet<String>,
    rows: impl Iterator<Item = &'k str>,
    firsts: &BTreeMap<&str, usize>,
) -> BTreeSet<String> {
    let alike = |column: &str| {
        let (part, key) = column.split_once('.')?;
        Some((*firsts.get(part)?, key.to_string()))
    };
    let known: BTreeSet<_> = columns.iter().filter_map(|column| alike(column)).collect();
    columns.extend(rows.filter_map(column_of).filter(|column| alike(column).is_some_and(|of| known.contains(&of))));
    columns
}

/// Of each part, by name, the first that is alike: what that refuses, all of them do.
fn firsts_alike(parts: &[Part]) -> BTreeMap<&str, usize> {
    let first = |part: &Part| parts.iter().position(|other| part.is_alike(other)).unwrap_or(parts.len());
    parts.iter().map(|part| (&part.name[..], first(part))).collect()
}

fn effect(text: &str, gain: Gain) -> Effect {
    Effect { changed_to: text.to_string(), throughput: gain.throughput, latency: gain.latency.inverse() }
}

/// From the least to the most of it.
fn elasticity(knob: &Knob, effects: &[Effect]) -> Option<f64> {
    let sides = effects.iter().map(|effect| (knob.factor(effect), effect.throughput.mean));
    let (low, high) =
        sides.chain([(1.0, 0.0)]).fold(((1.0, 0.0), (1.0, 0.0)), |(low, high): ((f64, f64), (f64, f64)), side| {
            (if side.0 < low.0 { side } else { low }, if side.0 > high.0 { side } else { high })
        });
    (high.0.is_finite() && high.0 > low.0).then(|| (high.1 - low.1) / (high.0 - low.0))
}

/// The change that helps most, and whether it is more of the number; nothing where none helps.
fn helping<'a>(knob: &Knob, effects: &'a [Effect]) -> Option<(&'a Effect, bool)> {
    let best = effects.iter().max_by(|a, b| a.throughput.mean.total_cmp(&b.throughput.mean))?;
    (best.throughput.mean > best.throughput.half_width).then(|| (best, knob.factor(best) > 1.0))
}

/// The last step before one that brings clearly less, for its size, than the first one did.
fn range<'a>(knob: &Knob, first: &'a Effect, steps: impl Iterator<Item = &'a Option<Effect>>) -> Range {
    // Of the part of the time that the number alone decides, a share is left; a step takes some of it away.
    let share = |effect: &Effect| {
        let moved = knob.factor(effect);
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
