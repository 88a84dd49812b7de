//! How busy each lane was over time: one strip a lane.

use crate::axis::Scale;
use crate::charts::label::Label;
use crate::drawing::Drawing;
use crate::wording::{percent, span_ps, unit_of};

const WIDTH: f64 = 1080.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 104.0;
const TOP: f64 = 8.0;
const ROW: f64 = 58.0;
const STRIP: f64 = 42.0;
const BOTTOM: f64 = 46.0;

/// A lane over time.
#[derive(Clone, Debug)]
pub struct Strip {
    /// The lane.
    pub name: String,
    /// A smaller line under it.
    pub about: String,
    /// Busy share in each of equal slices.
    pub shares: Vec<f64>,
    /// Busy share over all.
    pub mean: f64,
}

/// The drawing; `from_ps` and `until_ps` bound the slices.
pub fn draw(strips: &[Strip], (from_ps, until_ps): (f64, f64), title: &str) -> Drawing {
    let height = TOP + ROW * strips.len() as f64 + BOTTOM;
    let words: Vec<String> = strips.iter().map(|strip| format!("{} {}", strip.name, percent(strip.mean))).collect();
    let description = format!("Busy share over the whole window: {}.", words.join(", "));
    let mut drawing = Drawing::new(WIDTH, height, title, &description);
    let (unit_ps, unit) = unit_of(until_ps - from_ps);
    let x = Scale::new((from_ps / unit_ps, until_ps / unit_ps), (LEFT, WIDTH - RIGHT));
    let bottom = height - BOTTOM;
    for value in x.ticks(8) {
        drawing.line("grid", (x.at(value), TOP), (x.at(value), bottom));
        drawing.text("tick middle", (x.at(value), bottom + 17.0), &crate::wording::tick(value));
    }
    let axis = format!("simulated time, {unit}");
    drawing.text("small middle", ((LEFT + WIDTH - RIGHT) / 2.0, height - 8.0), &axis);
    for (row, strip) in strips.iter().enumerate() {
        let base = TOP + ROW * row as f64 + (ROW + STRIP) / 2.0;
        let y = Scale::new((0.0, 1.0), (base, base - STRIP));
        let label = Label::new(&strip.name, &strip.about, true, LEFT - 14.0);
        label.draw(&mut drawing, LEFT - 12.0, base - STRIP / 2.0);
        drawing.rect("frame", [LEFT, base - STRIP, WIDTH - RIGHT - LEFT, STRIP]);
        let count = strip.shares.len().max(1) as f64;
        let edge = |slice: f64| LEFT + slice / count * (WIDTH - RIGHT - LEFT);
        let mut points = vec![(edge(0.0), base)];
        for (slice, share) in strip.shares.iter().enumerate() {
            let at = y.at(share.clamp(0.0, 1.0));
            points.extend([(edge(slice as f64), at), (edge(slice as f64 + 1.0), at)]);
        }
        points.push((edge(count), base));
        drawing.curve("payload", &points);
        for (slice, share) in strip.shares.iter().enumerate() {
            let slice_ps = (until_ps - from_ps) / count;
            let (begin, end) = (from_ps + slice_ps * slice as f64, from_ps + slice_ps * (slice as f64 + 1.0));
            let tip = format!("{}: busy {} from {} to {}", strip.name, percent(*share), span_ps(begin), span_ps(end));
            let (left, right) = (edge(slice as f64), edge(slice as f64 + 1.0));
            drawing.mark("slice", &[], &tip, |drawing| {
                drawing.rect("hit", [left, base - STRIP, right - left, STRIP]);
            });
        }
        drawing.text("", (WIDTH - RIGHT + 10.0, base - 22.0), &percent(strip.mean));
        drawing.text("small", (WIDTH - RIGHT + 10.0, base - 6.0), "on average");
    }
    drawing
}
