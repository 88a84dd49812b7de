//! Published studies: what they published, how it is simulated, and how far apart the two are.
//!
//! Only this crate knows published numbers. A study is a folder in `studies/`, of the shipped ones or of `--data DIR`.
//! What runs answer which published cell its `study.toml` says (`folder`); of the shipped ones, code of their own.

pub mod fitting;
mod folder;
pub mod forecasts;
mod machines;
pub mod measure;
pub mod myrinet;
pub mod pcie_bench;
pub mod pictures;
pub mod piix4e;
pub mod raid_pci;
pub mod report;
mod robustness;
pub mod schema;
pub mod shelf;
mod study_file;
pub mod win2000;

use std::collections::BTreeMap;
use std::path::Path;

use hopscope_files::library::{Library, TextOf, is_text_of_study};
use hopscope_files::problem::{Problem, Problems, Sources};
use hopscope_files::text_file;
use hopscope_machine::run::Failure;

pub use folder::STUDY_FILE;
use pictures::Pictures;
use report::Report;

/// What a caller may want of a reproduction.
pub struct Wish<'a> {
    /// Parts, systems and jobs.
    pub library: &'a Library,
    /// Book trains. Results are the same, to the bit.
    pub trains: bool,
    /// Also move every assumed and fitted number, and switch every mechanism off, and see what becomes of the errors.
    pub sensitivity: bool,
    /// Whether somebody wants no more than what is known by now. Fits look at it.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Is told how much is done, of how much, and what is being done. Called from several threads.
    pub progress: &'a (dyn Fn(usize, usize, &str) + Sync),
}

/// A study.
pub struct Study {
    id: String,
    folder: Folder,
}

/// Where its folder is, and what runs it.
enum Folder {
    /// In the program, with code of its own.
    Shipped(&'static Code),
    /// It says everything itself.
    Own(folder::Texts),
}

/// The code of a shipped study.
struct Code {
    id: &'static str,
    reproduce: fn(&Wish) -> Result<Report, Failure>,
    pictures: fn(&Wish) -> Result<Pictures, Failure>,
    fit: fn(&Wish) -> Result<Vec<fitting::Found>, Failure>,
}

static SHIPPED: &[Code] = &[
    Code { id: "piix4e", reproduce: piix4e::reproduce, pictures: piix4e::pictures, fit: piix4e::fit },
    Code { id: "pcie-bench", reproduce: pcie_bench::reproduce, pictures: pcie_bench::pictures, fit: pcie_bench::fit },
    Code { id: "myrinet", reproduce: myrinet::reproduce, pictures: myrinet::pictures, fit: myrinet::fit },
    Code { id: "raid-pci", reproduce: raid_pci::reproduce, pictures: raid_pci::pictures, fit: raid_pci::fit },
    Code { id: "win2000", reproduce: win2000::reproduce, pictures: win2000::pictures, fit: win2000::fit },
];

impl Study {
    /// Every shipped one: those with code of their own, then those without.
    pub fn shipped() -> Vec<Study> {
        let with_code = SHIPPED.iter().map(|code| Study { id: code.id.to_string(), folder: Folder::Shipped(code) });
        let alone = shelf::folders().filter(|id| SHIPPED.iter().all(|code| code.id != *id));
        let alone = alone.map(|id| Study { id: id.to_string(), folder: Folder::Own(shelf::texts(id)) });
        with_code.chain(alone).collect()
    }

    /// Every shipped one, then those in the `studies` folder of `--data DIR`. Nothing is read of them but their texts;
    /// the `Err` says which has the name of a shipped one.
    pub fn all(library: &Library) -> Result<Vec<Study>, Problems> {
        let mut own: BTreeMap<&str, folder::Texts> = BTreeMap::new();
        for (path, text) in library.studies() {
            if let Some((id, file)) = path.split_once('/') {
                own.entry(id).or_default().insert(file.to_string(), text.clone());
            }
        }
        let mut studies = Study::shipped();
        for (id, texts) in own {
            if studies.iter().any(|known| known.id == id) {
                let problem = Problem::nowhere(format!("a study that ships with the program is called `{id}`, too"));
                return Err(problem.help("give yours another name: that of its folder").into());
            }
            studies.push(Study { id: id.to_string(), folder: Folder::Own(texts) });
        }
        Ok(studies)
    }

    /// The study in a folder; a shipped one, if its texts are those of the shipped folder of that name.
    pub fn at(folder: &Path) -> Result<Study, Problems> {
        let named = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_string);
        let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        let id = named(&whole).unwrap_or_default();
        let (mut texts, mut problems) = (folder::Texts::new(), Problems::default());
        let entries = std::fs::read_dir(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
        let entries = entries
            .map_err(|error| Problem::nowhere(format!("cannot read the folder `{}`: {error}", folder.display())))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            let Some(file) = named(&path).filter(|file| is_text_of_study(file)) else { continue };
            match text_file::read_regular(&path) {
                Ok(text) => {
                    texts.insert(file, TextOf { name: path.display().to_string(), text: text.into() });
                }
                Err(problem) => problems.0.push(problem),
            }
        }
        let shipped = SHIPPED.iter().find(|code| code.id == id);
        let as_shipped = |texts: &folder::Texts| {
            shelf::text_if_there(&id, STUDY_FILE) == texts.get(STUDY_FILE).map(|text| &*text.text)
        };
        let folder = match shipped {
            Some(code) if as_shipped(&texts) => Folder::Shipped(code),
            _ => Folder::Own(texts),
        };
        problems.unless_empty(Study { id, folder })
    }

    /// Its name: that of its folder.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its title, who published it and when, and what it is about.
    pub fn head(&self, sources: &mut Sources) -> Result<Head, Problems> {
        let (file, about) = match &self.folder {
            Folder::Shipped(_) => (study_file::read(&self.id), shelf::text(&self.id, ABOUT).to_string()),
            Folder::Own(texts) => {
                let about = texts.get(ABOUT).map_or(String::new(), |text| text.text.to_string());
                (folder::study_file(&self.id, texts, sources)?.0, about)
            }
        };
        Ok(Head { title: file.title, source: file.source, about })
    }

    /// Reads everything that a run of it needs, and checks it.
    pub fn open<'a>(&self, library: &'a Library, sources: &mut Sources) -> Result<Opened<'a>, Problems> {
        Ok(Opened(match &self.folder {
            Folder::Shipped(code) => What::Code(code),
            Folder::Own(texts) => What::Folder(Box::new(folder::Setup::read(&self.id, texts, library, sources)?)),
        }))
    }
}

/// What a study says of itself.
pub struct Head {
    /// Its title.
    pub title: String,
    /// Who published it, and when.
    pub source: String,
    /// What it is about, and how each of its tables is answered.
    pub about: String,
}

/// The file with what it is about.
const ABOUT: &str = "source.md";

/// A study that can be run, with the library that it was opened with.
pub struct Opened<'a>(What<'a>);

enum What<'a> {
    Code(&'static Code),
    Folder(Box<folder::Setup<'a>>),
}

impl Opened<'_> {
    /// Runs it.
    pub fn reproduce(&self, wish: &Wish) -> Result<Report, Failure> {
        match &self.0 {
            What::Code(code) => (code.reproduce)(wish),
            What::Folder(setup) => setup.reproduce(wish),
        }
    }

    /// What it can show in pictures, besides its report.
    pub fn pictures(&self, wish: &Wish) -> Result<Pictures, Failure> {
        match &self.0 {
            What::Code(code) => (code.pictures)(wish),
            What::Folder(setup) => Ok(setup.pictures()),
        }
    }

    /// Fits its parameters again and says what they would be.
    pub fn fit(&self, wish: &Wish) -> Result<Vec<fitting::Found>, Failure> {
        match &self.0 {
            What::Code(code) => (code.fit)(wish),
            What::Folder(setup) => setup.fit(wish),
        }
    }
}
