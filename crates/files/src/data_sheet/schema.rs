//! What a data sheet looks like, for editors.

use hopscope_parts::parameters::Quantity;
use serde_json::{Value as Json, json};

use super::file::{MOST_ROWS, ROW_KEYS};
use crate::job_file::Rw;
use crate::job_options::DEPTH_MAX;
use crate::library::Library;
use crate::quantity;
use crate::schema::{bases, number_pattern};

const RWS: [Rw; 6] = [Rw::Read, Rw::Write, Rw::RandRead, Rw::RandWrite, Rw::ReadWrite, Rw::RandReadWrite];

/// The table `data_sheet`, for the systems of a library.
pub(crate) fn schema(library: &Library) -> Json {
    let texts = |what: &str| json!({ "type": "array", "items": { "type": "string" }, "description": what });
    let systems: Vec<&str> = library.systems().collect();
    let numbers = [Quantity::Rate, Quantity::Time].into_iter().flat_map(quantity::units).chain(["IOPS"]);
    let figure = json!({ "type": "string", "pattern": number_pattern(numbers.collect()), "examples": ["7000 MB/s", "22000 IOPS", "45 us"] });
    let mut with_basis = json!({ "value": figure });
    if let (Json::Object(all), Json::Object(words)) = (&mut with_basis, bases()) {
        all.extend(words);
    }
    let promised = json!({
        "type": ["string", "object"], "pattern": figure["pattern"], "examples": figure["examples"],
        "properties": with_basis, "required": ["value"], "additionalProperties": false,
        "not": { "$ref": "#/$defs/two-bases" },
        "description": "what its data sheet promises: a rate, requests a second or a latency",
    });
    let row = json!({
        "type": "object",
        "properties": {
            "rw": { "enum": RWS.map(Rw::word), "description": "as fio has it" },
            "bs": { "type": "string", "pattern": number_pattern(quantity::units(Quantity::Bytes)), "examples": ["128 KiB"] },
            "iodepth": { "type": "integer", "minimum": 1, "maximum": DEPTH_MAX, "description": "requests in flight" },
            "promised": promised,
            "change": texts("numbers of the machine, or options of the job, that are others for this row"),
        },
        "required": &ROW_KEYS[..4], "additionalProperties": false,
    });
    json!({
        "description": "what its data sheet promises; no model reads it",
        "type": "object",
        "properties": {
            "basis": { "$ref": "#/$defs/basis" },
            "on": { "enum": systems, "description": "the system that it is held against its promises in" },
            "replace": texts("other parts of that system"),
            "change": texts("numbers of that system that are others for all rows"),
            "rows": { "type": "array", "minItems": 1, "maxItems": MOST_ROWS, "items": row },
        },
        "required": ["on", "rows"], "additionalProperties": false,
        "if": { "not": { "required": ["basis"] } },
        "then": { "properties": { "rows": { "items": { "properties": { "promised": { "$ref": "#/$defs/own-basis" } } } } } },
    })
}
