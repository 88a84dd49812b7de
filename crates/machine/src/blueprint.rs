//! A machine on paper: every part with its numbers and its wires, checked, ready to be built any number of times.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use hopscope_kernel::Sim;
use hopscope_parts::catalog::{self, Context, Kind, Protocol, Socket};
use hopscope_parts::parameters::{Basis, Entry, Parameters, Place, SpecError, Value};
use hopscope_parts::protocols::storage::Storage;

use crate::library::Library;
use crate::nearest::did_you_mean;
use crate::part_file;
use crate::problem::{Problem, Problems, Sources};
use crate::quantity;
use crate::system_file::{self, PartDeclaration};

/// A machine that can be built.
#[derive(Clone)]
pub struct Blueprint {
    /// Its name in reports.
    pub title: String,
    /// The study that it belongs to.
    pub study: Option<String>,
    /// The device that a job addresses where it names none.
    pub default_target: String,
    /// In an order in which they can be built.
    parts: Vec<Part>,
}

/// One part of a machine.
#[derive(Clone)]
pub struct Part {
    /// Its name in the system.
    pub name: String,
    /// Its part file, `role/model`.
    pub uses: String,
    /// Its title.
    pub title: String,
    /// Its numbers.
    pub parameters: Parameters,
    kind: &'static Kind,
    /// The part and the socket it is plugged into, in the order of the kind's plugs.
    plugs: Vec<(String, String)>,
}

/// A built machine, at time zero.
pub struct Machine {
    /// The simulation; its processes have not started.
    pub sim: Sim,
    /// Devices that a job can name.
    pub volumes: BTreeMap<String, Rc<dyn Storage>>,
}

impl Part {
    /// Its kind, as `model = "…"` in its part file.
    pub fn model(&self) -> &'static str {
        self.kind.model
    }

    /// What it is plugged into: the plug, and the port as `part.port`.
    pub fn plugs(&self) -> impl Iterator<Item = (&'static str, String)> {
        let ports = self.plugs.iter().map(|(part, port)| format!("{part}.{port}"));
        self.kind.plugs.iter().map(|(plug, _)| *plug).zip(ports)
    }
}

impl Drop for Machine {
    /// Ends whatever still runs: processes own their parts, and parts the simulation.
    fn drop(&mut self) {
        self.sim.tear_down();
    }
}

impl Blueprint {
    /// Reads the system file that `sources` keeps under the number `file`, and the part files it uses.
    pub fn read(library: &Library, sources: &mut Sources, file: u32) -> Result<Blueprint, Problems> {
        let system = system_file::read(sources, file)?;
        let mut problems = Problems::default();
        let mut parts = Vec::new();
        for declaration in &system.parts {
            match read_part(library, sources, declaration) {
                Ok(part) => parts.push(part),
                Err(found) => problems.0.extend(found.0),
            }
        }
        problems = problems.unless_empty(Problems::default())?;
        let parts = wire(&system.parts, parts)?;
        let mut blueprint =
            Blueprint { title: system.title, study: system.study, default_target: String::new(), parts };
        let machine = blueprint.build(Sim::new(), 0, &mut problems);
        problems = problems.unless_empty(Problems::default())?;
        let volumes: Vec<&str> = machine.volumes.keys().map(String::as_str).collect();
        blueprint.default_target = match system.default_target {
            Some((name, place)) if !machine.volumes.contains_key(&name) => {
                let problem = Problem::at(place, format!("`{name}` is no device of this system"));
                problems.0.push(problem.help(format!(
                    "{}devices: {}",
                    did_you_mean(&name, &volumes),
                    volumes.join(", ")
                )));
                String::new()
            }
            Some((name, _)) => name,
            None => volumes.first().map(|name| name.to_string()).unwrap_or_default(),
        };
        problems.unless_empty(blueprint)
    }

    /// Its parts.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The devices that a job can name.
    pub fn devices(&self) -> Vec<String> {
        self.build(Sim::new(), 0, &mut Problems::default()).volumes.keys().cloned().collect()
    }

    /// Builds the machine in `sim`.
    pub fn instantiate(&self, sim: Sim, seed: u64) -> Result<Machine, Problems> {
        let mut problems = Problems::default();
        let machine = self.build(sim, seed, &mut problems);
        problems.unless_empty(machine)
    }

    fn build(&self, sim: Sim, seed: u64, problems: &mut Problems) -> Machine {
        let mut sockets: BTreeMap<(String, String), Socket> = BTreeMap::new();
        let mut volumes = BTreeMap::new();
        for part in &self.parts {
            let plugs: Vec<Socket> = part.plugs.iter().filter_map(|plug| sockets.get(plug).cloned()).collect();
            if plugs.len() < part.kind.plugs.len() {
                // What it is plugged into could not be built, which is the problem to report.
                continue;
            }
            let mut parameters = part.parameters.clone();
            let context = Context { sim: &sim, name: &part.name, seed, plugs };
            match (part.kind.build)(context, &mut parameters) {
                Ok(built) => {
                    refuse_unknown(part, &parameters, problems);
                    volumes.extend(built.volumes);
                    let owned = |(name, socket)| ((part.name.clone(), name), socket);
                    sockets.extend(built.sockets.into_iter().map(owned));
                }
                Err(error) => problems.0.push(error.into()),
            }
        }
        Machine { sim, volumes }
    }

    /// Changes one number, `part.key=value`; rows of a table are `key[0].column`.
    pub fn set(&mut self, assignment: &str) -> Result<(), Problems> {
        let example = "write part.key=value, such as pci.clock=66MHz";
        let Some((path, text)) = assignment.split_once('=') else {
            return Err(Problem::nowhere(format!("`{assignment}` is no change")).help(example).into());
        };
        let (path, text) = (path.trim(), text.trim());
        let entry = self.entry_mut(path)?;
        let now = format!("its value now is \"{}\"", entry.written);
        let value = quantity::parse(text)
            .map_err(|expected| Problem::nowhere(format!("`{path}={text}`: {expected}")).help(now.clone()))?;
        if entry.value.kind() != value.kind() {
            let title = format!("`{path}` is {}, `{text}` is {}", entry.value.kind(), value.kind());
            return Err(Problem::nowhere(title).help(now).into());
        }
        let place = entry.place;
        let basis = Basis::Assumed("set on the command line".to_string());
        (entry.value, entry.basis, entry.written) = (value, basis, text.to_string());
        let mut problems = Problems::default();
        self.build(Sim::new(), 0, &mut problems);
        for problem in problems.0.iter_mut().filter(|problem| problem.place == Some(place)) {
            // What is written there is not what is wrong.
            (problem.place, problem.title) = (None, format!("`{path}={text}`: {}", problem.title));
        }
        problems.unless_empty(())
    }

    /// Every number of every part, by path: `part.key`, or `part.key[row].column`.
    pub fn numbers(&self) -> Vec<(String, &Entry)> {
        let mut numbers = Vec::new();
        for part in &self.parts {
            collect(&part.name, &part.parameters, &mut numbers);
        }
        numbers
    }

    /// Every choice of every part that is no number, such as `disk.transfer_mode`, by path.
    pub fn choices(&self) -> Vec<(String, &Entry)> {
        let named = |part: &Part, (key, entry)| (format!("{}.{key}", part.name), entry);
        self.parts.iter().flat_map(|part| choices_of(&part.parameters).into_iter().map(|c| named(part, c))).collect()
    }

    /// The number at a path.
    pub fn entry_mut(&mut self, path: &str) -> Result<&mut Entry, Problem> {
        let known: Vec<String> = self.numbers().into_iter().map(|(path, _)| path).collect();
        let missing = || {
            let help = format!("{}`hopscope systems NAME` lists all of them", did_you_mean(path, &known));
            Problem::nowhere(format!("there is no number `{path}`")).help(help)
        };
        let (part, key) = path.split_once('.').ok_or_else(missing)?;
        let part = self.parts.iter_mut().find(|p| p.name == part).ok_or_else(missing)?;
        let Some((table, rest)) = key.split_once('[') else {
            return part
                .parameters
                .entries
                .get_mut(key)
                .filter(|e| !matches!(e.value, Value::Rows(_)))
                .ok_or_else(missing);
        };
        let (index, column) = rest.split_once("].").ok_or_else(missing)?;
        let index: usize = index.parse().map_err(|_| missing())?;
        match part.parameters.entries.get_mut(table) {
            Some(Entry { value: Value::Rows(rows), .. }) => {
                rows.get_mut(index).and_then(|row| row.entries.get_mut(column)).ok_or_else(missing)
            }
            _ => Err(missing()),
        }
    }
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

/// What is wrong with the part file that `sources` keeps under the number `file`.
///
/// A part is built in a machine, so it takes the place of a part of its model in the systems of the library. It is
/// right if one of them takes it.
pub fn check_part(library: &Library, sources: &mut Sources, file: u32) -> Result<(), Problems> {
    let read = part_file::read(sources, file)?;
    let kind = kind_of(&read.model, file)?;
    (kind.sockets)(&mut read.parameters.clone()).map_err(|error| Problems::from(Problem::from(error)))?;
    let systems: Vec<_> = library.systems().filter_map(|name| library.system(name).cloned()).collect();
    let mut refused = Ok(());
    for system in systems {
        let system = sources.add(system.name, system.text);
        let Ok(mut blueprint) = Blueprint::read(library, sources, system) else { continue };
        let Some(part) = blueprint.parts.iter_mut().find(|part| part.kind.model == kind.model) else { continue };
        part.parameters = read.parameters.clone();
        let mut problems = Problems::default();
        blueprint.build(Sim::new(), 0, &mut problems);
        problems.0.retain(|problem| problem.place.is_some_and(|place| place.file == file));
        match problems.unless_empty(()) {
            Ok(()) => return Ok(()),
            Err(problems) if refused.is_ok() => refused = Err(problems),
            Err(_) => {}
        }
    }
    refused
}

fn kind_of(model: &str, file: u32) -> Result<&'static Kind, Problem> {
    catalog::kind(model).ok_or_else(|| {
        let models: Vec<&str> = catalog::KINDS.iter().map(|kind| kind.model).collect();
        let start = Place { file, start: 0, end: 0 };
        let problem = Problem::at(start, format!("there is no model `{model}`"));
        problem.help(format!("{}models: {}", did_you_mean(model, &models), models.join(", ")))
    })
}

fn collect<'a>(prefix: &str, parameters: &'a Parameters, numbers: &mut Vec<(String, &'a Entry)>) {
    let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}.") };
    for (key, entry) in &parameters.entries {
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

fn read_part(library: &Library, sources: &mut Sources, declaration: &PartDeclaration) -> Result<Part, Problems> {
    let (uses, place) = &declaration.uses;
    let Some(text) = library.part(uses) else {
        let names: Vec<&str> = library.parts().collect();
        let problem = Problem::at(*place, format!("there is no part `{uses}`"));
        return Err(problem.help(format!("{}`hopscope parts` lists all of them", did_you_mean(uses, &names))).into());
    };
    let file = sources.add(text.name.clone(), text.text.clone());
    let read = part_file::read(sources, file)?;
    let kind = kind_of(&read.model, file)?;
    let mut parameters = read.parameters;
    let mut problems = Problems::default();
    for (key, entry) in &declaration.overrides.entries {
        if parameters.entries.contains_key(key) {
            parameters.entries.insert(key.clone(), entry.clone());
        } else {
            let known: Vec<&str> = parameters.entries.keys().map(String::as_str).collect();
            let problem = Problem::at(entry.place, format!("`{uses}` has no `{key}`"));
            problems.0.push(problem.help(format!("{}it has {}", did_you_mean(key, &known), known.join(", "))));
        }
    }
    let (name, uses, title) = (declaration.name.clone(), uses.clone(), read.title);
    problems.unless_empty(Part { name, uses, title, parameters, kind, plugs: Vec::new() })
}

/// Checks every wire and puts the parts into an order in which they can be built.
fn wire(declarations: &[PartDeclaration], mut parts: Vec<Part>) -> Result<Vec<Part>, Problems> {
    let mut problems = Problems::default();
    let mut offered: BTreeMap<String, Vec<(String, Protocol)>> = BTreeMap::new();
    for part in &mut parts {
        match (part.kind.sockets)(&mut part.parameters.clone()) {
            Ok(sockets) => drop(offered.insert(part.name.clone(), sockets)),
            Err(error) => problems.0.push(SpecError::into(error)),
        }
    }
    problems = problems.unless_empty(Problems::default())?;
    let mut used: BTreeMap<String, String> = BTreeMap::new();
    for (part, declaration) in parts.iter_mut().zip(declarations) {
        for plug in &declaration.plugs {
            if !part.kind.plugs.iter().any(|(key, _)| *key == plug.key) {
                let problem = Problem::at(plug.place, format!("`{}` has no plug `{}`", part.uses, plug.key));
                problems.0.push(problem.help(plugs_of(part.kind)));
            }
        }
        for (key, protocol) in part.kind.plugs {
            let Some(plug) = declaration.plugs.iter().find(|plug| plug.key == *key) else {
                let problem =
                    Problem::at(declaration.place, format!("`{}` is not plugged in: `{key}` is missing", part.name));
                problems
                    .0
                    .push(problem.help(format!("write {key} = \"part.port\", where the port is {}", protocol.name())));
                continue;
            };
            match find_socket(&offered, &plug.target, *protocol) {
                Err((title, help)) => problems.0.push(Problem::at(plug.place, title).help(help)),
                Ok((target, socket)) => {
                    let taken = used.insert(plug.target.clone(), part.name.clone());
                    if let Some(other) = taken.filter(|_| !protocol.shared()) {
                        let problem =
                            Problem::at(plug.place, format!("`{}` is already used by `{other}`", plug.target));
                        problems.0.push(problem.help("a port takes one part: choose another"));
                    }
                    part.plugs.push((target, socket));
                }
            }
        }
    }
    for (part, declaration) in parts.iter().zip(declarations) {
        for socket in part.kind.required {
            let port = format!("{}.{socket}", part.name);
            if !used.contains_key(&port) {
                let problem = Problem::at(declaration.place, format!("nothing is plugged into `{port}`"));
                problems.0.push(problem.help("without it this part has nothing to do"));
            }
        }
    }
    problems = problems.unless_empty(Problems::default())?;
    let mut ordered: Vec<Part> = Vec::with_capacity(parts.len());
    let mut built = BTreeSet::new();
    while !parts.is_empty() {
        let hardware_left = parts.iter().any(|part| !part.kind.software);
        let ready = parts.iter().position(|part| {
            part.plugs.iter().all(|(target, _)| built.contains(target)) && !(part.kind.software && hardware_left)
        });
        let Some(index) = ready else {
            for part in &parts {
                let place = declarations.iter().find(|d| d.name == part.name).map_or(Place::default(), |d| d.place);
                problems.0.push(Problem::at(place, format!("`{}` is part of a circle of wires", part.name)));
            }
            return Err(problems);
        };
        let part = parts.remove(index);
        built.insert(part.name.clone());
        ordered.push(part);
    }
    Ok(ordered)
}

fn plugs_of(kind: &Kind) -> String {
    let keys: Vec<String> = kind.plugs.iter().map(|(key, protocol)| format!("`{key}` ({})", protocol.name())).collect();
    if keys.is_empty() { "it has none".to_string() } else { format!("it has {}", keys.join(" and ")) }
}

/// The part and socket that `target` names; or what is wrong with it and what would be right.
fn find_socket(
    offered: &BTreeMap<String, Vec<(String, Protocol)>>,
    target: &str,
    protocol: Protocol,
) -> Result<(String, String), (String, String)> {
    let all =
        || offered.iter().flat_map(|(part, sockets)| sockets.iter().map(move |(s, p)| (format!("{part}.{s}"), *p)));
    let fitting: Vec<String> = all().filter(|(_, p)| *p == protocol).map(|(name, _)| name).collect();
    let found = all().find(|(name, _)| name == target);
    match (found, target.split_once('.')) {
        (Some((_, p)), Some((part, socket))) if p == protocol => Ok((part.to_string(), socket.to_string())),
        (Some((_, p)), _) => {
            let title = format!("`{target}` is {}, but {} is needed", p.name(), protocol.name());
            Err((title, format!("ports that fit: {}", fitting.join(", "))))
        }
        _ => {
            let help = format!("{}ports that fit: {}", did_you_mean(target, &fitting), fitting.join(", "));
            Err((format!("there is no port `{target}`"), help))
        }
    }
}

fn refuse_unknown(part: &Part, parameters: &Parameters, problems: &mut Problems) {
    let (unknown, known) = parameters.unknown();
    for (key, place) in unknown {
        let problem = Problem::at(place, format!("`{}` knows no `{key}`", part.kind.model));
        problems.0.push(problem.help(format!("{}it knows {}", did_you_mean(key, known), known.join(", "))));
    }
}
