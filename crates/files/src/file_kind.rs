//! What a file describes. That is known by its extension, or by what is in it.

use crate::parameter_table::document;
use crate::problem::{Problem, Problems, Sources, place};
use crate::upgrade_file::APPLIES_TO;

/// What a file describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A machine.
    System,
    /// A device.
    Part,
    /// A workload.
    Job,
    /// A change to machines.
    Upgrade,
}

impl FileKind {
    /// In one word, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            FileKind::System => "system",
            FileKind::Part => "part",
            FileKind::Job => "job",
            FileKind::Upgrade => "upgrade",
        }
    }
}

/// What the file that `sources` keeps under the number `file` describes; the `Err` says why that cannot be known.
pub fn kind_of(sources: &Sources, file: u32) -> Result<FileKind, Problems> {
    let (name, text) = (sources.name(file), sources.text(file));
    if name.ends_with(".fio") {
        return Ok(FileKind::Job);
    }
    let is_toml = name.ends_with(".toml");
    match document(file, text) {
        Ok(root) if root.get_ref().contains_key("part") => Ok(FileKind::System),
        Ok(root) if root.get_ref().contains_key("model") => Ok(FileKind::Part),
        Ok(root) if root.get_ref().contains_key(APPLIES_TO) => Ok(FileKind::Upgrade),
        Ok(_) if is_toml => {
            let problem = Problem::at(place(file, 0..0), "this is neither a system nor a part nor an upgrade");
            let help = "a system has tables [part.NAME]; a part has model = \"…\"; an upgrade has applies_to = […]";
            Err(problem.help(help).into())
        }
        Err(problems) if is_toml => Err(problems),
        Ok(_) | Err(_) => Ok(FileKind::Job),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str, text: &str) -> Option<FileKind> {
        let mut sources = Sources::default();
        let file = sources.add(name, text);
        kind_of(&sources, file).ok()
    }

    #[test]
    fn a_file_is_known_by_its_extension_or_by_what_is_in_it() {
        assert_eq!(kind("a.fio", ""), Some(FileKind::Job));
        assert_eq!(kind("a.toml", "[part.disk]\nuse = \"disk/x\""), Some(FileKind::System));
        assert_eq!(kind("a", "model = \"hard-disk\""), Some(FileKind::Part));
        assert_eq!(kind("a.toml", "applies_to = []"), Some(FileKind::Upgrade));
        assert_eq!(kind("a", "[scan]\nrw=read"), Some(FileKind::Job));
        assert_eq!(kind("a.toml", "title = \"?\""), None);
        assert_eq!(kind("a.toml", "[scan]\nrw=read"), None);
    }
}
