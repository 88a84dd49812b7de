//! `hopscope parts`: what is there to build with, and does a drive do what its data sheet promises?

use std::sync::atomic::Ordering;

use hopscope_files::data_sheet::{DataSheet, Promise};
use hopscope_files::library::{Library, TextOf};
use hopscope_files::part_file::{self, PartFile};
use hopscope_files::price::Price;
use hopscope_files::problem::{Problem, Problems, Sources};
use hopscope_files::reference;
use hopscope_files::text_file;
use hopscope_files::vocabulary;
use hopscope_machine::blueprint;
use hopscope_machine::run::Options;
use hopscope_parts::nearest::did_you_mean;
use hopscope_questions::data_sheet::{self, Held};
use serde_json::{Value, json};

use crate::answer::{Answer, INTERRUPTED, Refusal, SUCCESS};
use crate::inputs::{Data, reading};
use crate::interrupts;
use crate::listing::list;
use crate::panics::doing;
use crate::progress::Steps;
use crate::tables::{Meanings, bold, choices, choices_json, numbers, numbers_json, table, wrapped};

const EXAMPLES: &str = "\
Examples:
  hopscope parts
  hopscope parts bus/pci-32-33
  hopscope parts drive/samsung-980-pro-1tb
  hopscope parts disk/quantum-fireball-el10.2a --json
  hopscope parts --reference > PARTS.md

A drive is run in a machine against each figure that its data sheet promises.";

/// List the parts there are, or show every number of one and where it is from
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A part as role/model, or a part file; all of them if there is none
    name: Option<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
    /// Every kind of part and every number that its file has, as Markdown
    #[arg(long, conflicts_with_all = ["name", "json"])]
    reference: bool,
    /// Show what a drive's data sheet promises without running the drive against it
    #[arg(long)]
    no_run: bool,
    #[command(flatten)]
    data: Data,
}

impl Args {
    /// Lists or shows.
    pub fn run(self) -> Result<Answer, Refusal> {
        match &self.name {
            None if self.reference => {
                let (page, _) = reading(|sources| reference::page(&self.data.library()?, sources))?;
                Ok(Answer::text(page))
            }
            None => self.list(),
            Some(name) => self.show(name),
        }
    }

    fn list(&self) -> Result<Answer, Refusal> {
        let (rows, _) = reading(|sources| {
            let parts = part_file::all(&self.data.library()?, sources)?;
            let row = |(name, part): &(String, PartFile)| vec![json!(name), json!(part.title), json!(part.model)];
            Ok(parts.iter().map(row).collect::<Vec<_>>())
        })?;
        Ok(list("part", &["title", "model"], &rows, self.json))
    }

    fn show(&self, name: &str) -> Result<Answer, Refusal> {
        doing(format!("reading {name}"));
        let library = self.data.library()?;
        let (part, mut sources) = reading(|sources| read(sources, &open(&library, name)?))?;
        doing(format!("running {name} against its data sheet"));
        let interrupted = interrupts::noticed();
        let rows = part.data_sheet.as_ref().map_or(0, |sheet| sheet.rows.len());
        let held = if self.no_run {
            Ok(vec![None; rows])
        } else {
            let steps = Steps::new();
            let options = Options { interrupted: Some(interrupted), ..Options::default() };
            let at = |done: usize, of: usize| steps.at(done, of, "promises of its data sheet");
            data_sheet::hold(&library, &mut sources, (name, &part), options, &at)
        };
        let held = match held {
            Ok(held) => held,
            Err(failure) => return Err(Refusal::of_run(failure, sources)),
        };
        doing("writing the answer");
        let all = blueprint::numbers_of(&part.parameters);
        let chosen = blueprint::choices_of(&part.parameters);
        // What is wrong with a part is said by `check`; it can be shown all the same.
        let asked = vocabulary::asked(&part).unwrap_or_default();
        let meanings: Meanings = asked.into_iter().map(|note| (note.path, note.declared)).collect();
        let answer = if self.json {
            let sheet = part.data_sheet.iter().flat_map(|sheet| &sheet.rows).zip(&held);
            Answer::json(&json!({
                "name": name,
                "title": part.title,
                "model": part.model,
                "price_usd": part.price.as_ref().map(Price::dollars),
                "data_sheet": sheet.map(|(promise, held)| row(promise, held.as_ref())).collect::<Vec<_>>(),
                "numbers": numbers_json(&all, &meanings),
                "choices": choices_json(&chosen, &meanings),
            }))
        } else {
            let sheet = part.data_sheet.as_ref().map_or(String::new(), |sheet| promises(sheet, &held));
            let (title, model) = (bold(&part.title), &part.model);
            let rest = format!("{}{}", numbers(&all, &meanings), choices(&chosen, &meanings));
            let price = part.price.as_ref().map_or(String::new(), |price| {
                let (word, text) = (price.basis.word(), price.basis.text());
                format!("\n{:.2} USD ({word}: {text})", price.dollars())
            });
            Answer::text(format!("{title}\n{name}, model {model}{price}\n\n{sheet}{rest}"))
        };
        let code = if interrupted.load(Ordering::Relaxed) { INTERRUPTED } else { SUCCESS };
        Ok(Answer { code, ..answer })
    }
}

/// What is promised beside what is simulated; then who promises it, and what else there is to say of a row.
fn promises(sheet: &DataSheet, held: &[Option<Held>]) -> String {
    let mut bases: Vec<String> = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for (promise, held) in sheet.rows.iter().zip(held) {
        let basis = format!("{}: {}", promise.basis.word(), promise.basis.text());
        let by = number_of(&mut bases, basis);
        let mut request = promise.words();
        if !promise.changed.is_empty() {
            let number = number_of(&mut notes, format!("with {}", promise.changed.join(", ")));
            request += &"*".repeat(number);
        }
        let (simulated, error) = match held {
            None => ("-".to_string(), "-".to_string()),
            Some(held) => {
                if let Some(why) = &held.unsettled {
                    let number = number_of(&mut notes, format!("not as well known as the others: {why}"));
                    request += &format!(" {}", "*".repeat(number));
                }
                (promise.figure.words(held.simulated), error_of(promise, held))
            }
        };
        let promised = promise.figure.words(promise.figure.amount());
        rows.push(vec![request, promised, simulated, error, by.to_string()]);
    }
    let is_one = bases.len() == 1;
    let columns = ["data sheet", "promised", "simulated", "error", "by"];
    let columns = &columns[..columns.len() - usize::from(is_one)];
    rows.iter_mut().for_each(|row| row.truncate(columns.len()));
    let mut out = table(columns, columns.len(), rows);
    for (index, basis) in bases.iter().enumerate() {
        let number = if is_one { String::new() } else { format!("{} ", index + 1) };
        out += &wrapped(&format!("{number}{basis}"), "  ");
    }
    for (index, note) in notes.iter().enumerate() {
        out += &wrapped(&format!("{} {note}", "*".repeat(index + 1)), "  ");
    }
    if held.iter().any(Option::is_some) {
        out += &wrapped(&format!("Simulated on {}.", sheet.on), "");
    }
    format!("{out}\n")
}

/// The number of a text in a list, counted from one; it is added where it is not there.
fn number_of(list: &mut Vec<String>, text: String) -> usize {
    let index = list.iter().position(|known| *known == text).unwrap_or(list.len());
    if index == list.len() {
        list.push(text);
    }
    index + 1
}

fn error_of(promise: &Promise, held: &Held) -> String {
    // Minus nothing is nothing.
    let percent = (1_000.0 * held.error(promise)).round() / 10.0 + 0.0;
    format!("{percent:+.1} %")
}

fn row(promise: &Promise, held: Option<&Held>) -> Value {
    let Promise { job, figure, basis, changed, .. } = promise;
    json!({
        "rw": job.rw.word(),
        "bs": job.block_bytes_min,
        "iodepth": job.iodepth,
        "change": changed,
        "promised": figure.amount(),
        "simulated": held.map(|held| held.simulated),
        "unit": figure.unit(),
        "error": held.map(|held| held.error(promise)),
        "interval": held.map(|held| held.interval).filter(|interval| interval.is_finite()),
        "not_converged": held.and_then(|held| held.unsettled.as_ref()),
        "basis": basis.word(),
        "from": basis.text(),
    })
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
