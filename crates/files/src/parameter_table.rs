//! Tables of numbers in TOML, each with its unit and its basis: what part files and system files share.

use std::ops::Range;
use std::sync::Arc;

use hopscope_parts::nearest::did_you_mean;
use hopscope_parts::parameters::{Basis, Entry, Parameters, Place, Value};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::problem::{Problem, Problems, place};
use crate::quantity;

const BASIS: &str = "basis";
/// What a basis can be.
pub(crate) const BASIS_WORDS: &[&str] = &["source", "measured", "fitted", "assumed"];
/// What a number that is written with its basis has.
pub(crate) const QUANTITY_KEYS: &[&str] = &["value", "range", "source", "measured", "fitted", "assumed"];
/// Of a text, bytes.
pub(crate) const LONGEST_TEXT: usize = 1_000;
const MOST_ENTRIES: usize = 10_000;
/// Texts of one list, at most.
const LONGEST_LIST: usize = 100;

/// Reads the tables of one file, and collects all that is wrong with them.
pub(crate) struct TableReader {
    file: u32,
    entries: usize,
    /// What is wrong so far.
    pub(crate) problems: Vec<Problem>,
}

/// A file as a TOML table, or where it is not TOML.
pub(crate) fn document(file: u32, text: &str) -> Result<Spanned<DeTable<'_>>, Problems> {
    DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let at = place(file, span.clone());
        let problem = if error.message() == "duplicate key" {
            let name = text.get(span).unwrap_or_default();
            Problem::at(at, format!("`{name}` is there twice"))
                .label("the second one")
                .help("every part, and every key of a table, has a name of its own: rename one of them or remove it")
        } else {
            Problem::at(at, "this is not TOML").label(error.message())
        };
        Problems::from(problem)
    })
}

impl TableReader {
    pub(crate) fn new(file: u32) -> Self {
        TableReader { file, entries: 0, problems: Vec::new() }
    }

    /// `value` if nothing was wrong.
    pub(crate) fn finish<T>(self, value: T) -> Result<T, Problems> {
        Problems(self.problems).unless_empty(value)
    }

    pub(crate) fn place(&self, span: Range<usize>) -> Place {
        place(self.file, span)
    }

    /// Notes what is wrong at a span; the caller adds label and help.
    pub(crate) fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// A text that has to be there.
    pub(crate) fn required_text(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
        at: Place,
        example: &str,
    ) -> (String, Place) {
        let found = self.optional_text(table, key);
        if found.is_none() && !table.contains_key(key) {
            self.problem(Problem::at(at, format!("`{key}` is missing")).help(format!("write {key} = \"{example}\"")));
        }
        found.unwrap_or((String::new(), at))
    }

    /// A text that may be there.
    pub(crate) fn optional_text(&mut self, table: &DeTable<'_>, key: &str) -> Option<(String, Place)> {
        table.get(key).and_then(|value| self.text(key, value))
    }

    /// A text that is neither empty nor endless.
    pub(crate) fn text(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<(String, Place)> {
        let at = self.place(value.span());
        let problem = match value.get_ref().as_str() {
            None => Problem::at(at, format!("`{key}` is not a text")).label("expected a text in quotes"),
            Some(text) if text.trim().is_empty() => {
                Problem::at(at, format!("`{key}` is empty")).label("expected a text")
            }
            Some(text) if text.len() > LONGEST_TEXT => {
                Problem::at(at, format!("`{key}` is too long")).label(format!("expected at most {LONGEST_TEXT} bytes"))
            }
            Some(text) => return Some((text.to_string(), at)),
        };
        self.problem(problem);
        None
    }

    /// The texts of a list that may be there.
    pub(crate) fn texts(&mut self, table: &DeTable<'_>, key: &str) -> Vec<(String, Place)> {
        let Some(value) = table.get(key) else { return Vec::new() };
        match value.get_ref() {
            DeValue::Array(list) if list.len() <= LONGEST_LIST => {
                list.iter().filter_map(|text| self.text(key, text)).collect()
            }
            _ => {
                let problem = Problem::at(self.place(value.span()), format!("`{key}` is no list that can be"));
                self.problem(problem.label(format!("expected at most {LONGEST_LIST} texts: [\"…\", \"…\"]")));
                Vec::new()
            }
        }
    }

    /// All numbers of a table and its sub tables, except the keys in `aside`, which the caller reads.
    pub(crate) fn parameters(
        &mut self,
        table: &DeTable<'_>,
        aside: &[&str],
        at: Place,
        inherited: Option<&Basis>,
    ) -> Parameters {
        let mut parameters = Parameters::new(at);
        self.collect(table, aside, "", inherited, &mut parameters);
        parameters
    }

    fn collect(
        &mut self,
        table: &DeTable<'_>,
        aside: &[&str],
        prefix: &str,
        inherited: Option<&Basis>,
        out: &mut Parameters,
    ) {
        let own = table.get(BASIS).and_then(|basis| self.table_basis(basis));
        let basis = own.as_ref().or(inherited);
        for (name, value) in table.iter().filter(|(name, _)| *name.get_ref() != BASIS) {
            if aside.contains(&name.get_ref().as_ref()) {
                continue;
            }
            let (name_span, value_span) = (name.span(), value.span());
            // The span of a table under a [header] is the header.
            let end = if value_span.start > name_span.start { value_span.end } else { name_span.end };
            let at = self.place(name_span.start..end);
            if !is_key(name.get_ref()) {
                let problem = Problem::at(self.place(name.span()), "a key has a character that keys do not have");
                self.problem(problem.label("expected small letters, digits, `_` and `-`"));
                continue;
            }
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                if self.entries == MOST_ENTRIES + 1 {
                    self.problem(Problem::at(at, format!("there are more than {MOST_ENTRIES} numbers in this file")));
                }
                return;
            }
            let key = format!("{prefix}{}", name.get_ref());
            match value.get_ref() {
                DeValue::Table(sub) if !QUANTITY_KEYS.iter().any(|word| sub.contains_key(*word)) => {
                    self.collect(sub, &[], &format!("{key}."), basis, out);
                }
                _ => {
                    if let Some(entry) = self.entry(&key, value, basis, at) {
                        Arc::make_mut(&mut out.entries).insert(key, entry);
                    }
                }
            }
        }
    }

    fn entry(&mut self, key: &str, value: &Spanned<DeValue<'_>>, basis: Option<&Basis>, at: Place) -> Option<Entry> {
        let (value, own_basis, range) = match value.get_ref() {
            DeValue::Table(table) => {
                let Some(value) = table.get("value") else {
                    let problem = Problem::at(at, format!("`{key}` has no `value`"));
                    self.problem(problem.help("write { value = \"18 ms\", source = \"…\" }"));
                    return None;
                };
                self.refuse_unknown(table, QUANTITY_KEYS);
                (value, self.one_basis(table), table.get("range"))
            }
            _ => (value, None, None),
        };
        let basis = own_basis.as_ref().or(basis);
        let (quantity, written) = self.value(key, value, basis)?;
        let basis = match (basis, &quantity) {
            (Some(basis), _) => basis.clone(),
            (None, Value::Text(_) | Value::Rows(_)) => Basis::Source("as written".to_string()),
            (None, _) => {
                let problem = Problem::at(at, format!("`{key}` has no basis")).label("why is it this number?");
                self.problem(problem.help(format!(
                    "write {{ value = \"{written}\", source = \"where it is written\" }} (or measured, fitted or assumed), \
                     or give the whole table a basis = {{ source = \"…\" }}"
                )));
                return None;
            }
        };
        let range = match range {
            Some(range) => self.range(key, &quantity, range)?,
            None => Vec::new(),
        };
        Some(Entry { value: quantity, basis, written, range, place: at })
    }

    fn value(&mut self, key: &str, value: &Spanned<DeValue<'_>>, basis: Option<&Basis>) -> Option<(Value, String)> {
        let at = self.place(value.span());
        let problem = match value.get_ref() {
            DeValue::String(_) => return self.quantity(key, value),
            DeValue::Boolean(choice) => return Some((Value::Text(choice.to_string()), choice.to_string())),
            DeValue::Array(rows) => return self.rows(key, rows, basis, at),
            DeValue::Integer(number) => unit_missing(at, key, number.as_str()),
            DeValue::Float(number) => unit_missing(at, key, number.as_str()),
            other => Problem::at(at, format!("`{key}` is a {}", other.type_str()))
                .label("expected a quantity in quotes, such as \"18 ms\""),
        };
        self.problem(problem);
        None
    }

    fn quantity(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<(Value, String)> {
        let (written, at) = self.text(key, value)?;
        match quantity::parse(&written) {
            Ok(quantity) => Some((quantity, written)),
            Err(expected) => {
                self.problem(Problem::at(at, format!("`{key}` cannot be read as a quantity")).label(expected));
                None
            }
        }
    }

    fn rows(&mut self, key: &str, rows: &DeArray<'_>, basis: Option<&Basis>, at: Place) -> Option<(Value, String)> {
        let mut read = Vec::new();
        for row in rows.iter() {
            let at = self.place(row.span());
            let Some(table) = row.get_ref().as_table() else {
                let problem = Problem::at(at, format!("a row of `{key}` is not a table"));
                self.problem(problem.label("expected a row such as { cylinders = \"3000 cylinders\" }"));
                return None;
            };
            read.push(self.parameters(table, &[], at, basis));
        }
        if read.is_empty() {
            self.problem(Problem::at(at, format!("`{key}` has no rows")).label("expected a list of { … } rows"));
            return None;
        }
        let written = format!("{} rows", read.len());
        Some((Value::Rows(read), written))
    }

    fn range(&mut self, key: &str, value: &Value, range: &Spanned<DeValue<'_>>) -> Option<Vec<Value>> {
        let at = self.place(range.span());
        let bounds: Vec<&Spanned<DeValue<'_>>> =
            range.get_ref().as_array().map(|a| a.iter().collect()).unwrap_or_default();
        if let Value::Text(chosen) = value {
            return self.choices(key, chosen, &bounds, at);
        }
        let [low, high] = bounds[..] else {
            let problem = Problem::at(at, format!("the range of `{key}` has not two ends"));
            self.problem(problem.label("expected [\"lowest\", \"highest\"]"));
            return None;
        };
        let (low, high) = (self.quantity(key, low)?.0, self.quantity(key, high)?.0);
        let problem = match (amount(&low), amount(value), amount(&high)) {
            _ if low.kind() != value.kind() || high.kind() != value.kind() => {
                Problem::at(at, format!("the range of `{key}` is of another kind"))
                    .label(format!("expected {}", value.kind()))
            }
            (Some(lowest), Some(amount), Some(highest)) if lowest <= amount && amount <= highest => {
                return Some(vec![low, high]);
            }
            (Some(_), ..) => {
                Problem::at(at, format!("`{key}` is outside of its range")).label("expected lowest ≤ value ≤ highest")
            }
            (None, ..) => Problem::at(at, format!("`{key}` is {} and has no range", value.kind())),
        };
        self.problem(problem);
        None
    }

    /// A choice has no ends: its range is a list of what else it could be.
    fn choices(&mut self, key: &str, chosen: &str, list: &[&Spanned<DeValue<'_>>], at: Place) -> Option<Vec<Value>> {
        let texts: Option<Vec<Value>> =
            list.iter().map(|text| Some(Value::Text(text.get_ref().as_str()?.to_string()))).collect();
        match texts.filter(|texts| texts.len() >= 2 && texts.contains(&Value::Text(chosen.to_string()))) {
            Some(texts) => Some(texts),
            None => {
                let problem = Problem::at(at, format!("`{key}` is a choice, and this is no list of choices with it"));
                self.problem(problem.label(format!("expected [\"{chosen}\", \"…\"]")));
                None
            }
        }
    }

    /// The basis that a whole table shares.
    pub(crate) fn table_basis(&mut self, basis: &Spanned<DeValue<'_>>) -> Option<Basis> {
        const HELP: &str = "write basis = { source = \"…\" }, or measured, fitted or assumed";
        let at = self.place(basis.span());
        let Some(table) = basis.get_ref().as_table() else {
            self.problem(Problem::at(at, "a basis says of which kind it is").label("expected a table").help(HELP));
            return None;
        };
        self.refuse_unknown(table, BASIS_WORDS);
        if table.is_empty() {
            self.problem(Problem::at(at, "this basis is empty").help(HELP));
        }
        self.one_basis(table)
    }

    /// The basis of a number that is written with it.
    pub(crate) fn one_basis(&mut self, table: &DeTable<'_>) -> Option<Basis> {
        let mut words: Vec<_> = table.iter().filter(|(key, _)| BASIS_WORDS.contains(&key.get_ref().as_ref())).collect();
        words.sort_by_key(|(key, _)| key.span().start);
        if let [(first, _), (second, _), ..] = words[..] {
            let title = format!("a number is either `{}` or `{}`", first.get_ref(), second.get_ref());
            self.problem(Problem::at(self.place(second.span()), title).label("the second basis"));
        }
        let (word, text) = words.first()?;
        let (text, _) = self.text(word.get_ref(), text)?;
        Some(match word.get_ref().as_ref() {
            "source" => Basis::Source(text),
            "measured" => Basis::Measured(text),
            "fitted" => Basis::Fitted(text),
            _ => Basis::Assumed(text),
        })
    }

    /// Notes every key that is not among those `known`.
    pub(crate) fn refuse_unknown(&mut self, table: &DeTable<'_>, known: &[&str]) {
        for (key, _) in table.iter().filter(|(key, _)| !known.contains(&key.get_ref().as_ref())) {
            let problem = Problem::at(self.place(key.span()), format!("unknown key `{}`", key.get_ref()));
            self.problem(problem.label(did_you_mean(key.get_ref(), known)));
        }
    }
}

/// Whether a name is one that keys and parts may have.
pub(crate) fn is_key(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'-';
    !name.is_empty() && name.len() <= 80 && name.bytes().all(allowed)
}

fn unit_missing(at: Place, key: &str, number: &str) -> Problem {
    Problem::at(at, format!("`{key}` is a number without a unit"))
        .label("a unit is missing")
        .help(format!("write \"{number} us\", \"{number} KiB\", \"{number} sectors\", … in quotes"))
}

/// What a range orders; higher is more. A frequency is kept as its period, so the shorter is the higher.
fn amount(value: &Value) -> Option<u64> {
    match value {
        Value::Time(time) => Some(time.as_ps()),
        Value::Period(period) => Some(u64::MAX - period.as_ps()),
        Value::Bytes(n) | Value::Rate(n) | Value::Clocks(n) | Value::Count(n) | Value::Share(n) => Some(*n),
        Value::Text(_) | Value::Rows(_) => None,
    }
}
