//! Cells as curves: what was published with its accuracy, and what was simulated, over the logarithm of a key.

use hopscope_studies::pictures::{Chart, Panel};
use hopscope_studies::report::{Cell, CellBasis};

use crate::axis::Scale;
use crate::drawing::{Drawing, Key};
use crate::palette::CURVES;
use crate::wording::{digits, percent, plain, signed_percent, tick};

const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 290.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 46.0;
/// Curves lie side by side by so much, so that equal figures do not hide each other.
const BESIDE: f64 = 6.0;
const CAP: f64 = 3.0;
/// Ticks with figures are so far apart at least.
const APART: f64 = 26.0;
/// Beyond so many places along the axis, signs are small and curves lie on each other.
const PLACES_MAX: usize = 12;

/// Whether a cell belongs to a panel.
pub fn belongs(panel: &Panel, cell: &Cell) -> bool {
    panel.keys.iter().all(|(key, value)| cell.key.get(key).is_some_and(|found| plain(found) == *value))
}

/// The number of the curve that a cell lies on.
pub fn curve_of(chart: &Chart, cell: &Cell) -> Option<usize> {
    let value = plain(cell.key.get(&chart.curves_by)?);
    chart.curves.iter().position(|(of, _)| *of == value)
}

/// Where a cell lies along the axis.
pub fn along(chart: &Chart, cell: &Cell) -> Option<f64> {
    cell.key.get(&chart.along.key)?.as_f64()
}

/// The sign of a published figure: its shape says its basis, its colour the curve.
pub fn sign(drawing: &mut Drawing, basis: CellBasis, curve: Option<usize>, at: (f64, f64)) {
    let (stroke, fill) = match curve {
        Some(curve) => (format!("stroke-{}", curve % CURVES), format!("fill-{}", curve % CURVES)),
        None => ("key".to_string(), "key".to_string()),
    };
    match basis {
        CellBasis::Fitted => drawing.circle(&format!("point hollow {stroke}"), at, 4.2),
        CellBasis::Seen => drawing.diamond(&format!("point {fill} {stroke}"), at, 5.0),
        CellBasis::Predicted => drawing.circle(&format!("point {fill} {stroke}"), at, 4.2),
        CellBasis::Input => {
            drawing.rect(&format!("point hollow {stroke}"), [at.0 - 3.8, at.1 - 3.8, 7.6, 7.6]);
        }
    }
}

/// What the signs of a chart mean.
pub fn legend(chart: &Chart, cells: &[&Cell], with_lines: bool) -> Vec<Key> {
    let mut keys = Vec::new();
    for (curve, (_, name)) in chart.curves.iter().enumerate() {
        let mut swatch = Drawing::new(30.0, 16.0, "", "");
        let number = curve % CURVES;
        if with_lines {
            swatch.line(&format!("line stroke-{number} dash-{number}"), (1.0, 8.0), (29.0, 8.0));
        } else {
            swatch.rect(&format!("fill-{number}"), [9.0, 3.0, 11.0, 11.0]);
        }
        let words = if with_lines { format!("{name}, simulated") } else { name.clone() };
        keys.push(Key { swatch: swatch.body().to_string(), words });
    }
    for basis in [CellBasis::Fitted, CellBasis::Seen, CellBasis::Predicted, CellBasis::Input] {
        if !cells.iter().any(|cell| cell.basis == basis) {
            continue;
        }
        let mut swatch = Drawing::new(30.0, 16.0, "", "");
        if with_lines && chart.accuracy.is_some() {
            swatch.path("key", "M15 0V16M12 0.7H18M12 15.3H18");
        }
        sign(&mut swatch, basis, None, (15.0, 8.0));
        let what = if with_lines { "published, " } else { "" };
        let words = match basis {
            CellBasis::Fitted => format!("{what}fitted: a number was chosen by it"),
            CellBasis::Seen => format!("{what}seen: no number was, but it was in view"),
            CellBasis::Predicted => format!("{what}predicted: forecast before it was known"),
            CellBasis::Input => format!("{what}input: the model was given it"),
        };
        keys.push(Key { swatch: swatch.body().to_string(), words });
    }
    keys
}

/// One cell in a sentence.
pub fn sentence(chart: &Chart, cell: &Cell, unit: &str) -> String {
    let curve = curve_of(chart, cell).map_or(String::new(), |curve| format!("{}, ", chart.curves[curve].1));
    let x = along(chart, cell).map_or(String::new(), |x| format!("{} {}", tick(x), chart.along.unit));
    let Some(published) = cell.published.map(digits) else {
        let simulated = cell.simulated.map_or("not simulated".to_string(), digits);
        return format!("{curve}{x}: simulated {simulated} {unit}, nothing published yet");
    };
    let (Some(simulated), Some(error)) = (cell.simulated, cell.error) else {
        return format!("{curve}{x}: published {published} {unit}, not simulated");
    };
    format!(
        "{curve}{x}: published {published}, simulated {} {unit}; {} ({})",
        digits(simulated),
        signed_percent(error),
        cell.basis.word()
    )
}

/// One panel.
pub fn draw(chart: &Chart, panel: &Panel, cells: &[&Cell], unit: &str) -> Drawing {
    let xs: Vec<f64> = {
        let mut xs: Vec<f64> = cells.iter().filter_map(|cell| along(chart, cell)).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        xs
    };
    let title = format!("{} {}", panel.mark, panel.title);
    let mut drawing = Drawing::new(WIDTH, HEIGHT, &title, &describe(chart, cells, &xs, unit));
    drawing.legend = legend(chart, cells, true);

    let accuracy = chart.accuracy.as_ref().map_or(0.0, |accuracy| accuracy.share);
    let reach = |cell: &&Cell| (cell.published.unwrap_or(0.0) * (1.0 + accuracy)).max(cell.simulated.unwrap_or(0.0));
    let most = cells.iter().map(reach).fold(0.0, f64::max);
    let (left, right, bottom) = (LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM);
    let y = Scale::new((0.0, 1.04 * most), (bottom, TOP));
    let doubled = |x: f64| x.max(f64::MIN_POSITIVE).log2();
    let ends = (doubled(xs.first().copied().unwrap_or(1.0)), doubled(xs.last().copied().unwrap_or(2.0)));
    let x = Scale::new(ends, (left + 20.0, right - 20.0));

    for value in y.ticks(5) {
        drawing.line("grid", (left, y.at(value)), (right, y.at(value)));
        drawing.text("tick end", (left - 7.0, y.at(value) + 4.0), &tick(value));
    }
    drawing.line("axis", (left, bottom), (right, bottom));
    let crowded = xs.len() > PLACES_MAX;
    let mut free_from = f64::NEG_INFINITY;
    // Where not all places have room for their figure, powers of two have one.
    for value in xs.iter().filter(|x| !crowded || doubled(**x).fract() == 0.0) {
        let at = x.at(doubled(*value));
        drawing.line("axis", (at, bottom), (at, bottom + 4.0));
        if at >= free_from {
            drawing.text("tick middle", (at, bottom + 18.0), &tick(*value));
            free_from = at + APART;
        }
    }
    drawing.text("small middle", ((left + right) / 2.0, HEIGHT - 8.0), &chart.along.title);
    drawing.upright("small middle", (14.0, (TOP + bottom) / 2.0), &format!("{}, {unit}", chart.shows));

    let middle = (chart.curves.len() as f64 - 1.0) / 2.0;
    let place = |curve: usize, cell: &Cell| {
        along(chart, cell)
            .map(|value| x.at(doubled(value)) + (curve as f64 - middle) * if crowded { 0.0 } else { BESIDE })
    };
    for curve in 0..chart.curves.len() {
        let mut points: Vec<(f64, f64)> = cells
            .iter()
            .filter(|cell| curve_of(chart, cell) == Some(curve))
            .filter_map(|cell| Some((place(curve, cell)?, y.at(cell.simulated?))))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let number = curve % CURVES;
        drawing.curve(&format!("line stroke-{number} dash-{number}"), &points);
    }
    for curve in 0..chart.curves.len() {
        for cell in cells.iter().filter(|cell| curve_of(chart, cell) == Some(curve)) {
            let (Some(at), Some(published)) = (place(curve, cell), cell.published) else { continue };
            let stroke = format!("error stroke-{}", curve % CURVES);
            let data = [("published", published.to_string())];
            drawing.mark("", &data, &sentence(chart, cell, unit), |drawing| {
                if chart.accuracy.is_some() {
                    let (low, high) = (y.at(published * (1.0 - accuracy)), y.at(published * (1.0 + accuracy)));
                    let caps = format!(
                        "M{at:.2} {low:.2}V{high:.2}M{l:.2} {low:.2}H{r:.2}M{l:.2} {high:.2}H{r:.2}",
                        l = at - CAP,
                        r = at + CAP
                    );
                    drawing.path(&stroke, &caps);
                }
                sign(drawing, cell.basis, Some(curve), (at, y.at(published)));
                drawing.circle("hit", (at, y.at(published)), 9.0);
            });
        }
    }
    drawing
}

/// The panel in words: each curve from its first to its last figure, and how far off the simulation is at most.
fn describe(chart: &Chart, cells: &[&Cell], xs: &[f64], unit: &str) -> String {
    let (Some(first), Some(last)) = (xs.first(), xs.last()) else { return "No cells.".into() };
    let mut words = format!("{}, {unit}, over {}.", chart.shows, chart.along.title);
    for (curve, (_, name)) in chart.curves.iter().enumerate() {
        let of: Vec<&&Cell> = cells.iter().filter(|cell| curve_of(chart, cell) == Some(curve)).collect();
        let at =
            |x: f64| of.iter().find(|cell| along(chart, cell) == Some(x)).and_then(|cell| cell.published.map(digits));
        if let (Some(low), Some(high)) = (at(*first), at(*last)) {
            let worst = of.iter().filter_map(|cell| cell.error).map(f64::abs).fold(0.0, f64::max);
            words += &format!(
                " {name}: published {low} at {} and {high} at {}; the simulation is off by at most {}.",
                tick(*first),
                tick(*last),
                percent(worst)
            );
        }
    }
    words
}
