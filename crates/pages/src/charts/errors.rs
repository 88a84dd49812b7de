//! The error of every cell on one line a panel: where the model is right, and where it is not.

use hopscope_studies::pictures::Chart;
use hopscope_studies::report::Cell;

use super::curves::{belongs, curve_of, legend, sentence, sign};
use crate::axis::Scale;
use crate::drawing::Drawing;
use crate::study::GOOD;
use crate::wording::{percent, signed_percent};

const WIDTH: f64 = 900.0;
const LEFT: f64 = 210.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 26.0;
const ROW: f64 = 44.0;
const BOTTOM: f64 = 44.0;
/// Curves lie below each other by so much within a row.
const BELOW: f64 = 11.0;

/// A row for each panel of the chart.
pub fn draw(chart: &Chart, cells: &[&Cell], unit: &str) -> Drawing {
    let height = TOP + ROW * chart.panels.len() as f64 + BOTTOM;
    let errors: Vec<f64> = cells.iter().filter_map(|cell| cell.error).collect();
    let band = chart.accuracy.as_ref().map_or(GOOD, |accuracy| accuracy.share);
    let reach = errors.iter().map(|error| error.abs()).fold(band, f64::max) * 1.08;
    let x = Scale::new((-reach, reach), (LEFT, WIDTH - RIGHT));
    let within = errors.iter().filter(|error| error.abs() <= band).count();
    let description = format!(
        "{within} of {} cells lie within {} of what was published; the largest error is {}.",
        errors.len(),
        percent(band),
        percent(errors.iter().map(|error| error.abs()).fold(0.0, f64::max))
    );
    let mut drawing = Drawing::new(WIDTH, height, "The error of every cell", &description);
    drawing.legend = legend(chart, cells, false);

    let bottom = height - BOTTOM;
    let (low, high) = (x.at(-band), x.at(band));
    drawing.rect("band", [low, TOP, high - low, bottom - TOP]);
    let whose = if chart.accuracy.is_some() { ", the accuracy of what was published" } else { "" };
    let words = format!("within {}{whose}", percent(band).replace(".0", ""));
    drawing.text("small middle", (x.at(0.0), TOP - 9.0), &words);
    for value in x.ticks(8) {
        drawing.line("grid", (x.at(value), TOP), (x.at(value), bottom));
        drawing.text("tick middle", (x.at(value), bottom + 18.0), &signed_percent(value).replace(".0", ""));
    }
    drawing.line("zero", (x.at(0.0), TOP), (x.at(0.0), bottom));
    drawing.text("small middle", (x.at(0.0), height - 6.0), "simulated over published, less 1");

    let middle = (chart.curves.len() as f64 - 1.0) / 2.0;
    for (row, panel) in chart.panels.iter().enumerate() {
        let y = TOP + ROW * (row as f64 + 0.5);
        drawing.line("grid", (LEFT, y + ROW / 2.0), (WIDTH - RIGHT, y + ROW / 2.0));
        drawing.text("end", (LEFT - 14.0, y + 5.0), &format!("{} {}", panel.mark, panel.title));
        for cell in cells.iter().filter(|cell| belongs(panel, cell)) {
            let (Some(curve), Some(error)) = (curve_of(chart, cell), cell.error) else { continue };
            let at = (x.at(error), y + (curve as f64 - middle) * BELOW);
            let tip = format!("{} {}: {}", panel.mark, panel.title, sentence(chart, cell, unit));
            drawing.mark("", &[("error", error.to_string())], &tip, |drawing| {
                sign(drawing, cell.basis, Some(curve), at);
                drawing.circle("hit", at, 8.0);
            });
        }
    }
    drawing
}
