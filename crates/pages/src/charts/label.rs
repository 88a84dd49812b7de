//! What stands beside a bar: a name, and smaller lines under it, in as many lines as they need.

use crate::drawing::Drawing;
use crate::wording::{BOLD, lines};

const NAME: f64 = 13.0;
const SMALL: f64 = 12.0;
/// From line to line.
const LINE: f64 = 16.0;
/// Lines of the name, and of what is under it, at most.
const NAME_LINES: usize = 2;
const ABOUT_LINES: usize = 2;

/// A label.
#[derive(Clone, Debug)]
pub struct Label {
    name: Vec<String>,
    about: Vec<String>,
    strong: bool,
}

impl Label {
    /// Of a name and what is under it, which may be empty, in so much room.
    pub fn new(name: &str, about: &str, strong: bool, room_px: f64) -> Label {
        let font = if strong { NAME * BOLD } else { NAME };
        Label { name: lines(name, font, room_px, NAME_LINES), about: lines(about, SMALL, room_px, ABOUT_LINES), strong }
    }

    /// How high it is.
    pub fn height(&self) -> f64 {
        LINE * (self.name.len() + self.about.len()) as f64
    }

    /// Draws it, its right end there and its middle at that height.
    pub fn draw(&self, drawing: &mut Drawing, right: f64, middle: f64) {
        let name = if self.strong { "end strong" } else { "end" };
        self.put(drawing, (name, "end small"), right, middle - self.height() / 2.0);
    }

    /// Draws it from there on, its upper end at that height.
    pub fn draw_from(&self, drawing: &mut Drawing, left: f64, top: f64) {
        self.put(drawing, (if self.strong { "strong" } else { "" }, "small"), left, top);
    }

    fn put(&self, drawing: &mut Drawing, (name, about): (&str, &str), x: f64, top: f64) {
        let all = self.name.iter().map(|line| (name, line)).chain(self.about.iter().map(|line| (about, line)));
        for (number, (class, line)) in all.enumerate() {
            drawing.text(class, (x, top + LINE * (number as f64 + 1.0) - 4.0), line);
        }
    }
}
