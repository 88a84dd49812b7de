//! The numbers a part is built from, after a file was read and before a `Spec` exists.
//!
//! A part's `Spec::read` pulls every number that it declares, by name, in the kind of quantity that it declares.
//! What was not pulled is an unknown key; what is not there is a missing one. No default exists:
//! a number that is nowhere in the data cannot be in a result.

pub mod declarations;
pub mod declared;
mod unknown;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hopscope_kernel::Time;

use self::declarations::Declares;
use self::declared::Declared;
pub use self::unknown::Unknown;

/// A quantity with its unit resolved. Counts keep no unit: the key names what is counted.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A span of time, picoseconds.
    Time(Time),
    /// A frequency, as its period in picoseconds, rounded once (error below 10^-5).
    Period(Time),
    /// An amount of data, bytes.
    Bytes(u64),
    /// A data rate, bytes per second.
    Rate(u64),
    /// Cycles of the clock of the bus or part the key belongs to.
    Clocks(u64),
    /// A number of things, named by the unit word in the file ("8 heads").
    Count(u64),
    /// A share, in parts per million ("12.5 %" is 125,000).
    Share(u64),
    /// A name, an address, a choice.
    Text(String),
    /// A table: one set of parameters a row.
    Rows(Vec<Parameters>),
}

/// What kind of quantity a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// [`Value::Time`]
    Time,
    /// [`Value::Period`]
    Period,
    /// [`Value::Bytes`]
    Bytes,
    /// [`Value::Rate`]
    Rate,
    /// [`Value::Clocks`]
    Clocks,
    /// [`Value::Count`]
    Count,
    /// [`Value::Share`]
    Share,
    /// [`Value::Text`]
    Text,
    /// [`Value::Rows`]
    Rows,
}

impl Quantity {
    /// In the words an error message uses.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Time => "a time",
            Quantity::Period => "a frequency",
            Quantity::Bytes => "an amount of data",
            Quantity::Rate => "a data rate",
            Quantity::Clocks => "a number of clocks",
            Quantity::Count => "a count",
            Quantity::Share => "a share",
            Quantity::Text => "a text",
            Quantity::Rows => "a table",
        }
    }

    /// The same, with how it is written.
    fn expected(self) -> &'static str {
        match self {
            Quantity::Time => "a time with its unit, such as \"1.5 us\"",
            Quantity::Period => "a frequency with its unit, such as \"33 MHz\" or \"5400 rpm\"",
            Quantity::Bytes => "an amount of data with its unit, such as \"64 KiB\"",
            Quantity::Rate => "a data rate with its unit, such as \"33.3 MB/s\"",
            Quantity::Clocks => "a number of clocks, such as \"13 clocks\"",
            Quantity::Count => "a count with what is counted, such as \"8 heads\"",
            Quantity::Share => "a share, such as \"10 %\"",
            Quantity::Text => "a text",
            Quantity::Rows => "a table: a list of { … } rows",
        }
    }
}

impl Value {
    /// What kind of quantity this is.
    pub fn quantity(&self) -> Quantity {
        match self {
            Value::Time(_) => Quantity::Time,
            Value::Period(_) => Quantity::Period,
            Value::Bytes(_) => Quantity::Bytes,
            Value::Rate(_) => Quantity::Rate,
            Value::Clocks(_) => Quantity::Clocks,
            Value::Count(_) => Quantity::Count,
            Value::Share(_) => Quantity::Share,
            Value::Text(_) => Quantity::Text,
            Value::Rows(_) => Quantity::Rows,
        }
    }

    /// How much it is, in the unit of its kind; nothing for what is no number.
    pub fn amount(&self) -> Option<u64> {
        match self {
            Value::Time(time) | Value::Period(time) => Some(time.as_ps()),
            Value::Bytes(amount)
            | Value::Rate(amount)
            | Value::Clocks(amount)
            | Value::Count(amount)
            | Value::Share(amount) => Some(*amount),
            Value::Text(_) | Value::Rows(_) => None,
        }
    }

    /// The same, in the words an error message uses.
    pub fn kind(&self) -> &'static str {
        self.quantity().name()
    }
}

/// Why a number is what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Basis {
    /// A document says so: which, and where in it.
    Source(String),
    /// An observation that is a cause, not a result: of what.
    Measured(String),
    /// Chosen so that a study's results fit: which study, and to what.
    Fitted(String),
    /// Taken because nothing better is known: why it is plausible.
    Assumed(String),
}

impl Basis {
    /// `source`, `measured`, `fitted` or `assumed`.
    pub fn word(&self) -> &'static str {
        match self {
            Basis::Source(_) => "source",
            Basis::Measured(_) => "measured",
            Basis::Fitted(_) => "fitted",
            Basis::Assumed(_) => "assumed",
        }
    }

    /// The document, observation, study or reason.
    pub fn text(&self) -> &str {
        match self {
            Basis::Source(t) | Basis::Measured(t) | Basis::Fitted(t) | Basis::Assumed(t) => t,
        }
    }
}

/// Where something was written: a file by its number in the reader's list, and a byte range in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Number of the file in the list of the reader that made it.
    pub file: u32,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// One number, why it is what it is, and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The quantity, resolved.
    pub value: Value,
    /// Why it is what it is.
    pub basis: Basis,
    /// The text in the file, for reports.
    pub written: String,
    /// Plausible range as written (`range = ["1 us", "50 us"]`), for fitted numbers; empty elsewhere.
    pub range: Vec<Value>,
    /// Where.
    pub place: Place,
}

/// All numbers of one part, by dotted key (`seek.full_stroke`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    /// The numbers. Copies share them until one is changed.
    pub entries: Arc<BTreeMap<String, Entry>>,
    /// Where the part (or the row) was written, for errors about what is missing.
    pub place: Place,
    /// What a `Spec` has pulled so far.
    pulled: Pulled,
    /// Who wants to know what is pulled, and as what.
    asked: Option<Asked>,
    /// Before every key: the table that is being read.
    table: String,
}

/// What was pulled from these parameters, and not from copies of them; nothing where nobody will ask.
#[derive(Debug)]
struct Pulled(Option<Asked>);

impl Default for Pulled {
    fn default() -> Self {
        Pulled(Some(Asked::default()))
    }
}

impl Clone for Pulled {
    fn clone(&self) -> Self {
        Pulled::default()
    }
}

impl PartialEq for Pulled {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Something that was pulled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// `key`, or `key[row].column`.
    pub path: String,
    /// What is declared of it.
    pub declared: Declared,
}

/// What a `Spec` pulls from parameters and from the rows of their tables, in the kind of quantity that it needs.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    list: Arc<Mutex<Vec<Note>>>,
    /// Before every key: the row of a table.
    row: String,
}

impl Asked {
    /// What was pulled, in order.
    pub fn list(&self) -> Vec<Note> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, key: &str, declared: Declared) {
        let path = format!("{}{key}", self.row);
        self.list.lock().unwrap_or_else(PoisonError::into_inner).push(Note { path, declared });
    }

    fn of_row(&self, key: &str, index: usize) -> Asked {
        Asked { list: self.list.clone(), row: format!("{}{key}[{index}].", self.row) }
    }
}

impl PartialEq for Asked {
    /// Parameters are the same whoever listens.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What is read from a part's file: `#[derive(Spec)]` makes it of declarations.
pub trait Spec: Declares + Sized {
    /// Pulls what is declared.
    ///
    /// # Errors
    ///
    /// Something is missing, of the wrong kind, out of its range, or in conflict with the rest.
    fn read(p: &mut Parameters) -> Result<Self, SpecError>;
}

impl Spec for () {
    fn read(_: &mut Parameters) -> Result<(), SpecError> {
        Ok(())
    }
}

impl<A: Spec, B: Spec> Spec for (A, B) {
    fn read(p: &mut Parameters) -> Result<(A, B), SpecError> {
        Ok((A::read(p)?, B::read(p)?))
    }
}

/// A number is missing, of the wrong kind, out of range, or in conflict with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// The key, dotted.
    pub key: String,
    /// Where the reader should look.
    pub place: Place,
    /// What is wrong, as one sentence.
    pub problem: String,
    /// What was expected and what to do.
    pub help: String,
}

impl Parameters {
    /// No numbers yet; `place` is where the part or row was written.
    pub fn new(place: Place) -> Self {
        Parameters { place, ..Parameters::default() }
    }

    /// These numbers, as a test writes them.
    #[cfg(test)]
    pub(crate) fn of<K: Into<String>>(values: impl IntoIterator<Item = (K, Value)>) -> Self {
        let entry = |value: Value| {
            let (basis, written) = (Basis::Assumed("a test".into()), format!("{value:?}"));
            Entry { value, basis, written, range: Vec::new(), place: Place::default() }
        };
        let entries: BTreeMap<_, _> = values.into_iter().map(|(key, value)| (key.into(), entry(value))).collect();
        Parameters { entries: entries.into(), ..Parameters::default() }
    }

    /// Keeps a list of what is pulled from now on, and as what.
    pub fn listen(&mut self) -> Asked {
        self.asked.insert(Asked::default()).clone()
    }

    /// Whether somebody wants to know what is pulled.
    pub fn is_listened_to(&self) -> bool {
        self.asked.is_some()
    }

    /// These parameters where it is known that a `Spec` pulls all of them: nobody keeps a list of it.
    pub fn all_known(&self) -> Parameters {
        Parameters { pulled: Pulled(None), ..self.clone() }
    }

    /// What a `Spec` declares, in its kind of quantity, as `take` takes it out of the value.
    ///
    /// # Errors
    ///
    /// It is missing, or of another kind.
    pub fn declared<T>(
        &mut self,
        key: &str,
        declared: &Declared,
        take: impl FnOnce(Value) -> Option<T>,
    ) -> Result<T, SpecError> {
        let quantity = declared.quantity;
        let key = self.path(key);
        for asked in self.asked.iter().chain(&self.pulled.0) {
            asked.note(&key, *declared);
        }
        let entry = self.entries.get(&key);
        let right = entry.filter(|entry| entry.value.quantity() == quantity);
        if let Some(value) = right.and_then(|entry| take(self.heard(&key, &entry.value))) {
            return Ok(value);
        }
        let (place, problem) = match entry {
            Some(entry) => (entry.place, format!("`{key}` is {}", entry.value.kind())),
            None => (self.place, format!("`{key}` is missing")),
        };
        Err(SpecError { place, problem, help: format!("expected {}", quantity.expected()), key })
    }

    /// Pulls the keys of one table: those that begin with its name and a dot.
    pub fn within<T>(&mut self, table: &str, read: impl FnOnce(&mut Parameters) -> T) -> T {
        let around = self.table.clone();
        self.table = format!("{around}{table}.");
        let found = read(self);
        self.table = around;
        found
    }

    /// A key as it was written; nothing where it is not there.
    pub fn written(&self, key: &str) -> Option<&str> {
        self.entry(key).map(|entry| &entry.written[..])
    }

    /// A key with the table that is being read before it.
    pub fn path(&self, key: &str) -> String {
        format!("{}{key}", self.table)
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.get(&self.path(key))
    }

    /// A value; what is pulled from its rows is noted with the table.
    fn heard(&self, key: &str, value: &Value) -> Value {
        let mut value = value.clone();
        if let Value::Rows(rows) = &mut value {
            for (index, row) in rows.iter_mut().enumerate() {
                row.asked = self.asked.as_ref().map(|asked| asked.of_row(key, index));
                row.pulled = Pulled(self.pulled.0.as_ref().map(|asked| asked.of_row(key, index)));
            }
        }
        value
    }

    /// Whether a key is there at all (for rows whose columns differ by kind of row).
    pub fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// An error about one key, placed where the key was written.
    pub fn error(&self, key: &str, problem: impl Into<String>, help: impl Into<String>) -> SpecError {
        SpecError {
            key: self.path(key),
            place: self.entry(key).map_or(self.place, |entry| entry.place),
            problem: problem.into(),
            help: help.into(),
        }
    }

    /// A row of a table; these parameters themselves where there is no such row.
    pub fn row(&self, table: &str, index: usize) -> &Parameters {
        match self.entry(table).map(|entry| &entry.value) {
            Some(Value::Rows(rows)) => rows.get(index).unwrap_or(self),
            _ => self,
        }
    }
}
