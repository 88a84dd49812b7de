//! Bars that are divided: where each of several times went.

use crate::axis::Scale;
use crate::charts::label::Label;
use crate::drawing::{Drawing, Key};
use crate::wording::{BOLD, bold_px, fitting, tick, width_px};

const WIDTH: f64 = 1080.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 104.0;
const TOP: f64 = 6.0;
const BOTTOM: f64 = 46.0;
/// Of the one for narrow pages: its width, room beside its bars, for a name above one, and between two.
const NARROW: f64 = 380.0;
const EDGE: f64 = 16.0;
const NAME: f64 = 20.0;
const GAP: f64 = 10.0;

/// A part of a bar.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Its names, the longest first: one that fits is written within the bar.
    pub names: Vec<String>,
    /// Its class, or its colour.
    pub class: String,
    /// How much.
    pub amount: f64,
    /// All about it, in a sentence.
    pub tip: String,
}

/// A bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// What it is.
    pub name: String,
    /// A smaller line under it.
    pub about: String,
    /// All of it, in words.
    pub figure: String,
    /// Its parts, in order.
    pub segments: Vec<Segment>,
}

/// Bars on a common scale.
#[derive(Clone, Debug)]
pub struct Stacks {
    /// What they are.
    pub title: String,
    /// For whoever does not see them.
    pub description: String,
    /// The bars.
    pub bars: Vec<Bar>,
    /// End of the scale; the longest bar where there is none.
    pub most: Option<f64>,
    /// What the scale shows, with its unit.
    pub unit: String,
    /// What the colours mean.
    pub legend: Vec<Key>,
    /// Height of a row, and of the bar within.
    pub row: (f64, f64),
}

/// The drawing.
pub fn draw(stacks: &Stacks) -> Drawing {
    let (row, bar_height) = stacks.row;
    let labels: Vec<Label> =
        stacks.bars.iter().map(|bar| Label::new(&bar.name, &bar.about, true, LEFT - 14.0)).collect();
    let heights: Vec<f64> = labels.iter().map(|label| row.max(label.height() + 6.0)).collect();
    let height = TOP + heights.iter().sum::<f64>() + BOTTOM;
    let right = stacks.bars.iter().map(|bar| width_px(&bar.figure, 13.0) + 12.0).fold(RIGHT, f64::max);
    let mut drawing = Drawing::new(WIDTH, height, &stacks.title, &stacks.description);
    drawing.legend = stacks.legend.clone();
    let longest = stacks.bars.iter().map(|bar| bar.segments.iter().map(|s| s.amount).sum::<f64>()).fold(0.0, f64::max);
    let pixels = (LEFT, WIDTH - right);
    let x = match stacks.most {
        Some(most) => Scale::new((0.0, most), pixels),
        None => Scale::from_zero(longest, 6, pixels),
    };
    let bottom = height - BOTTOM;
    for value in x.ticks(6) {
        drawing.line("grid", (x.at(value), TOP), (x.at(value), bottom));
        drawing.text("tick middle", (x.at(value), bottom + 17.0), &tick(value));
    }
    drawing.text("small middle", ((pixels.0 + pixels.1) / 2.0, height - 8.0), &stacks.unit);
    let mut top = TOP;
    for ((bar, label), height) in stacks.bars.iter().zip(&labels).zip(&heights) {
        let middle = top + height / 2.0;
        top += height;
        label.draw(&mut drawing, LEFT - 12.0, middle);
        let end = divided(&mut drawing, bar, &x, (middle - bar_height / 2.0, bar_height));
        drawing.text("", (end + 8.0, middle + 5.0), &bar.figure);
    }
    drawing.line("axis", (LEFT, TOP), (LEFT, bottom));
    drawing.narrow = Some(Box::new(narrow(stacks, &drawing.legend)));
    drawing
}

/// The parts of a bar; where it ends.
fn divided(drawing: &mut Drawing, bar: &Bar, x: &Scale, (y, height): (f64, f64)) -> f64 {
    let mut at = 0.0;
    for segment in &bar.segments {
        let (from, width) = (x.at(at), x.length(segment.amount));
        at += segment.amount;
        let tip = format!("{}: {}", bar.name, segment.tip);
        drawing.mark("", &[("amount", segment.amount.to_string())], &tip, |drawing| {
            drawing.class_rect(&segment.class, [from, y, width, height]);
            if let Some(name) = segment.names.iter().find(|name| width_px(name, 12.5) < width - 6.0) {
                drawing.text("in middle", (from + width / 2.0, y + height / 2.0 + 4.5), name);
            }
        });
    }
    x.at(at)
}

/// The same with names above their bars.
fn narrow(stacks: &Stacks, legend: &[Key]) -> Drawing {
    let bar_height = stacks.row.1;
    let row = NAME + bar_height + GAP;
    let height = TOP + row * stacks.bars.len() as f64 + BOTTOM;
    let mut drawing = Drawing::new(NARROW, height, &stacks.title, &stacks.description);
    drawing.legend = legend.to_vec();
    let longest = stacks.bars.iter().map(|bar| bar.segments.iter().map(|s| s.amount).sum::<f64>()).fold(0.0, f64::max);
    let pixels = (EDGE, NARROW - EDGE);
    let x = match stacks.most {
        Some(most) => Scale::new((0.0, most), pixels),
        None => Scale::from_zero(longest, 3, pixels),
    };
    let bottom = height - BOTTOM;
    for value in x.ticks(3) {
        let (at, words) = (x.at(value), tick(value));
        let half = width_px(&words, 12.0) / 2.0;
        drawing.line("grid", (at, TOP), (at, bottom));
        drawing.text("tick middle", (at.clamp(half, NARROW - half), bottom + 17.0), &words);
    }
    drawing.text("small middle", (NARROW / 2.0, height - 8.0), &stacks.unit);
    for (number, bar) in stacks.bars.iter().enumerate() {
        let top = TOP + row * number as f64;
        let room = NARROW - width_px(&bar.figure, 13.0) - 12.0;
        let name = fitting(&bar.name, 13.0 * BOLD, room);
        drawing.text("strong", (0.0, top + 14.0), &name);
        let after = bold_px(&name, 13.0) + 8.0;
        if width_px(&bar.about, 12.0) < room - after {
            drawing.text("small", (after, top + 14.0), &bar.about);
        }
        drawing.text("end", (NARROW, top + 14.0), &bar.figure);
        divided(&mut drawing, bar, &x, (top + NAME, bar_height));
    }
    drawing
}
