//! A panic is a defect of the program: it says so in one line, with what was going on, and exits with 70.

use std::io::Write;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
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

/// The exit code of `program`, also if it panics.
pub fn guarded(program: impl FnOnce() -> u8) -> u8 {
    panic::set_hook(Box::new(|info| {
        let doing = DOING.try_lock().map(|doing| doing.clone()).unwrap_or_default();
        let _ = writeln!(std::io::stderr(), "{}", line(info, &doing));
    }));
    panic::catch_unwind(AssertUnwindSafe(program)).unwrap_or(DEFECT)
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
    use super::*;

    #[test]
    fn a_panic_gives_the_exit_code_of_a_defect() {
        let code = guarded(|| {
            doing("testing");
            panic!("of a test: this line on stderr is expected")
        });
        assert_eq!((code, guarded(|| 3)), (DEFECT, 3));
    }
}
