//! One column against another, and stages that are the same beside each other.

use std::collections::{BTreeMap, BTreeSet};

use super::{Column, Comparison, Group, Stage};

/// A change below this share is none that anybody reads.
const NOTHING: f64 = 0.0005;

/// How one figure differs from another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// By how much, over the one that it is held against.
    pub share: f64,
    /// Whether their 95 % intervals lie apart; nothing where one of them is not known.
    pub sure: Option<bool>,
}

/// How one column differs from another.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Throughput.
    pub throughput: Option<Change>,
    /// Requests per second.
    pub iops: Option<Change>,
    /// Mean latency.
    pub latency_mean: Option<Change>,
    /// 99th percentile of the latency, of which no interval is known.
    pub latency_p99: Option<Change>,
    /// Stages of the mean latency, what changed most first; none where one of both has none.
    pub stages: Vec<StageChange>,
}

/// How a stage differs.
#[derive(Clone, Debug, PartialEq)]
pub struct StageChange {
    /// The stage, as long as it is in the column.
    pub stage: Stage,
    /// How long it is in the other one.
    pub against_ns: f64,
}

impl StageChange {
    /// How much longer it is.
    pub fn longer_ns(&self) -> f64 {
        self.stage.mean_ns - self.against_ns
    }
}

impl Change {
    /// `is` held against `was`, each with the half-width of its interval over its mean.
    pub fn of((is, is_wide): (f64, Option<f64>), (was, was_wide): (f64, Option<f64>)) -> Option<Change> {
        let apart = |(is_wide, was_wide): (f64, f64)| (is - was).abs() > is * is_wide + was * was_wide;
        let sure = if is == was { Some(false) } else { is_wide.zip(was_wide).map(apart) };
        (was > 0.0).then(|| Change { share: is / was - 1.0, sure })
    }

    /// Whether there is anything to say: it can be seen, and the intervals do not say that it is chance.
    pub fn is_one(self) -> bool {
        self.share.abs() >= NOTHING && self.sure != Some(false)
    }
}

impl Column {
    /// Held against another.
    pub fn against(&self, other: &Column) -> Difference {
        let change = |of: fn(&Column) -> Option<f64>, wide: fn(&Column) -> Option<f64>| {
            Change::of((of(self)?, wide(self)), (of(other)?, wide(other)))
        };
        Difference {
            throughput: change(|column| column.throughput_bytes_per_s, |column| column.interval),
            iops: change(|column| column.iops, |column| column.interval),
            latency_mean: change(|column| column.latency_mean_ns, Column::latency_interval),
            latency_p99: change(|column| column.latency_p99_ns, |_| None),
            stages: self.stages_against(other),
        }
    }

    fn stages_against(&self, other: &Column) -> Vec<StageChange> {
        if self.stages.is_empty() || other.stages.is_empty() {
            return Vec::new();
        }
        let change = |aligned: Aligned| {
            let stage = Stage { mean_ns: aligned.each_ns[0], ..aligned.stage };
            StageChange { stage, against_ns: aligned.each_ns[1] }
        };
        let mut changes: Vec<StageChange> = aligned(&[self, other]).into_iter().map(change).collect();
        changes.sort_by(|a, b| b.longer_ns().abs().total_cmp(&a.longer_ns().abs()));
        changes
    }
}

/// A stage beside itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Aligned {
    /// The stage, as long as in the column in which it is longest.
    pub stage: Stage,
    /// How long it is in each column.
    pub each_ns: Vec<f64>,
}

/// Every stage of some columns, the longest first. What no column does at two hops is the same stage, whatever the hops
/// are called: `array read` of one drive stands beside that of another.
pub fn aligned(columns: &[&Column]) -> Vec<Aligned> {
    type What<'a> = (&'a str, bool);
    let mut hops: BTreeMap<What<'_>, (bool, BTreeSet<&str>)> = BTreeMap::new();
    for column in columns {
        let mut seen: BTreeMap<What<'_>, &str> = BTreeMap::new();
        for stage in &column.stages {
            let what = (&stage.what[..], stage.is_wait);
            let known = hops.entry(what).or_default();
            known.0 |= seen.insert(what, &stage.hop).is_some_and(|hop| hop != stage.hop);
            known.1.insert(&stage.hop);
        }
    }
    let mut rows: BTreeMap<(&str, &str, bool), Vec<f64>> = BTreeMap::new();
    for (index, column) in columns.iter().enumerate() {
        for stage in &column.stages {
            let hop = match &hops[&(&stage.what[..], stage.is_wait)] {
                (false, names) if names.len() > 1 => "",
                _ => &stage.hop,
            };
            let row = rows.entry((&stage.what, hop, stage.is_wait)).or_insert_with(|| vec![0.0; columns.len()]);
            row[index] += stage.mean_ns;
        }
    }
    let row = |((what, hop, is_wait), each_ns): ((&str, &str, bool), Vec<f64>)| {
        let mean_ns = each_ns.iter().copied().fold(0.0, f64::max);
        Aligned { stage: Stage { hop: hop.to_string(), what: what.to_string(), is_wait, mean_ns }, each_ns }
    };
    let mut all: Vec<Aligned> = rows.into_iter().map(row).collect();
    all.sort_by(|a, b| b.stage.mean_ns.total_cmp(&a.stage.mean_ns));
    all
}

impl Comparison {
    /// The stages of a group, those beside each other that are the same.
    pub fn stages(&self, group: &Group) -> Vec<Aligned> {
        aligned(&self.of(group).collect::<Vec<_>>())
    }

    /// Every column of a group but the first, held against the first.
    pub fn differences<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = (usize, Difference)> + 'a {
        let first = group.columns.first().map(|index| &self.columns[*index]);
        let others = group.columns.iter().skip(1);
        others.filter_map(move |index| Some((*index, self.columns[*index].against(first?))))
    }

    /// Columns that are worse than the first of their group by more than the tolerance, and more than by chance.
    pub fn exceeded(&self) -> Vec<usize> {
        let Some(tolerance) = self.tolerance else { return Vec::new() };
        let worse = |difference: &Difference| {
            let lower = difference.throughput.is_some_and(|change| change.is_one() && change.share < -tolerance);
            let longer = difference.latency_mean.is_some_and(|change| change.is_one() && change.share > tolerance);
            lower || longer
        };
        let all = self.groups.iter().flat_map(|group| self.differences(group));
        all.filter(|(_, difference)| worse(difference)).map(|(index, _)| index).collect()
    }
}
