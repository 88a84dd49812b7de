//! Every kind of part, and every number that its file has, as Markdown.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::library::Library;
use crate::problem::{Problems, Sources};
use crate::vocabulary::{Key, Vocabulary, vocabularies};

const HEAD: &str = "\
# Parts

Every kind of part, and every number that its file has: what it means, what it may be, and what shipped parts say. \
This page is what `hopscope parts --reference` prints. `hopscope parts NAME` shows one part, with where its numbers \
are from; `hopscope new KIND NAME` begins the file of another one ([GUIDE.md](GUIDE.md)).

A number in *italics* is not in every file of its kind: another number, or a choice, decides whether it is asked for. \
What a range that depends on other numbers comes to is said by `hopscope parts NAME`. Columns of a table are below it.
";

/// The page: kinds by the folder of their files.
///
/// # Errors
///
/// A file of the library cannot be read.
pub fn page(library: &Library, sources: &mut Sources) -> Result<String, Problems> {
    let mut roles: BTreeMap<String, Vec<Vocabulary>> = BTreeMap::new();
    for vocabulary in vocabularies(library, sources)? {
        let Some((role, _)) = vocabulary.files.first().and_then(|name| name.split_once('/')) else { continue };
        roles.entry(role.to_string()).or_default().push(vocabulary);
    }
    let mut out = HEAD.to_string();
    for (role, kinds) in &roles {
        let _ = write!(out, "\n## {role}\n");
        kinds.iter().for_each(|vocabulary| section(&mut out, vocabulary));
    }
    Ok(out)
}

fn section(out: &mut String, vocabulary: &Vocabulary) {
    let Vocabulary { kind, files, keys } = vocabulary;
    let files: Vec<String> = files.iter().map(|name| format!("`{name}`")).collect();
    let plugs: Vec<String> = kind.plugs().iter().map(|(plug, _)| format!("`{plug}`")).collect();
    let _ = write!(out, "\n### {}\n\n{}. Shipped: {}.", kind.model, kind.what, files.join(", "));
    if !plugs.is_empty() {
        let _ = write!(out, " In a system it is plugged in by {}.", plugs.join(", "));
    }
    out.push_str("\n\n| number | what it is | may be | for example |\n|---|---|---|---|\n");
    for (path, key) in keys {
        let name = if key.is_required { format!("`{path}`") } else { format!("*`{path}`*") };
        let what = key.declared.meaning.trim_end_matches('.');
        let example = if key.examples.is_empty() { "no shipped part has it".into() } else { key.examples.join("; ") };
        let cells = [name, what.to_string(), limits(key), example].map(|cell| cell.replace('|', "\\|"));
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
}

/// What it may be; of what, where nothing else is said.
fn limits(Key { declared, .. }: &Key) -> String {
    match declared.limits() {
        _ if declared.depends => "depends on others".to_string(),
        limits if !limits.is_empty() => limits,
        _ => declared.quantity.name().to_string(),
    }
}
