//! The colours: one list, for pages and for single figures, by day and by night.
//!
//! Colour is never the only carrier: classes are also told apart by pattern, curves by dashes, bases by shape.

/// Name, on light ground, on dark ground.
const COLOURS: &[(&str, &str, &str)] = &[
    ("ground", "#ffffff", "#0d1117"),
    ("raised", "#f6f8fa", "#161b22"),
    ("ink", "#1f2328", "#e6edf3"),
    ("soft", "#59636e", "#9da7b1"),
    ("rule", "#d0d7de", "#30363d"),
    ("faint", "#e6eaef", "#21262d"),
    ("accent", "#0b62a8", "#6cb4f5"),
    ("in", "#10151b", "#f3f6f9"),
    ("payload-fill", "#9ec9f0", "#1d4f7c"),
    ("payload-line", "#1f6fb2", "#6cb4f5"),
    ("width-fill", "#dccdf2", "#43306b"),
    ("width-line", "#7450ab", "#b794f0"),
    ("protocol-fill", "#f3d9a4", "#5c4413"),
    ("protocol-line", "#a8761a", "#d9a441"),
    ("waiting-fill", "#f6c6c2", "#6e221c"),
    ("waiting-line", "#b8342a", "#f0837a"),
    ("nothing-fill", "#eef1f4", "#1a2028"),
    ("nothing-line", "#98a1ab", "#5c6670"),
    ("curve-0", "#0b62a8", "#6cb4f5"),
    ("curve-1", "#b84a00", "#f2944d"),
    ("curve-2", "#0a7458", "#45c79d"),
    ("curve-3", "#7450ab", "#b794f0"),
    ("curve-4", "#8a6100", "#dcb04a"),
    ("curve-5", "#ad2a67", "#ff86b8"),
    ("hop-0", "#b9d7f3", "#1c486f"),
    ("hop-1", "#f7d0ae", "#66390f"),
    ("hop-2", "#b4e2d1", "#0e4c3c"),
    ("hop-3", "#dccdf2", "#43306b"),
    ("hop-4", "#ebdda6", "#4f3f0c"),
    ("hop-5", "#f4c4d8", "#651b40"),
    ("good-fill", "#e2f4e6", "#12301a"),
    ("better-fill", "#a6dcb2", "#1f5a31"),
    ("good-ink", "#1a6330", "#7bd690"),
    ("fair-fill", "#fcf0cd", "#382c0a"),
    ("fair-ink", "#6f4e00", "#e8bd4f"),
    ("poor-fill", "#fbe2df", "#43191a"),
    ("poor-ink", "#9c241b", "#ff958c"),
];

/// Curves that have a colour of their own; more begin again.
pub const CURVES: usize = 6;

const FIGURE: &str = include_str!("../templates/figure.css");

/// The style of figures within a page, where the colours are variables.
pub fn figure_style() -> &'static str {
    FIGURE
}

/// The colours as variables: light, dark where the reader prefers it, and light again on paper.
pub fn variables() -> String {
    let list = |dark: bool| -> String {
        COLOURS.iter().map(|(name, light, night)| format!("--{name}:{};", if dark { night } else { light })).collect()
    };
    format!(
        ":root{{color-scheme:light dark;{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n",
        light = list(false),
        dark = list(true)
    )
}

/// The style of a figure alone: programs that draw SVG for print know no variables.
pub fn standalone_style() -> String {
    let with = |dark: bool| {
        COLOURS.iter().fold(FIGURE.to_string(), |style, (name, light, night)| {
            style.replace(&format!("var(--{name})"), if dark { night } else { light })
        })
    };
    format!("{}@media (prefers-color-scheme: dark) {{\n{}}}\n", with(false), with(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn colour(name: &str, dark: bool) -> [f64; 3] {
        let (_, light, night) = COLOURS.iter().find(|(known, ..)| *known == name).unwrap_or_else(|| panic!("{name}"));
        let text = if dark { night } else { light };
        [1, 3, 5].map(|at| f64::from(u8::from_str_radix(&text[at..at + 2], 16).unwrap()) / 255.0)
    }

    /// Relative luminance, WCAG 2.2.
    fn luminance(colour: [f64; 3]) -> f64 {
        let linear = colour.map(|of| if of <= 0.04045 { of / 12.92 } else { ((of + 0.055) / 1.055).powf(2.4) });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    fn contrast(one: &str, other: &str, dark: bool) -> f64 {
        let mut both = [one, other].map(|name| luminance(colour(name, dark)));
        both.sort_by(f64::total_cmp);
        (both[1] + 0.05) / (both[0] + 0.05)
    }

    #[test]
    fn text_can_be_read_on_whatever_it_stands_on_by_day_and_by_night() {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for text in ["ink", "soft", "accent"] {
            pairs.extend(["ground", "raised"].map(|ground| (text.to_string(), ground.to_string())));
        }
        for fill in ["payload", "width", "protocol", "waiting", "nothing", "better"] {
            pairs.push(("in".into(), format!("{fill}-fill")));
        }
        pairs.extend((0..CURVES).map(|number| ("in".into(), format!("hop-{number}"))));
        pairs.extend(["good", "fair", "poor"].map(|tone| (format!("{tone}-ink"), format!("{tone}-fill"))));
        pairs.push(("waiting-line".into(), "ground".into()));
        for (text, ground) in &pairs {
            for dark in [false, true] {
                let found = contrast(text, ground, dark);
                // Success criterion 1.4.3, level AA.
                assert!(found >= 4.5, "{text} on {ground}, dark: {dark}: {found:.2}");
            }
        }
        // Lines that carry meaning: 1.4.11.
        for number in 0..CURVES {
            for dark in [false, true] {
                let found = contrast(&format!("curve-{number}"), "ground", dark);
                assert!(found >= 3.0, "curve {number}, dark: {dark}: {found:.2}");
            }
        }
    }
}
