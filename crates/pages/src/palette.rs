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
