//! Columns over the logarithm of a time: how often each was there, and where its mean and its percentiles lie.

use crate::axis::Scale;
use crate::drawing::Drawing;
use crate::wording::{percent, span_ps, width_px};

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 270.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 14.0;
const BOTTOM: f64 = 26.0;
/// A line of what is marked, above the columns.
const MARK: f64 = 17.0;

/// Those between two times.
#[derive(Clone, Debug)]
pub struct Column {
    /// From this time on, ns.
    pub from: f64,
    /// Up to this one.
    pub until: f64,
    /// Which share of all.
    pub share: f64,
    /// All about it, in a sentence.
    pub tip: String,
}

/// A histogram.
#[derive(Clone, Debug)]
pub struct Columns {
    /// What it is.
    pub title: String,
    /// For whoever does not see it.
    pub description: String,
    /// In order, each from where the one before ended.
    pub columns: Vec<Column>,
    /// Times with a name, ns.
    pub marks: Vec<(String, f64)>,
}

/// The drawing.
pub fn draw(of: &Columns) -> Drawing {
    let mut drawing = Drawing::new(WIDTH, HEIGHT, &of.title, &of.description);
    let (least, most) = match &of.columns[..] {
        [first, .., last] => (first.from, last.until),
        [only] => (only.from, only.until),
        [] => (1.0, 1.0),
    };
    // One value is a column in the middle.
    let (low, high) = if most > least { (least, most) } else { (least / 1.1, most * 1.1) };
    let x = Scale::new((low.ln(), high.ln()), (LEFT, WIDTH - RIGHT));
    let top = MARK * of.marks.len() as f64 + 8.0;
    let bottom = HEIGHT - BOTTOM;
    let largest = of.columns.iter().map(|column| column.share).fold(0.0, f64::max);
    let y = Scale::from_zero(100.0 * largest, 4, (bottom, top));
    for value in y.ticks(4) {
        drawing.line("grid", (LEFT, y.at(value)), (WIDTH - RIGHT, y.at(value)));
        drawing.text("tick end", (LEFT - 7.0, y.at(value) + 4.0), &percent(value / 100.0));
    }
    for column in &of.columns {
        let (left, right) = if most > least {
            (x.at(column.from.ln()), x.at(column.until.ln()))
        } else {
            (x.at(least.ln()) - 12.0, x.at(least.ln()) + 12.0)
        };
        let at = y.at(100.0 * column.share);
        drawing.mark("slice", &[], &column.tip, |drawing| {
            drawing.rect("payload", [left, at, right - left, bottom - at]);
            drawing.rect("hit", [left, top, right - left, bottom - top]);
        });
    }
    drawing.line("axis", (LEFT, bottom), (WIDTH - RIGHT, bottom));
    ticks(&mut drawing, (low, high), &x, bottom);
    for (row, (words, ns)) in of.marks.iter().enumerate() {
        let at = x.at(ns.clamp(low, high).ln());
        let text_y = MARK * (row as f64 + 1.0) - 3.0;
        drawing.line("zero", (at, text_y + 3.0), (at, bottom));
        let to_the_left = at + 6.0 + width_px(words, 12.0) > WIDTH;
        let (class, text_x) = if to_the_left { ("small end", at - 5.0) } else { ("small", at + 5.0) };
        drawing.text(class, (text_x, text_y), words);
    }
    drawing
}

/// 1, 2 and 5 of each power of ten, or equal steps where that is too little; as many as there is room for.
fn ticks(drawing: &mut Drawing, (low, high): (f64, f64), x: &Scale, bottom: f64) {
    let mut free_from = 0.0;
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let round = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)));
    let mut values: Vec<f64> = round.filter(|value| (low..=high).contains(value)).collect();
    if values.len() < 3 {
        values = Scale::new((low, high), (0.0, 1.0)).ticks(5);
    }
    for value in values {
        let (at, words) = (x.at(value.ln()), short(value));
        let half = width_px(&words, 12.0) / 2.0;
        drawing.line("axis", (at, bottom), (at, bottom + 5.0));
        if at - half > free_from && at + half < WIDTH {
            drawing.text("tick middle", (at, bottom + 18.0), &words);
            free_from = at + half + 8.0;
        }
    }
}

/// A round time.
fn short(ns: f64) -> String {
    span_ps(1e3 * ns).replace(".000", "").replace(".00", "").replace(".0", "")
}
