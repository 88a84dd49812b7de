//! What a study can show in pictures: which of its cells make a figure, and what its buses did for a short while.
//!
//! Only data: faces draw them.

use hopscope_kernel::Time;
use hopscope_observe::Interval;

/// Everything that a study can show.
#[derive(Clone, Debug, Default)]
pub struct Pictures {
    /// Figures of its tables.
    pub charts: Vec<Chart>,
    /// Stretches of runs.
    pub timelines: Vec<Timeline>,
}

/// Cells of a table as curves, in panels.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Its name.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// What a reader has to know besides.
    pub about: String,
    /// The table in the report.
    pub table: String,
    /// The key along the horizontal axis; its values are numbers above zero; they lie as their logarithms do.
    pub along: Axis,
    /// What the other axis shows; the table says its unit.
    pub shows: String,
    /// The key that tells the curves of a panel apart.
    pub curves_by: String,
    /// Its values, each with its name for readers.
    pub curves: Vec<(String, String)>,
    /// One drawing each.
    pub panels: Vec<Panel>,
    /// How accurate the published figures are said to be, where somebody says so.
    pub accuracy: Option<Accuracy>,
    /// What stands as published is a limit: what is missing below it is no error.
    pub limit: bool,
}

/// How accurate published figures are said to be.
#[derive(Clone, Debug)]
pub struct Accuracy {
    /// A share, either way.
    pub share: f64,
    /// Who says so.
    pub from: String,
}

/// A key that is a number, along an axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The key.
    pub key: String,
    /// For readers, with its unit.
    pub title: String,
    /// Its unit alone.
    pub unit: String,
}

/// One drawing of a chart: the cells that have these keys.
#[derive(Clone, Debug)]
pub struct Panel {
    /// As the publication counts it: "(a)".
    pub mark: String,
    /// What it shows.
    pub title: String,
    /// Keys and values that all its cells have.
    pub keys: Vec<(String, String)>,
}

/// What some lanes did in a short stretch of a run.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Its name.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// What a reader has to know besides.
    pub about: String,
    /// The stretch.
    pub from: Time,
    /// Its end.
    pub until: Time,
    /// What to look at first: begin and end.
    pub focus: (Time, Time),
    /// A clock to count in, and its name.
    pub clock: (Time, String),
    /// The lanes, from the processor's side to the device's.
    pub lanes: Vec<TimelineLane>,
}

/// One lane of a timeline.
#[derive(Clone, Debug)]
pub struct TimelineLane {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: String,
    /// Its phases that touch the stretch, in order; between them it is idle.
    pub phases: Vec<Interval>,
    /// Spans of it that have a name in the publication.
    pub spans: Vec<NamedSpan>,
}

/// A span with the publication's name for it.
#[derive(Clone, Debug)]
pub struct NamedSpan {
    /// Its name.
    pub name: String,
    /// Whether the publication calls it a loss.
    pub lost: bool,
    /// When it begins.
    pub from: Time,
    /// When it ends.
    pub until: Time,
}
