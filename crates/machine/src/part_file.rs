//! One device, one file: `parts/<role>/<model>.toml`.

use hopscope_parts::parameters::Parameters;

use crate::parameter_table::{TableReader, document};
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
}

/// Reads the part file that `sources` keeps under the number `file`.
pub fn read(sources: &Sources, file: u32) -> Result<PartFile, Problems> {
    let root = document(file, sources.text(file))?;
    let mut reader = TableReader::new(file);
    let start = place(file, 0..0);
    let (model, _) = reader.required_text(root.get_ref(), "model", start, "disk");
    let (title, _) = reader.required_text(root.get_ref(), "title", start, "Quantum Fireball EL 10.2A");
    let parameters = reader.parameters(root.get_ref(), &["model", "title"], start, None);
    reader.finish(PartFile { model, title, parameters })
}
