//! A small writer of SVG. Everything that is text goes through [`escape`].

use std::fmt::Write;

use hopscope_files::harmless::{INSTEAD, is_harmless};

use crate::palette;
use crate::wording::width_px;

/// Patterns that lie over colours, so that classes can be told apart without them.
pub const PATTERNS: &str = "<defs>\
<pattern id=\"hatch-waiting\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
<path class=\"hatch-waiting\" d=\"M0 0V6\" stroke-width=\"2\"/></pattern>\
<pattern id=\"hatch-nothing\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(-45)\">\
<path class=\"hatch-nothing\" d=\"M0 0V8\" stroke-width=\"1.2\"/></pattern>\
<pattern id=\"hatch-width\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
<circle class=\"hatch-width\" cx=\"2\" cy=\"2\" r=\"1.2\"/></pattern></defs>";

/// Classes with a pattern.
const HATCHED: [&str; 3] = ["waiting", "nothing", "width"];

/// The pattern that lies over a class. A colour of its own may be hatched, too: `hop-0 waits`.
fn pattern_of(class: &str) -> Option<&str> {
    if class.ends_with(WAITS) { Some("waiting") } else { Some(class).filter(|class| HATCHED.contains(class)) }
}

/// What a class ends with that is a hop's colour, hatched: waits for it.
pub const WAITS: &str = " waits";

/// What that means.
pub fn waits_key() -> Key {
    Key::of_class("whole waits", "hatched: waits for that hop")
}

/// Height of a line of the legend under a figure that stands alone.
const LEGEND_LINE: f64 = 22.0;
/// Room around a figure that stands alone.
const MARGIN: f64 = 14.0;
/// Room for its heading.
const HEADING: f64 = 30.0;

/// Text with the characters that mean something in markup written otherwise.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter => out.push(if is_harmless(letter) { letter } else { INSTEAD }),
        }
    }
    out
}

/// What a sign means: a swatch of 30 by 16 pixels, and words.
#[derive(Clone, Debug)]
pub struct Key {
    /// SVG.
    pub swatch: String,
    /// Words.
    pub words: String,
}

impl Key {
    /// A filled box, as class and pattern have it.
    pub fn of_class(class: &str, words: &str) -> Key {
        let mut drawing = Drawing::new(30.0, 16.0, "", "");
        drawing.class_rect(class, [4.5, 1.5, 22.0, 13.0]);
        Key { swatch: drawing.body, words: words.to_string() }
    }
}

/// A figure being drawn, in pixels.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
    /// What it is.
    pub title: String,
    /// What it shows, for whoever does not see it.
    pub description: String,
    /// What its signs mean.
    pub legend: Vec<Key>,
    /// The same for a page that is narrow, where it has to be arranged otherwise.
    pub narrow: Option<Box<Drawing>>,
    body: String,
}

impl Drawing {
    /// An empty one.
    pub fn new(width: f64, height: f64, title: &str, description: &str) -> Drawing {
        let (title, description) = (title.to_string(), description.to_string());
        Drawing { width, height, title, description, legend: Vec::new(), narrow: None, body: String::new() }
    }

    /// What has been drawn.
    pub fn body(&self) -> &str {
        &self.body
    }

    fn put(&mut self, markup: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.body, "{markup}");
    }

    /// A box: x, y, width, height.
    pub fn rect(&mut self, class: &str, [x, y, width, height]: [f64; 4]) {
        let (width, height) = (width.max(0.0), height.max(0.0));
        self.put(format_args!(
            "<rect class=\"{class}\" x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\"/>"
        ));
    }

    /// A box in the colour of a class of use, and its pattern over it.
    pub fn class_rect(&mut self, class: &str, at: [f64; 4]) {
        self.rect(class, at);
        if let Some(pattern) = pattern_of(class) {
            let [x, y, width, height] = at;
            self.put(format_args!(
                "<rect class=\"over\" x=\"{x:.2}\" y=\"{y:.2}\" width=\"{:.2}\" height=\"{height:.2}\" \
                 fill=\"url(#hatch-{pattern})\"/>",
                width.max(0.0)
            ));
        }
    }

    /// A path in the colour of a class of use, and its pattern over it.
    pub fn class_path(&mut self, classes: &str, class: &str, path: &str) {
        if path.is_empty() {
            return;
        }
        self.path(classes, path);
        if let Some(pattern) = pattern_of(class) {
            self.put(format_args!("<path class=\"over\" d=\"{path}\" fill=\"url(#hatch-{pattern})\"/>"));
        }
    }

    /// A path.
    pub fn path(&mut self, class: &str, path: &str) {
        self.put(format_args!("<path class=\"{class}\" d=\"{path}\"/>"));
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        self.path(class, &format!("M{x1:.2} {y1:.2}L{x2:.2} {y2:.2}"));
    }

    /// A line through points.
    pub fn curve(&mut self, class: &str, points: &[(f64, f64)]) {
        let list: Vec<String> = points.iter().map(|(x, y)| format!("{x:.2} {y:.2}")).collect();
        if !list.is_empty() {
            self.path(class, &format!("M{}", list.join("L")));
        }
    }

    /// A disc.
    pub fn circle(&mut self, class: &str, (x, y): (f64, f64), radius: f64) {
        self.put(format_args!("<circle class=\"{class}\" cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{radius}\"/>"));
    }

    /// A square on its corner.
    pub fn diamond(&mut self, class: &str, (x, y): (f64, f64), radius: f64) {
        let (left, right, top, bottom) = (x - radius, x + radius, y - radius, y + radius);
        self.path(class, &format!("M{left:.2} {y:.2}L{x:.2} {top:.2}L{right:.2} {y:.2}L{x:.2} {bottom:.2}Z"));
    }

    /// A text.
    pub fn text(&mut self, class: &str, (x, y): (f64, f64), text: &str) {
        let text = escape(text);
        self.put(format_args!("<text class=\"{class}\" x=\"{x:.2}\" y=\"{y:.2}\">{text}</text>"));
    }

    /// A text that is read from bottom to top.
    pub fn upright(&mut self, class: &str, (x, y): (f64, f64), text: &str) {
        let text = escape(text);
        self.put(format_args!(
            "<text class=\"{class}\" transform=\"translate({x:.2} {y:.2}) rotate(-90)\">{text}</text>"
        ));
    }

    /// Something that says `tip` when it is pointed at.
    pub fn mark(&mut self, class: &str, data: &[(&str, String)], tip: &str, draw: impl FnOnce(&mut Drawing)) {
        let data: String = data.iter().map(|(name, value)| format!(" data-{name}=\"{}\"", escape(value))).collect();
        self.put(format_args!("<g class=\"mark {class}\"{data}><title>{}</title>", escape(tip)));
        draw(self);
        self.put(format_args!("</g>"));
    }

    /// A group of which the page's script knows the class.
    pub fn group(&mut self, attributes: &str, draw: impl FnOnce(&mut Drawing)) {
        self.put(format_args!("<g {attributes}>"));
        draw(self);
        self.put(format_args!("</g>"));
    }

    /// Whatever else there is of SVG.
    pub fn raw(&mut self, markup: &str) {
        self.put(format_args!("{markup}"));
    }

    /// For within a page.
    pub fn inline(&self, id: &str) -> String {
        match &self.narrow {
            None => self.svg(id, ""),
            Some(narrow) => self.svg(id, "wide") + "\n" + &narrow.svg(&format!("{id}-narrow"), "narrow"),
        }
    }

    fn svg(&self, id: &str, class: &str) -> String {
        let Drawing { width, height, title, description, body, .. } = self;
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        format!(
            "<svg{class} viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
             aria-labelledby=\"{id}-title {id}-description\"><title id=\"{id}-title\">{}</title>\
             <desc id=\"{id}-description\">{}</desc>\n{body}</svg>",
            escape(title),
            escape(description)
        )
    }

    /// A file of its own, with its heading, its legend and its style.
    pub fn standalone(&self) -> String {
        let Drawing { width, height, title, description, body, .. } = self;
        let mut legend = Drawing::new(*width, 0.0, "", "");
        let (mut x, mut y) = (0.0, 0.0);
        for Key { swatch, words } in &self.legend {
            let room = 36.0 + width_px(words, 12.0) + 18.0;
            if x > 0.0 && x + room > *width {
                (x, y) = (0.0, y + LEGEND_LINE);
            }
            legend.raw(&format!("<g transform=\"translate({x:.1} {y:.1})\">{swatch}</g>"));
            legend.text("small", (x + 36.0, y + 12.0), words);
            x += room;
        }
        let lines = if self.legend.is_empty() { 0.0 } else { y + LEGEND_LINE };
        let (all_width, all_height) = (width + 2.0 * MARGIN, height + lines + HEADING + 2.0 * MARGIN);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {all_width} {all_height}\" width=\"{all_width}\" \
             height=\"{all_height}\" role=\"img\" aria-labelledby=\"title description\">\n\
             <title id=\"title\">{heading}</title>\n<desc id=\"description\">{about}</desc>\n\
             <style>\n{style}</style>\n{PATTERNS}\n<rect class=\"ground\" width=\"{all_width}\" height=\"{all_height}\"/>\n\
             <text class=\"heading\" x=\"{MARGIN}\" y=\"{head_y}\">{heading}</text>\n\
             <g transform=\"translate({MARGIN} {body_y})\">\n{body}</g>\n\
             <g transform=\"translate({MARGIN} {legend_y})\">\n{legend}</g>\n</svg>\n",
            heading = escape(title),
            about = escape(description),
            style = palette::standalone_style(),
            head_y = MARGIN + 16.0,
            body_y = MARGIN + HEADING,
            legend_y = MARGIN + HEADING + height + 6.0,
            legend = legend.body
        )
    }
}
