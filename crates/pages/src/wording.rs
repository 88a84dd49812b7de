//! Figures in words, as every page writes them.

use hopscope_kernel::Time;
use serde_json::Value;

/// Four digits that say something.
pub fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        value if value >= 1_000.0 => 0,
        value if value >= 100.0 => 1,
        value if value >= 10.0 => 2,
        _ => 3,
    };
    minus(format!("{value:.decimals$}"))
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

/// A sign as typesetters have it.
fn minus(text: String) -> String {
    text.replace('-', "\u{2212}")
}

/// Bytes per second, in powers of 1000.
pub fn rate(bytes_per_second: f64) -> String {
    match bytes_per_second {
        rate if rate >= 1e10 => format!("{} GB/s", digits(rate / 1e9)),
        rate if rate >= 1e5 => format!("{} MB/s", digits(rate / 1e6)),
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

/// Width of a letter on average, over the size of its font; of a sans serif, somewhat generously.
const LETTER: f64 = 0.54;

/// Room for this text in a figure, in pixels.
pub fn width_px(text: &str, font_px: f64) -> f64 {
    LETTER * font_px * text.chars().count() as f64
}

/// The text, or as much of it as there is room for.
pub fn fitting(text: &str, font_px: f64, room_px: f64) -> String {
    let letters_max = (room_px / (LETTER * font_px)) as usize;
    if text.chars().count() <= letters_max {
        return text.to_string();
    }
    let kept: String = text.chars().take(letters_max.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
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
        assert_eq!(fitting("memory latency", 10.0, 60.0), "memory lat…");
        assert_eq!(fitting("memory", 10.0, 60.0), "memory");
    }
}
