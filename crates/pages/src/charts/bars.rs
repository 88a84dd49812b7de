//! Bars to the left and the right of where things are now: what a change does.

use crate::axis::Scale;
use crate::charts::label::Label;
use crate::drawing::{Drawing, Key};
use crate::wording::width_px;

const WIDTH: f64 = 1080.0;
const LEFT: f64 = 400.0;
const RIGHT: f64 = 120.0;
const TOP: f64 = 6.0;
const ROW: f64 = 36.0;
const BAR: f64 = 15.0;
const BOTTOM: f64 = 46.0;
/// Of the one for narrow pages: its width, room beside its bars, and between two.
const NARROW: f64 = 380.0;
const EDGE: f64 = 16.0;
const GAP: f64 = 12.0;

/// What a change does.
#[derive(Clone, Debug)]
pub struct Effect {
    /// By how much, with its sign.
    pub amount: f64,
    /// Half-width of its 95 % interval; nothing where it is known.
    pub half_width: f64,
    /// All about it, in a sentence.
    pub tip: String,
}

/// One change, or the two directions of one.
#[derive(Clone, Debug)]
pub struct Change {
    /// What is changed.
    pub name: String,
    /// A smaller line under it.
    pub about: String,
    /// What it does; the second direction is drawn below the first.
    pub effects: Vec<Effect>,
    /// What it does, in words, at the right.
    pub figure: String,
}

/// Changes on a common scale.
#[derive(Clone, Debug)]
pub struct Changes {
    /// What they are.
    pub title: String,
    /// For whoever does not see them.
    pub description: String,
    /// The changes, the largest first.
    pub changes: Vec<Change>,
    /// What the scale shows, with its unit.
    pub unit: String,
    /// How a tick is written.
    pub tick: fn(f64) -> String,
    /// Whether more is better.
    pub more_is_better: bool,
    /// What a bar in either direction means: what is better, and what is worse.
    pub meaning: [String; 2],
}

/// How it is arranged: names beside their bars, or above them.
struct Arranged {
    width: f64,
    left: f64,
    right: f64,
    /// Room for names above bars.
    above: bool,
}

/// The drawing.
pub fn draw(changes: &Changes) -> Drawing {
    let wide = Arranged { width: WIDTH, left: LEFT, right: RIGHT, above: false };
    let narrow = Arranged { width: NARROW, left: EDGE, right: EDGE, above: true };
    let mut drawing = arranged(changes, &wide);
    drawing.narrow = Some(Box::new(arranged(changes, &narrow)));
    drawing
}

fn arranged(changes: &Changes, how: &Arranged) -> Drawing {
    let Arranged { width, left, right, above } = *how;
    let room = |of: &Change| if above { width - width_px(&of.figure, 13.0) - 12.0 } else { left - 16.0 };
    let label = |of: &Change| Label::new(&of.name, &of.about, false, room(of));
    let labels: Vec<Label> = changes.changes.iter().map(label).collect();
    let heights: Vec<f64> = labels
        .iter()
        .map(|label| if above { label.height() + 2.0 * BAR + GAP } else { ROW.max(label.height() + 4.0) })
        .collect();
    let height = TOP + heights.iter().sum::<f64>() + BOTTOM;
    let mut drawing = Drawing::new(width, height, &changes.title, &changes.description);
    let [better, worse] = &changes.meaning;
    drawing.legend = vec![Key::of_class("better", better), Key::of_class("worse", worse)];
    let effects = || changes.changes.iter().flat_map(|change| change.effects.iter().map(|effect| effect.amount));
    let (least, most) = (effects().fold(0.0, f64::min), effects().fold(0.0, f64::max));
    let beyond = 0.04 * (most - least).max(f64::MIN_POSITIVE);
    let ends = (if least < 0.0 { least - beyond } else { 0.0 }, if most > 0.0 { most + beyond } else { 0.0 });
    let x = Scale::new(ends, (left, width - right));
    let bottom = height - BOTTOM;
    for value in x.ticks(if above { 3 } else { 6 }) {
        drawing.line("grid", (x.at(value), TOP), (x.at(value), bottom));
        drawing.text("tick middle", (x.at(value), bottom + 17.0), &(changes.tick)(value));
    }
    drawing.text("small middle", ((left + width - right) / 2.0, height - 8.0), &changes.unit);
    for (row, change) in changes.changes.iter().enumerate() {
        let top = TOP + heights[..row].iter().sum::<f64>();
        let (middle, figure_at) = if above {
            labels[row].draw_from(&mut drawing, 0.0, top);
            (top + labels[row].height() + BAR + 2.0, (width, top + 14.0))
        } else {
            let middle = top + heights[row] / 2.0;
            labels[row].draw(&mut drawing, left - 14.0, middle);
            (middle, (width - right + 10.0, middle + 5.0))
        };
        let (two, thin) = (change.effects.len() > 1, BAR - 3.0);
        for (index, effect) in change.effects.iter().enumerate() {
            let Effect { amount, half_width, tip } = effect;
            let y = if two { middle - thin - 0.5 + index as f64 * (thin + 1.0) } else { middle - BAR / 2.0 };
            let bar = if two { thin } else { BAR };
            let class = if (*amount >= 0.0) == changes.more_is_better { "better" } else { "worse" };
            let (zero, end) = (x.at(0.0), x.at(*amount));
            drawing.mark("", &[("effect", amount.to_string())], &format!("{}: {tip}", change.name), |drawing| {
                // What does something is seen, be it ever so little.
                let least = if *amount == 0.0 { 0.0 } else { 1.0 };
                drawing.rect(class, [zero.min(end), y, (end - zero).abs().max(least), bar]);
                if *half_width > 0.0 {
                    let (low, high) = ((end - x.length(*half_width)).max(left), end + x.length(*half_width));
                    drawing.line("zero", (low, y + bar / 2.0), (high.min(width - right), y + bar / 2.0));
                }
                drawing.rect("hit", [left, y, width - right - left, bar]);
            });
        }
        drawing.text(if above { "end" } else { "" }, figure_at, &change.figure);
        // Between bars there are names, where those are not beside them.
        let from = if above { middle - BAR } else { top };
        drawing.line("zero", (x.at(0.0), from), (x.at(0.0), if above { middle + BAR } else { top + heights[row] }));
    }
    drawing
}
