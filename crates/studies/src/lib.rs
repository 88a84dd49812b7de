//! Published studies: what they published, how it is simulated, and how far apart the two are.
//!
//! Only this crate knows published numbers. A study is a folder in `studies/`, of the shipped ones or of `--data DIR`.
//! What runs answer which published cell its `study.toml` says (`folder`).

pub mod fitting;
mod folder;
pub mod forecasts;
mod machines;
mod measure;
pub mod pictures;
pub mod report;
pub mod reproduction;
mod robustness;
pub mod schema;
mod shelf;
mod steps;
mod study_file;

use std::collections::BTreeMap;
use std::path::Path;

use hopscope_files::library::{Library, TextOf, is_text_of_study};
use hopscope_files::problem::{Problem, Problems, Sources};
use hopscope_files::text_file;
use hopscope_machine::run::Failure;
use hopscope_parts::nearest::did_you_mean;

pub use folder::STUDY_FILE;
use pictures::Pictures;
use report::{Cell, Report};

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

/// A study: its folder.
pub struct Study {
    id: String,
    texts: folder::Texts,
}

impl Study {
    /// Every shipped one.
    pub fn shipped() -> Vec<Study> {
        shelf::folders().map(|id| Study { id: id.to_string(), texts: shelf::texts(id) }).collect()
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
            studies.push(Study { id: id.to_string(), texts });
        }
        Ok(studies)
    }

    /// The studies of these names, each once; all of them where there is none.
    pub fn named(library: &Library, names: &[String]) -> Result<Vec<Study>, Problems> {
        let mut all = Study::all(library)?;
        if names.is_empty() {
            return Ok(all);
        }
        let mut found = Vec::new();
        for name in names {
            match all.iter().position(|study| study.id() == name) {
                Some(at) => found.push(all.remove(at)),
                None if found.iter().any(|study: &Study| study.id() == name) => {}
                None => {
                    let known: Vec<&str> = all.iter().chain(&found).map(Study::id).collect();
                    let help = format!("{} (studies: {})", did_you_mean(name, &known), known.join(", "));
                    return Err(Problem::nowhere(format!("there is no study `{name}`")).help(help).into());
                }
            }
        }
        Ok(found)
    }

    /// The study in a folder.
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
        problems.unless_empty(Study { id, texts })
    }

    /// Its name: that of its folder.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its title, who published it and when, and what it is about.
    pub fn head(&self, sources: &mut Sources) -> Result<Head, Problems> {
        let about = self.texts.get(ABOUT).map_or(String::new(), |text| text.text.to_string());
        let file = folder::study_file(&self.id, &self.texts, sources)?.0;
        Ok(Head { title: file.title, source: file.source, about })
    }

    /// Reads everything that a run of it needs, and checks it.
    pub fn open<'a>(&self, library: &'a Library, sources: &mut Sources) -> Result<Opened<'a>, Problems> {
        Ok(Opened(Box::new(folder::Setup::read(&self.id, &self.texts, library, sources)?)))
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
pub struct Opened<'a>(Box<folder::Setup<'a>>);

impl Opened<'_> {
    /// Runs it.
    pub fn reproduce(&self, wish: &Wish) -> Result<Report, Failure> {
        self.0.reproduce(wish)
    }

    /// Simulates the rows of a table that have these values, and nothing else: a run each, or two.
    pub fn cells(&self, table: &str, rows: &[(&str, &str)]) -> Result<Vec<Cell>, Failure> {
        self.0.some_cells(table, rows)
    }

    /// What it can show in pictures, besides its report.
    pub fn pictures(&self, wish: &Wish) -> Result<Pictures, Failure> {
        self.0.pictures(wish)
    }

    /// Fits its parameters again and says what they would be.
    pub fn fit(&self, wish: &Wish) -> Result<Vec<fitting::Found>, Failure> {
        self.0.fit(wish)
    }
}
