//! Ctrl-C: the first asks a command to say what it knows so far, the second ends the program.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::answer::INTERRUPTED;

/// True once somebody has interrupted. For commands that look at it: from here on a first Ctrl-C does nothing else.
pub fn noticed() -> &'static AtomicBool {
    static NOTICED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    NOTICED.get_or_init(|| {
        let noticed = Arc::new(AtomicBool::new(false));
        // In this order, so that the first sets what the second looks at. Where signals cannot be had, Ctrl-C ends the
        // program as it always does.
        let _ = flag::register_conditional_shutdown(SIGINT, INTERRUPTED.into(), noticed.clone())
            .and_then(|_| flag::register(SIGINT, noticed.clone()));
        noticed
    })
}
