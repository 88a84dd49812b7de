//! Writes files: beside, then renamed, so that a file is there whole or as it was; and never over what was read.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hopscope_files::harmless::harmless;
use hopscope_files::library::SHELVES;
use tempfile::Builder;

/// The files and folders that a command reads. Nothing is written over them.
#[derive(Default)]
pub struct Inputs(Vec<PathBuf>);

impl Inputs {
    /// Of these words those that name a file: a word may be the name of something that ships, too.
    pub fn of(words: impl IntoIterator<Item = impl AsRef<Path>>) -> Inputs {
        let files = words.into_iter().filter(|word| word.as_ref().is_file());
        Inputs(files.filter_map(|word| fs::canonicalize(word).ok()).collect())
    }

    /// These, and what `--data` adds to what ships.
    pub fn with_data(mut self, folder: Option<&Path>) -> Inputs {
        let shelves = folder.into_iter().flat_map(|folder| SHELVES.map(|shelf| folder.join(shelf)));
        self.0.extend(shelves.filter_map(|shelf| fs::canonicalize(shelf).ok()));
        self
    }

    /// Why this file may not be written, if it may not.
    pub fn refuses(&self, path: &Path) -> Result<(), String> {
        let cannot = |what: &str| Err(format!("cannot write `{}`: {what}", path.display()));
        match fs::symlink_metadata(path) {
            Ok(data) if data.is_symlink() => return cannot("it is a link; name the file that is meant"),
            Ok(data) if data.is_dir() => return cannot("it is a folder"),
            Ok(data) if !data.is_file() => return cannot("it is not a file"),
            Ok(_) | Err(_) => {}
        }
        match whole(path) {
            Ok(whole) if self.0.iter().any(|input| whole.starts_with(input)) => {
                cannot("it is an input of this command; name another file")
            }
            _ => Ok(()),
        }
    }
}

/// A path by the one name that everything has; the file itself need not be there yet.
fn whole(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path).or_else(|_| {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        Ok(fs::canonicalize(folder_of(path))?.join(name))
    })
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a file. What was there is replaced, unless it is an input.
pub fn file(path: &Path, text: &str, inputs: &Inputs) -> Result<(), String> {
    streamed(path, inputs, |mut file| file.write_all(text.as_bytes()).map_err(|error| cannot(path, &error)))
}

/// Writes a file of any size. What was there is replaced, unless it is an input, or `write` fails.
pub fn streamed<T, E: From<String>>(
    path: &Path,
    inputs: &Inputs,
    write: impl FnOnce(File) -> Result<T, E>,
) -> Result<T, E> {
    inputs.refuses(path)?;
    let failed = |error: io::Error| E::from(cannot(path, &error));
    let mut builder = Builder::new();
    builder.prefix(".hopscope-");
    if let Some(permissions) = permissions_of(path) {
        builder.permissions(permissions);
    }
    let beside = builder.tempfile_in(folder_of(path)).map_err(failed)?;
    let written = write(beside.as_file().try_clone().map_err(failed)?)?;
    beside.persist(path).map_err(|error| failed(error.error))?;
    Ok(written)
}

/// Why a file is not there. The name of what was written beside says nothing to anybody.
pub fn cannot(path: &Path, error: &io::Error) -> String {
    let why = error.raw_os_error().map_or_else(|| io::Error::from(error.kind()), io::Error::from_raw_os_error);
    harmless(&format!("cannot write `{}`: {why}", path.display()))
}

/// As the file has them that is replaced; of a new file those that any program gives it.
#[cfg(unix)]
fn permissions_of(path: &Path) -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(fs::metadata(path).map_or_else(|_| Permissions::from_mode(0o666), |data| data.permissions()))
}

#[cfg(not(unix))]
fn permissions_of(_: &Path) -> Option<Permissions> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        for text in ["first and longer", "second"] {
            file(&path, text, &Inputs::default()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let nowhere = file(&folder.path().join("no/page.html"), "", &Inputs::default()).unwrap_err();
        assert!(nowhere.contains("no/page.html") && !nowhere.contains(".hopscope-"), "{nowhere}");
    }

    #[test]
    fn nothing_is_written_over_an_input_by_whatever_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("job.fio");
        fs::write(&path, "[a]").unwrap();
        let other = folder.path().join("./job.fio");
        assert!(file(&other, "gone", &Inputs::of([&path])).unwrap_err().contains("an input"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "[a]");

        let data = Inputs::default().with_data(Some(folder.path()));
        fs::create_dir_all(folder.path().join("systems")).unwrap();
        let within = Inputs::default().with_data(Some(folder.path()));
        let system = folder.path().join("systems/mine.toml");
        assert!(file(&system, "", &within).unwrap_err().contains("an input"));
        assert_eq!((file(&system, "", &data), file(&folder.path().join("page.html"), "", &within)), (Ok(()), Ok(())));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed_and_a_device_stays_one() {
        use std::os::unix::fs::{FileTypeExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "mine").unwrap();
        symlink(&target, &link).unwrap();
        assert!(file(&link, "gone", &Inputs::default()).unwrap_err().contains("a link"));
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
        assert!(file(Path::new("/dev/null"), "", &Inputs::default()).unwrap_err().contains("not a file"));
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_has_the_permissions_that_it_had() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        file(&path, "new", &Inputs::default()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }
}
