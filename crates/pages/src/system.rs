//! The page of a machine: what it is made of, and what its hops can carry.

use hopscope_machine::blueprint::Blueprint;
use serde_json::Value;

use crate::explain::numbers;
use crate::map;
use crate::page::{Block, Chapter, Page, Section, Tile};
use crate::table::{Cell, Table, Tone};
use crate::wording::slug;

/// A machine.
pub struct Subject<'a> {
    /// The system, as the command line names it.
    pub system: &'a str,
    /// What it is made of.
    pub blueprint: &'a Blueprint,
    /// All of it, for programs.
    pub data: Value,
}

/// The page.
pub fn page(subject: Subject, command: &str) -> Page {
    let Subject { system, blueprint, data } = subject;
    let rests_on = Section { title: "What its numbers rest on".into(), ..numbers(blueprint) };
    let words = "How its parts are plugged into each other. Parts that are alike are drawn once.";
    let map = Section::new("glance", "The machine at a glance").words(words);
    let devices = blueprint.devices();
    let tile = |name: &str, figure: String, about: String| Tile { name: name.into(), figure, about, tone: Tone::Plain };
    let mut tiles = vec![
        tile("Parts", blueprint.parts().len().to_string(), "hardware, and the software that drives it".into()),
        tile(
            "Devices",
            devices.len().to_string(),
            format!("a job without filename= is for {}", blueprint.default_target),
        ),
    ];
    tiles.extend(blueprint.study.as_ref().map(|study| tile("Study", study.clone(), "it is a machine of".into())));
    let chapter = Chapter {
        id: slug(&format!("system {system}")),
        title: blueprint.title.clone(),
        source: format!("{}; {system}", blueprint.title),
        answer: vec![format!("Jobs run on {}.", devices.join(", "))],
        tiles,
        sections: vec![map.block(Block::Figures(vec![map::at_rest(blueprint, &[])], 2)), parts(blueprint), rests_on],
        data,
        csvs: Vec::new(),
    };
    Page { title: format!("What {system} is"), command: command.to_string(), chapters: vec![chapter] }
}

fn parts(blueprint: &Blueprint) -> Section {
    let rows = blueprint.parts().iter().map(|part| {
        let plugs: Vec<String> = part.plugs().map(|(plug, port)| format!("{plug} {port}")).collect();
        vec![
            Cell::words(part.name.clone()),
            Cell::words(part.title.clone()),
            Cell::words(part.uses.clone()),
            Cell::words(plugs.join(", ")),
        ]
    });
    let columns = [("part", "part"), ("is", "title"), ("file", "use"), ("plugged into", "plugs")];
    let table = Table::new("parts-table", "Every part", &columns, rows.collect());
    Section::new("parts", "What it is made of").block(Block::Table(table))
}
