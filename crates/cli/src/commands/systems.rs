//! `hopscope systems`: which machines are there?

use hopscope_files::library::TextOf;
use hopscope_files::problem::{Problem, Problems};
use hopscope_files::system_file;
use hopscope_machine::blueprint::{Blueprint, Part};
use hopscope_machine::hops::{starred, together};
use hopscope_pages::system::{Subject, page};
use hopscope_parts::bus::pcie::{Training, speed};
use hopscope_parts::parameters::Entry;
use hopscope_questions::work;
use serde_json::{Map, Value, json};

use crate::answer::{Answer, Refusal};
use crate::inputs::{Data, reading};
use crate::listing::list;
use crate::outputs::Outputs;
use crate::tables::{Meanings, bold, choices, choices_json, numbers, numbers_json, table, wrapped};
use crate::written::Inputs;

const EXAMPLES: &str = "\
Examples:
  hopscope systems
  hopscope systems piix4e-one-disk
  hopscope systems piix4e-one-disk --numbers
  hopscope systems nvme-server --html machine.html
  hopscope systems my-machine.toml --json";

/// List the machines there are, or show the parts, the wires and the numbers of one
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A system, or a system file; all of them if there is none
    name: Option<String>,
    /// Every number and every choice, and why it is what it is
    #[arg(long, requires = "name")]
    numbers: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    outputs: Outputs,
    #[command(flatten)]
    data: Data,
}

impl Args {
    /// Lists or shows.
    pub fn run(self) -> Result<Answer, Refusal> {
        match &self.name {
            None if self.outputs.wanted() => {
                let problem = Problem::nowhere("a page is of one system");
                Err(problem.help("name one: hopscope systems piix4e-one-disk --html machine.html").into())
            }
            None => self.list(),
            Some(name) => {
                let inputs = Inputs::of([name]).with_data(self.data.folder());
                self.outputs.spare(&inputs)?;
                let (system, _) = reading(|sources| work::system(&self.data.library()?, sources, name))?;
                let answer = self.show(name, &system);
                Ok(self.outputs.write(answer, &inputs, || {
                    let subject = Subject { system: name, blueprint: &system, data: report(name, &system) };
                    page(subject, &format!("hopscope systems {name}"))
                }))
            }
        }
    }

    fn list(&self) -> Result<Answer, Refusal> {
        let (rows, _) = reading(|sources| {
            let library = self.data.library()?;
            let texts = library.systems().filter_map(|name| Some((name, library.system(name)?)));
            let row = |(name, text): (_, &TextOf)| {
                let file = sources.add(text.name.clone(), text.text.clone());
                let system = system_file::read(sources, file)?;
                Ok(vec![json!(name), json!(system.title), json!(system.study)])
            };
            texts.map(row).collect::<Result<Vec<_>, Problems>>()
        })?;
        Ok(list("system", &["title", "study"], &rows, self.json))
    }

    fn show(&self, name: &str, system: &Blueprint) -> Answer {
        if self.json {
            return Answer::json(&report(name, system));
        }
        let (all, chosen, devices) = (system.numbers(), system.choices(), system.devices());
        let mut out = bold(wrapped(&system.title, "").trim_end()) + "\n";
        let study = system.study.as_ref().map_or(String::new(), |study| format!("study {study}; "));
        let devices = alike(devices.iter().map(String::as_str), |device| uses(system, device));
        let devices: Vec<String> = devices.iter().map(|names| together(names)).collect();
        let (devices, target) = (devices.join(", "), &system.default_target);
        let said = format!("{study}devices: {devices} (a job without filename= is for {target})");
        out += &(wrapped(&said, "") + "\n");
        if let Some(price) = system.price() {
            out += &(wrapped(&price.words_of_machine(), "") + "\n");
        }
        out += &table(&["part", "is", "plugged into"], 2, part_rows(system));
        let links = system.links();
        if !links.is_empty() {
            let header = ["link", "trained to", "port", "slot", "device", "payload"];
            out += &format!("\n{}", table(&header, 1, link_rows(system, &links)));
        }
        out += "\n";
        if self.numbers {
            let meanings = system.declared();
            out += &(numbers(&all, &meanings) + &choices(&chosen, &meanings));
        } else {
            out += &summary(system, &all, &chosen);
        }
        Answer::text(out)
    }
}

/// All of a system for programs.
fn report(name: &str, system: &Blueprint) -> Value {
    json!({
        "name": name,
        "title": system.title,
        "study": system.study,
        "default_target": system.default_target,
        "devices": system.devices(),
        "price_usd": system.price().map(|price| price.json_of_machine()),
        "links": system.links().iter().map(link_json).collect::<Vec<_>>(),
        "parts": system.parts().iter().map(part_json).collect::<Vec<_>>(),
        "numbers": numbers_json(&system.numbers(), &Meanings::new()),
        "choices": choices_json(&system.choices(), &Meanings::new()),
    })
}

/// The part file of the part that a path begins with.
fn uses<'a>(system: &'a Blueprint, path: &str) -> &'a str {
    let part = path.split('.').next().unwrap_or(path);
    system.parts().iter().find(|known| known.name == part).map_or("", |part| &part.uses)
}

/// Names that differ only in numbers, where `what` is the same of them, in the order of the first ones.
fn alike<'a, K: PartialEq>(names: impl Iterator<Item = &'a str>, what: impl Fn(&'a str) -> K) -> Vec<Vec<&'a str>> {
    let mut groups: Vec<((String, K), Vec<&str>)> = Vec::new();
    for name in names {
        let key = (starred(name), what(name));
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, names)) => names.push(name),
            None => groups.push((key, vec![name])),
        }
    }
    groups.into_iter().map(|(_, names)| names).collect()
}

/// Parts that are alike, and plugged in alike, as one row.
fn part_rows(system: &Blueprint) -> Vec<Vec<String>> {
    let part = |name: &str| system.parts().iter().find(|part| part.name == name).expect("the name is a part's");
    let shape = |name| (&part(name).uses, part(name).plugs().map(|(_, port)| starred(&port)).collect::<Vec<_>>());
    let groups = alike(system.parts().iter().map(|part| part.name.as_str()), shape);
    let row = |names: &Vec<&str>| {
        let first = part(names[0]);
        let wires = first.plugs().enumerate().map(|(at, (plug, _))| {
            let ports: Vec<String> = names.iter().filter_map(|name| Some(part(name).plugs().nth(at)?.1)).collect();
            format!("{plug} {}", together(&ports.iter().map(String::as_str).collect::<Vec<_>>()))
        });
        let wires = wires.collect::<Vec<_>>().join(", ");
        let count = if names.len() > 1 { format!("{} x ", names.len()) } else { String::new() };
        vec![together(names), format!("{count}{}", first.uses), wires]
    };
    groups.iter().map(row).collect()
}

/// How many numbers there are by basis, and the choices, those of alike parts as one row.
fn summary(system: &Blueprint, numbers: &[(String, &Entry)], chosen: &[(String, &Entry)]) -> String {
    let mut counts: Vec<(&str, usize)> = ["source", "measured", "fitted", "assumed"].map(|word| (word, 0)).to_vec();
    for (_, entry) in numbers {
        let counted = counts.iter_mut().find(|(word, _)| *word == entry.basis.word());
        counted.expect("there are four bases").1 += 1;
    }
    let counts = counts.iter().filter(|(_, count)| *count > 0).map(|(word, count)| format!("{count} {word}"));
    let said = format!("{} numbers: {} (--numbers has them)", numbers.len(), counts.collect::<Vec<_>>().join(", "));
    wrapped(&said, "") + &choice_rows(system, chosen)
}

/// Choices, those of parts that are alike and chose alike as one row.
fn choice_rows(system: &Blueprint, chosen: &[(String, &Entry)]) -> String {
    let value = |path: &str| chosen.iter().find(|(known, _)| known == path).map_or("", |(_, entry)| &entry.written);
    let groups = alike(chosen.iter().map(|(path, _)| path.as_str()), |path| (uses(system, path), value(path)));
    let mut rows: Vec<Vec<String>> = Vec::new();
    for paths in groups {
        let (parts, keys): (Vec<&str>, Vec<&str>) = paths.iter().filter_map(|path| path.split_once('.')).unzip();
        let (parts, choice) = (together(&parts), format!("{}={}", together(&keys), value(paths[0])));
        match rows.iter_mut().find(|row| row[0] == parts) {
            Some(row) => row[1] += &format!(", {choice}"),
            None => rows.push(vec![parts, choice]),
        }
    }
    if rows.is_empty() { String::new() } else { format!("\n{}", table(&["part", "choices"], 1, rows)) }
}

/// Links that are alike, and trained alike, as one row.
fn link_rows(system: &Blueprint, links: &[(String, Training)]) -> Vec<Vec<String>> {
    let cells = |name: &str| -> Vec<String> {
        links.iter().find(|(known, _)| known == name).map_or(Vec::new(), |(_, training)| link_cells(training))
    };
    let groups = alike(links.iter().map(|(name, _)| name.as_str()), |name| (uses(system, name), cells(name)));
    groups.iter().map(|names| [vec![together(names)], cells(names[0])].concat()).collect()
}

fn link_cells(training: &Training) -> Vec<String> {
    let low = if training.is_low() { " (low)" } else { "" };
    let Training { trained, port, slot, device, payload_max, .. } = *training;
    let trained = format!("{}{low}", speed(trained));
    vec![trained, speed(port), speed(slot), speed(device), format!("{payload_max} B")]
}

fn link_json((name, training): &(String, Training)) -> serde_json::Value {
    let speed = |(bytes, lanes): (u64, u64)| json!({ "gigatransfers_per_s": bytes as f64 * 8e-9, "lanes": lanes });
    let Training { trained, port, slot, device, payload_max } = *training;
    json!({
        "link": name, "trained": speed(trained), "port": speed(port), "slot": speed(slot), "device": speed(device),
        "payload_bytes_max": payload_max, "below_both_ends": training.is_low(),
    })
}

fn part_json(part: &Part) -> serde_json::Value {
    let plugs: Map<_, _> = part.plugs().map(|(plug, port)| (plug.to_string(), json!(port))).collect();
    json!({ "name": part.name, "use": part.uses, "title": part.title, "model": part.model(), "plugs": plugs })
}
