//! Is this file right?

use hopscope_files::file_kind::{FileKind, kind_of};
use hopscope_files::job_file;
use hopscope_files::library::Library;
use hopscope_files::problem::{Problems, Sources};
use hopscope_machine::blueprint::{self, Blueprint};

use crate::data_sheet;
use crate::whatif::upgrades;

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
