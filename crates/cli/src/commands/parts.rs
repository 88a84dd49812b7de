//! `hopscope parts`: what is there to build with?

use hopscope_machine::blueprint;
use hopscope_machine::library::{Library, TextOf};
use hopscope_machine::nearest::did_you_mean;
use hopscope_machine::part_file::{self, PartFile};
use hopscope_machine::problem::{Problem, Problems, Sources};
use hopscope_machine::text_file;
use serde_json::json;

use crate::answer::{Answer, Refusal};
use crate::inputs::{Data, reading};
use crate::listing::list;
use crate::tables::{bold, choices, choices_json, numbers, numbers_json};

const EXAMPLES: &str = "\
Examples:
  hopscope parts
  hopscope parts bus/pci-32-33
  hopscope parts disk/quantum-fireball-el10.2a --json";

/// List the parts there are, or show every number of one and where it is from
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A part as role/model, or a part file; all of them if there is none
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
            let texts = library.parts().filter_map(|name| Some((name, library.part(name)?)));
            let row = |(name, text)| {
                let part = read(sources, text)?;
                Ok(vec![json!(name), json!(part.title), json!(part.model)])
            };
            texts.map(row).collect::<Result<Vec<_>, Problems>>()
        })?;
        Ok(list("part", &["title", "model"], &rows, self.json))
    }

    fn show(&self, name: &str) -> Result<Answer, Refusal> {
        let (part, _) = reading(|sources| read(sources, &open(&self.data.library()?, name)?))?;
        let all = blueprint::numbers_of(&part.parameters);
        let chosen = blueprint::choices_of(&part.parameters);
        if self.json {
            return Ok(Answer::json(&json!({
                "name": name,
                "title": part.title,
                "model": part.model,
                "numbers": numbers_json(&all),
                "choices": choices_json(&chosen),
            })));
        }
        let title = bold(&part.title);
        Ok(Answer::text(format!("{title}\n{name}, model {}\n\n{}{}", part.model, numbers(&all), choices(&chosen))))
    }
}

fn read(sources: &mut Sources, text: &TextOf) -> Result<PartFile, Problems> {
    let file = sources.add(text.name.clone(), text.text.clone());
    part_file::read(sources, file)
}

fn open(library: &Library, name: &str) -> Result<TextOf, Problems> {
    if let Some(text) = library.part(name) {
        return Ok(text.clone());
    }
    let path = std::path::Path::new(name);
    if name.ends_with(".toml") || path.exists() {
        let text = text_file::read(path)?;
        return Ok(TextOf { name: name.to_string(), text: text.into() });
    }
    let names: Vec<&str> = library.parts().collect();
    Err(Problem::nowhere(format!("there is no part `{name}`, and no file")).help(did_you_mean(name, &names)).into())
}
