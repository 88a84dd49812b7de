//! A machine on paper: every part with its numbers and its wires, checked, ready to be built any number of times.

mod numbers;
mod part_check;

use std::collections::{BTreeMap, btree_map};
use std::rc::Rc;
use std::sync::Arc;

use hopscope_files::library::Library;
use hopscope_files::part_file::{self, PartFile};
use hopscope_files::price::Price;
use hopscope_files::problem::{Problem, Problems, Sources};
use hopscope_files::system_file::{self, PartDeclaration, Plug};
use hopscope_kernel::{MOST, Pace, Sim};
use hopscope_parts::bus::pcie::Training;
use hopscope_parts::catalog::{self, Context, Kind, Numbers, Socket};
use hopscope_parts::nearest::{among_devices, did_you_mean};
use hopscope_parts::parameters::{Parameters, Place, SpecError, Unknown};
use hopscope_parts::protocols::storage::Storage;

use crate::aged::Aged;
use crate::hops;
use crate::wiring::wire;

pub use numbers::{choices_of, column_of, numbers_of};
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
    /// What was written to it before it begins, where something was.
    aged: Option<Arc<Aged>>,
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
    /// The same when it was last found that the part, as it is plugged in, knows all of them, and as it reads them.
    pub(crate) known: Option<(Arc<Parameters>, Numbers)>,
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

    /// Whether another part has the same data, wherever they are written.
    pub fn is_alike(&self, other: &Part) -> bool {
        let (own, others) = (&self.parameters.entries, &other.parameters.entries);
        let same = || own.iter().map(|(key, entry)| (key, &entry.value)).eq(others.iter().map(|(k, e)| (k, &e.value)));
        self.uses == other.uses && (Arc::ptr_eq(own, others) || same())
    }

    /// As it reads its numbers, where it is known that it knows all of them.
    fn numbers(&self) -> Option<&Numbers> {
        let (known, numbers) = self.known.as_ref()?;
        Arc::ptr_eq(known, &self.parameters).then_some(numbers)
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
        let (mut files, mut parts) = (PartFiles::default(), Vec::new());
        for declaration in &system.parts {
            match files.part(library, sources, declaration) {
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
            aged: None,
        };
        let machine = blueprint.build(Sim::new(), 0, &mut problems);
        problems = problems.unless_empty(Problems::default())?;
        blueprint.all_is_known();
        let volumes: Vec<&str> = machine.volumes.keys().map(String::as_str).collect();
        blueprint.default_target = match system.default_target {
            Some((name, place)) if !machine.volumes.contains_key(&name) => {
                let problem = Problem::at(place, format!("`{name}` is no device of this system"));
                problems.0.push(problem.help(among_devices(&name, &volumes)));
                String::new()
            }
            Some((name, _)) => name,
            None => volumes.first().map(|name| name.to_string()).unwrap_or_default(),
        };
        problems.unless_empty(blueprint)
    }

    /// Its parts know all of their numbers: as long as none is changed, that is not looked at again.
    fn all_is_known(&mut self) {
        for index in 0..self.parts.len() {
            let (before, part) = (&self.parts[..index], &self.parts[index]);
            if part.numbers().is_none() {
                let alike = before.iter().find(|other| part.is_alike(other));
                let read = || part.kind.read(&mut part.parameters.all_known()).ok();
                let numbers = alike.and_then(Part::numbers).cloned().or_else(read);
                self.parts[index].known = numbers.map(|numbers| (part.parameters.clone(), numbers));
            }
        }
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
        problems.0.extend(self.aged.iter().filter_map(|aged| aged.begin(&machine)));
        problems.unless_empty(machine)
    }

    /// The machine after that was written to it.
    pub(crate) fn after(&self, aged: Aged) -> Blueprint {
        Blueprint { aged: Some(Arc::new(aged)), ..self.clone() }
    }

    /// Requests that the job of this number asked for before the machine begins as it does.
    pub(crate) fn asked_before(&self, job: usize) -> u64 {
        self.aged.as_ref().and_then(|aged| aged.asked.get(job)).copied().unwrap_or(0)
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

    /// Whether hops work faster than in the machine that it was made of, which has the same parts.
    pub fn is_faster_than(&self, other: &Blueprint) -> bool {
        let more = self.paces.strip_prefix(&other.paces[..]).unwrap_or_default();
        !more.is_empty() && more.iter().all(|(_, times)| times.as_f64() >= 1.0)
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
        let mut changed: Vec<(&Part, Numbers)> = Vec::new();
        for part in &self.parts {
            let wire = |plug: &(String, String)| Some((format!("{}.{}", plug.0, plug.1), sockets.get(plug)?.clone()));
            let wires: Vec<(String, Socket)> = part.plugs.iter().filter_map(wire).collect();
            if wires.len() < part.kind.plugs().len() {
                // Where what it is plugged into could not be built, that is the problem to report.
                problems.0.extend(without_port(part, &sockets));
                continue;
            }
            // Of parts that are changed alike, one reads its numbers, unless somebody listens to each.
            let is_same = |other: &Part| !part.parameters.is_listened_to() && part.is_alike(other);
            let of_changed = || changed.iter().find(|(other, _)| is_same(other)).map(|(_, numbers)| numbers);
            let known = part.numbers().or_else(of_changed).cloned();
            let is_known = known.is_some();
            let mut parameters =
                if is_known { part.parameters.all_known() } else { Parameters::clone(&part.parameters) };
            let built = known.map_or_else(|| part.kind.read(&mut parameters), Ok).and_then(|numbers| {
                let context = Context { sim: &sim, name: &part.name, seed };
                let built = part.kind.build(&context, &numbers, wires, &mut parameters)?;
                Ok((numbers, built))
            });
            match built {
                Ok((numbers, built)) => {
                    if !is_known {
                        refuse_unknown(part, &parameters, problems);
                        changed.push((part, numbers));
                    }
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

/// Part files that have been read, by name, with the kinds of their parts: most machines have several parts of one file.
#[derive(Default)]
pub(crate) struct PartFiles(BTreeMap<String, (&'static Kind, PartFile)>);

impl PartFiles {
    /// A part as it is declared.
    pub(crate) fn part(
        &mut self,
        library: &Library,
        sources: &mut Sources,
        declaration: &PartDeclaration,
    ) -> Result<Part, Problems> {
        let (uses, place) = &declaration.uses;
        let (kind, file) = match self.0.entry(uses.clone()) {
            btree_map::Entry::Occupied(read) => read.into_mut(),
            btree_map::Entry::Vacant(new) => new.insert(read_file(library, sources, uses, *place)?),
        };
        let mut parameters = file.parameters.clone();
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
        problems.unless_empty(Part {
            name: declaration.name.clone(),
            uses: uses.clone(),
            title: file.title.clone(),
            parameters: Arc::new(parameters),
            known: None,
            price: file.price.clone(),
            kind,
            wires: declaration.plugs.clone(),
            place: declaration.place,
            plugs: Vec::new(),
        })
    }
}

fn read_file(
    library: &Library,
    sources: &mut Sources,
    uses: &str,
    place: Place,
) -> Result<(&'static Kind, PartFile), Problems> {
    let Some(text) = library.part(uses) else {
        let problem = Problem::at(place, format!("there is no part `{uses}`"));
        return Err(problem.help(format!("{} (`hopscope parts` lists all of them)", library.meant_part(uses))).into());
    };
    let number = sources.add(text.name.clone(), text.text.clone());
    let file = part_file::read(sources, number)?;
    Ok((kind_of(&file.model, number)?, file))
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
