//! What there is to build with: the parts, systems, jobs and upgrades that ship with the program, and those of
//! `--data DIR`; which may have studies, too: their texts are kept here and read by whoever knows what a study is.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hopscope_parts::nearest::did_you_mean;
use include_dir::{Dir, include_dir};

use crate::problem::{Problem, Problems};
use crate::text_file;

static SHIPPED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../data");

const MOST_FILES: usize = 10_000;
const MOST_BYTES: usize = 256 << 20;

/// The folders that a folder of data has.
pub const SHELVES: [&str; 5] = ["parts", "systems", "jobs", "upgrades", "studies"];

/// A text, and the name that errors show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextOf {
    /// The file's path.
    pub name: String,
    /// What is in it.
    pub text: Cow<'static, str>,
}

/// Parts by `role/model`, systems, jobs and upgrades by name, texts of studies by `study/file`.
#[derive(Clone, Debug, Default)]
pub struct Library {
    parts: BTreeMap<String, TextOf>,
    systems: BTreeMap<String, TextOf>,
    jobs: BTreeMap<String, TextOf>,
    upgrades: BTreeMap<String, TextOf>,
    studies: BTreeMap<String, TextOf>,
}

impl Library {
    /// The shipped files; those of `overlay`, a folder of the same layout, replace those of the same name.
    pub fn new(overlay: Option<&Path>) -> Result<Library, Problems> {
        let mut library = Library::default();
        library.add_shipped(&SHIPPED);
        match overlay {
            Some(folder) => library.add_folder(folder).map(|()| library),
            None => Ok(library),
        }
    }

    /// A part file by `role/model`, such as `bus/pci-32-33`.
    pub fn part(&self, name: &str) -> Option<&TextOf> {
        self.parts.get(name)
    }

    /// A system file by name.
    pub fn system(&self, name: &str) -> Option<&TextOf> {
        self.systems.get(name)
    }

    /// A job file by name.
    pub fn job(&self, name: &str) -> Option<&TextOf> {
        self.jobs.get(name)
    }

    /// An upgrade file by name.
    pub fn upgrade(&self, name: &str) -> Option<&TextOf> {
        self.upgrades.get(name)
    }

    /// The names of all parts, sorted.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.parts.keys().map(String::as_str)
    }

    /// What part is meant by a name that none has: one of the same name in another folder, or the nearest.
    pub fn meant_part(&self, name: &str) -> String {
        let within = |path: &str| path.rsplit('/').next().map(str::to_string);
        let names: Vec<&str> = self.parts().collect();
        match names.iter().find(|part| within(part) == within(name)) {
            Some(elsewhere) => format!("did you mean `{elsewhere}`?"),
            None => did_you_mean(name, &names),
        }
    }

    /// The names of all systems, sorted.
    pub fn systems(&self) -> impl Iterator<Item = &str> {
        self.systems.keys().map(String::as_str)
    }

    /// The names of all jobs, sorted.
    pub fn jobs(&self) -> impl Iterator<Item = &str> {
        self.jobs.keys().map(String::as_str)
    }

    /// The names of all upgrades, sorted.
    pub fn upgrades(&self) -> impl Iterator<Item = &str> {
        self.upgrades.keys().map(String::as_str)
    }

    /// The texts of studies in `--data DIR`, by `study/file`, sorted.
    pub fn studies(&self) -> impl Iterator<Item = (&str, &TextOf)> {
        self.studies.iter().map(|(name, text)| (name.as_str(), text))
    }

    /// The system that a command line names: a file, or a name in this library.
    pub fn open_system(&self, argument: &str) -> Result<TextOf, Problems> {
        open(argument, "system", ".toml", &self.systems)
    }

    /// The job file that a command line names: a file, or a name in this library.
    pub fn open_job(&self, argument: &str) -> Result<TextOf, Problems> {
        open(argument, "job", ".fio", &self.jobs)
    }

    fn add_shipped(&mut self, folder: &'static Dir<'static>) {
        for file in folder.files() {
            if let (Some(path), Some(text)) = (file.path().to_str(), file.contents_utf8()) {
                let path = path.replace('\\', "/");
                self.add(&path, || TextOf { name: format!("data/{path}"), text: Cow::Borrowed(text) });
            }
        }
        folder.dirs().for_each(|folder| self.add_shipped(folder));
    }

    fn add_folder(&mut self, root: &Path) -> Result<(), Problems> {
        let mut problems = Problems::default();
        let (mut files, mut bytes) = (0, 0);
        // parts/<role>/<model>.toml and studies/<study>/<file> are the deepest paths, so links in a circle end here.
        let mut folders = vec![(String::new(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            let path = root.join(&folder);
            let entries = match fs::read_dir(&path) {
                Ok(entries) => entries,
                Err(error) => {
                    problems.0.push(Problem::nowhere(format!("cannot read the folder `{}`: {error}", path.display())));
                    continue;
                }
            };
            for entry in entries.flatten() {
                let Ok(name) = entry.file_name().into_string() else { continue };
                let inside = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                let path = root.join(&inside);
                files += 1;
                if files > MOST_FILES {
                    let title = format!("there are more than {MOST_FILES} files in `{}`", root.display());
                    return Err(Problem::nowhere(title).help("is it the right folder?").into());
                }
                if path.is_dir() && depth < 2 {
                    folders.push((inside, depth + 1));
                } else if place_in_library(&inside).is_some() {
                    match text_file::read_regular(&path) {
                        Ok(text) => {
                            bytes += text.len();
                            if bytes > MOST_BYTES {
                                let most = MOST_BYTES >> 20;
                                let title = format!("there are more than {most} MiB of files in `{}`", root.display());
                                return Err(Problem::nowhere(title).help("is it the right folder?").into());
                            }
                            self.add(&inside, || TextOf { name: path.display().to_string(), text: text.into() })
                        }
                        Err(problem) => problems.0.push(problem),
                    }
                }
            }
        }
        problems.unless_empty(())
    }

    fn add(&mut self, path: &str, text: impl FnOnce() -> TextOf) {
        if let Some((kind, name)) = place_in_library(path) {
            let shelf = match kind {
                Kind::Part => &mut self.parts,
                Kind::System => &mut self.systems,
                Kind::Job => &mut self.jobs,
                Kind::Upgrade => &mut self.upgrades,
                Kind::Study => &mut self.studies,
            };
            shelf.insert(name.to_string(), text());
        }
    }
}

enum Kind {
    Part,
    System,
    Job,
    Upgrade,
    Study,
}

/// Whether a file of a study's folder is one that is read.
pub fn is_text_of_study(file: &str) -> bool {
    [".toml", ".csv", ".md"].iter().any(|ending| file.ends_with(ending))
}

fn place_in_library(path: &str) -> Option<(Kind, &str)> {
    let (kind, name) = match path.split_once('/')? {
        ("parts", name) => (Kind::Part, name.strip_suffix(".toml").filter(|name| name.matches('/').count() == 1)?),
        ("systems", name) => (Kind::System, name.strip_suffix(".toml").filter(|name| !name.contains('/'))?),
        ("upgrades", name) => (Kind::Upgrade, name.strip_suffix(".toml").filter(|name| !name.contains('/'))?),
        ("studies", name) => {
            let of_one = |(_, file): &(&str, &str)| !file.contains('/') && is_text_of_study(file);
            (Kind::Study, name.split_once('/').filter(of_one).map(|_| name)?)
        }
        ("jobs", name) => (Kind::Job, name.strip_suffix(".fio").filter(|name| !name.contains('/'))?),
        _ => return None,
    };
    (!name.is_empty()).then_some((kind, name))
}

fn open(argument: &str, what: &str, suffix: &str, shelf: &BTreeMap<String, TextOf>) -> Result<TextOf, Problems> {
    let path = Path::new(argument);
    if argument.contains('/') || argument.ends_with(suffix) || path.is_file() {
        let is_result = what == "job" && argument.ends_with(".json");
        let text = if is_result { text_file::read_result(path)? } else { text_file::read(path)? };
        return Ok(TextOf { name: argument.to_string(), text: text.into() });
    }
    shelf.get(argument).cloned().ok_or_else(|| {
        let names: Vec<&String> = shelf.keys().collect();
        let problem = Problem::nowhere(format!("no {what} is named `{argument}`, and no file"));
        problem.help(did_you_mean(argument, &names)).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_overlays_what_is_shipped_and_slips_find_their_name() {
        let folder = std::env::temp_dir().join(format!("hopscope-library-{}", std::process::id()));
        for (path, text) in [
            ("parts/disk/mine.toml", "p"),
            ("systems/bench.toml", "s"),
            ("jobs/scan.fio", "j"),
            ("studies/mine/study.toml", "t"),
            ("notes.txt", "n"),
        ] {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let library = Library::new(Some(&folder)).unwrap();
        assert_eq!(library.part("disk/mine").unwrap().text, "p");
        assert_eq!(library.system("bench").unwrap().text, "s");
        assert_eq!(library.job("scan").unwrap().text, "j");
        assert_eq!(
            library.studies().map(|(name, text)| (name, &*text.text)).collect::<Vec<_>>(),
            [("mine/study.toml", "t")]
        );
        assert!(library.parts().any(|name| name == "disk/mine") && library.parts().is_sorted());

        let file = folder.join("systems/bench.toml");
        assert_eq!(library.open_system(file.to_str().unwrap()).unwrap().text, "s");
        assert_eq!(library.open_system("bench").unwrap().text, "s");
        let slip = library.open_system("bnech").unwrap_err();
        assert!(slip.0[0].title.contains("no system is named `bnech`") && slip.0[0].help.contains("`bench`"));
        assert!(library.open_job("nowhere/scan.fio").unwrap_err().to_string().contains("is not there"));

        fs::write(folder.join("systems/photo.toml"), b"\xff").unwrap();
        assert!(Library::new(Some(&folder)).unwrap_err().to_string().contains("not a UTF-8 text"));
        assert!(
            Library::new(Some(&folder.join("elsewhere"))).unwrap_err().to_string().contains("cannot read the folder")
        );
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn every_shipped_file_is_where_the_library_looks() {
        fn files(folder: &Dir<'_>) -> usize {
            folder.files().count() + folder.dirs().map(files).sum::<usize>()
        }
        let library = Library::new(None).unwrap();
        let work = library.jobs().count() + library.upgrades().count();
        assert_eq!(library.parts().count() + library.systems().count() + work, files(&SHIPPED));
    }
}
