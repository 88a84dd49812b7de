//! From the shortest to the longest in each slice of time, and the mean.

use crate::axis::Scale;
use crate::drawing::{Drawing, Key};
use crate::wording::{span_ps, tick, unit_of, width_px};

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 270.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 42.0;

/// What there was in a slice of time, all in picoseconds.
#[derive(Clone, Debug)]
pub struct Slice {
    /// When it begins.
    pub from: f64,
    /// When it ends.
    pub until: f64,
    /// The shortest.
    pub least: f64,
    /// The mean.
    pub mean: f64,
    /// The longest.
    pub most: f64,
    /// All about it, in a sentence.
    pub tip: String,
}

/// The drawing; slices in which there was nothing are left away.
pub fn draw(title: &str, description: &str, (from, until): (f64, f64), slices: &[Slice]) -> Drawing {
    let mut drawing = Drawing::new(WIDTH, HEIGHT, title, description);
    let mut mean = Drawing::new(30.0, 16.0, "", "");
    mean.line("line stroke-0", (2.0, 8.0), (28.0, 8.0));
    drawing.legend = vec![
        Key::of_class("whole", "from the shortest to the longest"),
        Key { swatch: mean.body().to_string(), words: "mean".into() },
    ];
    let (unit_ps, unit) = unit_of(until - from);
    let x = Scale::new((from / unit_ps, until / unit_ps), (LEFT, WIDTH - RIGHT));
    let longest = slices.iter().map(|slice| slice.most).fold(0.0, f64::max);
    let (height_ps, height_unit) = unit_of(longest / 2.0);
    let y = Scale::from_zero(longest / height_ps, 4, (HEIGHT - BOTTOM, TOP));
    for value in y.ticks(4) {
        drawing.line("grid", (LEFT, y.at(value)), (WIDTH - RIGHT, y.at(value)));
        drawing.text("tick end", (LEFT - 7.0, y.at(value) + 4.0), &format!("{} {height_unit}", tick(value)));
    }
    let bottom = HEIGHT - BOTTOM;
    for value in x.ticks(5) {
        let words = tick(value);
        let half = width_px(&words, 12.0) / 2.0;
        drawing.line("axis", (x.at(value), bottom), (x.at(value), bottom + 5.0));
        drawing.text("tick middle", (x.at(value).min(WIDTH - half), bottom + 18.0), &words);
    }
    drawing.text("small middle", ((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 6.0), &format!("issued at, {unit}"));
    let at = |ps: f64| y.at(ps / height_ps);
    for slice in slices {
        let (left, right) = (x.at(slice.from / unit_ps), x.at(slice.until / unit_ps));
        drawing.mark("slice", &[], &slice.tip, |drawing| {
            drawing.rect("whole thin", [left, at(slice.most), right - left, at(slice.least) - at(slice.most)]);
            drawing.rect("hit", [left, TOP, right - left, bottom - TOP]);
        });
    }
    for slice in slices {
        let (left, right) = (x.at(slice.from / unit_ps), x.at(slice.until / unit_ps));
        drawing.line("line stroke-0", (left, at(slice.mean)), (right, at(slice.mean)));
    }
    drawing.line("axis", (LEFT, bottom), (WIDTH - RIGHT, bottom));
    drawing
}

/// What is said of a slice.
pub fn tip(count: usize, (from, until): (f64, f64), [least, mean, most]: [f64; 3]) -> String {
    format!(
        "{count} requests issued from {} to {}: mean {}, {} to {}",
        span_ps(from),
        span_ps(until),
        span_ps(mean),
        span_ps(least),
        span_ps(most)
    )
}
