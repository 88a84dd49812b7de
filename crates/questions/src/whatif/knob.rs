//! The numbers that can be moved: those of the machine, what all jobs have in common, and columns of tables.
//!
//! A long table is a drawing: the zones of a disk, its measured seeks. What one of its rows does by itself says little, and
//! of zones mostly that all that comes behind them lies elsewhere. Where several do something, the column is moved as one.
//! Of a short table a row or a few do something, those that the machine uses: of a mode, of a generation.

use std::collections::{BTreeMap, BTreeSet};

use hopscope_files::change::JOB;
use hopscope_files::factor::{factor, so_many_times, times};
use hopscope_files::job_file::Job;
use hopscope_files::quantity;
use hopscope_kernel::Time;
use hopscope_machine::blueprint::column_of;
use hopscope_parts::parameters::{Place, Value};

use super::amount::{amount, doubles, factors, further};
use super::{Effect, Sensitivity, Setting};

/// What is said of a column whose rows do not have the same basis.
const SEVERAL: &str = "several";

/// A number that can be moved, or a column of them.
#[derive(Clone)]
pub(super) struct Knob {
    path: String,
    /// As it is written; of a column, from where to where.
    written: String,
    value: Value,
    basis: &'static str,
    /// Of a column, each row.
    rows: Vec<Knob>,
}

impl Knob {
    /// Its path; `job.…` is an option of all jobs.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// What is a little less of it and what is a little more, as far as that is something else.
    pub(super) fn a_little(&self) -> Vec<String> {
        let texts = self.texts(&factors(self.doubles()));
        texts.into_iter().filter(|text| quantity::parse(text).as_ref() != Ok(&self.value)).collect()
    }

    /// Further and further.
    pub(super) fn further(&self, more: bool) -> Vec<String> {
        let mut texts = self.texts(&further(self.doubles(), more));
        texts.dedup();
        texts
    }

    fn texts(&self, factors: &[f64]) -> Vec<String> {
        let written = self.rows.first().map_or(&self.written, |row| &row.written);
        let text = |factor: &f64| match self.has_different_rows() {
            true => Some(so_many_times(*factor)),
            false => times(written, *factor),
        };
        factors.iter().filter_map(text).collect()
    }

    /// Where a column's rows are different, each becomes so many times what it is.
    fn has_different_rows(&self) -> bool {
        self.rows.windows(2).any(|pair| pair[0].written != pair[1].written)
    }

    fn doubles(&self) -> bool {
        doubles(&self.value) && self.rows.iter().all(Knob::doubles)
    }

    /// How many times as much of it a change makes; without end where it is nothing now.
    pub(super) fn factor(&self, effect: &Effect) -> f64 {
        let changed_to = &effect.changed_to;
        let of_number = || quantity::parse(changed_to).as_ref().map_or(0.0, amount) / amount(&self.value);
        if self.has_different_rows() { factor(changed_to).unwrap_or(1.0) } else { of_number() }
    }

    /// The number before it is moved.
    pub(super) fn untouched(&self) -> Sensitivity {
        Sensitivity {
            parameter: self.path.clone(),
            value: self.written.clone(),
            basis: self.basis,
            effects: Vec::new(),
            elasticity: None,
            holds_until: None,
        }
    }

    /// Sets this number, or each row, to `text`, which may be so many times what it is; nothing where that cannot be.
    fn turn(&self, changed: &mut Setting, text: &str) -> Option<()> {
        if !self.rows.is_empty() {
            return self.rows.iter().try_for_each(|row| row.turn(changed, text));
        }
        if let Some(factor) = factor(text) {
            return self.turn(changed, &times(&self.written, factor)?);
        }
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
pub(super) fn turned<'k>(
    setting: &Setting,
    moves: impl IntoIterator<Item = (&'k Knob, &'k String)>,
) -> Option<Setting> {
    let mut changed = setting.clone();
    moves.into_iter().try_for_each(|(knob, text)| knob.turn(&mut changed, text))?;
    Some(changed)
}

/// Every number of the machine; of the jobs, what all of them have in common.
pub(super) fn knobs(setting: &Setting) -> Vec<Knob> {
    let numbers = setting.blueprint.numbers().into_iter();
    let mut knobs: Vec<Knob> = numbers
        .map(|(path, entry)| {
            let (written, value, basis) = (entry.written.clone(), entry.value.clone(), entry.basis.word());
            Knob { path, written, value, basis, rows: Vec::new() }
        })
        .collect();
    let Some(first) = setting.jobs.first() else { return knobs };
    let same = |of: fn(&Job) -> u64| setting.jobs.iter().all(|job| of(job) == of(first));
    let mut of_jobs = |option: &str, written: String, value: Value| {
        knobs.push(Knob { path: format!("{JOB}.{option}"), written, value, basis: JOB, rows: Vec::new() });
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

/// The columns of these paths, each with all of its rows.
pub(super) fn columns(knobs: &[Knob], paths: &BTreeSet<String>) -> BTreeMap<String, Knob> {
    let mut rows: BTreeMap<String, Vec<Knob>> = BTreeMap::new();
    for knob in knobs {
        if let Some(column) = column_of(&knob.path).filter(|column| paths.contains(column)) {
            rows.entry(column).or_default().push(knob.clone());
        }
    }
    rows.into_iter().map(|(path, rows)| (path.clone(), column(path, rows))).collect()
}

fn column(path: String, rows: Vec<Knob>) -> Knob {
    let by_amount = |a: &&Knob, b: &&Knob| amount(&a.value).total_cmp(&amount(&b.value));
    let (least, most) = (rows.iter().min_by(by_amount), rows.iter().max_by(by_amount));
    // To as many digits as are worth showing.
    let shown = |row: &Knob| times(&row.written, 1.0).unwrap_or_else(|| row.written.clone());
    let ends = [least, most].map(|row| row.map_or_else(String::new, shown));
    let range = if ends[0] == ends[1] { ends[0].clone() } else { ends.join(" to ") };
    let value = most.map_or(Value::Count(0), |row| row.value.clone());
    let basis = rows.first().map_or(SEVERAL, |first| first.basis);
    let basis = if rows.iter().all(|row| row.basis == basis) { basis } else { SEVERAL };
    Knob { path, written: format!("{range}, {} rows", rows.len()), value, basis, rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knob(path: &str, written: &str) -> Knob {
        let value = quantity::parse(written).unwrap();
        Knob { path: path.to_string(), written: written.to_string(), value, basis: "source", rows: Vec::new() }
    }

    #[test]
    fn what_is_a_power_of_two_doubles_and_nothing_is_not_less() {
        let a_little = |written: &str| knob("part.number", written).a_little();
        assert_eq!(a_little("32 B"), ["16 B", "64 B"]);
        assert_eq!(a_little("100 us"), ["90 us", "110 us"]);
        assert_eq!(a_little("0 clocks"), ["1 clock"]);
        assert!(a_little("0 ns").is_empty());
    }

    #[test]
    fn steps_go_to_nothing_or_to_ten_times_as_much() {
        let further = |written: &str, more| knob("part.number", written).further(more);
        assert_eq!(further("10 us", false).last().unwrap(), "0 us");
        assert_eq!(further("10 MB/s", true).last().unwrap(), "100 MB/s");
        assert_eq!(further("2 clocks", false), ["1 clock", "0 clocks"]);
        assert_eq!(further("32 B", true), ["64 B", "128 B", "256 B", "512 B"]);
    }

    #[test]
    fn a_column_is_moved_by_a_factor_where_its_rows_differ() {
        let seek = |row: usize, time: &str| knob(&format!("disk.seek.rows[{row}].time"), time);
        let skew = |row: usize| knob(&format!("disk.zones.rows[{row}].track_skew"), "0 sectors");
        let knobs = [seek(0, "2 ms"), skew(0), seek(1, "9 ms"), skew(1), seek(2, "4 ms")];
        let (times, skews) = ("disk.seek.rows[].time".to_string(), "disk.zones.rows[].track_skew".to_string());
        let found = columns(&knobs, &BTreeSet::from([times.clone(), skews.clone()]));
        assert_eq!((found.len(), &found[&times].written[..]), (2, "2 ms to 9 ms, 3 rows"));
        assert_eq!(found[&times].a_little(), ["x0.9", "x1.1"]);
        assert_eq!(found[&times].further(false).last().unwrap(), "x0");
        assert_eq!(
            (&found[&skews].written[..], found[&skews].a_little()),
            ("0 sectors, 2 rows", vec!["1 sector".to_string()])
        );
    }
}
