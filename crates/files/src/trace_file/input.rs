//! Where a trace comes from.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::problem::Problem;

/// Opens a trace, `-` for what comes on standard input; and its length, where that is known.
pub fn open(path: &str) -> Result<(Box<dyn Read>, Option<u64>), Problem> {
    if path == "-" {
        return Ok((Box::new(io::stdin()), None));
    }
    let cannot = |what: String| Problem::nowhere(format!("`{path}` {what}")).help("the first word is the trace");
    if Path::new(path).is_dir() {
        return Err(cannot("is a folder, not a trace".to_string()));
    }
    let file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => cannot("is not there".to_string()),
        _ => cannot(format!("cannot be read: {error}")),
    })?;
    let length = file.metadata().ok().filter(|data| data.is_file()).map(|data| data.len());
    Ok((Box::new(file), length))
}
