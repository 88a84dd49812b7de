//! Words and signs of DiskSim's parameter language.
//!
//! Keys are several words ("Read hit over. after read"), so whatever stands between two signs on one line is one text.
//! A `#` begins a comment.

use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Words, without the blanks around them.
    Text,
    /// One of `= , { } [ ]`.
    Sign(u8),
    /// There is no more.
    End,
}

/// A token, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Range<usize>,
}

/// All tokens of a text; the last one is its end.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut line_start = 0;
    for line in text.split_inclusive('\n') {
        let code = &line[..line.find('#').unwrap_or(line.len())];
        let mut from = 0;
        for (at, sign) in code.bytes().enumerate().filter(|(_, byte)| b"=,{}[]".contains(byte)) {
            words(code, from..at, line_start, &mut found);
            found.push(Token { kind: Kind::Sign(sign), span: line_start + at..line_start + at + 1 });
            from = at + 1;
        }
        words(code, from..code.len(), line_start, &mut found);
        line_start += line.len();
    }
    found.push(Token { kind: Kind::End, span: text.len()..text.len() });
    found
}

fn words(code: &str, range: Range<usize>, line_start: usize, found: &mut Vec<Token>) {
    let start = range.start + (code[range.clone()].len() - code[range.clone()].trim_start().len());
    let end = start + code[start..range.end].trim_end().len();
    if start < end {
        found.push(Token { kind: Kind::Text, span: line_start + start..line_start + end });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_what_stands_between_two_signs_on_one_line() {
        let text = "disk A {\n  Read hit over. after read = 0.1, # why\n  slips = [\n 1, 2]\n}";
        let shown: Vec<&str> = tokens(text).iter().map(|token| &text[token.span.clone()]).collect();
        let wanted = [
            "disk A",
            "{",
            "Read hit over. after read",
            "=",
            "0.1",
            ",",
            "slips",
            "=",
            "[",
            "1",
            ",",
            "2",
            "]",
            "}",
            "",
        ];
        assert_eq!(shown, wanted);
    }

    #[test]
    fn any_text_has_tokens_within_it() {
        for text in ["", "#", "=", "é = ö, #ü", "\r\n\t{", "a\r\nb"] {
            for token in tokens(text) {
                assert!(text.get(token.span.clone()).is_some(), "{text:?} {token:?}");
            }
        }
    }
}
