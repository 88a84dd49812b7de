//! What a reproduction says: tables of cells, claims, parameters, a summary. The JSON others may rely on.

use serde::Serialize;
use serde_json::{Map, Value};

/// How a published cell relates to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CellBasis {
    /// The model was given it.
    Input,
    /// A parameter was chosen by it.
    Fitted,
    /// Neither; but it was in view when numbers or mechanisms were chosen.
    Seen,
    /// A forecast was committed before it was in view, and stands. `forecasts` alone gives this label.
    Predicted,
}

impl CellBasis {
    /// In one word.
    pub fn word(self) -> &'static str {
        match self {
            CellBasis::Input => "input",
            CellBasis::Fitted => "fitted",
            CellBasis::Seen => "seen",
            CellBasis::Predicted => "predicted",
        }
    }
}

/// What was simulated for a cell and committed, beside what is simulated now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// The simulated figure, as it was printed.
    pub simulated: f64,
    /// Half-width of its 95 % interval.
    pub interval: f64,
    /// Digest of the numbers of the machine that it was made with.
    pub machine: String,
    /// Whether the machine has the same numbers now.
    pub same_machine: bool,
    /// Whether it was committed before the published figure was in view.
    pub in_time: bool,
    /// Whether what is simulated now is the same figure, as far as it was printed.
    pub stands: bool,
}

/// One published figure beside the simulated one.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// Which cell, by the columns of the study's table.
    pub key: Map<String, Value>,
    /// As published; nothing where no figure is known yet.
    pub published: Option<f64>,
    /// As simulated; nothing where it is not simulated yet.
    pub simulated: Option<f64>,
    /// simulated / published - 1.
    pub error: Option<f64>,
    /// How it relates to the model.
    pub basis: CellBasis,
    /// 95 % interval of the simulated value: its half-width, in the cell's unit.
    pub interval: f64,
    /// What it only repeats: the same figure, published of something else. It is counted there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<String>,
    /// What was forecast for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// Digest of the numbers of its machine.
    #[serde(skip)]
    pub machine: String,
}

impl Cell {
    /// A cell; the error follows.
    pub fn new(
        key: Map<String, Value>,
        published: impl Into<Option<f64>>,
        simulated: f64,
        basis: CellBasis,
        interval: f64,
    ) -> Cell {
        let published = published.into();
        let error = published.map(|published| simulated / published - 1.0);
        let (repeats, forecast, machine) = (None, None, String::new());
        Cell { key, published, simulated: Some(simulated), error, basis, interval, repeats, forecast, machine }
    }
}

/// A published table.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// Its name.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// Unit of its cells.
    pub unit: String,
    /// Its cells, each published cell once.
    pub cells: Vec<Cell>,
}

/// A claim, checked.
#[derive(Clone, Debug, Serialize)]
pub struct CheckedClaim {
    /// Its name.
    pub id: String,
    /// What is claimed, and how the model answers it.
    pub claim: String,
    /// As published; empty where it is not known yet.
    pub published: String,
    /// As simulated.
    pub simulated: f64,
    /// Unit of both.
    pub unit: String,
    /// Whether it lies in the range that agrees.
    pub holds: bool,
    /// How it relates to the model.
    pub basis: CellBasis,
    /// What was forecast for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// Digest of the numbers of the study's machines.
    #[serde(skip)]
    pub machine: String,
}

impl CheckedClaim {
    /// Whether it could have held: it was not put in, and something is published.
    pub fn can_hold(&self) -> bool {
        self.basis != CellBasis::Input && !self.published.is_empty()
    }
}

/// A number that the result rests on.
#[derive(Clone, Debug, Serialize)]
pub struct Parameter {
    /// Where it is: part file and key.
    pub name: String,
    /// Its value, with its unit.
    pub value: String,
    /// source, measured, fitted, assumed.
    pub basis: String,
    /// The document, the cells it was fitted to, or the reason.
    pub from: String,
    /// Plausible range, for a fitted one.
    pub range: String,
}

/// What became of the errors after a change.
#[derive(Clone, Debug, Serialize)]
pub struct Changed {
    /// What was changed.
    pub what: String,
    /// Mean absolute error over all cells afterwards.
    pub mean_abs_error: f64,
    /// The same over those that are neither input nor fitted.
    pub mean_abs_error_not_fitted: f64,
    /// The largest.
    pub max_abs_error: f64,
    /// An assumed number that moves the mean error by so much that it counts as fitted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub counts_as_fitted: bool,
}

/// Errors in one figure each. A cell that repeats another one is counted there.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Cells of the main table whose figure is published.
    pub cells: usize,
    /// Besides, cells that repeat others.
    pub repeats: usize,
    /// Besides, cells whose figure is not published yet.
    pub awaited: usize,
    /// Of the cells, predicted: a forecast was there first, and stands.
    pub predicted: usize,
    /// Of the cells, neither fitted nor predicted.
    pub seen: usize,
    /// Parameters that were fitted, choices of a unit among them.
    pub fitted_parameters: usize,
    /// Over all cells of the main table; nothing where there is none.
    pub mean_abs_error: Option<f64>,
    /// Over the predicted ones.
    pub mean_abs_error_predicted: Option<f64>,
    /// Over the seen ones.
    pub mean_abs_error_seen: Option<f64>,
    /// Over the fitted ones.
    pub mean_abs_error_fitted: Option<f64>,
    /// Over those that repeat others.
    pub mean_abs_error_repeats: Option<f64>,
    /// The largest.
    pub max_abs_error: Option<f64>,
    /// Share of the cells within 5 %.
    pub within_5_percent: Option<f64>,
}

/// The mean; nothing where there are none.
pub(crate) fn mean(errors: &[f64]) -> Option<f64> {
    (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64)
}

impl Summary {
    /// Of the cells of a table.
    pub fn of(cells: &[Cell], fitted_parameters: usize) -> Summary {
        let known = || cells.iter().filter(|cell| cell.published.is_some());
        let counted = || known().filter(|cell| cell.repeats.is_none());
        let errors = |basis: Option<CellBasis>| -> Vec<f64> {
            let of = counted().filter(|cell| basis.is_none_or(|basis| cell.basis == basis));
            of.filter_map(|cell| cell.error).map(f64::abs).collect()
        };
        let count = |basis: CellBasis| counted().filter(|cell| cell.basis == basis).count();
        let (all, repeated) = (errors(None), known().filter(|cell| cell.repeats.is_some()));
        let repeated: Vec<f64> = repeated.filter_map(|cell| cell.error).map(f64::abs).collect();
        let within = all.iter().filter(|error| **error <= 0.05).count();
        Summary {
            cells: counted().count(),
            repeats: known().count() - counted().count(),
            awaited: cells.len() - known().count(),
            predicted: count(CellBasis::Predicted),
            seen: count(CellBasis::Seen),
            fitted_parameters,
            mean_abs_error: mean(&all),
            mean_abs_error_predicted: mean(&errors(Some(CellBasis::Predicted))),
            mean_abs_error_seen: mean(&errors(Some(CellBasis::Seen))),
            mean_abs_error_fitted: mean(&errors(Some(CellBasis::Fitted))),
            mean_abs_error_repeats: mean(&repeated),
            max_abs_error: all.iter().copied().reduce(f64::max),
            within_5_percent: (!all.is_empty()).then(|| within as f64 / all.len() as f64),
        }
    }

    /// Mean error over all cells, over those neither fitted nor given, and the largest.
    pub fn errors_of(cells: &[Cell]) -> [f64; 3] {
        let of = |chosen: &dyn Fn(&Cell) -> bool| -> Vec<f64> {
            let of = cells.iter().filter(|cell| cell.repeats.is_none() && chosen(cell));
            of.filter_map(|cell| cell.error).map(f64::abs).collect()
        };
        let all = of(&|_| true);
        let not_fitted = of(&|cell| matches!(cell.basis, CellBasis::Seen | CellBasis::Predicted));
        let [all_mean, not_fitted] = [&all, &not_fitted].map(|errors| mean(errors).unwrap_or(0.0));
        [all_mean, not_fitted, all.iter().copied().fold(0.0, f64::max)]
    }
}

/// Another way to read, model or guess a table, and how well it does.
#[derive(Clone, Debug, Serialize)]
pub struct Alternative {
    /// Its name.
    pub id: String,
    /// What is different.
    pub what: String,
    /// Mean absolute error over the cells it speaks of.
    pub mean_abs_error: f64,
    /// Largest error.
    pub max_abs_error: f64,
    /// The cells, where they differ from those in `tables`.
    pub cells: Vec<Cell>,
    /// Of a null model: this model on the same cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ours: Option<Ours>,
}

/// This model beside a null model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ours {
    /// Mean absolute error.
    pub mean_abs_error: f64,
    /// Largest error.
    pub max_abs_error: f64,
    /// Whether the mean is below that of the null model.
    pub wins: bool,
}

impl Alternative {
    /// The errors follow from the cells.
    pub fn of(id: &str, what: String, cells: Vec<Cell>) -> Alternative {
        let [mean_abs_error, max_abs_error] = errors(&cells);
        Alternative { id: id.into(), what, mean_abs_error, max_abs_error, cells, ours: None }
    }

    /// What a simple rule guesses, and what this model says of the same cells.
    pub fn null_model(id: &str, rule: &str, guessed: Vec<Cell>, ours: &[Cell]) -> Alternative {
        let null = Alternative::of(id, format!("null model: {rule}"), guessed);
        let [mean_abs_error, max_abs_error] = errors(ours);
        Alternative {
            ours: Some(Ours { mean_abs_error, max_abs_error, wins: mean_abs_error < null.mean_abs_error }),
            ..null
        }
    }
}

/// Of cells: the mean error and the largest.
fn errors(cells: &[Cell]) -> [f64; 2] {
    let errors: Vec<f64> = cells.iter().filter_map(|c| c.error).map(f64::abs).collect();
    [mean(&errors).unwrap_or(0.0), errors.iter().copied().fold(0.0, f64::max)]
}

/// A reproduction.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The study's name.
    pub study: String,
    /// Its title.
    pub title: String,
    /// Published tables; the first is the one that the summary is about.
    pub tables: Vec<Table>,
    /// Other readings.
    pub alternatives: Vec<Alternative>,
    /// Claims.
    pub claims: Vec<CheckedClaim>,
    /// Fitted and assumed numbers.
    pub parameters: Vec<Parameter>,
    /// Mechanisms switched off; empty unless asked for.
    pub ablations: Vec<Changed>,
    /// Numbers moved; empty unless asked for.
    pub sensitivity: Vec<Changed>,
    /// In one figure each.
    pub summary: Summary,
}
