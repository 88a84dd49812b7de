//! Lists of what there is, by name: a table for people, an array for programs.

use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::tables::table;

/// A list of `what`, one a row: its name, then its `columns`.
pub fn list(what: &str, columns: &[&str], rows: &[Vec<Value>], as_json: bool) -> Answer {
    if as_json {
        let keys = || std::iter::once("name").chain(columns.iter().copied()).map(String::from);
        let object = |row: &Vec<Value>| Value::Object(Map::from_iter(keys().zip(row.iter().cloned())));
        return Answer::json(&json!({ (format!("{what}s")): rows.iter().map(object).collect::<Vec<_>>() }));
    }
    let header: Vec<&str> = std::iter::once(what).chain(columns.iter().copied()).collect();
    let cells = |row: &Vec<Value>| row.iter().map(|cell| cell.as_str().unwrap_or_default().to_string()).collect();
    Answer::text(table(&header, 1, rows.iter().map(cells)))
}
