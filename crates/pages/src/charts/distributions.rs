//! Cumulative distributions of times, over the logarithm of the time.

use crate::axis::Scale;
use crate::drawing::{Drawing, Key};
use crate::palette::CURVES;
use crate::wording::{percent, span_ps, width_px};

const WIDTH: f64 = 1080.0;
/// On a narrow page.
const NARROW: f64 = 400.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 40.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 46.0;

/// A distribution: times in ns, and the share of the sample that is not above each, both rising.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// Its name.
    pub name: String,
    /// Its steps.
    pub steps: Vec<(f64, f64)>,
}

/// The drawing.
pub fn draw(distributions: &[Distribution], title: &str) -> Drawing {
    let mut drawing = of_width(distributions, title, WIDTH);
    drawing.narrow = Some(Box::new(of_width(distributions, title, NARROW)));
    drawing
}

fn of_width(distributions: &[Distribution], title: &str, width: f64) -> Drawing {
    let mut drawing = Drawing::new(width, HEIGHT, title, &describe(distributions));
    drawing.legend = distributions.iter().enumerate().map(|(curve, of)| key(curve, &of.name)).collect();
    let times = || distributions.iter().flat_map(|of| of.steps.iter().map(|step| step.0.max(1.0)));
    let (least, most) = (times().fold(f64::INFINITY, f64::min), times().fold(1.0, f64::max));
    let decades = (least.min(most).log10().floor(), most.log10().ceil());
    let (left, right, bottom) = (LEFT, width - RIGHT, HEIGHT - BOTTOM);
    let x = Scale::new(decades, (left, right));
    let y = Scale::new((0.0, 1.0), (bottom, TOP));
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        drawing.line("grid", (left, y.at(share)), (right, y.at(share)));
        drawing.text("tick end", (left - 7.0, y.at(share) + 4.0), &percent(share));
    }
    let (mut decade, last) = (decades.0, decades.1.max(decades.0 + 1.0));
    while decade <= last {
        drawing.line("grid", (x.at(decade), TOP), (x.at(decade), bottom));
        let words = span_ps(1e3 * 10f64.powf(decade));
        // Each decade where there is room for its name, else every second.
        let every = if x.length(1.0) > width_px(&words, 12.0) + 10.0 { 1 } else { 2 };
        if (decade - decades.0) as i32 % every == 0 {
            drawing.text("tick middle", (x.at(decade), bottom + 18.0), &words);
        }
        decade += 1.0;
    }
    drawing.line("axis", (left, bottom), (right, bottom));
    drawing.text("small middle", ((left + right) / 2.0, HEIGHT - 8.0), "response time");
    let place = |(ns, share): (f64, f64)| (x.at(ns.max(1.0).log10()), y.at(share));
    for (curve, of) in distributions.iter().enumerate() {
        let points: Vec<(f64, f64)> = of.steps.iter().map(|step| place(*step)).collect();
        drawing.curve(&class(curve), &points);
    }
    for of in distributions {
        for step in &of.steps {
            let tip = format!("{}: {} took {} at most", of.name, percent(step.1), span_ps(1e3 * step.0));
            drawing.mark("", &[], &tip, |drawing| drawing.circle("hit", place(*step), 6.0));
        }
    }
    drawing
}

fn class(curve: usize) -> String {
    let number = curve % CURVES;
    format!("line stroke-{number} dash-{number}")
}

fn key(curve: usize, name: &str) -> Key {
    let mut swatch = Drawing::new(30.0, 16.0, "", "");
    swatch.line(&class(curve), (1.0, 8.0), (29.0, 8.0));
    Key { swatch: swatch.body().to_string(), words: name.to_string() }
}

fn describe(distributions: &[Distribution]) -> String {
    let near = |of: &Distribution, share: f64| {
        of.steps.iter().find(|step| step.1 >= share).map_or(String::new(), |step| span_ps(1e3 * step.0))
    };
    let words = distributions
        .iter()
        .map(|of| format!("{}: half took {} at most, 95 % {}.", of.name, near(of, 0.5), near(of, 0.95)));
    words.collect::<Vec<_>>().join(" ")
}
