//! The numbers and choices of a machine, by path: what they are, and how they are changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use hopscope_files::factor::{factor, times};
use hopscope_files::problem::{Problem, Problems};
use hopscope_files::quantity;
use hopscope_kernel::Sim;
use hopscope_parts::nearest::did_you_mean;
use hopscope_parts::parameters::declared::Declared;
use hopscope_parts::parameters::{Basis, Entry, Parameters, Place, Value};

use super::{Blueprint, Part};

impl Blueprint {
    /// Changes one number, `part.key=value`; rows of a table are `key[0].column`, and `key[].column` is all of them. The
    /// value may be `x2` for twice what is there.
    pub fn set(&mut self, assignment: &str) -> Result<(), Problems> {
        let example = "write part.key=value, such as pci.clock=66MHz";
        let Some((path, text)) = assignment.split_once('=') else {
            return Err(Problem::nowhere(format!("`{assignment}` is no change")).help(example).into());
        };
        let (path, text) = (path.trim(), text.trim());
        let paths = self.numbers_at(path);
        let mut assign = |path: &String| {
            let value = self.resolved(path, text)?;
            self.assign(path, &value, None)
        };
        let places = paths.iter().map(&mut assign).collect::<Result<Vec<Place>, Problem>>()?;
        let checked = self.check().map_err(|mut problems| {
            let is_there = |place: &Option<Place>| place.is_some_and(|place| places.contains(&place));
            for problem in problems.0.iter_mut().filter(|problem| is_there(&problem.place)) {
                // What is written there is not what is wrong.
                (problem.place, problem.title) = (None, format!("`{path}={text}`: {}", problem.title));
            }
            problems
        });
        checked.map(|()| self.all_is_known())
    }

    /// The value that is meant by what is written of a number or choice: `x2` is twice what it is now.
    pub fn resolved(&mut self, path: &str, text: &str) -> Result<String, Problem> {
        let entry = self.entry_mut(path)?;
        let Some(factor) = factor(text).filter(|_| !matches!(entry.value, Value::Text(_))) else {
            return Ok(text.to_string());
        };
        let cannot_be = || Problem::nowhere(format!("`{path}` cannot be {text} of {}", entry.written));
        times(&entry.written, factor).ok_or_else(cannot_be)
    }

    /// Changes one number or choice without a look at the whole machine. The change is written `at`, unless that
    /// is nowhere; returns where errors about it will point.
    pub fn assign(&mut self, path: &str, text: &str, at: Option<Place>) -> Result<Place, Problem> {
        let entry = self.entry_mut(path)?;
        let now = format!("its value now is \"{}\"", entry.written);
        let value = quantity::parse(text)
            .map_err(|expected| Problem::nowhere(format!("`{path}={text}`: {expected}")).help(now.clone()))?;
        if entry.value.kind() != value.kind() {
            let title = format!("`{path}` is {}, `{text}` is {}", entry.value.kind(), value.kind());
            return Err(Problem::nowhere(title).help(now));
        }
        entry.place = at.unwrap_or(entry.place);
        let basis = Basis::Assumed(at.map_or("set on the command line", |_| "a change to the machine").to_string());
        (entry.value, entry.basis, entry.written) = (value, basis, text.to_string());
        Ok(entry.place)
    }

    /// Every number of every part, by path: `part.key`, or `part.key[row].column`.
    pub fn numbers(&self) -> Vec<(String, &Entry)> {
        let mut numbers = Vec::new();
        for part in &self.parts {
            collect(&part.name, &part.parameters, &mut numbers);
        }
        numbers
    }

    /// The numbers that a path stands for: with `[]` in the place of a row those of all rows, as [`column_of`] says.
    pub fn numbers_at(&self, path: &str) -> Vec<String> {
        if !path.contains("[]") {
            return vec![path.to_string()];
        }
        let rows = self.numbers().into_iter().map(|(own, _)| own).filter(|own| column_of(own).as_deref() == Some(path));
        let rows: Vec<String> = rows.collect();
        // What is no column has no first row either, which whoever asks for it is told.
        if rows.is_empty() { vec![path.replace("[]", "[0]")] } else { rows }
    }

    /// Every choice of every part that is no number, such as `disk.transfer_mode`, by path.
    pub fn choices(&self) -> Vec<(String, &Entry)> {
        let named = |part: &Part, (key, entry)| (format!("{}.{key}", part.name), entry);
        self.parts.iter().flat_map(|part| choices_of(&part.parameters).into_iter().map(|c| named(part, c))).collect()
    }

    /// What is declared of its numbers and choices, by path.
    pub fn declared(&self) -> BTreeMap<String, Declared> {
        let mut machine = self.clone();
        let listen = |part: &mut Part| (part.name.clone(), Arc::make_mut(&mut part.parameters).listen());
        let asked: Vec<_> = machine.parts.iter_mut().map(listen).collect();
        machine.build(Sim::new(), 0, &mut Problems::default());
        let notes =
            asked.into_iter().flat_map(|(part, asked)| asked.list().into_iter().map(move |of| (part.clone(), of)));
        notes.map(|(part, note)| (format!("{part}.{}", note.path), note.declared)).collect()
    }

    /// The number at a path.
    pub fn entry_mut(&mut self, path: &str) -> Result<&mut Entry, Problem> {
        if self.known_entry_mut(path).is_none() {
            let known: Vec<String> = self.numbers().into_iter().chain(self.choices()).map(|(path, _)| path).collect();
            let help = format!("{} (`hopscope systems NAME --numbers` lists all of them)", did_you_mean(path, &known));
            return Err(Problem::nowhere(format!("there is no number `{path}`")).help(help));
        }
        Ok(self.known_entry_mut(path).expect("it has just been there"))
    }

    fn known_entry_mut(&mut self, path: &str) -> Option<&mut Entry> {
        let (part, key) = path.split_once('.')?;
        let part = self.parts.iter_mut().find(|known| known.name == part)?;
        let entries = Arc::make_mut(&mut Arc::make_mut(&mut part.parameters).entries);
        let Some((table, rest)) = key.split_once('[') else {
            return entries.get_mut(key).filter(|entry| !matches!(entry.value, Value::Rows(_)));
        };
        let (index, column) = rest.split_once("].")?;
        match &mut entries.get_mut(table)?.value {
            Value::Rows(rows) => {
                Arc::make_mut(&mut rows.get_mut(index.parse::<usize>().ok()?)?.entries).get_mut(column)
            }
            _ => None,
        }
    }
}

/// The column of a table that a number is in: `disk.seek.rows[].time` of `disk.seek.rows[3].time`.
pub fn column_of(path: &str) -> Option<String> {
    let (table, row) = path.split_once('[')?;
    let (_, column) = row.split_once(']')?;
    Some(format!("{table}[]{column}"))
}

/// Every number of one part, by path: `key`, or `key[row].column`.
pub fn numbers_of(parameters: &Parameters) -> Vec<(String, &Entry)> {
    let mut numbers = Vec::new();
    collect("", parameters, &mut numbers);
    numbers
}

/// Every choice of one part that is no number, by key.
pub fn choices_of(parameters: &Parameters) -> Vec<(String, &Entry)> {
    let choices = parameters.entries.iter().filter(|(_, entry)| matches!(entry.value, Value::Text(_)));
    choices.map(|(key, entry)| (key.clone(), entry)).collect()
}

fn collect<'a>(prefix: &str, parameters: &'a Parameters, numbers: &mut Vec<(String, &'a Entry)>) {
    let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}.") };
    for (key, entry) in parameters.entries.iter() {
        match &entry.value {
            Value::Text(_) => {}
            Value::Rows(rows) => {
                for (index, row) in rows.iter().enumerate() {
                    collect(&format!("{prefix}{key}[{index}]"), row, numbers);
                }
            }
            _ => numbers.push((format!("{prefix}{key}"), entry)),
        }
    }
}
