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
    /// Neither.
    Predicted,
}

/// One published figure beside the simulated one.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// Which cell, by the columns of the study's table.
    pub key: Map<String, Value>,
    /// As published.
    pub published: f64,
    /// As simulated; nothing where it is not simulated yet.
    pub simulated: Option<f64>,
    /// simulated / published - 1.
    pub error: Option<f64>,
    /// How it relates to the model.
    pub basis: CellBasis,
    /// 95 % interval of the simulated value: its half-width, in the cell's unit.
    pub interval: f64,
}

impl Cell {
    /// A cell; the error follows.
    pub fn new(key: Map<String, Value>, published: f64, simulated: f64, basis: CellBasis, interval: f64) -> Cell {
        Cell { key, published, simulated: Some(simulated), error: Some(simulated / published - 1.0), basis, interval }
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
    /// As published.
    pub published: String,
    /// As simulated.
    pub simulated: f64,
    /// Unit of both.
    pub unit: String,
    /// Whether it lies in the range that agrees.
    pub holds: bool,
    /// How it relates to the model.
    pub basis: CellBasis,
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
    /// The same over the predicted ones.
    pub mean_abs_error_predicted: f64,
    /// The largest.
    pub max_abs_error: f64,
}

/// Errors in one figure each.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Cells of the main table.
    pub cells: usize,
    /// Of those, predicted.
    pub predicted: usize,
    /// Parameters that were fitted, choices of a unit among them.
    pub fitted_parameters: usize,
    /// Over all cells of the main table.
    pub mean_abs_error: f64,
    /// Over the predicted ones.
    pub mean_abs_error_predicted: f64,
    /// Over the fitted ones.
    pub mean_abs_error_fitted: f64,
    /// The largest.
    pub max_abs_error: f64,
    /// Share of the cells within 5 %.
    pub within_5_percent: f64,
}

impl Summary {
    /// Of the cells of a table.
    pub fn of(cells: &[Cell], fitted_parameters: usize) -> Summary {
        let errors = |basis: &dyn Fn(CellBasis) -> bool| -> Vec<f64> {
            cells.iter().filter(|c| basis(c.basis)).filter_map(|c| c.error).map(f64::abs).collect()
        };
        let mean = |v: &[f64]| if v.is_empty() { 0.0 } else { v.iter().sum::<f64>() / v.len() as f64 };
        let all = errors(&|_| true);
        Summary {
            cells: cells.len(),
            predicted: cells.iter().filter(|c| c.basis == CellBasis::Predicted).count(),
            fitted_parameters,
            mean_abs_error: mean(&all),
            mean_abs_error_predicted: mean(&errors(&|b| b == CellBasis::Predicted)),
            mean_abs_error_fitted: mean(&errors(&|b| b == CellBasis::Fitted)),
            max_abs_error: all.iter().copied().fold(0.0, f64::max),
            within_5_percent: all.iter().filter(|e| **e <= 0.05).count() as f64 / all.len().max(1) as f64,
        }
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
}

impl Alternative {
    /// The errors follow from the cells.
    pub fn of(id: &str, what: String, cells: Vec<Cell>) -> Alternative {
        let errors: Vec<f64> = cells.iter().filter_map(|c| c.error).map(f64::abs).collect();
        let mean_abs_error = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
        let max_abs_error = errors.iter().copied().fold(0.0, f64::max);
        Alternative { id: id.into(), what, mean_abs_error, max_abs_error, cells }
    }
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
