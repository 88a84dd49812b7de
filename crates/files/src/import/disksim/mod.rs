//! Drives as DiskSim describes them (.diskspecs, .model and .seek files), as part files of kind `scsi-disk`.
//!
//! ```text
//!   .diskspecs: disksim_disk { buffer, overheads, Model = source … } ─▶ .model: dm_disk { layout, mechanics } ─▶ .seek
//!   .parv: buses, controllers, topology: what a block takes on its way
//! ```
//!
//! Such a drive was measured on a host. What that took of each command is in the overheads, and of each block in the
//! time on the bus: the files do not part them, and neither does the part file.
//!
//! What this model does not have is said, key by key. Nothing is guessed silently: a number that no file has is
//! `assumed`, with the reason.

mod bus;
mod controller;
mod disk;
mod language;
mod layout;
mod part_text;
mod seek;
mod tokens;

use std::path::{Path, PathBuf};

use language::{Block, Field, Item};

use crate::problem::{Problem, Sources, place};
use crate::text_file;

/// A drive that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The part file.
    pub part: String,
    /// What was left out or assumed, a sentence each.
    pub notes: Vec<String>,
}

/// Reads a drive from its files. Files that they refer to are looked for among those named, then beside whoever refers
/// to them.
pub fn import(sources: &mut Sources, paths: &[PathBuf]) -> Result<Import, Problem> {
    let mut files = Files { read: Vec::new(), curves: Vec::new(), system: Vec::new() };
    for path in paths {
        files.add(sources, path)?;
    }
    let specification = files.only("disksim_disk", "the drive's .diskspecs file")?;
    let model = match specification.find("Model") {
        Some(field) => files.referred(sources, field, "dm_disk")?,
        None => files.only("dm_disk", "the drive's .model file")?,
    };
    let mut notes = Vec::new();
    let disk = disk::read(&mut files, sources, &model, &mut notes)?;
    let controller = {
        let mut time = bus::block_time(&files, &specification, &|block| name_of(sources, block), &mut notes)?;
        if time.ps == 0 && files.add_system_beside(sources, &specification)? {
            time = bus::block_time(&files, &specification, &|block| name_of(sources, block), &mut notes)?;
        }
        controller::read(&specification, &disk, &time, &mut notes)?
    };
    let names = [name_of(sources, &specification), name_of(sources, &model)];
    notes.push(
        "the time of a block on the bus and the overheads are those of the host on which the drive was measured, too: \
         on another host they count what is that one's"
            .to_string(),
    );
    Ok(Import { part: part_text::write(&specification.name, &names, &disk, &controller), notes })
}

fn name_of(sources: &Sources, block: &Block) -> String {
    base_name(sources.name(block.place.file)).to_string()
}

fn base_name(name: &str) -> &str {
    Path::new(name).file_name().and_then(|name| name.to_str()).unwrap_or(name)
}

/// `key = value (file:line)`
fn shown(sources: &Sources, field: &Field) -> String {
    let (file, line, _) = sources.place_of(&field.place);
    let value = if field.text().is_empty() { "…" } else { field.text() };
    format!("`{} = {value}` ({}:{line})", field.key, base_name(file))
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// The files that were read.
struct Files {
    /// Blocks, with the path of their file.
    read: Vec<(PathBuf, Vec<Block>)>,
    /// Numbers of the texts that are seek curves, with their paths.
    curves: Vec<(PathBuf, u32)>,
    /// Instances and topologies.
    system: Vec<Item>,
}

/// Files that one drive may have.
const MOST_FILES: usize = 64;

impl Files {
    fn add(&mut self, sources: &mut Sources, path: &Path) -> Result<(), Problem> {
        if self.read.len() + self.curves.len() >= MOST_FILES {
            return Err(Problem::nowhere(format!("these are more than {MOST_FILES} files")));
        }
        let known = self.read.iter().map(|(path, _)| path).chain(self.curves.iter().map(|(path, _)| path));
        if known.clone().any(|known| is_same(known, path)) {
            return Ok(());
        }
        let text = text_file::read(path)?;
        let file = sources.add(path.display().to_string(), text.clone());
        if seek::is_curve(&text) {
            self.curves.push((path.to_path_buf(), file));
            return Ok(());
        }
        let mut blocks = Vec::new();
        let mut included = Vec::new();
        for item in language::read(file, &text)? {
            match item {
                Item::Block(block) => blocks.push(block),
                Item::Source(name) => included.push(name),
                item => self.system.push(item),
            }
        }
        if blocks.is_empty() && included.is_empty() {
            let problem = Problem::at(place(file, 0..0), "there is no drive in this file");
            return Err(problem.label("expected a block such as `disksim_disk NAME { … }`"));
        }
        self.read.push((path.to_path_buf(), blocks));
        included.iter().try_for_each(|name| self.add(sources, &path.with_file_name(base_name(name))))
    }

    fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.read.iter().flat_map(|(_, blocks)| blocks)
    }

    /// Reads the .parv file that stands beside a drive's file and has its name, where there is one.
    fn add_system_beside(&mut self, sources: &mut Sources, specification: &Block) -> Result<bool, Problem> {
        let beside = Path::new(sources.name(specification.place.file)).with_extension("parv");
        let is_new = beside.is_file() && !self.read.iter().any(|(path, _)| is_same(path, &beside));
        if is_new {
            self.add(sources, &beside)?;
        }
        Ok(is_new)
    }

    /// The only block of a kind.
    fn only(&self, kind: &str, wanted: &str) -> Result<Block, Problem> {
        let mut found = self.read.iter().flat_map(|(_, blocks)| blocks).filter(|block| block.kind == kind);
        match (found.next(), found.next()) {
            (Some(block), None) => Ok(block.clone()),
            (Some(_), Some(second)) => {
                let problem = Problem::at(second.place, format!("there are two `{kind}` blocks"));
                Err(problem.label("the second one").help("import one drive at a time"))
            }
            (None, _) => {
                let problem = Problem::nowhere(format!("none of these files has a `{kind}` block"));
                let names: Vec<&str> = self.read.iter().map(|(path, _)| path.to_str().unwrap_or_default()).collect();
                let read = if names.is_empty() { "nothing but seek curves".to_string() } else { names.join(", ") };
                Err(problem.help(format!("name {wanted}; read: {read}")))
            }
        }
    }

    /// The block that a field has, or the first of its kind in the file that it refers to.
    fn referred(&mut self, sources: &mut Sources, field: &Field, kind: &str) -> Result<Block, Problem> {
        let Some(name) = field.source() else { return field.block().cloned() };
        let path = self.find(sources, field, name)?;
        if !self.read.iter().any(|(read, _)| *read == path) {
            self.add(sources, &path)?;
        }
        let blocks = self.read.iter().filter(|(read, _)| *read == path).flat_map(|(_, blocks)| blocks);
        blocks.into_iter().find(|block| kind.is_empty() || block.kind == kind).cloned().ok_or_else(|| {
            Problem::at(field.value_place, format!("`{name}` has no `{kind}` block")).label("referred to here")
        })
    }

    /// The seek curve that a field names.
    fn curve(&mut self, sources: &mut Sources, field: &Field) -> Result<(Vec<seek::Point>, String), Problem> {
        let name = field.source().unwrap_or(field.text()).to_string();
        let path = self.find(sources, field, &name)?;
        if !self.curves.iter().any(|(read, _)| *read == path) {
            self.add(sources, &path)?;
        }
        let Some((_, file)) = self.curves.iter().find(|(read, _)| *read == path) else {
            return Err(Problem::at(field.value_place, format!("`{name}` is no seek curve")).label("referred to here"));
        };
        Ok((seek::read(*file, sources.text(*file))?, base_name(&name).to_string()))
    }

    /// Where a file is that a field refers to.
    fn find(&self, sources: &Sources, field: &Field, name: &str) -> Result<PathBuf, Problem> {
        let wanted = base_name(name);
        let paths = self.read.iter().map(|(path, _)| path).chain(self.curves.iter().map(|(path, _)| path));
        if let Some(path) = paths.clone().find(|path| path.file_name().is_some_and(|name| name == wanted)) {
            return Ok(path.clone());
        }
        let beside = Path::new(sources.name(field.place.file)).with_file_name(wanted);
        if beside.is_file() {
            return Ok(beside);
        }
        let problem = Problem::at(field.value_place, format!("`{wanted}` is not there"));
        Err(problem.label("referred to here").help("name that file too, or put it beside this one"))
    }
}
