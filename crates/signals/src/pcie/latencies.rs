//! How long many requests took.

use hdrhistogram::Histogram;

/// Digits that are kept of a time.
const DIGITS: u8 = 2;

/// Times in nanoseconds, to a hundredth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latencies {
    times: Option<Histogram<u32>>,
    most_ns: u64,
}

impl Latencies {
    /// One more.
    pub fn add(&mut self, ns: i64) {
        let empty = || Histogram::new(DIGITS).expect("these digits are offered");
        let ns = ns.max(0) as u64;
        self.most_ns = self.most_ns.max(ns);
        self.times.get_or_insert_with(empty).record(ns).expect("it grows with what is recorded");
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.times.as_ref().map_or(0, Histogram::len)
    }

    /// What so large a share of them did not exceed; nothing of nothing.
    pub fn at_ns(&self, share: f64) -> Option<u64> {
        self.times.as_ref().map(|times| times.value_at_quantile(share).min(self.most_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_right_to_a_hundredth() {
        let mut times = Latencies::default();
        assert_eq!((times.count(), times.at_ns(0.5)), (0, None));
        (1..=1_000_000).for_each(|ns| times.add(ns));
        for (share, ns) in [(0.5, 500_000.0), (0.99, 990_000.0), (1.0, 1_000_000.0)] {
            let found = times.at_ns(share).unwrap() as f64;
            assert!((found / ns - 1.0).abs() < 0.01, "{share}: {found}");
        }
    }
}
