//! Every number in `data/` has a unit, and says why it is what it is.

use hopscope_files::library::Library;
use hopscope_files::part_file;
use hopscope_files::problem::Sources;
use hopscope_machine::blueprint::{Blueprint, numbers_of};
use hopscope_parts::parameters::{Basis, Entry};

/// Words of those who have not read it in a document.
const HEARSAY: &[&str] =
    &["usual", "typical", "often", "mostly", "common", "convention", "review", "recalled", "verified", "not at hand"];

/// Whether a source is named: its first word is a name, which has a capital, a figure or a hyphen, and nothing in it is
/// hearsay. A review is a source where it is named before what it says.
fn names_a_document(source: &str) -> bool {
    let first = source.split_whitespace().next().unwrap_or_default();
    let named = |c: char| c.is_uppercase() || c.is_ascii_digit() || c == '-';
    let said = source.to_lowercase();
    first.contains(named) && !HEARSAY.iter().any(|word| said.contains(word))
}

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
        Basis::Source(source) => {
            let help = "name the document and where in it, or say `assumed` and why";
            assert!(names_a_document(source), "{file}: {path} is from no document: {source}; {help}");
        }
        Basis::Measured(_) | Basis::Assumed(_) => {}
    }
}

#[test]
fn a_source_names_a_document_and_no_hearsay() {
    for source in [
        "PIIX4E report, table 3: processor bus and memory access",
        "82371AB data sheet, p. 161: PHOLD# is asserted again three clocks after TRDY# goes away",
        "pcie-bench, section 6.5: a miss costs about 330 ns",
        "Linux 6.1, drivers/nvme/host/pci.c: io_queue_depth is 1024, less one",
    ] {
        assert!(names_a_document(source), "{source}");
    }
    for hearsay in [
        "there is no second socket",
        "data lie above 4 GiB",
        "product description",
        "its Device Capabilities: 8-bit tags",
        "ConnectX-5 cards, as usual",
        "Tuning guides often say so",
        "SSDs in public reviews",
        "PCI 2.2, 3.3.3.2.2 as recalled",
    ] {
        assert!(!names_a_document(hearsay), "{hearsay}");
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
