//! What is wrong with an input: where it is written, what was expected, what to do.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use hopscope_parts::parameters::{Place, SpecError};

use crate::harmless::harmless;

/// The texts that were read, in the order of the numbers that a [`Place`] holds.
#[derive(Clone, Debug, Default)]
pub struct Sources(Vec<Source>);

#[derive(Clone, Debug)]
struct Source {
    name: String,
    text: String,
    /// Number of its first line.
    first_line: usize,
}

impl Sources {
    /// Keeps a text under the name that errors show, and gives it its number.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> u32 {
        self.add_from_line(name, text, 1)
    }

    /// Keeps a piece of a text that begins with that line, counted from 1.
    pub fn add_from_line(&mut self, name: impl Into<String>, text: impl Into<String>, first_line: usize) -> u32 {
        self.0.push(Source { name: name.into(), text: text.into(), first_line });
        u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX)
    }

    /// The name of a text; empty for a number that no text has.
    pub fn name(&self, file: u32) -> &str {
        self.0.get(file as usize).map_or("", |source| &source.name)
    }

    /// A text; empty for a number that no text has.
    pub fn text(&self, file: u32) -> &str {
        self.0.get(file as usize).map_or("", |source| &source.text)
    }

    /// File name, line and column (from 1, in characters) where a place starts: for machines, and for one-line messages.
    pub fn place_of(&self, place: &Place) -> (&str, usize, usize) {
        let text = self.text(place.file);
        let before = &text[..boundary(text, place.start as usize)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let first_line = self.0.get(place.file as usize).map_or(1, |source| source.first_line);
        let line = before.bytes().filter(|&byte| byte == b'\n').count() + first_line;
        (self.name(place.file), line, before[line_start..].chars().count() + 1)
    }
}

/// A byte range of a text as a [`Place`].
pub fn place(file: u32, span: Range<usize>) -> Place {
    let narrow = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
    Place { file, start: narrow(span.start), end: narrow(span.end.max(span.start)) }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where; nowhere in a text if, say, a file cannot be read.
    pub place: Option<Place>,
    /// What is wrong, as one sentence.
    pub title: String,
    /// What was expected at the caret; may be empty.
    pub label: String,
    /// What to do; may be empty.
    pub help: String,
}

impl Problem {
    /// Something wrong in a text.
    pub fn at(place: Place, title: impl Into<String>) -> Self {
        Problem { place: Some(place), ..Problem::nowhere(title) }
    }

    /// Something wrong that is in no text.
    pub fn nowhere(title: impl Into<String>) -> Self {
        Problem { place: None, title: title.into(), label: String::new(), help: String::new() }
    }

    /// Says at the caret what was expected.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Says what to do.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }
}

impl From<SpecError> for Problem {
    fn from(error: SpecError) -> Self {
        Problem::at(error.place, error.problem).help(error.help)
    }
}

/// So many problems are shown; of the others it is said how many there are.
pub const MOST_SHOWN: usize = 50;

/// Everything that is wrong, in the order of the text. Never empty where it is an `Err`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Problems(vec![problem])
    }
}

impl Problems {
    /// `value` if nothing is wrong, else what is, sorted by place.
    pub fn unless_empty<T>(mut self, value: T) -> Result<T, Problems> {
        self.0.sort_by_key(|problem| problem.place.map(|place| (place.file, place.start)));
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }

    /// For people: file, line, column, the line, a caret, what was expected, what to do. Bounded, whatever the input.
    pub fn render(&self, sources: &Sources, colour: bool) -> String {
        const ENOUGH_BYTES: usize = 8_000;
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let mut out = String::new();
        for (shown, problem) in self.0.iter().enumerate() {
            if shown == MOST_SHOWN || out.len() > ENOUGH_BYTES {
                out.push_str(&format!("… and {} more problems\n", self.0.len() - shown));
                break;
            }
            if shown > 0 {
                out.push('\n');
            }
            out.push_str(&renderer.render(&[problem.group(sources)]));
            out.push('\n');
        }
        out
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let titles: Vec<String> = self.0.iter().take(10).map(|problem| printable(&problem.title)).collect();
        f.write_str(&titles.join("; "))
    }
}

impl std::error::Error for Problems {}

impl Problem {
    fn group(&self, sources: &Sources) -> Group<'static> {
        let mut group = Group::with_title(Level::ERROR.primary_title(printable(&self.title)));
        if let Some(place) = &self.place {
            let (file, line, _) = sources.place_of(place);
            let (text, caret) = line_of(sources.text(place.file), place);
            let caret = AnnotationKind::Primary.span(caret).label(printable(&self.label));
            group = group.element(Snippet::source(text).line_start(line).path(printable(file)).annotation(caret));
        }
        if !self.help.is_empty() {
            group = group.element(Level::HELP.message(printable(&self.help)));
        }
        group
    }
}

/// The first line of a place, and the caret's range in it.
fn line_of(text: &str, place: &Place) -> (String, Range<usize>) {
    let start = boundary(text, place.start as usize);
    let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
    let line_end = line_start + text[line_start..line_end].trim_end_matches('\r').len();
    let start = start.min(line_end);
    let end = boundary(text, place.end as usize).clamp(start, line_end);
    // The renderer does not know every character that a terminal obeys; what stands for one may be longer.
    let shown = |range: Range<usize>| harmless(&text[range]);
    let (before, at, after) = (shown(line_start..start), shown(start..end), shown(end..line_end));
    let caret = before.len()..before.len() + at.len();
    (before + &at + &after, caret)
}

/// The start of the character that a byte offset is in; the end of the text for any offset beyond.
fn boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// A message may quote the input: cut, in one line, and such that no input can garble a terminal.
fn printable(message: &str) -> String {
    const LONGEST: usize = 300;
    let mut out = harmless(&message.chars().take(LONGEST).collect::<String>()).replace('\n', "\u{fffd}");
    if message.chars().nth(LONGEST).is_some() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harmless::is_harmless;
    use proptest::prelude::*;

    fn shown(text: &str, span: Range<usize>) -> String {
        let mut sources = Sources::default();
        let file = sources.add("disk.toml", text);
        let problem = Problem::at(place(file, span), "unknown unit").label("expected ms").help("write ms");
        Problems::from(problem).render(&sources, false)
    }

    #[test]
    fn a_problem_shows_file_line_column_caret_and_help() {
        let text = "model = \"disk\"\nseek = \"18 mss\"\n";
        assert_eq!(
            shown(text, 22..30),
            "error: unknown unit
 --> disk.toml:2:8
  |
2 | seek = \"18 mss\"
  |        ^^^^^^^^ expected ms
  |
  = help: write ms
"
        );
    }

    #[test]
    fn nothing_in_a_text_or_a_message_steers_a_terminal() {
        let hostile = "a\u{1b}[2J\u{9b}31m\u{8}\r\u{202e}\u{2066}\u{2028}\u{7f}\u{feff}b";
        let mut sources = Sources::default();
        let file = sources.add(hostile, format!("{hostile} = {hostile}\n"));
        let problem = Problem::at(place(file, 3..9), hostile).label(hostile).help(hostile);
        let out = Problems::from(problem).render(&sources, false);
        assert!(out.chars().all(is_harmless), "{out:?}");
    }

    #[test]
    fn a_problem_without_a_place_is_its_title_and_help() {
        let out = Problems::from(Problem::nowhere("no file").help("look")).render(&Sources::default(), false);
        assert!(out.contains("error: no file") && out.contains("help: look"), "{out}");
    }

    #[test]
    fn a_very_long_line_is_cut_around_the_caret_and_keeps_its_column() {
        let out = shown(&"x".repeat(900_000), 500_000..500_004);
        assert!(out.contains("disk.toml:1:500001") && out.len() < 1_000, "{out}");
    }

    #[test]
    fn colours_are_only_there_when_asked_for() {
        let problems = Problems::from(Problem::nowhere("no file"));
        assert!(problems.render(&Sources::default(), true).contains('\u{1b}'));
        assert!(!problems.render(&Sources::default(), false).contains('\u{1b}'));
    }

    proptest! {
        #[test]
        fn any_place_in_any_text_renders_small(text in "(\\PC|(?s).){0,3000}", start in 0usize..3000, len in 0usize..3000) {
            let out = shown(&text, start..start + len);
            prop_assert!(out.len() < 4_000, "{}: {}", out.len(), out);
        }
    }
}
