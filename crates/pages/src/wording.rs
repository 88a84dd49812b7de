//! Figures in words, as every page writes them.

use hopscope_files::quantity;
use hopscope_kernel::Time;
use hopscope_questions::trials::Shift;
use serde_json::Value;

/// Four digits that say something.
pub fn digits(value: f64) -> String {
    minus(quantity::digits(value))
}

/// As many digits as a label on an axis needs.
pub fn tick(value: f64) -> String {
    let rounded = (value * 1e6).round() / 1e6;
    minus(format!("{}", if rounded == 0.0 { 0.0 } else { rounded }))
}

/// A share in percent.
pub fn percent(share: f64) -> String {
    minus(format!("{:.1} %", 100.0 * share))
}

/// A deviation in percent, with its sign.
pub fn signed_percent(share: f64) -> String {
    let percent = (1_000.0 * share).round() / 10.0;
    if percent == 0.0 { "0.0 %".into() } else { minus(format!("{percent:+.1} %")) }
}

/// A gain, with its interval where that is wide.
pub fn gained(shift: Shift) -> String {
    minus(shift.words())
}

/// A sign as typesetters have it.
fn minus(text: String) -> String {
    text.replace('-', "\u{2212}")
}

/// Bytes per second, in powers of 1000.
pub fn rate(bytes_per_second: f64) -> String {
    match bytes_per_second {
        rate if rate >= 1e10 => format!("{} GB/s", digits(rate / 1e9)),
        rate if rate >= 1e5 => format!("{} MB/s", digits(rate / 1e6)),
        0.0 => "0 MB/s".to_string(),
        rate => format!("{} kB/s", digits(rate / 1e3)),
    }
}

/// Picoseconds, with the unit that suits them.
pub fn span_ps(ps: f64) -> String {
    match ps {
        ps if ps >= 1e12 => format!("{} s", digits(ps / 1e12)),
        ps if ps >= 1e9 => format!("{} ms", digits(ps / 1e9)),
        ps if ps >= 1e6 => format!("{} µs", digits(ps / 1e6)),
        ps => format!("{} ns", digits(ps / 1e3)),
    }
}

/// The unit in which a span of picoseconds has two or more: how many it has, and its name.
pub fn unit_of(ps: f64) -> (f64, &'static str) {
    let units = [(1e12, "s"), (1e9, "ms"), (1e6, "µs"), (1e3, "ns")];
    units.into_iter().find(|(unit, _)| ps >= 2.0 * unit).unwrap_or((1e3, "ns"))
}

/// A span, with the unit that suits it.
pub fn span(time: Time) -> String {
    span_ps(time.as_ps() as f64)
}

/// A part of a whole.
pub fn share(part: Time, whole: Time) -> f64 {
    part.as_ps() as f64 / whole.as_ps().max(1) as f64
}

/// A value of a key as readers see it.
pub fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// What stands behind the last folder of a path.
pub fn file_name(path: &str) -> String {
    path.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or(path).to_string()
}

/// Words with their first letter large.
pub fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// An identifier: letters, digits and hyphens only.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for letter in text.chars().flat_map(char::to_lowercase) {
        match letter {
            letter if letter.is_ascii_alphanumeric() => slug.push(letter),
            _ if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
            _ => {}
        }
    }
    slug.trim_end_matches('-').to_string()
}

/// How much wider a bold letter is.
pub const BOLD: f64 = 1.12;

/// Width of a letter in parts of 2048 of its font's size, as DejaVu Sans has it: the widest of the fonts that pages ask
/// for.
fn letter(letter: char) -> u32 {
    match letter {
        'i' | 'j' | 'l' => 569,
        'I' | 'J' => 604,
        ' ' | '.' | ',' | '\'' => 651,
        '/' | ':' | ';' | '|' => 690,
        'f' | '-' => 730,
        't' | '(' | ')' | '[' | ']' => 803,
        'r' => 842,
        '*' | '_' => 1024,
        '"' | '!' => 942,
        's' | 'z' | '?' => 1087,
        'c' | 'L' => 1140,
        'k' | 'F' => 1186,
        'v' | 'x' | 'y' => 1212,
        'a' | 'e' | 'o' | 'T' | 'Y' | 'P' => 1260,
        'b' | 'd' | 'g' | 'h' | 'n' | 'p' | 'q' | 'u' | 'µ' | 'E' | 'S' | '0'..='9' => 1303,
        'A' | 'B' | 'C' | 'K' | 'R' | 'V' | 'X' | 'Z' => 1430,
        'D' | 'G' | 'H' | 'N' | 'O' | 'Q' | 'U' => 1612,
        '&' => 1597,
        'w' | '+' | '=' | '\u{2212}' | '×' | '~' | '<' | '>' | '#' | '^' => 1716,
        'm' | 'M' | 'W' | '%' | '…' | '@' => 2048,
        _ => 1303,
    }
}

/// Room for this text in a figure, in pixels.
pub fn width_px(text: &str, font_px: f64) -> f64 {
    font_px * text.chars().map(letter).sum::<u32>() as f64 / 2048.0
}

/// The same in bold letters.
pub fn bold_px(text: &str, font_px: f64) -> f64 {
    BOLD * width_px(text, font_px)
}

/// The text, or as much of it as there is room for.
pub fn fitting(text: &str, font_px: f64, room_px: f64) -> String {
    if width_px(text, font_px) <= room_px {
        return text.to_string();
    }
    let mut kept = text.to_string();
    while kept.pop().is_some() && width_px(kept.trim_end(), font_px) + width_px("…", font_px) > room_px {}
    format!("{}…", kept.trim_end())
}

/// The text in so many lines at most, broken behind blanks, dots and hyphens where there are any; what there is no room
/// for is cut at the end of the last line.
pub fn lines(text: &str, font_px: f64, room_px: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in text.split_inclusive([' ', '.', '-']) {
        let is_full = |line: &String| width_px(line, font_px) + width_px(piece.trim_end(), font_px) > room_px;
        if lines.is_empty() || lines.len() < most && lines.last().is_some_and(is_full) {
            lines.push(String::new());
        }
        lines.iter_mut().last().into_iter().for_each(|line| line.push_str(piece));
    }
    lines.iter().map(|line| fitting(line.trim_end(), font_px, room_px)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_four_digits_a_typesetters_minus_and_the_unit_that_suits_them() {
        assert_eq!((digits(21.884), digits(-0.27)), ("21.88".into(), "\u{2212}0.270".into()));
        assert_eq!((signed_percent(0.0312), signed_percent(-0.0004)), ("+3.1 %".into(), "0.0 %".into()));
        assert_eq!((rate(133.3e6), span(Time::ns(2_925))), ("133.3 MB/s".into(), "2.925 µs".into()));
        assert_eq!((tick(-0.0), tick(0.1 + 0.2)), ("0".into(), "0.3".into()));
    }

    #[test]
    fn a_slug_is_an_identifier_and_a_long_text_is_cut_where_its_room_ends() {
        assert_eq!(slug("PCI <script> (32 bits)"), "pci-script-32-bits");
        assert_eq!(slug("--"), "");
        assert_eq!(fitting("memory latency", 10.0, 60.0), "memory l…");
        assert!(width_px("memory l…", 10.0) <= 60.0 && width_px("memory la…", 10.0) > 60.0);
        assert_eq!(fitting("memory", 10.0, 60.0), "memory");
    }

    #[test]
    fn a_text_goes_on_in_the_next_line_and_loses_nothing_while_there_is_room() {
        let broken = |text: &str, most: usize| lines(text, 10.0, 100.0, most).join("|");
        assert_eq!(broken("no command; meanwhile client", 3), "no command;|meanwhile client");
        assert_eq!(broken("drive0.channel3.die2", 3), "drive0.channel3.|die2");
        assert_eq!(broken("short", 2), "short");
        assert!(broken("a text of many words that goes on for long", 2).ends_with('…'));
        assert_eq!(lines("", 10.0, 80.0, 2), Vec::<String>::new());
    }
}
