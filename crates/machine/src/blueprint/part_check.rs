//! Is a part file right? A part is tried in a machine.

use std::sync::Arc;

use hopscope_files::library::Library;
use hopscope_files::part_file;
use hopscope_files::problem::{Problems, Sources};
use hopscope_kernel::Sim;
use hopscope_parts::parameters::{Parameters, Value};

use super::{Blueprint, kind_of, numbers_of};

/// What is wrong with the part file that `sources` keeps under the number `file`.
///
/// A part is built in a machine, so it takes the place of a part of its model in the systems of the library. It is
/// right if one of them takes it. A number that is missing, or of the wrong kind, is taken from that part, so that all
/// of them are found at once.
pub fn check_part(library: &Library, sources: &mut Sources, file: u32) -> Result<(), Problems> {
    let read = part_file::read(sources, file)?;
    let kind = kind_of(&read.model, file)?;
    let systems: Vec<_> = library.systems().filter_map(|name| library.system(name).cloned()).collect();
    let mut refused = Ok(());
    for system in systems {
        let system = sources.add(system.name, system.text);
        let Ok(mut blueprint) = Blueprint::read(library, sources, system) else { continue };
        let Some(part) = blueprint.parts.iter_mut().find(|part| part.kind.model == kind.model) else { continue };
        let known = std::mem::replace(&mut part.parameters, Arc::new(read.parameters.clone()));
        let name = part.name.clone();
        match blueprint.all_problems_of(&name, file, &known).unless_empty(()) {
            Ok(()) => return Ok(()),
            Err(problems) if refused.is_ok() => refused = Err(problems),
            Err(_) => {}
        }
    }
    refused
}

impl Blueprint {
    /// What is wrong with a part that is written in `file`; what it lacks it gets from `known`, a part of its model.
    fn all_problems_of(&mut self, name: &str, file: u32, known: &Parameters) -> Problems {
        let mut problems = Problems::default();
        // Each round fills in one of those numbers, and ends the search where it does not know how.
        for _ in 0..numbers_of(known).len() {
            let part = self.parts.iter_mut().find(|part| part.name == name).expect("it has taken a part's place");
            let asked = Arc::make_mut(&mut part.parameters).listen();
            let mut found = Problems::default();
            let sockets = (part.kind.sockets)(&mut Parameters::clone(&part.parameters));
            match sockets {
                Err(error) => found.0.push(error.into()),
                Ok(_) => drop(self.build(Sim::new(), 0, &mut found)),
            }
            found.0.retain(|problem| problem.place.is_some_and(|place| place.file == file));
            let is_right = found.0.is_empty();
            problems.0.extend(found.0);
            let last = asked.list().pop().map(|note| note.path);
            if is_right || !last.is_some_and(|path| self.fill_in(name, &path, known)) {
                break;
            }
        }
        problems.0.dedup();
        problems
    }

    /// Gives a part the number that it lacks, or that is of another kind than it has to be; whether it did.
    fn fill_in(&mut self, name: &str, path: &str, known: &Parameters) -> bool {
        let Some(part) = self.parts.iter_mut().find(|part| part.name == name) else { return false };
        let entries = Arc::make_mut(&mut Arc::make_mut(&mut part.parameters).entries);
        let (entries, key, right) = match path.split_once('[') {
            None => (entries, path, known.entries.get(path)),
            Some((table, rest)) => {
                let (Some((index, column)), Some(entry)) = (rest.split_once("]."), entries.get_mut(table)) else {
                    return false;
                };
                let Value::Rows(rows) = &mut entry.value else { return false };
                let Some(row) = index.parse::<usize>().ok().and_then(|index| rows.get_mut(index)) else { return false };
                let right = known.entries.get(table).and_then(|entry| match &entry.value {
                    Value::Rows(rows) => rows.first()?.entries.get(column),
                    _ => None,
                });
                (Arc::make_mut(&mut row.entries), column, right)
            }
        };
        let Some(right) = right else { return false };
        let is_wrong = entries.get(key).is_none_or(|entry| entry.value.quantity() != right.value.quantity());
        if is_wrong {
            entries.insert(key.to_string(), right.clone());
        }
        is_wrong
    }
}
