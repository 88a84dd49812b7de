//! A panic is a defect of the program: it says so in one line, with what was going on, and exits with 70.

use std::io::Write;
use std::panic::{self, PanicHookInfo};
use std::process;
use std::sync::Mutex;

use hopscope_files::harmless::harmless;

use crate::answer::DEFECT;

static DOING: Mutex<String> = Mutex::new(String::new());

/// Notes what is going on, in case it goes wrong.
pub fn doing(what: impl Into<String>) {
    if let Ok(mut doing) = DOING.try_lock() {
        *doing = what.into();
    }
}

/// From now on a panic of any thread ends the program so. Nobody catches one: it is built without what that needs.
pub fn end_the_program() {
    panic::set_hook(Box::new(|info| {
        let doing = DOING.try_lock().map(|doing| doing.clone()).unwrap_or_default();
        let _ = writeln!(std::io::stderr(), "{}", line(info, &doing));
        process::exit(DEFECT.into());
    }));
}

fn line(info: &PanicHookInfo<'_>, doing: &str) -> String {
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
    let what = text.unwrap_or("no message").replace('\n', " ");
    let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
    let doing = if doing.is_empty() { String::new() } else { format!(", while {doing}") };
    harmless(&format!("hopscope: this is a defect of hopscope, please report it: {what}{place}{doing}"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::{env, thread};

    use super::*;

    /// Has this test panic, in a process of its own.
    const PANICS: &str = "HOPSCOPE_TEST_PANICS";

    #[test]
    fn a_panic_of_any_thread_says_so_in_one_line_and_gives_the_exit_code_of_a_defect() {
        if env::var_os(PANICS).is_some() {
            end_the_program();
            doing("testing");
            let _ = thread::spawn(|| panic!("of a test\nin two lines")).join();
            unreachable!("the program has ended");
        }
        let this = thread::current();
        let mut again = Command::new(env::current_exe().unwrap());
        let ended = again.args(["--exact", this.name().unwrap(), "--nocapture"]).env(PANICS, "1").output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(DEFECT.into()), "{said}");
        let begins = "hopscope: this is a defect of hopscope, please report it: of a test in two lines (";
        assert!(
            said.starts_with(begins) && said.ends_with("), while testing\n") && said.lines().count() == 1,
            "{said}"
        );
    }
}
