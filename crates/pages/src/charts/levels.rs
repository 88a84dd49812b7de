//! A long capture over time: the whole of it in steps, and what happened one by one. The page's script makes coarser
//! steps of the finest ones, draws those that fit what is in view, and what happened one by one where that can be seen.

use std::collections::{HashMap, HashSet};

use hopscope_signals::timeline::steps::{Level, Steps};
use serde_json::{Value, json};

use crate::axis::Scale;
use crate::drawing::{Drawing, Key, WAITS, waits_key};
use crate::page::{self, Behind, Figure};
use crate::table::{Cell, Table};
use crate::wording::{digits, percent, rate, slug, span_ps, tick, unit_of, width_px};

const WIDTH: f64 = 1080.0;
const TOP: f64 = 4.0;
const NAME: f64 = 20.0;
const GAP: f64 = 14.0;
const AXIS: f64 = 44.0;
/// Steps of a row that a page has at most: the finest level.
const STEPS: usize = 2_048;
/// Columns of the drawing without a script.
const COLUMNS: usize = 160;
/// Shares are told to so many parts of one.
const PARTS: f64 = 1e4;
/// Room on a page for what happened one by one, in characters: about so many for each, and for each of its parts.
const SINGLES_ROOM: usize = 1_300_000;
const SINGLE_ROOM: usize = 46;
const PART_ROOM: usize = 12;

/// What the height of a column means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Share of the time.
    Share,
    /// How many there were at once, on average.
    AtOnce,
    /// Bytes a second.
    Rate,
}

/// What is told apart: its name, and how it is drawn.
pub type Kind = (String, String);

/// Names, each drawn as the class at its place.
pub fn kinds(names: &[&str], classes: &[&str]) -> Vec<Kind> {
    names.iter().zip(classes).map(|(name, class)| (name.to_string(), class.to_string())).collect()
}

/// A row of the drawing.
#[derive(Clone, Debug)]
pub struct Row {
    /// What is shown.
    pub name: String,
    /// What is told apart, from the bottom up.
    pub kinds: Vec<Kind>,
    /// What its height means.
    pub measure: Measure,
    /// How high it is, in pixels.
    pub height: f64,
    /// From when until when there is something.
    pub span_ps: (u64, u64),
    /// Until when all of it is among what is listed one by one.
    pub listed_until_ps: u64,
    /// Its kinds over time, as finely as a page has them.
    finest: Level,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub struct Single {
    /// The rows that it is shown in.
    pub rows: Vec<usize>,
    /// When it began, picoseconds.
    pub from_ps: u64,
    /// When it was over.
    pub until_ps: u64,
    /// What it was: its name, then, after a comma, all about it.
    pub words: String,
    /// Where.
    pub address: Option<u64>,
    /// Which of those that overlap.
    pub lane: usize,
    /// The request that it belongs to: whatever belongs to the same one is lit with it.
    pub request: Option<u32>,
    /// What it was made of: kinds of its rows, each until when.
    pub parts: Vec<(usize, u64)>,
}

/// All of it.
#[derive(Clone, Debug)]
pub struct Levels {
    /// Its name in the chapter.
    pub id: String,
    /// What is shown.
    pub title: String,
    /// From when on.
    pub from_ps: u64,
    /// Until when.
    pub until_ps: u64,
    /// The rows.
    pub rows: Vec<Row>,
    /// The first ones that happened, by when they began.
    pub singles: Vec<Single>,
    /// Until when all that happened is among them.
    pub listed_until_ps: u64,
}

impl Row {
    /// A row of what was added up over time.
    pub fn new(name: String, kinds: Vec<Kind>, measure: Measure, height: f64, steps: &Steps) -> Row {
        let (span_ps, finest) = ((steps.origin_ps(), steps.until_ps()), steps.levelled().at_most(STEPS));
        Row { name, kinds, measure, height, span_ps, listed_until_ps: u64::MAX, finest }
    }

    /// The same, listed one by one until then.
    pub fn listed_until(self, listed_until_ps: u64) -> Row {
        Row { listed_until_ps, ..self }
    }

    /// All of a kind together, for each.
    fn sums(&self) -> Vec<u64> {
        (0..self.kinds.len()).map(|kind| self.finest.sums.iter().map(|step| step[kind]).sum()).collect()
    }

    /// What a column of so many picoseconds amounts to.
    fn amount(&self, sum: u64, ps: u64) -> f64 {
        match self.measure {
            Measure::Share | Measure::AtOnce => sum as f64 / ps.max(1) as f64,
            Measure::Rate => sum as f64 / (ps.max(1) as f64 / 1e12),
        }
    }

    fn figure(&self, amount: f64) -> String {
        match self.measure {
            Measure::Share => percent(amount),
            Measure::AtOnce => digits(amount),
            Measure::Rate => rate(amount),
        }
    }

    fn scale(&self, most: f64) -> String {
        match self.measure {
            Measure::Share => "up to 100 % of the time".to_string(),
            Measure::AtOnce => format!("up to {} at once", digits(most)),
            Measure::Rate => format!("up to {}", rate(most)),
        }
    }
}

impl Levels {
    /// From when until when, and until when all that happened is among the singles. More of them than a page takes are
    /// left away.
    pub fn new(
        title: &str,
        (from_ps, until_ps): (u64, u64),
        rows: Vec<Row>,
        mut singles: Vec<Single>,
        listed_until_ps: u64,
    ) -> Levels {
        singles.sort_by_key(|one| one.from_ps);
        let until_ps = until_ps.max(from_ps + 1);
        let fit = fitting(&singles);
        let beyond = singles.get(fit).map_or(until_ps, |one| one.from_ps);
        singles.truncate(fit);
        let listed_until_ps = listed_until_ps.min(beyond).min(until_ps);
        Levels { id: slug(title), title: title.to_string(), from_ps, until_ps, rows, singles, listed_until_ps }
    }

    /// The figure, with a caption that begins so.
    pub fn figure(&self, caption: &str) -> Figure {
        let listed_until_ps =
            self.rows.iter().map(|row| row.listed_until_ps).fold(self.listed_until_ps, std::cmp::Ord::min);
        let near = if listed_until_ps >= self.until_ps {
            "Close enough, each thing that happened is there by itself.".to_string()
        } else {
            let until = span_ps(listed_until_ps as f64);
            format!(
                "Close enough, each thing that happened until {until} is there by itself; later ones are in steps alone."
            )
        };
        Figure {
            id: self.id.clone(),
            drawing: self.draw(),
            caption: format!("{caption} {near}"),
            kind: page::Kind::Levels,
            data: self.data(),
            behind: Behind::Table(self.table()),
            width_min: 760,
        }
    }

    /// Until when a step lasts that begins there: the last one ends with the capture.
    fn end_of(&self, begin_ps: u64, step_ps: u64) -> u64 {
        begin_ps.saturating_add(step_ps).min(self.until_ps.max(begin_ps + 1))
    }

    /// The drawing, with all of it in view.
    pub fn draw(&self) -> Drawing {
        let height = TOP + self.rows.iter().map(|row| NAME + row.height + GAP).sum::<f64>() + AXIS;
        let mut drawing = Drawing::new(WIDTH, height, &self.title, &self.describe());
        drawing.legend = self.legend();
        let x = Scale::new((self.from_ps as f64, self.until_ps as f64), (0.0, WIDTH));
        let mut y = TOP;
        for row in &self.rows {
            y += NAME;
            drawing.text("strong", (0.0, y - 6.0), &row.name);
            self.columns(&mut drawing, row, &x, y);
            y += row.height;
            drawing.line("axis base", (0.0, y), (WIDTH, y));
            y += GAP;
        }
        let (unit_ps, unit) = unit_of((self.until_ps - self.from_ps) as f64);
        drawing.line("axis", (0.0, y), (WIDTH, y));
        drawing.group(&format!("class=\"time-axis\" data-unit=\"{unit_ps}\" data-y=\"{y}\""), |drawing| {
            let shown = Scale::new((self.from_ps as f64 / unit_ps, self.until_ps as f64 / unit_ps), (0.0, WIDTH));
            for value in shown.ticks(8).into_iter().filter(|value| shown.at(*value) < WIDTH - 60.0) {
                let at = shown.at(value);
                drawing.line("axis", (at, y), (at, y + 5.0));
                let words = tick(value);
                drawing.text("tick middle", (at.max(width_px(&words, 12.0) / 2.0), y + 18.0), &words);
            }
        });
        drawing.text("tick end", (WIDTH, y + 18.0), unit);
        drawing
    }

    fn columns(&self, drawing: &mut Drawing, row: &Row, x: &Scale, y: f64) {
        let Level { step_ps, sums } = row.finest.clone().at_most(COLUMNS);
        let begin = |step: usize| row.span_ps.0 + step as u64 * step_ps;
        let amounts: Vec<Vec<f64>> = sums
            .iter()
            .enumerate()
            .map(|(step, of)| {
                let ps = self.end_of(begin(step), step_ps) - begin(step);
                of.iter().map(|sum| row.amount(*sum, ps)).collect()
            })
            .collect();
        let most = match row.measure {
            Measure::Share => 1.0,
            _ => amounts.iter().map(|of| of.iter().sum()).fold(0.0, f64::max),
        };
        drawing.text("small end most", (WIDTH, y - 6.0), &row.scale(most));
        let edges = |step: usize| (x.at(begin(step) as f64), x.at(self.end_of(begin(step), step_ps) as f64));
        drawing.group("class=\"field\"", |drawing| {
            for (kind, (_, class)) in row.kinds.iter().enumerate() {
                let mut path = String::new();
                for (step, of) in amounts.iter().enumerate().filter(|(_, of)| of[kind] > 0.0) {
                    let (left, right) = edges(step);
                    let below: f64 = of[..kind].iter().sum();
                    let at = |amount: f64| y + row.height * (1.0 - (amount / most.max(f64::MIN_POSITIVE)).min(1.0));
                    let (low, high) = (at(below), at(below + of[kind]));
                    path += &format!("M{left:.1} {low:.1}V{high:.1}H{right:.1}V{low:.1}Z");
                }
                drawing.class_path(&format!("{class} level"), class, &path);
            }
            for (step, of) in amounts.iter().enumerate() {
                let (left, right) = edges(step);
                let named = row.kinds.iter().zip(of).filter(|(_, amount)| **amount > 0.0);
                let said: Vec<String> =
                    named.map(|((name, _), amount)| format!("{name} {}", row.figure(*amount))).collect();
                let said = if said.is_empty() { "nothing".to_string() } else { said.join(", ") };
                let (from, until) = (span_ps(begin(step) as f64), span_ps(self.end_of(begin(step), step_ps) as f64));
                drawing.mark("slice", &[], &format!("{}, {from} to {until}: {said}", row.name), |drawing| {
                    drawing.rect("hit", [left, y, right - left, row.height]);
                });
            }
        });
    }

    /// A sign for each way to be drawn, with all that is drawn so.
    fn legend(&self) -> Vec<Key> {
        let mut classes: Vec<(&str, Vec<&str>)> = Vec::new();
        let (waits, told): (Vec<&Kind>, Vec<&Kind>) =
            self.rows.iter().flat_map(|row| &row.kinds).partition(|(_, class)| class.ends_with(WAITS));
        for (name, class) in told {
            match classes.iter_mut().find(|(known, _)| known == class) {
                Some((_, names)) if names.contains(&&name[..]) => {}
                Some((_, names)) => names.push(name),
                None => classes.push((class, vec![name])),
            }
        }
        let mut keys: Vec<Key> = classes.iter().map(|(class, names)| Key::of_class(class, &names.join("; "))).collect();
        if !waits.is_empty() {
            keys.push(waits_key());
        }
        keys
    }

    fn describe(&self) -> String {
        let span = span_ps((self.until_ps - self.from_ps) as f64);
        let mut words = format!("{span} in all.");
        for row in &self.rows {
            let said: Vec<String> = row
                .kinds
                .iter()
                .zip(row.sums())
                .map(|((name, _), sum)| format!("{name} {}", row.figure(row.amount(sum, self.until_ps - self.from_ps))))
                .collect();
            words += &format!(" {}: {}.", row.name, said.join(", "));
        }
        words
    }

    /// For the script: the finest steps, and what happened one by one. Picoseconds, shares in parts of ten thousand.
    pub fn data(&self) -> Value {
        let mut y = TOP;
        let rows = self.rows.iter().map(|row| {
            y += NAME;
            let top = y;
            y += row.height + GAP;
            let Level { step_ps, sums } = &row.finest;
            let of_time = row.measure != Measure::Rate;
            let told = |sum: u64| if of_time { (sum as f64 / *step_ps as f64 * PARTS).round() as u64 } else { sum };
            let by_kind = |kind: usize| sums.iter().map(|of| told(of[kind])).collect::<Vec<_>>();
            json!({
                "name": row.name,
                "kinds": row.kinds,
                "measure": match row.measure { Measure::Share => "share", Measure::AtOnce => "at once", Measure::Rate => "rate" },
                "y": top,
                "height": row.height,
                "origin_ps": row.span_ps.0,
                "listed_until_ps": row.listed_until_ps.min(self.listed_until_ps),
                "step_ps": step_ps,
                "scale": if of_time { 1.0 / PARTS } else { 1e12 / *step_ps as f64 },
                "sums": (0..row.kinds.len()).map(by_kind).collect::<Vec<_>>(),
            })
        });
        let rows: Vec<Value> = rows.collect();
        let (mut words, mut row_sets) = (Numbered::default(), Numbered::default());
        let mut last_ps = 0;
        let singles = self.singles.iter().map(|one| {
            let delta_ps = one.from_ps - std::mem::replace(&mut last_ps, one.from_ps);
            let (word, rows) = (words.of(one.words.clone()), row_sets.of(one.rows.clone()));
            let address = one.address.map(|address| format!("{address:x}"));
            let mut told = vec![json!(delta_ps), json!(one.until_ps - one.from_ps)];
            told.extend([json!(word), json!(rows), json!(one.lane), json!(address), json!(one.request.unwrap_or(0))]);
            let mut at = one.from_ps;
            for (kind, until_ps) in &one.parts {
                told.extend([json!(kind), json!(until_ps - std::mem::replace(&mut at, *until_ps))]);
            }
            Value::from(told)
        });
        let singles: Vec<Value> = singles.collect();
        // A stretch of which each can be seen.
        let near = match (self.singles.get(24), self.singles.last()) {
            (Some(behind), _) => behind.from_ps,
            (None, Some(last)) => last.until_ps,
            (None, None) => self.until_ps,
        };
        let focus_from = self.singles.first().map_or(self.from_ps, |one| one.from_ps);
        json!({
            "from_ps": self.from_ps,
            "until_ps": self.until_ps,
            "focus": "The first ones",
            "focus_ps": [focus_from, near.max(focus_from + 1)],
            "clock_ps": 1_000,
            "rows": rows,
            "words": words.values,
            "row_sets": row_sets.values,
            "singles": singles,
        })
    }

    /// What all of it adds up to.
    pub fn table(&self) -> Table {
        let span = self.until_ps - self.from_ps;
        let rows = self.rows.iter().flat_map(|row| {
            row.kinds.iter().zip(row.sums()).map(move |((name, _), sum)| {
                let all = match row.measure {
                    Measure::Rate => Cell::figure(format!("{sum} bytes"), sum),
                    _ => Cell::figure(span_ps(sum as f64), sum),
                };
                let amount = row.amount(sum, span);
                vec![
                    Cell::words(row.name.clone()),
                    Cell::words(name.clone()),
                    all,
                    Cell::figure(row.figure(amount), amount),
                ]
            })
        });
        let columns = [("row", "row"), ("what", "what"), ("in all", "sum"), ("on average", "mean")];
        Table::new(&format!("{}-table", self.id), "Over all of the time", &columns, rows.collect())
    }
}

/// How many of them there is room for.
fn fitting(singles: &[Single]) -> usize {
    let (mut known, mut room) = (HashSet::new(), SINGLES_ROOM);
    for (count, one) in singles.iter().enumerate() {
        let words = if known.insert(&one.words) { one.words.len() } else { 0 };
        let needed = SINGLE_ROOM + PART_ROOM * one.parts.len() + words;
        let Some(left) = room.checked_sub(needed) else { return count };
        room = left;
    }
    singles.len()
}

/// Values that are there once each, by the number of their first use.
struct Numbered<T> {
    values: Vec<T>,
    numbers: HashMap<T, usize>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Numbered<T> {
        Numbered { values: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Numbered<T> {
    fn of(&mut self, value: T) -> usize {
        let next = self.values.len();
        *self.numbers.entry(value).or_insert_with_key(|value| {
            self.values.push(value.clone());
            next
        })
    }
}
