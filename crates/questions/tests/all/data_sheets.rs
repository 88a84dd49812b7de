//! What drives do beside what their data sheets promise, and that no model reads those.

use std::collections::BTreeMap;

use hopscope_files::library::Library;
use hopscope_files::part_file::{self, PartFile};
use hopscope_files::problem::Sources;
use hopscope_machine::run::Options;
use hopscope_questions::data_sheet::hold;

const DEVIATIONS: &str = include_str!("../../../../docs/DEVIATIONS.md");
/// A row that misses by more is listed.
const MISS: f64 = 0.1;

fn read(sources: &mut Sources, name: &str, text: &str) -> PartFile {
    let file = sources.add(name, text);
    part_file::read(sources, file).unwrap_or_else(|problems| panic!("{}", problems.render(sources, false)))
}

/// The rows of the table of misses: all but the reason, and the reason.
fn listed() -> Vec<(String, String)> {
    let table = DEVIATIONS.split("<!-- data sheets: begin -->").nth(1).expect("the table begins");
    let table = table.split("<!-- data sheets: end -->").next().expect("the table ends");
    let rows = table.lines().filter(|line| line.starts_with('|')).skip(2);
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 6, "{line}");
        (cells[..5].join(" | "), cells[5].to_string())
    };
    rows.map(row).collect()
}

#[test]
fn drives_miss_their_data_sheets_by_more_than_a_tenth_only_where_it_is_listed() {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut missed = Vec::new();
    for name in library.parts().filter(|name| name.starts_with("drive/") || name.starts_with("disk/")) {
        let mut sources = Sources::default();
        let text = library.part(name).expect("a listed part");
        let part = read(&mut sources, &text.name, &text.text);
        let sheet = part.data_sheet.as_ref().unwrap_or_else(|| panic!("{name} has no data sheet"));
        let held = match hold(&library, &mut sources, (name, &part), Options::default(), &|_, _| {}) {
            Ok(held) => held,
            Err(failure) => panic!("{name}: {failure:?}"),
        };
        for (promise, held) in sheet.rows.iter().zip(held) {
            let held = held.unwrap_or_else(|| panic!("{name}: nothing ended in {}", promise.words()));
            assert_eq!(held.unsettled, None, "{name}: {}", promise.words());
            let error = held.error(promise);
            if error.abs() > MISS {
                let words = |amount| promise.figure.words(amount);
                let (promised, simulated) = (words(promise.figure.amount()), words(held.simulated));
                let cells = [&part.title, &promise.words(), &promised, &simulated, &format!("{:+.1} %", 100.0 * error)];
                missed.push(cells.map(String::from).join(" | "));
            }
        }
    }
    let listed = listed();
    let of_row = |row: &str| row.split(" | ").take(2).collect::<Vec<_>>().join(" | ");
    let reasons: BTreeMap<String, &String> = listed.iter().map(|(row, reason)| (of_row(row), reason)).collect();
    let reason = |row: &str| reasons.get(&of_row(row)).map_or("?", |reason| reason.as_str());
    let table: String = missed.iter().map(|row| format!("| {row} | {} |\n", reason(row))).collect();
    let found: Vec<&String> = missed.iter().collect();
    let listed: Vec<&String> = listed.iter().map(|(row, _)| row).collect();
    assert_eq!(found, listed, "docs/DEVIATIONS.md has another list of misses; it would be\n{table}");
}

#[test]
fn no_model_reads_a_data_sheet() {
    let library = Library::new(None).expect("the shipped files can be read");
    for name in ["drive/samsung-980-pro-1tb", "disk/quantum-fireball-el10.2a"] {
        let text = &library.part(name).expect("a shipped part").text;
        let without = text.split("[data_sheet]").next().expect("what is before it");
        let (with, without) = (read(&mut Sources::default(), name, text), read(&mut Sources::default(), name, without));
        assert!(with.data_sheet.is_some() && without.data_sheet.is_none());
        assert_eq!(with.parameters, without.parameters, "{name}");
    }
}
