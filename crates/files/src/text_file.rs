//! Reads a text file of bounded size.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;

use hopscope_parts::nearest::nearest;

use crate::problem::Problem;

/// No system, part or job needs more.
pub const MOST_BYTES: u64 = 1 << 20;

/// A result of fio has some 20 KiB a job, and more with every interval that it reports.
pub const MOST_BYTES_OF_RESULT: u64 = 64 << 20;

/// Reads a UTF-8 text of at most [`MOST_BYTES`] bytes.
pub fn read(path: &Path) -> Result<String, Problem> {
    read_up_to(path, MOST_BYTES)
}

/// Reads a result of fio: a UTF-8 text of at most [`MOST_BYTES_OF_RESULT`] bytes.
pub fn read_result(path: &Path) -> Result<String, Problem> {
    read_up_to(path, MOST_BYTES_OF_RESULT)
}

/// Reads a text as [`read`] does, of a file that somebody has put into a folder: a pipe there would have the reader wait
/// for ever, and a device is no text.
pub fn read_regular(path: &Path) -> Result<String, Problem> {
    let metadata = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if !metadata.is_file() {
        return Err(Problem::nowhere(format!("`{}` is not a file", path.display())).help("is it the right folder?"));
    }
    read(path)
}

fn read_up_to(path: &Path, most_bytes: u64) -> Result<String, Problem> {
    let shown = path.display();
    let metadata = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if metadata.is_dir() {
        return Err(Problem::nowhere(format!("`{shown}` is a directory")).help("name a file"));
    }
    let too_large =
        || Problem::nowhere(format!("`{shown}` is larger than {} MiB", most_bytes >> 20)).help("is it the right file?");
    if metadata.len() > most_bytes {
        return Err(too_large());
    }
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let mut bytes = Vec::new();
    // Devices and pipes state no length.
    file.take(most_bytes + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > most_bytes {
        return Err(too_large());
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Problem::nowhere(format!("`{shown}` is not a UTF-8 text: byte {at} is not part of a character"))
            .help("is it the right file?")
    })?;
    // Some editors begin a text with a byte order mark.
    Ok(text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Problem {
    let shown = path.display();
    match error.kind() {
        ErrorKind::NotFound => {
            let folder = folder_of(path);
            let help = match nearest_file(path) {
                Some(name) => format!("did you mean `{name}`?"),
                None if !folder.is_dir() => format!("there is no folder `{}`", folder.display()),
                None if folder == Path::new(".") => "nothing in the present folder has a name like that".to_string(),
                None => format!("nothing in `{}` has a name like that", folder.display()),
            };
            Problem::nowhere(format!("`{shown}` is not there")).help(help)
        }
        ErrorKind::PermissionDenied => Problem::nowhere(format!("no permission to read `{shown}`")),
        _ => Problem::nowhere(format!("cannot read `{shown}`: {error}")),
    }
}

/// Where a file is to be.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn nearest_file(path: &Path) -> Option<String> {
    const MOST_NAMES: usize = 1_000;
    let names = fs::read_dir(folder_of(path)).ok()?.take(MOST_NAMES);
    let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let name = nearest(path.file_name()?.to_str()?, names)?;
    Some(path.with_file_name(name).display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &Path) -> String {
        let problem = read(path).expect_err("cannot be read");
        format!("{}; {}", problem.title, problem.help)
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let folder = std::env::temp_dir().join(format!("hopscope-text-file-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("bench.toml"), "title = \"Bench\"").unwrap();
        fs::write(folder.join("photo.toml"), b"ab\xff\xfe").unwrap();
        File::create(folder.join("huge.toml")).unwrap().set_len(1 << 32).unwrap();

        assert_eq!(read(&folder.join("bench.toml")).unwrap(), "title = \"Bench\"");
        assert!(refusal(&folder.join("bnech.toml")).contains("bench.toml`?"));
        let away = refusal(&folder.join("nothing-like-it.fio"));
        assert!(away.ends_with(&format!("nothing in `{}` has a name like that", folder.display())), "{away}");
        assert!(refusal(&folder.join("sub/bench.toml")).contains("there is no folder `"));
        assert!(refusal(&folder).contains("is a directory"));
        assert!(refusal(&folder.join("photo.toml")).contains("byte 2 is not part of a character"));
        assert!(refusal(&folder.join("huge.toml")).contains("larger than 1 MiB"));
        let huge = read_result(&folder.join("huge.toml")).expect_err("larger than any result");
        assert!(huge.title.contains("larger than 64 MiB"), "{}", huge.title);
        fs::write(folder.join("marked.toml"), "\u{feff}title = \"Bench\"").unwrap();
        assert_eq!(read(&folder.join("marked.toml")).unwrap(), "title = \"Bench\"");
        if cfg!(unix) {
            assert!(read_regular(Path::new("/dev/zero")).is_err_and(|problem| problem.title.contains("not a file")));
            assert!(refusal(Path::new("/dev/zero")).contains("larger than 1 MiB"));
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
