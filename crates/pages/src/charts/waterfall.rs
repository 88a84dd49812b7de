//! From what a lane can carry to what arrived: a bar for each loss, each beginning where the one before ended.

use crate::axis::Scale;
use crate::drawing::{Drawing, Key};
use crate::wording::fitting;

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
    let rows = 1 + waterfall.steps.len() + usize::from(waterfall.left.is_some());
    let height = TOP + ROW * rows as f64 + BOTTOM;
    let x = Scale::new((0.0, waterfall.whole.amount), (LEFT, WIDTH - RIGHT));
    let mut drawing = Drawing::new(WIDTH, height, &waterfall.title, &waterfall.description);
    let bars = || waterfall.steps.iter().chain(&waterfall.left);
    drawing.legend = legend(|class| bars().any(|step| step.class == class));
    let bottom = height - BOTTOM;
    let ticks = x.ticks(4);
    for value in &ticks {
        drawing.line("grid", (x.at(*value), TOP), (x.at(*value), bottom));
        drawing.text("tick middle", (x.at(*value), bottom + 17.0), &crate::wording::tick(*value));
    }
    drawing.text("small end", (WIDTH - 2.0, bottom + 17.0), waterfall.unit);
    let mut row = 0;
    let mut draw = |drawing: &mut Drawing, step: &Step, from: f64, strong: bool| {
        let y = TOP + ROW * row as f64;
        let tip = format!("{} ({}): {}, {}", step.name, step.about, step.figure, step.share);
        drawing.mark("", &[("amount", step.amount.to_string())], &tip, |drawing| {
            let name = if strong { "end strong" } else { "end" };
            drawing.text(name, (LEFT - 12.0, y + 15.0), &fitting(&step.name, 13.0, LEFT - 14.0));
            drawing.text("end small", (LEFT - 12.0, y + 31.0), &fitting(&step.about, 12.0, LEFT - 14.0));
            // A loss that is there is seen, be it ever so small.
            let width = x.length(step.amount).max(1.5);
            drawing.class_rect(step.class, [x.at(from), y + (ROW - BAR) / 2.0, width, BAR]);
            let figure = if strong { "strong" } else { "" };
            drawing.text(figure, (WIDTH - RIGHT + 10.0, y + 15.0), &step.figure);
            drawing.text("small", (WIDTH - RIGHT + 10.0, y + 31.0), &step.share);
        });
        row += 1;
        (y + ROW / 2.0 + BAR / 2.0, y + ROW + (ROW - BAR) / 2.0)
    };
    let mut at = waterfall.whole.amount;
    let mut below = draw(&mut drawing, &waterfall.whole, 0.0, true);
    for step in &waterfall.steps {
        drawing.line("leader", (x.at(at), below.0), (x.at(at), below.1));
        at -= step.amount;
        below = draw(&mut drawing, step, at, false);
    }
    if let Some(left) = &waterfall.left {
        drawing.line("leader", (x.at(at), below.0), (x.at(at), below.1));
        draw(&mut drawing, left, 0.0, true);
    }
    drawing.line("axis", (LEFT, TOP), (LEFT, bottom));
    drawing
}
