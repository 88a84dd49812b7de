//! The JSON Schema of `study.toml`, made from what reads it.

use hopscope_files::library::Library;
use hopscope_files::problem::{Problems, Sources};
use hopscope_files::schema::{DIALECT, Schema};
use schemars::schema_for;
use serde_json::{Value, json};

use crate::fitting::WORKLOAD;
use crate::study_file::StudyFile;

/// The schema of this crate's files.
pub static STUDY: Schema = Schema { name: "study", files: "studies/*/study.toml", make: study };

fn study(library: &Library, _: &mut Sources) -> Result<Value, Problems> {
    let mut schema = schema_for!(StudyFile).to_value();
    schema["$schema"] = json!(DIALECT);
    schema["title"] = json!("A study of Hopscope");
    schema["description"] = json!("What a publication says, and which machines and numbers answer it.");
    let named = |names: Vec<&str>| json!({ "type": "string", "enum": names });
    schema["properties"]["systems"]["additionalProperties"] = named(library.systems().collect());
    let parts = named(library.parts().chain([WORKLOAD]).collect());
    schema["$defs"]["Fit"]["properties"]["part"]["enum"] = parts["enum"].clone();
    Ok(schema)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Study, shelf};

    fn complaints(text: &str) -> Vec<String> {
        let library = Library::new(None).expect("the shipped files can be read");
        let schema = study(&library, &mut Sources::default()).expect("a schema");
        assert!(jsonschema::draft202012::meta::is_valid(&schema));
        let validator = jsonschema::draft202012::new(&schema).expect("a schema of the dialect");
        let content: Value = toml::from_str(text).expect("TOML");
        validator.iter_errors(&content).map(|error| format!("{}: {error}", error.instance_path())).collect()
    }

    /// A text that is valid, changed so, is not, and the complaint is of that place.
    fn is_said(right: &str, from: &str, to: &str, place: &str) {
        assert!(right.contains(from), "`{from}` is there to be changed");
        let found = complaints(&right.replacen(from, to, 1));
        assert!(found.iter().any(|said| said.starts_with(&format!("{place}: "))), "{from} -> {to}: {found:#?}");
    }

    #[test]
    fn every_shipped_study_is_valid() {
        for study in Study::shipped() {
            let found = complaints(shelf::text(study.id(), "study.toml"));
            assert!(found.is_empty(), "{}: {found:#?}", study.id());
        }
    }

    #[test]
    fn a_study_that_its_folder_says_alone_is_valid() {
        let example = include_str!("../../../docs/adding/studies/data-sheet/study.toml");
        // The machine of the example is its own.
        let right = example.replace("desk = \"desk\"", "desk = \"nvme-desktop\"");
        assert_eq!(complaints(&right), Vec::<String>::new());
        for (from, to, place) in [
            ("id    = \"random\"\ntitle", "title", "/table/0"),
            ("key   = [", "keys  = [", "/table/0"),
            ("seeds = 1", "seeds = 9", "/table/1/seeds"),
            ("value = \"16e9", "cells.read = \"randread\"\nvalue = \"16e9", "/null/0/cells/read"),
            ("how = ", "# ", "/claim/0"),
            ("shows       = ", "# ", "/chart/0"),
        ] {
            is_said(&right, from, to, place);
        }
    }

    #[test]
    fn a_wrong_study_is_not_valid() {
        let right = shelf::text("piix4e", "study.toml");
        for (from, to, place) in [
            ("title = ", "titel = ", ""),
            ("source = ", "# source = ", ""),
            ("\"piix4e-one-disk\"", "\"piix4e-one-dsk\"", "/systems/one-disk"),
            ("\"32 MiB\"", "\"32\"", "/numbers/random_span/value"),
            ("\"32 MiB\", fitted", "\"32 MiB\", fited", "/numbers/random_span"),
            ("[\"1 MiB\", \"128 MiB\"]", "[1, 128]", "/numbers/random_span/range/0"),
            ("part = \"disk/", "part = \"dsk/", "/fit/2/part"),
            ("keys = [", "kys = [", "/fit/0"),
            ("\"hold_acknowledge\", ", "", "/ablation/0/set/0"),
            ("around  = 4", "around  = \"4\"", "/write_cycle/0/around"),
        ] {
            is_said(right, from, to, place);
        }
    }
}
