//! Every number in `data/` has a unit, and says why it is what it is.

use hopscope_machine::blueprint::{Blueprint, numbers_of};
use hopscope_machine::library::Library;
use hopscope_machine::part_file;
use hopscope_machine::problem::Sources;
use hopscope_parts::parameters::{Basis, Entry};

/// Checks one number of `file`.
fn check(file: &str, path: &str, entry: &Entry) {
    let written = &entry.written;
    assert!(written.starts_with(|c: char| c.is_ascii_digit()), "{file}: {path} = {written} is no number");
    assert!(written.ends_with(|c: char| c.is_alphabetic() || c == '%'), "{file}: {path} = {written} has no unit");
    assert!(entry.basis.text().len() >= 6, "{file}: {path} = {written} does not say why");
    match &entry.basis {
        Basis::Fitted(to) => {
            assert!(to.contains(": "), "{file}: {path} is fitted to {to}: name the study and the cells");
            assert_eq!(entry.range.len(), 2, "{file}: {path} is fitted and has no plausible range");
        }
        Basis::Source(_) | Basis::Measured(_) | Basis::Assumed(_) => {}
    }
}

#[test]
fn every_number_of_every_part_has_a_unit_and_a_basis() {
    let library = Library::new(None).unwrap();
    let mut numbers = 0;
    for name in library.parts() {
        let text = library.part(name).unwrap();
        let mut sources = Sources::default();
        let file = sources.add(text.name.clone(), text.text.clone());
        let part =
            part_file::read(&sources, file).unwrap_or_else(|problems| panic!("{}", problems.render(&sources, false)));
        for (path, entry) in numbers_of(&part.parameters) {
            check(name, &path, entry);
            numbers += 1;
        }
    }
    assert!(numbers > 100, "only {numbers} numbers are there");
}

#[test]
fn every_number_of_every_system_has_a_unit_and_a_basis() {
    let library = Library::new(None).unwrap();
    for name in library.systems() {
        let text = library.system(name).unwrap();
        let mut sources = Sources::default();
        let file = sources.add(text.name.clone(), text.text.clone());
        let read = Blueprint::read(&library, &mut sources, file);
        let blueprint = read.unwrap_or_else(|problems| panic!("{}", problems.render(&sources, false)));
        for (path, entry) in blueprint.numbers() {
            check(name, &path, entry);
        }
    }
}
