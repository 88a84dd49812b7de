//! Files of new parts: every number of a kind, as the nearest shipped part has it, but for what is given.

use hopscope_files::library::Library;
use hopscope_files::new_part::{self, Begun, Wanted};
use hopscope_files::part_file::{self, PartFile};
use hopscope_files::problem::{Problems, Sources};
use hopscope_files::vocabulary;
use hopscope_machine::blueprint;
use hopscope_parts::parameters::{Basis, Parameters, Value};

fn library() -> Library {
    Library::new(None).expect("the shipped files can be read")
}

fn begin(kind: &str, like: Option<&str>, given: &[&str]) -> Result<Begun, Problems> {
    let given: Vec<String> = given.iter().map(|word| word.to_string()).collect();
    let wanted = Wanted { kind, title: "A \"new\" part", like, given: &given, source: Some("its data sheet") };
    new_part::begin(&library(), &mut Sources::default(), &wanted)
}

fn part(name: &str, text: &str) -> (PartFile, Sources, u32) {
    let mut sources = Sources::default();
    let file = sources.add(name, text.to_string());
    let part = part_file::read(&sources, file).unwrap_or_else(|problems| panic!("{name}: {problems}\n{text}"));
    (part, sources, file)
}

/// Its numbers without why they are what they are, those of rows too.
fn values(parameters: &Parameters) -> Vec<(String, Value)> {
    let of = |(key, entry): (&String, &hopscope_parts::parameters::Entry)| match &entry.value {
        Value::Rows(rows) => {
            let of_row = |(index, row): (usize, &Parameters)| {
                values(row).into_iter().map(move |(column, value)| (format!("{index}.{column}"), value)).collect()
            };
            let rows = rows.iter().enumerate().map(of_row);
            rows.flat_map(|row: Vec<_>| row).map(|(column, value)| (format!("{key}.{column}"), value)).collect()
        }
        value => vec![(key.clone(), value.clone())],
    };
    parameters.entries.iter().flat_map(of).collect()
}

#[test]
fn a_file_that_is_begun_with_a_shipped_part_is_that_part_and_says_what_each_number_means() {
    let library = library();
    for name in library.parts() {
        let (shipped, ..) = part(name, &library.part(name).expect("it is in the list").text);
        let begun = begin(&shipped.model, Some(name), &[]).unwrap_or_else(|problems| panic!("{name}: {problems}"));
        let (new, ..) = part("new.toml", &begun.text);
        assert_eq!((&new.model, &new.title[..]), (&shipped.model, "A \"new\" part"), "{name}");
        assert_eq!(values(&new.parameters), values(&shipped.parameters), "{name}");
        assert_eq!((begun.like.as_str(), begun.given), (name, 0));
        assert!(begun.assumed <= new.parameters.entries.len(), "{name}");
        let said = begun.text.replace("\n# ", " ");
        for note in vocabulary::asked(&shipped).expect("it can be read") {
            assert!(
                said.contains(note.declared.meaning.trim_end_matches('.')),
                "{name}: {} is not explained",
                note.path
            );
        }
    }
}

#[test]
fn what_is_given_is_in_the_file_with_its_source_and_decides_which_part_is_nearest() {
    let library = library();
    let given = ["capacity=3.84 TB", "pcie.rate=32 GT/s"];
    let begun = begin("drive", None, &given).expect("a drive");
    assert_eq!((begun.like.as_str(), begun.given), ("drive/enterprise-gen5-3.84tb", 2));
    let (new, mut sources, file) = part("new.toml", &begun.text);
    let capacity = &new.parameters.entries["capacity"];
    assert_eq!(capacity.basis, Basis::Source("its data sheet".into()));
    assert_eq!(capacity.value, Value::Bytes(3_840_000_000_000));
    let block = &new.parameters.entries["block"];
    assert_eq!(block.basis, Basis::Assumed("as drive/enterprise-gen5-3.84tb has it".into()));
    blueprint::check_part(&library, &mut sources, file).expect("a right part");
    // Another rate, another drive; and a word in the place of a number.
    assert_eq!(begin("nvme", None, &["capacity=1 TB"]).expect("a drive").like, "drive/samsung-980-pro-1tb");
    let disk = begin("disk", None, &["rotation=5400 rpm", "transfer_mode=ultra-dma-2"]).expect("a disk");
    assert_eq!(disk.like, "disk/quantum-fireball-el10.2a");
}

#[test]
fn what_cannot_be_begun_says_why_and_what_would_be_right() {
    let wrong: [(&str, Option<&str>, &[&str], &str); 8] = [
        ("nvme-drve", None, &[], "did you mean `nvme-drive`?"),
        ("drive", Some("drive/samsung-980-pro-2tb"), &[], "did you mean `drive/samsung-980-pro-1tb`?"),
        ("drive", None, &["capacty=1 TB"], "did you mean `capacity`?"),
        ("drive", None, &["capacity"], "gives no number"),
        ("drive", None, &["capacity=1 tons"], "capacity=1 tons"),
        ("drive", None, &["capacity=2 lanes"], "`capacity` is an amount of data, `2 lanes` is a count"),
        ("drive", None, &["pcie.width=5 lanes"], "expected 1, 2, 4, 8, 12 or 16: lanes, at most"),
        ("drive", None, &["block=512 B", "block=4 KiB"], "`block` is given twice"),
    ];
    for (kind, like, given, said) in wrong {
        let Err(problems) = begin(kind, like, given) else { panic!("{kind} {given:?} was begun") };
        let found = problems.render(&Sources::default(), false);
        assert!(found.contains(said), "{kind} {given:?}: {found}");
    }
}
