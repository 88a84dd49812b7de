//! DiskSim's parameter language: blocks of `key = value`, where a value is a word, a number, a list or a block.
//!
//! ```text
//!   dm_disk NAME { Number of data surfaces = 5, Layout Model = dm_layout_g1 { … }, slips = [ 1, 2 ] }
//!   source file
//!   instantiate [ bus0, bus1 ] as NAME
//!   topology disksim_iodriver driver0 [ disksim_bus bus0 [ … ] ]
//! ```

use std::cell::RefCell;
use std::collections::BTreeSet;

use hopscope_parts::nearest::did_you_mean;
use hopscope_parts::parameters::Place;

use super::tokens::{Kind, Token, tokens};
use crate::problem::{Problem, place};

/// Blocks within blocks, at most.
const DEEPEST: usize = 16;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    List(Vec<(Value, Place)>),
    Block(Block),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) key: String,
    pub(super) place: Place,
    pub(super) value: Value,
    pub(super) value_place: Place,
}

/// `kind name { key = value, … }`
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) fields: Vec<Field>,
    /// Keys that somebody asked for.
    asked: RefCell<BTreeSet<String>>,
}

/// What a file holds.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Block(Block),
    /// `source name`
    Source(String),
    /// `instantiate [ names ] as NAME`
    Instances {
        names: Vec<String>,
        of: String,
    },
    /// `topology kind name [ … ]`
    Topology(Part),
}

/// A part of a topology, and what hangs on it.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) below: Vec<Part>,
}

/// Reads a file.
pub(super) fn read(file: u32, text: &str) -> Result<Vec<Item>, Problem> {
    let mut reader = Reader { file, text, tokens: tokens(text), next: 0 };
    let mut items = Vec::new();
    while reader.kind() != Kind::End {
        let (words, at) = reader.words("a block such as `disksim_disk NAME { … }`")?;
        if reader.kind() == Kind::Sign(b'{') {
            items.push(Item::Block(reader.block(words, at, 0)?));
        } else if let Some(name) = words.strip_prefix("source ") {
            items.push(Item::Source(name.trim().to_string()));
        } else if words == "instantiate" {
            items.push(reader.instances()?);
        } else if let Some(root) = words.strip_prefix("topology ") {
            items.push(Item::Topology(reader.part(root, at, 0)?));
        } else {
            let problem = Problem::at(at, "this is no description of a drive");
            return Err(problem
                .label("expected a block such as `disksim_disk NAME { … }`")
                .help("name the drive's .diskspecs file, and its .model and .seek files"));
        }
    }
    Ok(items)
}

struct Reader<'a> {
    file: u32,
    text: &'a str,
    tokens: Vec<Token>,
    next: usize,
}

impl Reader<'_> {
    fn kind(&self) -> Kind {
        self.tokens[self.next].kind
    }

    fn here(&self) -> Place {
        place(self.file, self.tokens[self.next].span.clone())
    }

    /// Goes on; the end stays.
    fn advance(&mut self) {
        self.next = (self.next + 1).min(self.tokens.len() - 1);
    }

    fn words(&mut self, expected: &str) -> Result<(String, Place), Problem> {
        let at = self.here();
        if self.kind() != Kind::Text {
            return Err(self.unexpected(expected));
        }
        let words = self.text[self.tokens[self.next].span.clone()].to_string();
        self.advance();
        Ok((words, at))
    }

    fn unexpected(&self, expected: &str) -> Problem {
        let title = match self.kind() {
            Kind::End => "the file ends here".to_string(),
            Kind::Sign(sign) => format!("`{}` is out of place", char::from(sign)),
            Kind::Text => "this is out of place".to_string(),
        };
        Problem::at(self.here(), title).label(format!("expected {expected}"))
    }

    fn sign(&mut self, sign: u8) -> Result<(), Problem> {
        if self.kind() != Kind::Sign(sign) {
            return Err(self.unexpected(&format!("`{}`", char::from(sign))));
        }
        self.advance();
        Ok(())
    }

    fn instances(&mut self) -> Result<Item, Problem> {
        self.sign(b'[')?;
        let mut names = Vec::new();
        while self.kind() == Kind::Text {
            names.push(self.words("a name")?.0);
            if self.kind() == Kind::Sign(b',') {
                self.advance();
            }
        }
        self.sign(b']')?;
        let (words, at) = self.words("`as NAME`")?;
        let Some(of) = words.strip_prefix("as ") else {
            return Err(Problem::at(at, "this is out of place").label("expected `as NAME`"));
        };
        Ok(Item::Instances { names, of: of.trim().to_string() })
    }

    fn part(&mut self, words: &str, at: Place, depth: usize) -> Result<Part, Problem> {
        if depth > DEEPEST {
            return Err(Problem::at(at, "parts are within parts too often").label(format!("at most {DEEPEST}")));
        }
        let name = words.split_whitespace().last().unwrap_or_default().to_string();
        let mut below = Vec::new();
        if self.kind() == Kind::Sign(b'[') {
            self.advance();
            while self.kind() != Kind::Sign(b']') {
                let (words, at) = self.words("a part, or `]`")?;
                below.push(self.part(&words, at, depth + 1)?);
                if self.kind() == Kind::Sign(b',') {
                    self.advance();
                }
            }
            self.advance();
        }
        Ok(Part { name, below })
    }

    fn block(&mut self, words: String, place: Place, depth: usize) -> Result<Block, Problem> {
        if depth > DEEPEST {
            return Err(Problem::at(place, "blocks are within blocks too often").label(format!("at most {DEEPEST}")));
        }
        self.sign(b'{')?;
        let (kind, name) = words.split_once(char::is_whitespace).unwrap_or((&words, ""));
        let (kind, name) = (kind.to_string(), name.trim().to_string());
        let mut fields = Vec::new();
        while self.kind() != Kind::Sign(b'}') {
            let (key, place) = self.words("a key, or `}`")?;
            self.sign(b'=')?;
            let (value, value_place) = self.value(depth)?;
            fields.push(Field { key, place, value, value_place });
            if self.kind() == Kind::Sign(b',') {
                self.advance();
            } else if self.kind() != Kind::Sign(b'}') {
                return Err(self.unexpected("`,` or `}`"));
            }
        }
        self.sign(b'}')?;
        Ok(Block { kind, name, place, fields, asked: RefCell::default() })
    }

    fn value(&mut self, depth: usize) -> Result<(Value, Place), Problem> {
        let at = self.here();
        if self.kind() == Kind::Sign(b'[') {
            return Ok((self.list(depth, at)?, at));
        }
        let (words, at) = self.words("a value")?;
        if self.kind() == Kind::Sign(b'{') {
            return Ok((Value::Block(self.block(words, at, depth + 1)?), at));
        }
        Ok((Value::Text(words), at))
    }

    fn list(&mut self, depth: usize, at: Place) -> Result<Value, Problem> {
        if depth > DEEPEST {
            return Err(Problem::at(at, "lists are within lists too often").label(format!("at most {DEEPEST}")));
        }
        self.sign(b'[')?;
        let mut items = Vec::new();
        while self.kind() != Kind::Sign(b']') {
            items.push(self.value(depth + 1)?);
            if self.kind() == Kind::Sign(b',') {
                self.advance();
            } else if self.kind() != Kind::Sign(b']') {
                return Err(self.unexpected("`,` or `]`"));
            }
        }
        self.sign(b']')?;
        Ok(Value::List(items))
    }
}

impl Block {
    /// A field that may be there.
    pub(super) fn find(&self, key: &str) -> Option<&Field> {
        self.asked.borrow_mut().insert(key.to_string());
        self.fields.iter().find(|field| field.key == key)
    }

    /// A field that has to be there.
    pub(super) fn field(&self, key: &str) -> Result<&Field, Problem> {
        self.find(key).ok_or_else(|| {
            let keys: Vec<&str> = self.fields.iter().map(|field| field.key.as_str()).collect();
            let title = format!("`{}` has no `{key}`", self.kind);
            Problem::at(self.place, title).label("missing in this block").help(did_you_mean(key, &keys))
        })
    }

    /// A number times `10^decimals`, rounded; `otherwise` where it is missing.
    pub(super) fn scaled_or(&self, key: &str, decimals: u32, otherwise: i128) -> Result<i128, Problem> {
        self.find(key).map_or(Ok(otherwise), |field| field.scaled(decimals))
    }

    /// A whole number that is not negative.
    pub(super) fn count(&self, key: &str) -> Result<u64, Problem> {
        self.field(key)?.count()
    }

    /// Fields that nobody asked for.
    pub(super) fn unasked(&self) -> Vec<&Field> {
        self.fields.iter().filter(|field| !self.asked.borrow().contains(&field.key)).collect()
    }
}

impl Field {
    /// As it is written; nothing for a list or a block.
    pub(super) fn text(&self) -> &str {
        match &self.value {
            Value::Text(text) => text,
            _ => "",
        }
    }

    /// A number times `10^decimals`, rounded.
    pub(super) fn scaled(&self, decimals: u32) -> Result<i128, Problem> {
        decimal(self.text(), decimals).ok_or_else(|| {
            Problem::at(self.value_place, format!("`{}` is no number", self.key)).label("expected a number")
        })
    }

    /// A whole number that is not negative.
    pub(super) fn count(&self) -> Result<u64, Problem> {
        let number = decimal(self.text(), 0).and_then(|number| u64::try_from(number).ok());
        number.filter(|&number| number <= 1 << 48).ok_or_else(|| {
            Problem::at(self.value_place, format!("`{}` is no count", self.key)).label("expected a whole number")
        })
    }

    /// The numbers of a list, each times `10^decimals`.
    pub(super) fn numbers(&self, decimals: u32) -> Result<Vec<i128>, Problem> {
        let Value::List(items) = &self.value else {
            return Err(Problem::at(self.value_place, format!("`{}` is no list", self.key)).label("expected [ … ]"));
        };
        let number = |(value, at): &(Value, Place)| {
            let number = if let Value::Text(text) = value { decimal(text, decimals) } else { None };
            number.ok_or_else(|| Problem::at(*at, format!("`{}` has no number here", self.key)).label("no number"))
        };
        items.iter().map(number).collect()
    }

    /// The block that it is.
    pub(super) fn block(&self) -> Result<&Block, Problem> {
        match &self.value {
            Value::Block(block) => Ok(block),
            _ => Err(Problem::at(self.value_place, format!("`{}` is no block", self.key)).label("expected { … }")),
        }
    }

    /// The file that it names: `source name`.
    pub(super) fn source(&self) -> Option<&str> {
        self.text().strip_prefix("source ").map(str::trim)
    }
}

/// A decimal number times `10^decimals`, rounded half away from zero.
pub(super) fn decimal(text: &str, decimals: u32) -> Option<i128> {
    const MOST_DIGITS: usize = 20;
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.len() <= MOST_DIGITS && part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() && fraction.is_empty() || !all_digits(whole) || !all_digits(fraction) || decimals > 12 {
        return None;
    }
    let kept = &fraction[..fraction.len().min(decimals as usize)];
    let mut number: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    for at in 0..decimals as usize {
        number = number.checked_mul(10)? + i128::from(kept.as_bytes().get(at).map_or(0, |digit| digit - b'0'));
    }
    let rounds_up = fraction.as_bytes().get(decimals as usize).is_some_and(|&digit| digit >= b'5');
    number += i128::from(rounds_up);
    Some(if negative { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_exactly_and_rounded_once() {
        for (text, decimals, wanted) in [
            ("0.613070", 9, 613_070_000),
            ("-0.0150", 3, -15),
            ("1.0143968005", 9, 1_014_396_801),
            ("7200", 0, 7_200),
            (".5", 0, 1),
            ("2.", 1, 20),
        ] {
            assert_eq!(decimal(text, decimals), Some(wanted), "{text}");
        }
        for wrong in ["", ".", "-", "1e3", "ten", "0x1", "1.2.3", "999999999999999999999999"] {
            assert_eq!(decimal(wrong, 3), None, "{wrong}");
        }
    }

    #[test]
    fn a_file_that_is_something_else_says_where() {
        for (text, part) in [
            ("nothing [ disk0 ] as A", "no description of a drive"),
            ("dm_disk A {\n a = 1\n b = 2 }", "out of place"),
            ("dm_disk A { a = }", "out of place"),
            ("dm_disk A { a = [ 1, 2", "ends here"),
            ("dm_disk A {", "ends here"),
            ("= 1", "out of place"),
        ] {
            let problem = read(0, text).expect_err(text);
            assert!(problem.title.contains(part) && problem.place.is_some(), "{text}: {problem:?}");
        }
        let deep = format!("dm_disk A {{ a = {}", "x { a = ".repeat(1_000));
        assert!(read(0, &deep).expect_err("deep").title.contains("too often"));
    }
}
