//! The machines of a study, with every number that can be varied.

use std::collections::BTreeMap;

use hopscope_files::library::Library;
use hopscope_files::price;
use hopscope_files::problem::{Problems, Sources};
use hopscope_machine::blueprint::{Blueprint, choices_of};
use hopscope_parts::parameters::{Basis, Entry, Value};
use sha2::{Digest, Sha256};

use crate::report::Parameter;
use crate::study_file::StudyFile;

/// The machines, by what the study calls them.
#[derive(Clone)]
pub(crate) struct Machines(pub(crate) BTreeMap<String, Blueprint>);

impl Machines {
    /// Those that `study.toml` names.
    pub(crate) fn read(file: &StudyFile, library: &Library, sources: &mut Sources) -> Result<Machines, Problems> {
        let mut machines = BTreeMap::new();
        for (name, system) in &file.systems {
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

    /// Every number of every part file, once; where machines have it otherwise, as it is fitted.
    pub(crate) fn numbers(&self) -> BTreeMap<(String, String), Entry> {
        let numbers = self.0.values().flat_map(|machine| {
            let files: BTreeMap<&str, &str> =
                machine.parts().iter().map(|p| (p.name.as_str(), p.uses.as_str())).collect();
            machine.numbers().into_iter().filter_map(move |(path, entry)| {
                let (part, key) = path.split_once('.')?;
                Some(((files.get(part)?.to_string(), key.to_string()), entry))
            })
        });
        once(numbers)
    }

    /// Every choice of every part file that is no number, once.
    fn choices(&self) -> BTreeMap<(String, String), Entry> {
        let parts = self.0.values().flat_map(|machine| machine.parts());
        once(parts.flat_map(|part| {
            choices_of(&part.parameters).into_iter().map(|(key, entry)| ((part.uses.clone(), key), entry))
        }))
    }

    /// Numbers and choices that the cells of a study have chosen, by part file and key. What is written alike in one
    /// part file, with the same reason, is one number: its keys stand together.
    pub(crate) fn fitted(&self, study: &str) -> Vec<Fitted> {
        let mut list: Vec<Fitted> = Vec::new();
        for ((part, key), entry) in self.numbers().into_iter().chain(self.choices()) {
            if !is_fitted_by(study, &entry.basis) {
                continue;
            }
            let alike = |known: &&mut Fitted| {
                known.part == part && known.entry.basis == entry.basis && known.entry.value == entry.value
            };
            match list.iter_mut().find(alike) {
                Some(known) => known.keys.push(key),
                None => list.push(Fitted { part, keys: vec![key], entry }),
            }
        }
        list
    }

    /// Sets a number where a study has fitted it.
    pub(crate) fn set_fitted(&mut self, study: &str, number: &Fitted, value: &Value) -> Result<(), Problems> {
        for machine in self.0.values_mut() {
            let parts = machine.parts().iter().filter(|part| part.uses == number.part);
            let names: Vec<String> = parts.map(|part| part.name.clone()).collect();
            for (name, key) in names.iter().flat_map(|name| number.keys.iter().map(move |key| (name, key))) {
                let entry = machine.entry_mut(&format!("{name}.{key}"))?;
                if is_fitted_by(study, &entry.basis) {
                    (entry.value, entry.written) = (value.clone(), describe(value));
                }
            }
        }
        Ok(())
    }

    /// A digest of every number and choice of one machine, or of all, and of the study's own numbers: the first half
    /// of SHA-256 over their exact values, in the order of their paths. Parts have the names of then.
    pub(crate) fn digest(&self, file: &StudyFile, machine: Option<&str>) -> String {
        let mut lines = Vec::new();
        for (name, blueprint) in self.0.iter().filter(|(name, _)| machine.is_none_or(|wanted| wanted == *name)) {
            let parts = blueprint.parts().iter().map(|part| {
                let uses = file.renamed.get(&part.uses).unwrap_or(&part.uses);
                format!("{name}: {} = {uses}\n", part.name)
            });
            lines.extend(parts);
            let values = blueprint.numbers().into_iter().chain(blueprint.choices());
            lines.extend(values.map(|(path, entry)| format!("{name}: {path} = {}\n", exact(&entry.value))));
        }
        lines.extend(file.numbers.iter().map(|(name, number)| format!("{name} = {}\n", number.value)));
        lines.sort();
        let digest = Sha256::digest(lines.concat());
        digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    /// The number of a part file, or its price in dollars.
    pub(crate) fn given(&self, part_file: &str, key: &str) -> Option<Value> {
        let of_machine = |machine: &Blueprint| {
            let part = machine.parts().iter().find(|part| part.uses == part_file)?;
            if key == price::KEY {
                return Some(Value::Text(part.price.as_ref()?.dollars().to_string()));
            }
            let path = format!("{}.{key}", part.name);
            let (_, entry) = machine.numbers().into_iter().find(|(known, _)| *known == path)?;
            Some(entry.value.clone())
        };
        self.0.values().find_map(of_machine)
    }
}

/// A number that the cells of a study have chosen.
#[derive(Clone)]
pub(crate) struct Fitted {
    /// The part file.
    pub(crate) part: String,
    /// Where it stands there.
    pub(crate) keys: Vec<String>,
    /// The number.
    pub(crate) entry: Entry,
}

impl Fitted {
    /// Its name in reports.
    pub(crate) fn name(&self) -> String {
        let more = match self.keys.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        format!("{} {}{more}", self.part, self.keys[0])
    }
}

/// The first of each; a fitted one before others.
fn once<'a>(all: impl Iterator<Item = ((String, String), &'a Entry)>) -> BTreeMap<(String, String), Entry> {
    let mut kept: BTreeMap<(String, String), Entry> = BTreeMap::new();
    let fitted = |entry: &Entry| matches!(entry.basis, Basis::Fitted(_));
    for (which, entry) in all {
        match kept.get(&which) {
            Some(known) if fitted(known) || !fitted(entry) => {}
            _ => {
                kept.insert(which, entry.clone());
            }
        }
    }
    kept
}

/// Whether the cells of this study have chosen it: its reason begins with the study's name.
fn is_fitted_by(study: &str, basis: &Basis) -> bool {
    matches!(basis, Basis::Fitted(to) if to.split_once(": ").is_some_and(|(by, _)| by == study))
}

/// Numbers that were fitted or assumed, with what they rest on. What something else has fitted is given here: none of
/// these cells has chosen it.
pub(crate) fn parameters(file: &StudyFile, machines: &Machines) -> Vec<Parameter> {
    let parameter = |name: String, entry: &Entry, basis: &str, from: String| Parameter {
        name,
        value: entry.written.clone(),
        basis: basis.into(),
        from,
        range: entry.range.iter().map(describe).collect::<Vec<_>>().join(" to "),
    };
    let own = machines.fitted(&file.id);
    let mut list: Vec<Parameter> =
        own.iter().map(|f| parameter(f.name(), &f.entry, "fitted", f.entry.basis.text().into())).collect();
    for ((part, key), entry) in machines.numbers() {
        let name = format!("{part} {key}");
        match &entry.basis {
            Basis::Assumed(why) => list.push(parameter(name, &entry, "assumed", why.clone())),
            basis @ Basis::Fitted(to) if !is_fitted_by(&file.id, basis) => {
                list.push(parameter(name, &entry, "assumed", format!("fitted elsewhere: {to}")));
            }
            _ => {}
        }
    }
    for (name, number) in file.numbers.iter().filter(|(_, number)| number.source.is_none()) {
        let (basis, from) = match (&number.fitted, &number.assumed) {
            (Some(from), _) => ("fitted", from.clone()),
            (None, from) => ("assumed", from.clone().unwrap_or_default()),
        };
        let range = if number.values.is_empty() { number.range.join(" to ") } else { number.values.join(" or ") };
        list.push(Parameter {
            name: format!("workload {name}"),
            value: number.value.clone(),
            basis: basis.into(),
            from,
            range,
        });
    }
    list.sort_by(|a, b| (b.basis.as_str(), &a.name).cmp(&(a.basis.as_str(), &b.name)));
    list
}

/// A quantity to the last digit.
fn exact(value: &Value) -> String {
    match value {
        Value::Time(t) | Value::Period(t) => format!("{} ps", t.as_ps()),
        other => describe(other),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shelf;

    #[test]
    fn a_digest_is_that_of_every_number_and_choice() {
        let library = Library::new(None).expect("the shipped files can be read");
        let file = shelf::study_file("myrinet");
        let machines = Machines::read(&file, &library, &mut Sources::default()).expect("machines");
        let digests = |machines: &Machines| {
            let names: Vec<&String> = machines.0.keys().collect();
            let first = machines.digest(&file, Some(names[0]));
            (machines.digest(&file, None), first, machines.digest(&file, Some(names[1])))
        };
        let before = digests(&machines);
        assert_eq!(digests(&machines.clone()), before);
        assert_eq!(before.0.len(), 32);
        assert_ne!(before.1, before.2, "machines differ");
        // The last digit of a number that only the first of them has: a Melody with an AMD 8131 and its Opteron.
        let mut changed = machines.clone();
        changed
            .set("host/amd-opteron-1600", "memory.latency", &Value::Time(hopscope_kernel::Time::ps(120_001)), "")
            .expect("a number");
        let after = digests(&changed);
        assert!(after.0 != before.0 && after.1 != before.1);
        let mut chosen = machines.clone();
        let other = Value::Text("memory read line".into());
        chosen.set("network/myricom-pcixd", "pci.read", &other, "").expect("a choice");
        assert_ne!(digests(&chosen).0, before.0);
    }

    /// No number of theirs has changed since, and what parts are called now is none.
    #[test]
    fn the_forecasts_of_windows_2000_are_of_the_machines_that_are_simulated_now() {
        let library = Library::new(None).expect("the shipped files can be read");
        let file = shelf::study_file("win2000");
        let machines = Machines::read(&file, &library, &mut Sources::default()).expect("machines");
        let names = machines.0.keys().map(|name| Some(&name[..])).chain([None]);
        let now: Vec<String> = names.map(|machine| machines.digest(&file, machine)).collect();
        let text = file.forecasts.as_ref().expect("forecasts");
        let then: Vec<&str> = text.lines().skip(1).filter_map(|line| line.rsplit(',').next()).collect();
        assert_eq!(then.len(), 12);
        assert!(then.iter().all(|digest| now.iter().any(|now| now == digest)), "{then:?} {now:?}");
        let used: Vec<&str> = machines.0.values().flat_map(Blueprint::parts).map(|part| &part.uses[..]).collect();
        assert!(file.renamed.keys().all(|part| used.contains(&&part[..])), "{:?}", file.renamed);
    }
}
