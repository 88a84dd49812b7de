//! Where requests in random order go: draws of a block, even or by a law.
//!
//! The laws are those of fio: Zipf's by the closed form of Gray et al. ("Quickly generating billion-record synthetic
//! databases", SIGMOD 1994), Pareto's self-similar one, and a bell of twelve even draws. A rank becomes a block by a
//! permutation, so that what is asked for most lies anywhere. Powers and logarithms come from a library of its own:
//! the same draws everywhere.

use rand_core::RngCore;
use rand_pcg::Pcg64Mcg;

use super::Order;

/// Terms of the generalised harmonic number, at most: fio stops here, too.
const HARMONIC_TERMS: u64 = 10_000_000;
/// Terms that are added up one by one; the others follow from the integral.
const TERMS_ONE_BY_ONE: u64 = 1_000;
/// Even draws of which a bell is made.
const BELL_DRAWS: u64 = 12;

/// A zone of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Of a hundred requests, so many.
    pub requests_percent: u32,
    /// Of the span.
    pub size_percent: u32,
}

/// A law, prepared for a number of blocks.
pub(super) enum Law {
    /// Every block once, in drawn order; then again.
    Map {
        index: u64,
    },
    /// Each draw by itself.
    Even,
    Zipf {
        harmonic: f64,
        second: f64,
        eta: f64,
        alpha: f64,
    },
    Pareto {
        power: f64,
    },
    Normal {
        width: u64,
    },
    Zoned([Vec<Zone>; 2]),
}

impl Law {
    pub(super) fn new(order: &Order, blocks: u64) -> Law {
        match order {
            Order::Sequential | Order::RandomMap => Law::Map { index: 0 },
            Order::Random => Law::Even,
            Order::Zipf(theta) => {
                let (theta, n) = (*theta, blocks as f64);
                let harmonic = harmonic(blocks.min(HARMONIC_TERMS), theta);
                let second = 1.0 + libm::pow(0.5, theta);
                let eta = (1.0 - libm::pow(2.0 / n, 1.0 - theta)) / (1.0 - second / harmonic);
                Law::Zipf { harmonic, second, eta, alpha: 1.0 / (1.0 - theta) }
            }
            Order::Pareto(h) => Law::Pareto { power: libm::log(*h) / libm::log(1.0 - h) },
            Order::Normal(percent) => {
                let width = libm::ceil(blocks as f64 * percent / 100.0) as u64;
                Law::Normal { width: width.min(blocks / 2) }
            }
            Order::Zoned(zones) => Law::Zoned(zones.clone()),
        }
    }

    /// The next block of so many. `side` is 0 for reads and 1 for writes.
    pub(super) fn draw(&mut self, random: &mut Pcg64Mcg, key: &mut u64, blocks: u64, side: usize) -> u64 {
        match self {
            Law::Map { index } => {
                if *index == blocks {
                    (*index, *key) = (0, random.next_u64());
                }
                *index += 1;
                permute(*index - 1, blocks, *key)
            }
            Law::Even => below(random, blocks),
            Law::Zipf { harmonic, second, eta, alpha } => {
                let even = fraction(random);
                let rank = match even * *harmonic {
                    z if z < 1.0 => 0,
                    z if z < *second => 1,
                    _ => (blocks as f64 * libm::pow(*eta * even - *eta + 1.0, *alpha)) as u64,
                };
                permute(rank.min(blocks - 1), blocks, *key)
            }
            Law::Pareto { power } => {
                let rank = ((blocks - 1) as f64 * libm::pow(fraction(random), *power)) as u64;
                permute(rank.min(blocks - 1), blocks, *key)
            }
            Law::Normal { width } => {
                let sum: u64 = (0..BELL_DRAWS).map(|_| below(random, blocks)).sum();
                let shifted = (sum / BELL_DRAWS + below(random, *width + 1)).saturating_sub(*width / 2);
                permute(shifted.min(blocks - 1), blocks, *key)
            }
            Law::Zoned(zones) => {
                let mut drawn = below(random, 100) as u32;
                let mut before = 0;
                for zone in &zones[side] {
                    if drawn < zone.requests_percent {
                        let part = |percent: u32| (u128::from(blocks) * u128::from(percent) / 100) as u64;
                        let (start, end) = (part(before), part(before + zone.size_percent));
                        return start.min(blocks - 1) + below(random, end.saturating_sub(start));
                    }
                    drawn -= zone.requests_percent;
                    before += zone.size_percent;
                }
                below(random, blocks)
            }
        }
    }
}

/// The sum of k to the power of minus theta, for k from 1 to n; beyond the first terms by Euler and Maclaurin.
fn harmonic(n: u64, theta: f64) -> f64 {
    let term = |k: f64| libm::pow(k, -theta);
    let first = n.min(TERMS_ONE_BY_ONE);
    let sum: f64 = (1..=first).map(|k| term(k as f64)).sum();
    if n == first {
        return sum;
    }
    let (a, b) = (first as f64, n as f64);
    let integral = (libm::pow(b, 1.0 - theta) - libm::pow(a, 1.0 - theta)) / (1.0 - theta);
    sum + integral + (term(b) - term(a)) / 2.0 + theta / 12.0 * (term(a) / a - term(b) / b)
}

/// At least 0 and less than 1.
fn fraction(random: &mut Pcg64Mcg) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A number below `n`, evenly.
pub(super) fn below(random: &mut Pcg64Mcg, n: u64) -> u64 {
    if n <= 1 { 0 } else { ((u128::from(random.next_u64()) * u128::from(n)) >> 64) as u64 }
}

/// Where `index` goes in a permutation of `0..n`: four Feistel rounds over the next even number of bits,
/// walked until the result is in range.
fn permute(index: u64, n: u64, key: u64) -> u64 {
    let half = (64 - (n - 1).leading_zeros()).div_ceil(2).max(1);
    let mask = (1u64 << half) - 1;
    let mut x = index;
    loop {
        let (mut left, mut right) = (x >> half, x & mask);
        for round in 0..4u64 {
            let mixed = (right ^ key.rotate_left(16 * round as u32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (left, right) = (right, left ^ (mixed >> 32) & mask);
        }
        x = left << half | right;
        if x < n {
            return x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each block was drawn, the most frequent first.
    fn counts(order: &Order, blocks: u64, draws: usize) -> Vec<u64> {
        let (mut random, mut key) = (Pcg64Mcg::new(5), 77);
        let mut law = Law::new(order, blocks);
        let mut counts = vec![0; blocks as usize];
        for _ in 0..draws {
            counts[law.draw(&mut random, &mut key, blocks, 0) as usize] += 1;
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }

    #[test]
    fn the_harmonic_number_is_that_of_all_its_terms() {
        for (n, theta) in [(1, 1.2), (1_000, 0.5), (50_000, 0.8), (200_000, 1.2), (30_000, 2.5)] {
            let all: f64 = (1..=n).rev().map(|k| libm::pow(k as f64, -theta)).sum();
            assert!((harmonic(n, theta) / all - 1.0).abs() < 1e-12, "{n} {theta}: {} {all}", harmonic(n, theta));
        }
    }

    #[test]
    fn ranks_come_as_zipfs_law_says() {
        const DRAWS: usize = 400_000;
        for theta in [0.6, 0.9, 1.2, 2.0] {
            let counts = counts(&Order::Zipf(theta), 10_000, DRAWS);
            let all = harmonic(10_000, theta);
            for (rank, tolerance) in [(1, 0.02), (2, 0.03)] {
                let expected = DRAWS as f64 * libm::pow(rank as f64, -theta) / all;
                let got = counts[rank - 1] as f64 / expected;
                assert!((got - 1.0).abs() < tolerance + 5.0 / expected.sqrt(), "theta {theta}, rank {rank}: {got}");
            }
            // The closed form is exact for the first two ranks and close beyond; fio's is the same.
            let head: u64 = counts[..100].iter().sum();
            let expected = DRAWS as f64 * harmonic(100, theta) / all;
            assert!((head as f64 / expected - 1.0).abs() < 0.06, "theta {theta}: {head} of {expected}");
        }
    }

    #[test]
    fn a_share_of_the_blocks_gets_the_rest_of_the_requests() {
        for h in [0.1, 0.2, 0.3] {
            let counts = counts(&Order::Pareto(h), 10_000, 200_000);
            let head: u64 = counts[..(10_000.0 * h) as usize].iter().sum();
            assert!((head as f64 / 200_000.0 - (1.0 - h)).abs() < 0.02, "{h}: {head}");
        }
    }

    #[test]
    fn a_bell_has_the_width_of_twelve_even_draws() {
        let (mut random, mut key) = (Pcg64Mcg::new(5), 77);
        let (blocks, back) = (4_096, |block| (0..4_096).find(|rank| permute(*rank, 4_096, 77) == block));
        let mut law = Law::new(&Order::Normal(0.0), blocks);
        let ranks: Vec<f64> = (0..2_000)
            .filter_map(|_| back(law.draw(&mut random, &mut key, blocks, 0)))
            .map(|rank| rank as f64 / blocks as f64)
            .collect();
        let mean = ranks.iter().sum::<f64>() / 2_000.0;
        let deviation = (ranks.iter().map(|rank| (rank - mean).powi(2)).sum::<f64>() / 2_000.0).sqrt();
        assert!((mean - 0.5).abs() < 0.01 && (deviation - 1.0 / 12.0).abs() < 0.005, "{mean} {deviation}");
    }

    #[test]
    fn a_zone_gets_its_share_within_its_bounds() {
        let zone = |requests_percent, size_percent| Zone { requests_percent, size_percent };
        let reads = vec![zone(60, 10), zone(30, 20), zone(8, 30), zone(2, 40)];
        let order = Order::Zoned([reads, vec![zone(100, 100)]]);
        let (mut random, mut key, mut law) = (Pcg64Mcg::new(5), 0, Law::new(&order, 1_000));
        let mut counts = [0; 4];
        for _ in 0..100_000 {
            let block = law.draw(&mut random, &mut key, 1_000, 0);
            counts[[100, 300, 600].iter().filter(|bound| block >= **bound).count()] += 1;
        }
        for (got, expected) in counts.into_iter().zip([60_000, 30_000, 8_000, 2_000]) {
            assert!(i32::abs(got - expected) < 600, "{counts:?}");
        }
    }
}
