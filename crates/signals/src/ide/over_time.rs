//! What goes on on a cable over time.

use super::{Access, Burst};
use crate::timeline::steps::Steps;

/// What a cable is used for.
pub const USED_FOR: [&str; 4] = ["register access", "set-up and end of a burst", "words", "pause within a burst"];

/// Nothing of that yet, from a time on.
pub fn steps(origin_ps: u64) -> Steps {
    Steps::new(USED_FOR.len(), origin_ps)
}

/// A register access more.
pub(super) fn access(steps: &mut Steps, one: &Access) {
    steps.spent(0, one.start_ps, one.end_ps);
}

/// A burst more.
pub(super) fn burst(steps: &mut Steps, one: &Burst) {
    for (kind, from_ps, until_ps) in parts(one) {
        steps.spent(kind, from_ps, until_ps);
    }
}

/// What a burst is made of, in order: kind by its place in [`USED_FOR`], from, until. A programmed access has no set-up
/// that would show. Pauses beyond those that are listed go for words.
pub fn parts(one: &Burst) -> Vec<(usize, u64, u64)> {
    let (first, last) = one.strobes_ps;
    let words = if one.words == 0 { (one.end_ps, one.end_ps) } else { (first, last) };
    let mut parts = vec![(1, one.start_ps, words.0)];
    let mut at = words.0;
    for (from, until) in &one.pauses {
        parts.extend([(2, at, *from), (3, *from, *until)]);
        at = *until;
    }
    parts.extend([(2, at, words.1), (1, words.1, one.end_ps)]);
    parts.retain(|(_, from, until)| from < until);
    parts
}
