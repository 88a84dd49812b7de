//! The picture in the documents is what a run draws today.

use std::path::Path;

const DRAW: &str = "cargo run --release -p hopscope-pages --example bridge_loss > docs/bridge-loss.svg";

fn shown() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bridge-loss.svg");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_picture_of_the_write_cycle_is_what_a_run_draws() {
    assert!(shown() == hopscope_pages::bridge_loss::bridge_loss(), "draw it again: {DRAW}");
}

#[test]
fn the_picture_says_in_words_what_it_shows_and_carries_no_script() {
    let svg = shown();
    for part in ["<title id=", "<desc id=", "prefers-color-scheme: dark", "aria-labelledby="] {
        assert!(svg.contains(part), "{part}");
    }
    for part in ["<script", "href", "onload", "@import", "http-equiv"] {
        assert!(!svg.contains(part), "{part}");
    }
}
