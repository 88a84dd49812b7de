//! Lines in order: whoever comes is nearly always last, and that is looked at first.

use std::collections::VecDeque;

/// Puts something behind those that come before it, which hardly ever are not all of them.
#[inline]
pub(crate) fn insert_behind<T>(all: &mut VecDeque<T>, one: T, comes_before: impl Fn(&T) -> bool) {
    if all.back().is_none_or(&comes_before) {
        all.push_back(one);
        return;
    }
    let behind = all.iter().rposition(comes_before);
    all.insert(behind.map_or(0, |behind| behind + 1), one);
}
