//! A search in a line that is in order, from where it is likely to end: mostly where the last one did.

/// So many places are looked at one by one; farther away it goes twice as far each time, and comes back by halves.
const STEPS: usize = 16;

/// The first of so many places that `is_before` is not true of, as it is of none behind that; so many where it is true of
/// all. `near`, which may be any place, is where that is likely to be.
#[inline]
pub(crate) fn first_from(near: usize, places: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut at, mut steps) = (near.min(places), 0);
    while steps < STEPS && at > 0 && !is_before(at - 1) {
        (at, steps) = (at - 1, steps + 1);
    }
    while steps < STEPS && at < places && is_before(at) {
        (at, steps) = (at + 1, steps + 1);
    }
    if steps < STEPS { at } else { from_afar(at, places, is_before) }
}

/// The same from a place that is not near.
fn from_afar(near: usize, places: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let mut far = STEPS;
    let (mut from, mut until) = (near, near);
    while from > 0 && !is_before(from - 1) {
        (until, from, far) = (from - 1, from.saturating_sub(far), far * 2);
    }
    while until < places && is_before(until) {
        (from, until, far) = (until + 1, (until + far).min(places), far * 2);
    }
    while from < until {
        let middle = from + (until - from) / 2;
        if is_before(middle) {
            from = middle + 1;
        } else {
            until = middle;
        }
    }
    from
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_at_the_same_place_from_anywhere() {
        for places in [0, 1, 2, STEPS - 1, STEPS, STEPS + 1, 100] {
            for place in 0..=places {
                for near in (0..=places + 1).chain([usize::MAX]) {
                    assert_eq!(first_from(near, places, |at| at < place), place, "{near} of {places}");
                }
            }
        }
    }
}
