//! What may be shown. Names and titles come from files of others: what would garble a terminal, or make a text look
//! like another one, is shown as a replacement character.

/// What stands for a character that is not shown.
pub const INSTEAD: char = '\u{fffd}';

/// Whether a character is text: no control character but tab and the end of a line, none that changes the direction of
/// what stands around it (Unicode 15, table 23-3), no other end of a line, nothing that is never a character.
pub fn is_harmless(letter: char) -> bool {
    match letter {
        '\t' | '\n' => true,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => false,
        '\u{fdd0}'..='\u{fdef}' => false,
        letter => !letter.is_control(),
    }
}

/// The text as it may be shown.
pub fn harmless(text: &str) -> String {
    text.chars().map(|letter| if is_harmless(letter) { letter } else { INSTEAD }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_and_what_steers_a_terminal_or_the_direction_of_writing_goes() {
        let text = "90 % of 4 µs –\t„größer“\nאב 目";
        assert_eq!(harmless(text), text);
        for hostile in ["\u{1b}[2J", "\u{9b}31m", "a\rb", "a\u{8}b", "\u{202e}gnp", "\u{2066}", "\u{2028}", "\u{7f}"] {
            let shown = harmless(hostile);
            assert!(shown.contains(INSTEAD) && shown.chars().all(is_harmless), "{hostile:?}: {shown:?}");
        }
    }
}
