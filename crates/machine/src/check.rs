//! Is this file right? Its kind is known by its extension, or by what is in it.

use crate::blueprint::{self, Blueprint};
use crate::data_sheet;
use crate::job_file;
use crate::library::Library;
use crate::parameter_table::document;
use crate::problem::{Problem, Problems, Sources, place};
use crate::whatif::upgrades::{self, APPLIES_TO};

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

/// What is wrong with the file that `sources` keeps under the number `file`.
pub fn check(library: &Library, sources: &mut Sources, file: u32) -> Result<FileKind, Problems> {
    let kind = kind_of(sources, file)?;
    match kind {
        FileKind::System => Blueprint::read(library, sources, file).map(drop)?,
        FileKind::Part => {
            blueprint::check_part(library, sources, file)?;
            data_sheet::check(library, sources, file)?;
        }
        FileKind::Job => job_file::read(sources, file).map(drop)?,
        FileKind::Upgrade => upgrades::check(library, sources, file)?,
    }
    Ok(kind)
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

    #[test]
    fn every_shipped_file_is_right() {
        let library = Library::new(None).unwrap();
        let parts = library.parts().map(|name| library.part(name));
        let systems = library.systems().map(|name| library.system(name));
        let jobs = library.jobs().map(|name| library.job(name));
        let upgrades = library.upgrades().map(|name| library.upgrade(name));
        for text in parts.chain(systems).chain(jobs).chain(upgrades).flatten() {
            let mut sources = Sources::default();
            let file = sources.add(text.name.clone(), text.text.clone());
            if let Err(problems) = check(&library, &mut sources, file) {
                panic!("{}", problems.render(&sources, false));
            }
        }
    }
}
