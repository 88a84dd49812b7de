//! The demerit figure: how far two distributions of response times are apart (Ruemmler and Wilkes, 1994).
//!
//! It is the root mean square of the horizontal distance between the two cumulative distributions. Both samples are put
//! into buckets of whole microseconds, each wider by a hundredth than the one before; both distributions are inverted by
//! linear interpolation at ten thousand even steps.

use hopscope_kernel::Time;

const BUCKETS: usize = 1_750;
const STEPS: u64 = 10_000;

/// A distribution in buckets.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// The beginnings of the buckets, and the end of the last one, microseconds.
    edges: Vec<u64>,
    counts: Vec<u64>,
    total: u64,
}

impl Distribution {
    pub(super) fn new() -> Distribution {
        let mut edges = vec![0u64];
        for _ in 0..BUCKETS {
            let last = edges[edges.len() - 1];
            edges.push(last + 1 + last / 100);
        }
        Distribution { edges, counts: vec![0; BUCKETS], total: 0 }
    }

    pub(super) fn add(&mut self, time: Time) {
        let us = time.as_ps() / 1_000_000;
        let bucket = self.edges.partition_point(|edge| *edge <= us) - 1;
        self.counts[bucket.min(BUCKETS - 1)] += 1;
        self.total += 1;
    }

    /// The time below which a share of the sample lies, step by step, microseconds.
    fn inverse(&self) -> Vec<f64> {
        let (mut bucket, mut before) = (0, 0u64);
        let invert = |step: u64| {
            let wanted = (step * self.total) as f64 / STEPS as f64;
            while bucket + 1 < BUCKETS && ((before + self.counts[bucket]) as f64) < wanted {
                before += self.counts[bucket];
                bucket += 1;
            }
            let (start, end) = (self.edges[bucket] as f64, self.edges[bucket + 1] as f64);
            let within = (wanted - before as f64) / self.counts[bucket].max(1) as f64;
            start + (end - start) * within
        };
        (1..=STEPS).map(invert).collect()
    }

    /// How far two distributions are apart, ns; nothing where one is empty.
    pub fn demerit_ns(&self, other: &Distribution) -> Option<f64> {
        if self.total == 0 || other.total == 0 {
            return None;
        }
        let pairs = self.inverse().into_iter().zip(other.inverse());
        let squares: f64 = pairs.map(|(a, b)| (a - b) * (a - b)).sum();
        Some(1e3 * (squares / STEPS as f64).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times_us: impl Iterator<Item = u64>) -> Distribution {
        let mut distribution = Distribution::new();
        times_us.for_each(|us| distribution.add(Time::us(us)));
        distribution
    }

    #[test]
    fn a_distribution_is_at_no_distance_from_itself_whatever_the_order() {
        let (one, other) = (of((1..5_000).map(|n| n * 7)), of((1..5_000).rev().map(|n| n * 7)));
        assert_eq!(one.demerit_ns(&other), Some(0.0));
        assert_eq!(one.demerit_ns(&Distribution::new()), None);
    }

    #[test]
    fn a_shift_is_the_distance() {
        let shifted = of((0..20_000).map(|n| 3_000 + n)).demerit_ns(&of((0..20_000).map(|n| 3_500 + n))).unwrap();
        assert!((shifted / 5e5 - 1.0).abs() < 0.02, "{shifted}");
    }

    #[test]
    fn buckets_begin_a_microsecond_and_a_hundredth_later() {
        let edges = Distribution::new().edges;
        assert_eq!(edges.len(), BUCKETS + 1);
        assert_eq!((edges[1], edges[100], edges[101], edges[102]), (1, 100, 102, 104));
    }
}
