//! From what a lane can carry to what arrived: a bar for each loss, each beginning where the one before ended.

use crate::axis::Scale;
use crate::charts::label::Label;
use crate::drawing::{Drawing, Key};
use crate::wording::{bold_px, width_px};

const WIDTH: f64 = 560.0;
const LEFT: f64 = 236.0;
const RIGHT: f64 = 96.0;
const TOP: f64 = 6.0;
const ROW: f64 = 40.0;
const BAR: f64 = 24.0;
const BOTTOM: f64 = 26.0;

/// One bar.
#[derive(Clone, Debug)]
pub struct Step {
    /// What it is.
    pub name: String,
    /// A smaller line under it.
    pub about: String,
    /// Its class: `payload`, `width`, `protocol`, `waiting`, `nothing`.
    pub class: &'static str,
    /// How much.
    pub amount: f64,
    /// How much, in words.
    pub figure: String,
    /// A smaller line under that.
    pub share: String,
}

/// A whole, what is taken from it, and what is left.
#[derive(Clone, Debug)]
pub struct Waterfall {
    /// What it is.
    pub title: String,
    /// For whoever does not see it.
    pub description: String,
    /// Everything that there is, from the first bar on.
    pub whole: Step,
    /// What it goes into, the last first.
    pub steps: Vec<Step>,
    /// What arrived; nothing where the steps go into everything.
    pub left: Option<Step>,
    /// The unit of the amounts, at the axis.
    pub unit: &'static str,
}

/// What the classes of bars are called, those that are there.
pub fn legend(is_there: impl Fn(&str) -> bool) -> Vec<Key> {
    let classes = [
        ("payload", "payload: bytes of the user"),
        ("width", "width not used"),
        ("protocol", "protocol"),
        ("waiting", "waiting"),
        ("nothing", "nothing to do"),
    ];
    let there = classes.into_iter().filter(|(class, _)| is_there(class));
    there.map(|(class, words)| Key::of_class(class, words)).collect()
}

/// The drawing.
pub fn draw(waterfall: &Waterfall) -> Drawing {
    let Waterfall { whole, steps, left, .. } = waterfall;
    // Each bar begins where the one before ended; what there is and what arrived begin at nothing.
    let mut at = whole.amount;
    let losses = steps.iter().map(|step| {
        at -= step.amount;
        (step, at, false)
    });
    let bars = std::iter::once((whole, 0.0, true)).chain(losses);
    let bars: Vec<(&Step, f64, bool)> = bars.chain(left.iter().map(|left| (left, 0.0, true))).collect();
    let labels: Vec<Label> =
        bars.iter().map(|(step, _, strong)| Label::new(&step.name, &step.about, *strong, LEFT - 14.0)).collect();
    let heights: Vec<f64> = labels.iter().map(|label| ROW.max(label.height() + 8.0)).collect();
    let height = TOP + heights.iter().sum::<f64>() + BOTTOM;
    let figures = bars.iter().map(|(step, ..)| bold_px(&step.figure, 13.0).max(width_px(&step.share, 12.0)) + 14.0);
    let right_margin = figures.fold(RIGHT, f64::max);
    let x = Scale::new((0.0, whole.amount), (LEFT, WIDTH - right_margin));
    let mut drawing = Drawing::new(WIDTH, height, &waterfall.title, &waterfall.description);
    drawing.legend = legend(|class| bars.iter().skip(1).any(|(step, ..)| step.class == class));
    let bottom = height - BOTTOM;
    // The unit stands at the end of the axis: a tick that would meet it has no figure.
    let unit_from = WIDTH - 8.0 - width_px(waterfall.unit, 12.0);
    for value in x.ticks(4) {
        let (at, figure) = (x.at(value), crate::wording::tick(value));
        drawing.line("grid", (at, TOP), (at, bottom));
        if at + width_px(&figure, 12.0) / 2.0 < unit_from {
            drawing.text("tick middle", (at, bottom + 17.0), &figure);
        }
    }
    drawing.text("small end", (WIDTH - 2.0, bottom + 17.0), waterfall.unit);
    let mut y = TOP;
    let mut ended: Option<(f64, f64)> = None;
    for (((step, from, strong), label), height) in bars.iter().zip(&labels).zip(&heights) {
        let middle = y + height / 2.0;
        y += height;
        if let Some((at, below)) = ended {
            drawing.line("leader", (at, below), (at, middle - BAR / 2.0));
        }
        let tip = format!("{} ({}): {}, {}", step.name, step.about, step.figure, step.share);
        drawing.mark("", &[("amount", step.amount.to_string())], &tip, |drawing| {
            label.draw(drawing, LEFT - 12.0, middle);
            // A loss that is there is seen, be it ever so small.
            let width = x.length(step.amount).max(1.5);
            drawing.class_rect(step.class, [x.at(*from), middle - BAR / 2.0, width, BAR]);
            let figure = if *strong { "strong" } else { "" };
            drawing.text(figure, (WIDTH - right_margin + 10.0, middle - 4.0), &step.figure);
            drawing.text("small", (WIDTH - right_margin + 10.0, middle + 12.0), &step.share);
        });
        let left_at = if ended.is_none() { step.amount } else { *from };
        ended = Some((x.at(left_at), middle + BAR / 2.0));
    }
    drawing.line("axis", (LEFT, TOP), (LEFT, bottom));
    drawing
}
