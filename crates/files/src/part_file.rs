//! One device, one file: `parts/<role>/<model>.toml`.

use hopscope_parts::parameters::Parameters;

use crate::data_sheet::{self, DataSheet};
use crate::library::Library;
use crate::parameter_table::{TableReader, document};
use crate::price::{self, Price};
use crate::problem::{Problems, Sources, place};

/// A device as its file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct PartFile {
    /// The kind of part: which model walks these numbers.
    pub model: String,
    /// Its name in reports.
    pub title: String,
    /// Its numbers.
    pub parameters: Parameters,
    /// What it costs; no model reads it.
    pub price: Option<Price>,
    /// What its data sheet promises; no model reads it.
    pub data_sheet: Option<DataSheet>,
}

/// Every part of a library, by name.
///
/// # Errors
///
/// All that is wrong with any of its files.
pub fn all(library: &Library, sources: &mut Sources) -> Result<Vec<(String, PartFile)>, Problems> {
    let (mut parts, mut problems) = (Vec::new(), Problems::default());
    for (name, text) in library.parts().filter_map(|name| Some((name, library.part(name)?))) {
        let file = sources.add(text.name.clone(), text.text.clone());
        match read(sources, file) {
            Ok(part) => parts.push((name.to_string(), part)),
            Err(found) => problems.0.extend(found.0),
        }
    }
    problems.unless_empty(parts)
}

/// Reads the part file that `sources` keeps under the number `file`.
pub fn read(sources: &Sources, file: u32) -> Result<PartFile, Problems> {
    let root = document(file, sources.text(file))?;
    let mut reader = TableReader::new(file);
    let start = place(file, 0..0);
    let (model, _) = reader.required_text(root.get_ref(), "model", start, "disk");
    let (title, _) = reader.required_text(root.get_ref(), "title", start, "Quantum Fireball EL 10.2A");
    let aside = ["model", "title", data_sheet::KEY, price::KEY];
    let parameters = reader.parameters(root.get_ref(), &aside, start, None);
    let data_sheet = root.get_ref().get(data_sheet::KEY).and_then(|table| data_sheet::read(&mut reader, file, table));
    let price = root.get_ref().get(price::KEY).and_then(|value| price::read(&mut reader, value));
    reader.finish(PartFile { model, title, parameters, price, data_sheet })
}
