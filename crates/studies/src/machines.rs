//! The machines of a study, with every number that can be varied.

use std::collections::BTreeMap;

use hopscope_machine::blueprint::{Blueprint, choices_of};
use hopscope_machine::library::Library;
use hopscope_machine::problem::{Problems, Sources};
use hopscope_machine::run::Failure;
use hopscope_parts::parameters::{Basis, Entry, Value};

use crate::report::Parameter;
use crate::study_file;

/// The machines, by what the study calls them.
#[derive(Clone)]
pub(crate) struct Machines(pub(crate) BTreeMap<String, Blueprint>);

impl Machines {
    /// Those that `study.toml` names.
    pub(crate) fn read(study: &str, library: &Library, sources: &mut Sources) -> Result<Machines, Failure> {
        let mut machines = BTreeMap::new();
        for (name, system) in &study_file::read(study).systems {
            let text = library.open_system(system)?;
            let number = sources.add(text.name, text.text);
            machines.insert(name.clone(), Blueprint::read(library, sources, number)?);
        }
        Ok(Machines(machines))
    }

    /// Sets a number of every part that uses a part file; nothing happens where no machine has such a part.
    pub(crate) fn set(&mut self, part_file: &str, key: &str, value: &Value, written: &str) -> Result<(), Problems> {
        for machine in self.0.values_mut() {
            let names: Vec<String> =
                machine.parts().iter().filter(|p| p.uses == part_file).map(|p| p.name.clone()).collect();
            for name in names {
                let entry = machine.entry_mut(&format!("{name}.{key}"))?;
                (entry.value, entry.written) = (value.clone(), written.to_string());
            }
        }
        Ok(())
    }

    /// Every number of every part file, once.
    pub(crate) fn numbers(&self) -> BTreeMap<(String, String), Entry> {
        let mut numbers = BTreeMap::new();
        for machine in self.0.values() {
            let files: BTreeMap<&str, &str> =
                machine.parts().iter().map(|p| (p.name.as_str(), p.uses.as_str())).collect();
            for (path, entry) in machine.numbers() {
                if let Some((part, key)) = path.split_once('.')
                    && let Some(file) = files.get(part)
                {
                    numbers.entry((file.to_string(), key.to_string())).or_insert_with(|| entry.clone());
                }
            }
        }
        numbers
    }

    /// Every choice of every part file that is no number, once.
    fn choices(&self) -> BTreeMap<(String, String), Entry> {
        let mut choices = BTreeMap::new();
        for part in self.0.values().flat_map(|machine| machine.parts()) {
            for (key, entry) in choices_of(&part.parameters) {
                choices.entry((part.uses.clone(), key)).or_insert_with(|| entry.clone());
            }
        }
        choices
    }

    /// The number of a part file.
    pub(crate) fn number(&self, part_file: &str, key: &str) -> Entry {
        let numbers = self.numbers();
        let found = numbers.get(&(part_file.to_string(), key.to_string()));
        found.unwrap_or_else(|| panic!("study.toml: {part_file} has no {key}")).clone()
    }
}

/// Numbers that were fitted or assumed, with what they rest on.
pub(crate) fn parameters(study: &str, machines: &Machines) -> Vec<Parameter> {
    let ranged = |range: &[String]| range.join(" to ");
    let mut list = Vec::new();
    // A choice counts where it was made by the cells.
    let chosen = machines.choices().into_iter().filter(|(_, entry)| matches!(entry.basis, Basis::Fitted(_)));
    for ((file, key), entry) in machines.numbers().into_iter().chain(chosen) {
        if let Basis::Fitted(_) | Basis::Assumed(_) = entry.basis {
            list.push(Parameter {
                name: format!("{file} {key}"),
                value: entry.written.clone(),
                basis: entry.basis.word().to_string(),
                from: entry.basis.text().to_string(),
                range: entry.range.iter().map(describe).collect::<Vec<_>>().join(" to "),
            });
        }
    }
    for (name, number) in study_file::read(study).numbers {
        let (basis, from) = match (&number.fitted, &number.assumed) {
            (Some(from), _) => ("fitted", from.clone()),
            (None, from) => ("assumed", from.clone().unwrap_or_default()),
        };
        let (basis, range) = (basis.to_string(), ranged(&number.range));
        list.push(Parameter { name: format!("workload {name}"), value: number.value, basis, from, range });
    }
    list.sort_by(|a, b| (b.basis.as_str(), &a.name).cmp(&(a.basis.as_str(), &b.name)));
    list
}

/// A quantity in words, with the unit that suits it.
pub(crate) fn describe(value: &Value) -> String {
    match value {
        Value::Time(t) | Value::Period(t) => t.to_string(),
        Value::Clocks(n) => format!("{n} clocks"),
        Value::Share(ppm) => format!("{} %", *ppm as f64 / 1e4),
        Value::Bytes(n) => format!("{n} B"),
        Value::Rate(n) => format!("{n} B/s"),
        Value::Count(n) => n.to_string(),
        Value::Text(text) => text.clone(),
        Value::Rows(rows) => format!("{} rows", rows.len()),
    }
}
