//! Other parts in a machine: one replaced by another of its kind, one added.
//!
//! A part that is replaced takes its wires along and leaves its numbers: what the system file, or `--set`, says of
//! the old device is not said of the new one. What they say of all other parts stays.

use std::sync::Arc;

use hopscope_files::change::Addition;
use hopscope_files::library::Library;
use hopscope_files::part_file::{self, PartFile};
use hopscope_files::problem::{Problem, Problems, Sources};
use hopscope_files::system_file::{PartDeclaration, Plug};
use hopscope_parts::catalog::Protocol;
use hopscope_parts::nearest::did_you_mean;
use hopscope_parts::parameters::{Parameters, Place};

use crate::blueprint::{Blueprint, Part, PartFiles};
use crate::wiring::{sockets_of, wire};

/// The port that stands for the first free one that fits.
pub const FREE: &str = "free";

/// The model in `[model]`.
pub(crate) fn bracketed(text: &str) -> Option<&str> {
    text.strip_prefix('[')?.strip_suffix(']')
}

/// How the title begins where a machine has no part of a name or a model.
pub const NOT_THERE: &str = "this machine has no";

impl Blueprint {
    /// Names of the parts that `selector` stands for: a part's name, or `[model]` for all parts of a model.
    pub fn named(&self, selector: &str, at: Place) -> Result<Vec<String>, Problem> {
        let (wanted, what, known): (_, _, Vec<&str>) = match bracketed(selector) {
            Some(model) => (model, "part of the model", self.parts.iter().map(Part::model).collect()),
            None => (selector, "part", self.parts.iter().map(|part| part.name.as_str()).collect()),
        };
        let found = known.iter().zip(&self.parts).filter(|(name, _)| **name == wanted);
        let names: Vec<String> = found.map(|(_, part)| part.name.clone()).collect();
        if names.is_empty() {
            let problem = Problem::at(at, format!("{NOT_THERE} {what} `{wanted}`"));
            return Err(problem.help(did_you_mean(wanted, &known)));
        }
        Ok(names)
    }

    /// Puts a device of part file `uses` in the place of the part `name`, which must be of the same kind.
    pub fn replace(
        &mut self,
        library: &Library,
        sources: &mut Sources,
        (name, uses): (&str, &str),
        at: Place,
    ) -> Result<(), Problems> {
        let names = self.named(name, at)?;
        let Some(index) = self.parts.iter().position(|part| names.contains(&part.name)) else { return Ok(()) };
        let old = &self.parts[index];
        let declaration = PartDeclaration {
            name: old.name.clone(),
            uses: (uses.to_string(), at),
            plugs: old.wires.clone(),
            overrides: Parameters::new(at),
            place: old.place,
        };
        let new = PartFiles::default().part(library, sources, &declaration)?;
        if new.model() != old.model() {
            let title = format!("`{uses}` is of the kind {}, `{name}` is of the kind {}", new.model(), old.model());
            let fitting = parts_of(library, old.model());
            return Err(Problem::at(at, title).help(format!("parts that fit: {}", fitting.join(", "))).into());
        }
        let mut parts = self.parts.clone();
        parts[index] = new;
        self.parts = wire(parts)?;
        Ok(())
    }

    /// Puts a device that a part file describes in the place of the first part of its model, unless the machine has the
    /// device itself; gives that part's name. `uses` is what the part file is called, `role/model`.
    pub fn put_in(&mut self, uses: &str, device: &PartFile) -> Option<String> {
        let is_there = self.parts.iter().position(|there| there.uses == uses);
        let of_its_kind = || self.parts.iter().position(|there| there.model() == device.model);
        let index = is_there.or_else(of_its_kind)?;
        let there = &mut self.parts[index];
        if is_there.is_none() {
            (there.uses, there.title) = (uses.to_string(), device.title.clone());
            there.parameters = Arc::new(device.parameters.clone());
        }
        Some(there.name.clone())
    }

    /// Puts a device of part file `uses` in the place of the part `name`, as `replace` does, and keeps the numbers that
    /// were said of the old one, as far as the new one has them.
    pub(crate) fn exchange(
        &mut self,
        library: &Library,
        sources: &mut Sources,
        (name, uses): (&str, &str),
        at: Place,
    ) -> Result<(), Problems> {
        let Some(old) = self.parts.iter().find(|part| part.name == name).cloned() else { return Ok(()) };
        let declaration = PartDeclaration {
            name: old.name.clone(),
            uses: (old.uses.clone(), at),
            plugs: Vec::new(),
            overrides: Parameters::new(at),
            place: old.place,
        };
        let plain = PartFiles::default().part(library, sources, &declaration)?.parameters;
        let is_said = |key: &str, written: &str| plain.entries.get(key).is_none_or(|entry| entry.written != written);
        self.replace(library, sources, (name, uses), at)?;
        let Some(new) = self.parts.iter_mut().find(|part| part.name == name) else { return Ok(()) };
        for (key, entry) in old.parameters.entries.iter().filter(|(key, entry)| is_said(key, &entry.written)) {
            if new.parameters.entries.contains_key(key) {
                Arc::make_mut(&mut Arc::make_mut(&mut new.parameters).entries).insert(key.clone(), entry.clone());
            }
        }
        Ok(())
    }

    /// Plugs a further part in.
    pub fn add(&mut self, library: &Library, sources: &mut Sources, addition: &Addition) -> Result<(), Problems> {
        let Addition { name, what, plugs, place } = addition;
        if self.parts.iter().any(|part| part.name == *name) {
            let problem = Problem::at(*place, format!("this machine has a part `{name}` already"));
            return Err(problem.help("give the new one another name").into());
        }
        let mut part = match bracketed(what) {
            None => {
                let (overrides, uses) = (Parameters::new(*place), (what.clone(), *place));
                let declaration =
                    PartDeclaration { name: name.clone(), uses, plugs: Vec::new(), overrides, place: *place };
                PartFiles::default().part(library, sources, &declaration)?
            }
            Some(_) => {
                let like = self.named(what, *place)?;
                let Some(like) = self.parts.iter().find(|part| like.contains(&part.name)) else { return Ok(()) };
                Part { name: name.clone(), place: *place, ..like.clone() }
            }
        };
        part.wires = Vec::new();
        for (plug, target) in plugs {
            let first = part.kind.plugs().first();
            let key = match (plug, first) {
                (Some(key), _) => key.clone(),
                (None, Some((key, _))) => key.to_string(),
                (None, None) => {
                    let problem = Problem::at(*place, format!("`{}` is plugged in nowhere", part.uses));
                    return Err(problem.help("nothing of its kind has a plug").into());
                }
            };
            let protocol = part.kind.plugs().iter().find(|(known, _)| *known == key).map(|(_, protocol)| *protocol);
            let target = self.port(target, protocol, *place)?;
            part.wires.push(Plug { key, target, place: *place });
        }
        let mut parts = self.parts.clone();
        parts.push(part);
        self.parts = wire(parts)?;
        Ok(())
    }

    /// The port that `target` names, which may be the first free one of a part, or of the parts of a model.
    fn port(&self, target: &str, protocol: Option<Protocol>, at: Place) -> Result<String, Problem> {
        let Some((selector, port)) = target.split_once('.') else { return Ok(target.to_string()) };
        let named = match bracketed(selector) {
            None if port != FREE => return Ok(target.to_string()),
            _ => self.named(selector, at)?,
        };
        if port != FREE {
            return Ok(format!("{}.{port}", named[0]));
        }
        let used: Vec<String> = self.parts.iter().flat_map(|part| part.plugs().map(|(_, port)| port)).collect();
        let of_named = self.parts.iter().filter(|part| named.contains(&part.name));
        let mut ports = of_named.flat_map(|part| sockets_of(part).into_iter().flatten().map(|s| (&part.name, s)));
        let free = ports.find_map(|(part, (socket, offers))| {
            let port = format!("{part}.{socket}");
            let fits = protocol.is_some_and(|wanted| wanted == offers) && (offers.shared() || !used.contains(&port));
            fits.then_some(port)
        });
        free.ok_or_else(|| {
            let wanted = protocol.map_or("such a plug", Protocol::name);
            let problem = Problem::at(at, format!("`{}` has no free port that is {wanted}", named.join("`, `")));
            problem.help("what is plugged in there has to go first, or another part must offer one")
        })
    }
}

/// Names of the part files of a model.
fn parts_of(library: &Library, model: &str) -> Vec<String> {
    let is_of = |name: &&str| {
        let mut sources = Sources::default();
        let text = library.part(name);
        let file = text.map(|text| sources.add(text.name.clone(), text.text.clone()));
        file.and_then(|file| part_file::read(&sources, file).ok()).is_some_and(|part| part.model == model)
    };
    library.parts().filter(is_of).map(String::from).collect()
}
