//! `hopscope systems`: which machines are there?

use hopscope_machine::blueprint::{Blueprint, Part};
use hopscope_machine::library::TextOf;
use hopscope_machine::problem::Problems;
use hopscope_machine::system_file;
use hopscope_parts::bus::pcie::Training;
use serde_json::{Map, json};

use crate::answer::{Answer, Refusal};
use crate::inputs::{self, Data, reading};
use crate::listing::list;
use crate::tables::{bold, choices, choices_json, numbers, numbers_json, table};

const EXAMPLES: &str = "\
Examples:
  hopscope systems
  hopscope systems piix4e-one-disk
  hopscope systems my-machine.toml --json";

/// List the machines there are, or show the parts, the wires and every number of one
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A system, or a system file; all of them if there is none
    name: Option<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: Data,
}

impl Args {
    /// Lists or shows.
    pub fn run(self) -> Result<Answer, Refusal> {
        match &self.name {
            None => self.list(),
            Some(name) => self.show(name),
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

    fn show(&self, name: &str) -> Result<Answer, Refusal> {
        let (system, _) = reading(|sources| inputs::system(&self.data.library()?, sources, name))?;
        let (all, chosen, devices) = (system.numbers(), system.choices(), system.devices());
        if self.json {
            return Ok(Answer::json(&json!({
                "name": name,
                "title": system.title,
                "study": system.study,
                "default_target": system.default_target,
                "devices": devices,
                "links": system.links().iter().map(link_json).collect::<Vec<_>>(),
                "parts": system.parts().iter().map(part_json).collect::<Vec<_>>(),
                "numbers": numbers_json(&all),
                "choices": choices_json(&chosen),
            })));
        }
        let mut out = bold(&system.title) + "\n";
        if let Some(study) = &system.study {
            out += &format!("study {study}; ");
        }
        out +=
            &format!("devices: {} (a job without filename= is for {})\n\n", devices.join(", "), system.default_target);
        out += &table(&["part", "is", "plugged into"], 1, rows(&system));
        let links: Vec<_> = system.links().iter().map(link_row).collect();
        if !links.is_empty() {
            out += &format!("\n{}", table(&["link", "trained to", "port", "slot", "device", "payload"], 1, links));
        }
        out += &format!("\n{}{}", numbers(&all), choices(&chosen));
        Ok(Answer::text(out))
    }
}

fn rows(system: &Blueprint) -> impl Iterator<Item = Vec<String>> {
    system.parts().iter().map(|part| {
        let wires: Vec<String> = part.plugs().map(|(plug, port)| format!("{plug} {port}")).collect();
        vec![part.name.clone(), part.uses.clone(), wires.join(", ")]
    })
}

/// A rate and a width, as `lspci` writes them.
fn speed((bytes_per_second, lanes): (u64, u64)) -> String {
    format!("{} GT/s x{lanes}", bytes_per_second as f64 * 8e-9)
}

fn link_row((name, training): &(String, Training)) -> Vec<String> {
    let low = if training.is_low() { " (low)" } else { "" };
    let Training { trained, port, slot, device, payload_max, .. } = *training;
    let trained = format!("{}{low}", speed(trained));
    vec![name.clone(), trained, speed(port), speed(slot), speed(device), format!("{payload_max} B")]
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
