//! Lines in order: whoever comes is nearly always last, and that is looked at first.

use std::collections::VecDeque;

/// Puts something behind those that come before it, which hardly ever are not all of them.
// Where it is called, and there at once: what has just been written piece by piece is put there piece by piece. To read it
// as a whole again, a processor would have to wait until it has been written.
#[inline(always)]
pub(crate) fn insert_behind<T>(all: &mut VecDeque<T>, one: T, comes_before: impl Fn(&T) -> bool) {
    let is_last = all.back().is_none_or(&comes_before);
    all.push_back(one);
    if !is_last {
        move_forward(all, comes_before);
    }
}

/// Puts the last where it belongs.
#[inline(never)]
fn move_forward<T>(all: &mut VecDeque<T>, comes_before: impl Fn(&T) -> bool) {
    let Some(last) = all.pop_back() else { return };
    let behind = all.iter().rposition(comes_before);
    all.insert(behind.map_or(0, |behind| behind + 1), last);
}
