//! How much time went into this and that, in equal steps: the finest level at which a long capture is drawn as a whole.
//!
//! A step doubles whenever time runs beyond the last one, so that there are never more than [`STEPS_MAX`] and what is
//! kept does not grow with the capture. Nothing is rounded: a span is divided where steps meet.

/// Steps that there are at most.
pub const STEPS_MAX: usize = 4_096;
/// A step is so long at first, picoseconds.
const FIRST_PS: u64 = 1_024;

/// Sums by kind of each of equal steps, that long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// How long a step is, picoseconds.
    pub step_ps: u64,
    /// A row of kinds a step.
    pub sums: Vec<Vec<u64>>,
}

impl Level {
    /// A coarser one, of so many steps at most.
    pub fn at_most(mut self, most: usize) -> Level {
        while self.sums.len() > most.max(1) {
            self = self.in_pairs();
        }
        self
    }

    fn in_pairs(&self) -> Level {
        let joined = |pair: &[Vec<u64>]| match pair {
            [one, other] => one.iter().zip(other).map(|(one, other)| one + other).collect(),
            _ => pair[0].clone(),
        };
        Level { step_ps: self.step_ps * 2, sums: self.sums.chunks(2).map(joined).collect() }
    }
}

/// Sums of several kinds in each of equal steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    kinds: usize,
    origin_ps: u64,
    step_ps: u64,
    /// What is within a step, a row of kinds a step.
    within: Vec<u64>,
    /// Spans that cover whole steps: how many more begin at a step than have ended at it.
    across: Vec<i64>,
    until_ps: u64,
}

impl Steps {
    /// Of so many kinds, from a time on.
    pub fn new(kinds: usize, origin_ps: u64) -> Steps {
        let (within, across) = (vec![0; kinds * STEPS_MAX], vec![0; kinds * STEPS_MAX]);
        Steps { kinds, origin_ps, step_ps: FIRST_PS, within, across, until_ps: origin_ps }
    }

    /// A span of a kind. What lies before the origin is left out.
    pub fn spent(&mut self, kind: usize, from_ps: u64, until_ps: u64) {
        let (from, until) = (from_ps.saturating_sub(self.origin_ps), until_ps.saturating_sub(self.origin_ps));
        if from >= until {
            return;
        }
        self.reach(until_ps);
        let step = self.step_ps;
        let (first, last) = (from / step, (until - 1) / step);
        if first == last {
            self.within[first as usize * self.kinds + kind] += until - from;
            return;
        }
        self.within[first as usize * self.kinds + kind] += (first + 1) * step - from;
        self.within[last as usize * self.kinds + kind] += until - last * step;
        self.across[(first + 1) as usize * self.kinds + kind] += 1;
        self.across[last as usize * self.kinds + kind] -= 1;
    }

    /// Something that is not time, at once.
    pub fn counted(&mut self, kind: usize, at_ps: u64, amount: u64) {
        let Some(at) = at_ps.checked_sub(self.origin_ps) else { return };
        self.reach(at_ps.saturating_add(1));
        self.within[(at / self.step_ps) as usize * self.kinds + kind] += amount;
    }

    /// Where it begins.
    pub fn origin_ps(&self) -> u64 {
        self.origin_ps
    }

    /// How long a step is.
    pub fn step_ps(&self) -> u64 {
        self.step_ps
    }

    /// The end of what there is.
    pub fn until_ps(&self) -> u64 {
        self.until_ps
    }

    /// The sums of each step that there is, by kind.
    pub fn sums(&self) -> Vec<Vec<u64>> {
        let count = (self.until_ps - self.origin_ps).div_ceil(self.step_ps) as usize;
        let mut open = vec![0; self.kinds];
        let rows = self.within.chunks(self.kinds).zip(self.across.chunks(self.kinds)).take(count);
        let sums = rows.map(|(within, across)| {
            open.iter_mut().zip(across).for_each(|(open, more)| *open += more);
            within.iter().zip(&open).map(|(within, open)| within + *open as u64 * self.step_ps).collect()
        });
        sums.collect()
    }

    /// The same with how long a step is: the finest level.
    pub fn levelled(&self) -> Level {
        Level { step_ps: self.step_ps, sums: self.sums() }
    }

    /// Makes steps as long as it takes to have one that ends there or later.
    fn reach(&mut self, until_ps: u64) {
        self.until_ps = self.until_ps.max(until_ps);
        let until = until_ps - self.origin_ps;
        while until.div_ceil(self.step_ps) > STEPS_MAX as u64 {
            self.double();
        }
    }

    fn double(&mut self) {
        let all = (self.step_ps as u128 * STEPS_MAX as u128).min(u128::from(u64::MAX - self.origin_ps)) as u64;
        let until_ps = std::mem::replace(&mut self.until_ps, self.origin_ps + all);
        let joined = self.levelled().in_pairs();
        self.until_ps = until_ps;
        self.step_ps = joined.step_ps;
        self.within.fill(0);
        self.across.fill(0);
        let rows = self.within.chunks_mut(self.kinds).zip(&joined.sums);
        rows.for_each(|(within, sums)| within.copy_from_slice(sums));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against each picosecond of a span asked one by one in which step it lies.
        #[test]
        fn spans_are_divided_where_steps_meet(
            origin in 0u64..3_000,
            spans in prop::collection::vec((0usize..3, 0u64..40_000, 0u64..9_000), 1..40),
        ) {
            let mut steps = Steps::new(3, origin);
            // With a first step of a picosecond the steps of so small a test double, too.
            steps.step_ps = 1;
            spans.iter().for_each(|(kind, from, length)| steps.spent(*kind, *from, from + length));
            let mut expected = vec![vec![0; 3]; steps.sums().len()];
            for (kind, from, length) in &spans {
                for ps in (*from..from + length).filter(|ps| *ps >= origin) {
                    expected[((ps - origin) / steps.step_ps()) as usize][*kind] += 1;
                }
            }
            prop_assert!(steps.sums().len() <= STEPS_MAX);
            prop_assert_eq!(steps.sums(), expected);
        }
    }

    #[test]
    fn a_capture_may_be_as_long_as_time_goes() {
        let mut steps = Steps::new(1, 7);
        steps.spent(0, 0, u64::MAX);
        steps.counted(0, u64::MAX - 1, 3);
        assert_eq!(steps.sums().iter().map(|sums| u128::from(sums[0])).sum::<u128>(), u128::from(u64::MAX) - 7 + 3);
    }
}
