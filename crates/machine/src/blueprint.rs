//! A machine on paper: every part with its numbers and its wires, checked, ready to be built any number of times.

mod part_check;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use hopscope_files::library::Library;
use hopscope_files::part_file;
use hopscope_files::price::Price;
use hopscope_files::problem::{Problem, Problems, Sources};
use hopscope_files::quantity;
use hopscope_files::system_file::{self, PartDeclaration, Plug};
use hopscope_kernel::{MOST, Pace, Sim};
use hopscope_parts::bus::pcie::Training;
use hopscope_parts::catalog::{self, Context, Kind, Socket};
use hopscope_parts::nearest::did_you_mean;
use hopscope_parts::parameters::declared::Declared;
use hopscope_parts::parameters::{Basis, Entry, Parameters, Place, SpecError, Unknown, Value};
use hopscope_parts::protocols::storage::Storage;

use crate::hops;
use crate::wiring::wire;

pub use part_check::check_part;

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
    pub(crate) parts: Vec<Part>,
    /// What the computer costs into which parts with prices of their own are plugged.
    pub(crate) computer: Option<Price>,
    /// Hops that work faster or slower than their data say, by name.
    paces: Vec<(String, Pace)>,
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
    /// Its numbers; of machines that differ in a few, most are kept once.
    pub parameters: Arc<Parameters>,
    /// What it costs.
    pub price: Option<Price>,
    pub(crate) kind: &'static Kind,
    /// The wires, as they are written.
    pub(crate) wires: Vec<Plug>,
    /// Where it is declared.
    pub(crate) place: Place,
    /// The part and the socket it is plugged into, in the order of the kind's plugs.
    pub(crate) plugs: Vec<(String, String)>,
}

/// Lanes and processes of a machine. Records tell a few more apart: jobs join.
const MOST_OF_MACHINE: usize = MOST - 535;

/// A built machine, at time zero.
pub struct Machine {
    /// The simulation; its processes have not started.
    pub sim: Sim,
    /// Devices that a job can name.
    pub volumes: BTreeMap<String, Rc<dyn Storage>>,
    /// What its links have trained to, by name.
    pub links: Vec<(String, Training)>,
}

impl Part {
    /// Its kind, as `model = "…"` in its part file.
    pub fn model(&self) -> &'static str {
        self.kind.model
    }

    /// What it is plugged into: the plug, and the port as `part.port`.
    pub fn plugs(&self) -> impl Iterator<Item = (&'static str, String)> {
        let ports = self.plugs.iter().map(|(part, port)| format!("{part}.{port}"));
        self.kind.plugs().iter().map(|(plug, _)| *plug).zip(ports)
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
        let parts = wire(parts)?;
        let mut blueprint = Blueprint {
            title: system.title,
            study: system.study,
            default_target: String::new(),
            parts,
            computer: system.price,
            paces: Vec::new(),
        };
        let machine = blueprint.build(Sim::new(), 0, &mut problems);
        problems = problems.unless_empty(Problems::default())?;
        let volumes: Vec<&str> = machine.volumes.keys().map(String::as_str).collect();
        blueprint.default_target = match system.default_target {
            Some((name, place)) if !machine.volumes.contains_key(&name) => {
                let problem = Problem::at(place, format!("`{name}` is no device of this system"));
                problems.0.push(problem.help(format!(
                    "{} (devices: {})",
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

    /// What its hops can carry, those that have a rate of their own.
    pub fn capacities(&self) -> Vec<hops::Capacity> {
        let sim = Sim::new();
        self.build(sim.clone(), 0, &mut Problems::default());
        hops::capacities(&self.parts, &sim)
    }

    /// What the links of the machine train to.
    pub fn links(&self) -> Vec<(String, Training)> {
        self.build(Sim::new(), 0, &mut Problems::default()).links.clone()
    }

    /// Builds the machine in `sim`.
    pub fn instantiate(&self, sim: Sim, seed: u64) -> Result<Machine, Problems> {
        let mut problems = Problems::default();
        let machine = self.build(sim, seed, &mut problems);
        let mut paces: BTreeMap<u16, Pace> = BTreeMap::new();
        for (name, pace) in &self.paces {
            match hops::find(name, &self.parts, &machine.sim) {
                Ok(hop) => hop.lanes.into_iter().for_each(|lane| {
                    let of_lane = paces.entry(lane).or_insert(Pace::ONE);
                    *of_lane = of_lane.times(*pace);
                }),
                Err(problem) => problems.0.push(problem),
            }
        }
        paces.into_iter().for_each(|(lane, pace)| machine.sim.set_pace(lane, pace));
        problems.unless_empty(machine)
    }

    /// Has a hop work at another pace: every span of its lanes is divided by it. See [`hops::hops`] for the names.
    pub fn pace(&mut self, hop: &str, pace: Pace) -> Result<(), Problem> {
        let machine = self.build(Sim::new(), 0, &mut Problems::default());
        let found = hops::find(hop, &self.parts, &machine.sim)?;
        for (other, _) in &self.paces {
            let other_hop = hops::find(other, &self.parts, &machine.sim)?;
            if other_hop.lanes.iter().any(|lane| found.lanes.contains(lane)) {
                return Err(Problem::nowhere(format!("`{hop}` has a pace already")).help("a hop has one pace"));
            }
        }
        self.paces.push((hop.to_string(), pace));
        Ok(())
    }

    /// Has a hop that is there work so many times as fast as it does now.
    pub fn faster(&mut self, hop: &str, times: Pace) {
        self.paces.push((hop.to_string(), times));
    }

    /// Its hops.
    pub fn hops(&self) -> Vec<hops::Hop> {
        hops::hops(&self.parts, &self.build(Sim::new(), 0, &mut Problems::default()).sim)
    }

    /// The hop that a text begins with, and what follows its name after a dot. See [`hops::hops`] for the names.
    pub fn hop_of<'a>(&self, text: &'a str) -> Result<(hops::Hop, &'a str), Problem> {
        hops::find_first(text, &self.parts, &self.build(Sim::new(), 0, &mut Problems::default()).sim)
    }

    fn build(&self, sim: Sim, seed: u64, problems: &mut Problems) -> Machine {
        let mut sockets: BTreeMap<(String, String), Socket> = BTreeMap::new();
        let mut volumes = BTreeMap::new();
        let mut at_last = Vec::new();
        let mut over = Vec::new();
        for part in &self.parts {
            let wire = |plug: &(String, String)| Some((format!("{}.{}", plug.0, plug.1), sockets.get(plug)?.clone()));
            let wires: Vec<(String, Socket)> = part.plugs.iter().filter_map(wire).collect();
            if wires.len() < part.kind.plugs().len() {
                // Where what it is plugged into could not be built, that is the problem to report.
                problems.0.extend(without_port(part, &sockets));
                continue;
            }
            let mut parameters = Parameters::clone(&part.parameters);
            match part.kind.build(&Context { sim: &sim, name: &part.name, seed }, wires, &mut parameters) {
                Ok(built) => {
                    refuse_unknown(part, &parameters, problems);
                    if let Some(problem) = too_many(part, &sim) {
                        problems.0.push(problem);
                        break;
                    }
                    volumes.extend(built.volumes);
                    at_last.extend(built.volumes_at_last);
                    over.extend(built.over.map(|(above, make)| (above, part, make)));
                    let owned = |(name, socket)| ((part.name.clone(), name), socket);
                    sockets.extend(built.sockets.into_iter().map(owned));
                }
                Err(error) => problems.0.push(at_the_wire(part, error).into()),
            }
        }
        for known_now in at_last {
            volumes.extend(known_now());
        }
        over.sort_by_key(|(above, ..)| *above);
        for (_, part, make) in over {
            match make(std::mem::take(&mut volumes).into_iter().collect()) {
                Ok(made) => volumes.extend(made),
                Err(error) => problems.0.push(at_the_wire(part, error).into()),
            }
        }
        let trained = sockets.iter().filter_map(|((part, _), socket)| match socket {
            Socket::PcieDevice(link) => Some((part.clone(), link.0.training()?)),
            _ => None,
        });
        let links = trained.collect();
        Machine { sim, volumes, links }
    }

    /// What is wrong with the machine, as changed.
    pub fn check(&self) -> Result<(), Problems> {
        let mut problems = Problems::default();
        self.build(Sim::new(), 0, &mut problems);
        problems.unless_empty(())
    }

    /// Changes one number, `part.key=value`; rows of a table are `key[0].column`.
    pub fn set(&mut self, assignment: &str) -> Result<(), Problems> {
        let example = "write part.key=value, such as pci.clock=66MHz";
        let Some((path, text)) = assignment.split_once('=') else {
            return Err(Problem::nowhere(format!("`{assignment}` is no change")).help(example).into());
        };
        let (path, text) = (path.trim(), text.trim());
        let place = self.assign(path, text, None)?;
        self.check().map_err(|mut problems| {
            for problem in problems.0.iter_mut().filter(|problem| problem.place == Some(place)) {
                // What is written there is not what is wrong.
                (problem.place, problem.title) = (None, format!("`{path}={text}`: {}", problem.title));
            }
            problems
        })
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

/// A part that was built has not, or no longer, the port that another one is plugged into.
fn without_port(part: &Part, sockets: &BTreeMap<(String, String), Socket>) -> Option<Problem> {
    let of = |owner: &str| {
        let of_owner = sockets.keys().filter(|(part, _)| part == owner);
        of_owner.map(|(_, socket)| socket.as_str()).collect::<Vec<_>>()
    };
    let missing = part.plugs.iter().find(|plug| !sockets.contains_key(plug) && !of(&plug.0).is_empty());
    missing.map(|(owner, socket)| {
        let port = format!("{owner}.{socket}");
        let wire = part.wires.iter().find(|wire| wire.target == port).map_or(part.place, |wire| wire.place);
        let problem = Problem::at(wire, format!("there is no port `{port}`, where `{}` is plugged in", part.name));
        problem.help(format!("`{owner}` has {} as its numbers are", of(owner).join(", ")))
    })
}

/// What is wrong with a wire is written where the wire is.
fn at_the_wire(part: &Part, mut error: SpecError) -> SpecError {
    if let Some(wire) = part.wires.iter().find(|wire| wire.key == error.key) {
        error.place = wire.place;
    }
    error
}

fn kind_of(model: &str, file: u32) -> Result<&'static Kind, Problem> {
    catalog::kind(model).ok_or_else(|| {
        let models: Vec<&str> = catalog::KINDS.iter().map(|kind| kind.model).collect();
        let start = Place { file, start: 0, end: 0 };
        let problem = Problem::at(start, format!("there is no model `{model}`"));
        problem.help(format!("{} (models: {})", did_you_mean(model, &models), models.join(", ")))
    })
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

pub(crate) fn read_part(
    library: &Library,
    sources: &mut Sources,
    declaration: &PartDeclaration,
) -> Result<Part, Problems> {
    let (uses, place) = &declaration.uses;
    let Some(text) = library.part(uses) else {
        let problem = Problem::at(*place, format!("there is no part `{uses}`"));
        return Err(problem.help(format!("{} (`hopscope parts` lists all of them)", library.meant_part(uses))).into());
    };
    let file = sources.add(text.name.clone(), text.text.clone());
    let read = part_file::read(sources, file)?;
    let kind = kind_of(&read.model, file)?;
    let mut parameters = read.parameters;
    let mut problems = Problems::default();
    for (key, entry) in declaration.overrides.entries.iter() {
        if parameters.entries.contains_key(key) {
            Arc::make_mut(&mut parameters.entries).insert(key.clone(), entry.clone());
        } else {
            let known: Vec<&str> = parameters.entries.keys().map(String::as_str).collect();
            let problem = Problem::at(entry.place, format!("`{uses}` has no `{key}`"));
            problems.0.push(problem.help(format!("{} (it has {})", did_you_mean(key, &known), known.join(", "))));
        }
    }
    let (name, uses, title, price) = (declaration.name.clone(), uses.clone(), read.title, read.price);
    let parameters = Arc::new(parameters);
    let (wires, place) = (declaration.plugs.clone(), declaration.place);
    problems.unless_empty(Part { name, uses, title, parameters, price, kind, wires, place, plugs: Vec::new() })
}

/// The machine has grown beyond what a run can tell apart, with this part.
fn too_many(part: &Part, sim: &Sim) -> Option<Problem> {
    let (lanes, processes) = sim.sizes();
    let (count, what) = if lanes > MOST_OF_MACHINE { (lanes, "lanes") } else { (processes, "processes") };
    (count > MOST_OF_MACHINE).then(|| {
        let title =
            format!("with `{}` the machine has {count} {what}, and at most {MOST_OF_MACHINE} are possible", part.name);
        let help = "have fewer parts by `count`, or parts with fewer commands, transfers or tags at once";
        Problem::at(part.place, title).help(help)
    })
}

fn refuse_unknown(part: &Part, parameters: &Parameters, problems: &mut Problems) {
    for Unknown { path, known, place } in parameters.unknown() {
        let (model, name) = (part.kind.model, path.rsplit("].").next().unwrap_or(&path));
        let (title, who) = match path.rfind('[') {
            Some(end) => (format!("the rows of `{}` have no `{name}` in `{model}`", &path[..end]), "a row has"),
            None => (format!("`{model}` knows no `{name}`"), "it knows"),
        };
        let help = format!("{} ({who} {})", did_you_mean(name, &known), known.join(", "));
        problems.0.push(Problem::at(place, title).help(help));
    }
}
