//! The schemas take every shipped file, and refuse what the readers refuse.

use std::collections::BTreeSet;

use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_files::schema::SCHEMAS;
use hopscope_machine::blueprint;
use hopscope_parts::catalog::KINDS;
use hopscope_parts::parameters::declared::Declared;
use jsonschema::Validator;
use serde_json::Value;

const DISK: &str = include_str!("../../../../data/parts/disk/quantum-fireball-el10.2a.toml");
const BUS: &str = include_str!("../../../../data/parts/bus/pci-32-33.toml");
const DRIVER: &str = include_str!("../../../../data/parts/driver/windows-2000-ide.toml");
const SYSTEM: &str = include_str!("../../../../data/systems/piix4e-one-disk.toml");

fn schema(name: &str) -> Value {
    let library = Library::new(None).expect("the shipped files can be read");
    let schema = SCHEMAS.iter().find(|schema| schema.name == name).expect("a schema");
    let mut sources = Sources::default();
    (schema.make)(&library, &mut sources).unwrap_or_else(|problems| panic!("{}", problems.render(&sources, false)))
}

fn validator(schema: &Value) -> Validator {
    jsonschema::draft202012::new(schema).expect("a schema of the dialect")
}

/// What a schema says against a TOML text.
fn complaints(validator: &Validator, text: &str) -> Vec<String> {
    let content: Value = toml::from_str(text).expect("TOML");
    validator.iter_errors(&content).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn the_schemas_are_of_their_dialect() {
    for name in ["part", "system"] {
        assert!(jsonschema::draft202012::meta::is_valid(&schema(name)), "{name}");
    }
}

#[test]
fn every_shipped_file_is_valid() {
    let library = Library::new(None).expect("the shipped files can be read");
    let parts = library.parts().map(|name| ("part", library.part(name)));
    let systems = library.systems().map(|name| ("system", library.system(name)));
    let validators = ["part", "system"].map(|name| (name, validator(&schema(name))));
    for (kind, text) in parts.chain(systems) {
        let text = text.expect("a listed file");
        let (_, validator) = validators.iter().find(|(name, _)| *name == kind).expect("its schema");
        let found = complaints(validator, &text.text);
        assert!(found.is_empty(), "{}: {found:#?}", text.name);
    }
}

#[test]
fn every_kind_of_part_and_every_number_of_it_is_in_the_schemas() {
    let (part, system) = (schema("part"), schema("system"));
    for kind in KINDS {
        assert!(part["$defs"][kind.model]["required"].as_array().expect("a list").len() >= 3, "{}", kind.model);
        for (plug, _) in kind.plugs() {
            assert!(system["$defs"][kind.model]["properties"][plug]["pattern"].is_string(), "{} {plug}", kind.model);
        }
    }
    let disk = &part["$defs"]["hard-disk"]["properties"];
    assert_eq!(disk["rotation"]["$ref"], "#/$defs/frequency");
    assert_eq!(disk["zones"]["properties"]["rows"]["items"]["properties"]["track_skew"]["$ref"], "#/$defs/count");
    assert_eq!(disk["rotation"]["examples"][0], "7200 rpm");
    // What only some rows have may be left out: an interrupt acknowledge names no register.
    let step = &part["$defs"]["ide-driver"]["properties"]["start"]["properties"]["rows"]["items"];
    let required: BTreeSet<&str> =
        step["required"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert!(required.contains("gap") && !required.contains("value"), "{required:?}");
}

/// The path as it is declared: of every row of a table.
fn of_any_row(path: &str) -> String {
    match (path.split_once('['), path.split_once("].")) {
        (Some((table, _)), Some((_, column))) => format!("{table}[].{column}"),
        _ => path.to_string(),
    }
}

#[test]
fn what_a_part_is_asked_for_when_it_is_built_is_what_its_kind_declares() {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut built = BTreeSet::new();
    for name in library.systems() {
        let mut sources = Sources::default();
        let text = library.system(name).expect("a listed file");
        let file = sources.add(text.name.clone(), text.text.clone());
        let system = blueprint::Blueprint::read(&library, &mut sources, file).expect("a right system");
        let asked = system.declared();
        for part in system.parts() {
            built.insert(part.model());
            let own = format!("{}.", part.name);
            let asked = asked.iter().filter_map(|(path, of)| Some((path.strip_prefix(&own)?, of)));
            let asked: Vec<_> = asked.map(|(path, of)| (of_any_row(path), of)).collect();
            let kind = KINDS.iter().find(|kind| kind.model == part.model()).expect("a known kind");
            let declared = kind.declarations();
            for (path, of) in &asked {
                let found = declared.iter().find(|known| known.path == *path).map(|known| &known.declared);
                let found = found.unwrap_or_else(|| panic!("{name} {}: {path} is not declared", part.name));
                let said = |of: &Declared| (of.quantity, of.meaning, of.depends, of.words);
                assert_eq!(said(found), said(of), "{name} {}: {path}", part.name);
                assert!(of.depends || found == *of, "{name} {}: {path} is {of:?}, {found:?}", part.name);
            }
            for of in declared.iter().filter(|of| of.always && !of.path.contains("[].")) {
                let is_asked = asked.iter().any(|(path, _)| *path == of.path);
                assert!(is_asked, "{name} {}: {} is not asked for", part.name, of.path);
            }
        }
    }
    assert_eq!(built.len(), KINDS.len(), "a system has a part of each kind: {built:?}");
}

/// A text with one change, which has to be one, and one space instead of several.
#[track_caller]
#[test]
fn a_schema_says_what_a_number_means_and_what_it_may_be_in_every_file() {
    let part = schema("part");
    let said = |model: &str, path: &[&str]| {
        let table = path.iter().fold(&part["$defs"][model], |table, key| &table["properties"][key]);
        table["description"].as_str().unwrap_or_else(|| panic!("{model} {path:?}: {table}")).to_string()
    };
    let transfer = "Most bytes a command moves (4 KiB to 32 MiB, a multiple of 4 KiB)";
    assert_eq!(said("ahci-driver", &["transfer_max"]), transfer);
    // No file's FIFO is the limit of another's pieces.
    let piece = "Bytes that cross between FIFO and memory together; the FIFO holds that much at least.";
    assert_eq!(said("scsi-adapter", &["channel", "piece"]), piece);
}

fn changed(text: &str, from: &str, to: &str) -> String {
    let squeezed: String =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect();
    assert!(squeezed.contains(from), "`{from}` is there to be changed");
    squeezed.replacen(from, to, 1)
}

#[test]
fn a_wrong_part_is_not_valid() {
    let validator = validator(&schema("part"));
    for (text, from, to, place) in [
        (DISK, "model = \"hard-disk\"", "model = \"hard-dsk\"", "/model"),
        (DISK, "model = \"hard-disk\"", "", ""),
        (DISK, "heads = ", "haeds = ", ""),
        (DISK, "\"5400 rpm\"", "\"5400\"", "/rotation/value"),
        (DISK, "\"5400 rpm\"", "5400", "/rotation/value"),
        (DISK, "\"5400 rpm\"", "\"5400 ms\"", "/rotation/value"),
        (DISK, "\"5400 rpm\"", "\"-5400 rpm\"", "/rotation/value"),
        (DISK, "\"5400 rpm\"", "\"5_400_ rpm\"", "/rotation/value"),
        (DISK, ", source = \"Preset of a hardware emulator; quality unknown\"", "", "/rotation"),
        (DISK, "source = \"Preset of a hardware emulator; quality unknown\"", "sorce = \"Preset\"", "/rotation"),
        (
            DISK,
            "source = \"Preset of a hardware emulator; quality unknown\"",
            "source = \"a\", assumed = \"b\"",
            "/rotation",
        ),
        (DISK, "source = \"Preset of a hardware emulator; quality unknown\"", "source = \"\"", "/rotation/source"),
        (
            DISK,
            "range = [\"240 sectors\", \"320 sectors\"]",
            "range = [\"240 sectors\"]",
            "/zones/rows/0/sectors_per_track/range",
        ),
        (DISK, "basis = { assumed = \"four zones", "basis = { guessed = \"four zones", "/zones/basis"),
        (DISK, "basis = { assumed = \"four zones", "# basis = { assumed = \"four zones", "/zones/rows/0/cylinders"),
        (DISK, "track_skew = \"22 sectors\", ", "", "/zones/rows/1"),
        (DISK, "track_skew = \"22 sectors\"", "track_skw = \"22 sectors\"", "/zones/rows/1"),
        (DISK, "transfer_mode = \"ultra-dma-2\"", "transfer_mode = \"2 MHz\"", "/transfer_mode"),
        (DISK, "rows = [", "rows = []\nrest = [", "/zones"),
        (DISK, "iodepth = 1", "iodepth = 0", "/data_sheet/rows/0/iodepth"),
        (DISK, "rw = \"randread\"", "rw = \"random\"", "/data_sheet/rows/0/rw"),
        (DISK, "\"15.06 ms\"", "\"15.06 mss\"", "/data_sheet/rows/0/promised/value"),
        (DISK, "on = \"piix4e-one-disk\"", "on = \"piix4e-no-disk\"", "/data_sheet/on"),
        (DISK, ", assumed = \"9.5 ms average seek", ", guessed = \"9.5 ms average seek", "/data_sheet/rows/0/promised"),
        (BUS, "clock = \"33.333333 MHz\"", "clock = \"33.333333\"", "/clock"),
        (BUS, "basis = {", "bases = {", ""),
        (BUS, "slots = {", "slots = \"8 slots\"\nslits = {", ""),
        (DRIVER, "cycle = \"interrupt-acknowledge\"", "", "/service/rows/0"),
    ] {
        let found = complaints(&validator, &changed(text, from, to));
        assert!(found.iter().any(|said| said.starts_with(&format!("{place}: "))), "{from} -> {to}: {found:#?}");
    }
}

#[test]
fn a_wrong_system_is_not_valid() {
    let validator = validator(&schema("system"));
    for (from, to, place) in [
        ("title = ", "titel = ", ""),
        ("use = \"bus/pci-32-33\"", "use = \"bus/pci-32-3\"", "/part/pci/use"),
        ("use = \"bus/pci-32-33\"", "", "/part/pci"),
        ("clock = {", "clok = {", "/part/pci"),
        ("\"33.5 MHz\"", "\"33.5\"", "/part/pci/clock/value"),
        (", measured = \"PIIX4E report: 98 cycles in 2925 ns\"", "", "/part/pci/clock"),
        (
            "clock = { value = \"33.5 MHz\", measured = \"PIIX4E report: 98 cycles in 2925 ns\" }",
            "clock = \"33 MHz\"",
            "/part/pci/clock",
        ),
        ("controls = \"ide.registers\"", "", "/part/driver"),
        ("controls = \"ide.registers\"", "controls = \"ide\"", "/part/driver/controls"),
        ("controls = \"ide.registers\"", "controls = \"ide.registers\"\nat = \"pci.slot0\"", "/part/driver"),
        ("at = \"cable.drive0\"", "at = \"cable.drive{}\"\ncount = 0", "/part/disk/count"),
        ("[part.cpu]", "[part.\"C P U\"]", "/part"),
    ] {
        let found = complaints(&validator, &changed(SYSTEM, from, to));
        assert!(found.iter().any(|said| said.starts_with(&format!("{place}: "))), "{from} -> {to}: {found:#?}");
    }
    let own =
        "[part.disk.seek]\nbasis = { assumed = \"slower\" }\nrows = [{ distance = \"1 cylinder\", time = \"1 ms\" }]\n";
    assert_eq!(complaints(&validator, &format!("{SYSTEM}\n{own}")), Vec::<String>::new());
}

#[test]
fn a_column_of_a_table_that_its_part_does_not_ask_for_is_refused_with_its_line() {
    let wheels = ("cylinder_skew = \"46 sectors\"", "cylinder_skew = \"46 sectors\", wheels = \"4 heads\"");
    let tims = ("distance = \"4_168 cylinders\"", "distance = \"4_168 cylinders\", tims = \"2 ms\"");
    for ((from, to), said) in [
        (wheels, ["the rows of `zones.rows` have no `wheels` in `hard-disk`", "a row has cylinder_skew, cylinders"]),
        (tims, ["the rows of `seek.rows` have no `tims` in `hard-disk`", "did you mean `time`?"]),
    ] {
        let text = changed(DISK, from, to);
        assert!(!complaints(&validator(&schema("part")), &text).is_empty(), "the schema refuses it, too");
        let line = text.lines().position(|line| line.contains(to)).expect("it was put in") + 1;
        let library = Library::new(None).expect("the shipped files can be read");
        let mut sources = Sources::default();
        let file = sources.add("mine.toml", text);
        let problems = blueprint::check_part(&library, &mut sources, file).expect_err("nobody knows that column");
        let found = problems.render(&sources, false);
        assert!(
            said.iter().all(|said| found.contains(said)) && found.contains(&format!("mine.toml:{line}:")),
            "{found}"
        );
    }
}
