//! What a job asks for next: a direction, an offset within its span, and a size.

use rand_core::RngCore;
use rand_pcg::Pcg64Mcg;

use super::distribution::{Law, below};
use super::{Order, Sizes, Spec};
use crate::chance;
use crate::protocols::storage::Operation;

/// A request to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) operation: Operation,
    /// From the beginning of the span.
    pub(super) offset: u64,
    pub(super) bytes: u32,
}

/// What the job asks for next.
pub(super) struct Addresses {
    spec: Spec,
    law: Law,
    random: Pcg64Mcg,
    /// Draws directions, so that a mix draws the same blocks as a job in one direction.
    directions: Pcg64Mcg,
    /// Bytes asked for since the span began.
    moved: u64,
    /// Where the last request in each direction ended.
    ends: [u64; 2],
    /// Key of the present pass of a random map.
    key: u64,
    /// Blocks that are drawn among, and bytes of one.
    blocks: u64,
    unit: u64,
}

impl Addresses {
    pub(super) fn new(spec: &Spec, name: &str) -> Addresses {
        let generator = |name: &str| chance::of(name, spec.seed);
        let mut random = generator(name);
        let key = random.next_u64();
        let sides = [spec.reads_percent > 0, spec.reads_percent < 100];
        let sizes = spec.sizes.iter().zip(sides).filter(|(_, used)| *used).map(|(sizes, _)| u64::from(sizes.min()));
        let unit = sizes.min().unwrap_or(1);
        let blocks = (spec.size_bytes / unit).max(1);
        let (moved, ends) = ends_after(spec);
        let mut addresses = Addresses {
            law: Law::new(&spec.order, blocks),
            random,
            directions: generator(&format!("{name} directions")),
            moved,
            ends,
            key,
            blocks,
            unit,
            spec: spec.clone(),
        };
        (0..spec.behind).for_each(|_| _ = addresses.next());
        addresses
    }

    pub(super) fn next(&mut self) -> Option<Next> {
        let side = match self.spec.reads_percent {
            0 => 1,
            100 => 0,
            percent => usize::from(below(&mut self.directions, 100) >= u64::from(percent)),
        };
        let size = self.spec.size_bytes;
        let (min, max) = (self.spec.sizes[side].min(), self.spec.sizes[side].max());
        let mut bytes = self.size(side);
        if self.moved + u64::from(bytes) > size {
            if self.spec.once && self.moved + u64::from(min) > size {
                return None;
            }
            if self.spec.once {
                bytes = (size - self.moved) as u32 / min * min;
            } else {
                self.moved = 0;
                bytes = bytes.min((size / u64::from(min) * u64::from(min)).min(u64::from(max)) as u32);
            }
        }
        let goes_on = match (&self.spec.order, self.spec.random_percent[side]) {
            (Order::Sequential, _) => true,
            (_, 100) => false,
            (_, percent) => below(&mut self.directions, 100) >= u64::from(percent),
        };
        let fits = self.ends[side] + u64::from(bytes) <= size;
        let offset = match (goes_on, &self.spec.order) {
            (true, _) if fits => self.ends[side],
            (true, Order::Sequential) => 0,
            _ => {
                let drawn = self.law.draw(&mut self.random, &mut self.key, self.blocks, side) * self.unit;
                drawn / u64::from(min) * u64::from(min)
            }
        };
        let offset = offset.min(size - u64::from(bytes));
        self.moved += u64::from(bytes);
        self.ends[side] = offset + u64::from(bytes);
        let operation = if side == 0 { Operation::Read } else { Operation::Write };
        Some(Next { operation, offset, bytes })
    }

    fn size(&mut self, side: usize) -> u32 {
        match &self.spec.sizes[side] {
            Sizes::Range { min, max } => min * (1 + below(&mut self.random, u64::from(max / min)) as u32),
            Sizes::Split(sizes) => {
                let mut drawn = below(&mut self.random, 100) as u32;
                for (bytes, percent) in sizes {
                    if drawn < *percent {
                        return *bytes;
                    }
                    drawn -= percent;
                }
                sizes.last().map_or(1, |size| size.0)
            }
        }
    }
}

/// How much of its span a job has moved, and where it is in each direction, after the requests that came before.
fn ends_after(spec: &Spec) -> (u64, [u64; 2]) {
    let percent = [spec.reads_percent, 100 - spec.reads_percent];
    let bytes = |side: usize| {
        let min = u64::from(spec.sizes[side].min());
        spec.after * u64::from(percent[side]) / 100 * spec.sizes[side].mean() / min * min
    };
    let (reads, writes, span) = (bytes(0), bytes(1), spec.size_bytes.max(1));
    ((reads + writes) % span, [reads % span, writes % span])
}

#[cfg(test)]
mod tests {
    use hopscope_kernel::Time;

    use super::*;

    fn range(min: u32, max: u32) -> [Sizes; 2] {
        [Sizes::Range { min, max }, Sizes::Range { min, max }]
    }

    fn spec(order: Order, size_bytes: u64, once: bool) -> Spec {
        Spec {
            reads_percent: 100,
            order,
            random_percent: [100, 100],
            sizes: range(4_096, 4_096),
            depth: 1,
            offset_bytes: 0,
            size_bytes,
            start_delay: Time::ZERO,
            behind: 0,
            after: 0,
            once,
            processors: Vec::new(),
            think: None,
            seed: 1,
        }
    }

    fn drawn(spec: &Spec, count: usize) -> Vec<Next> {
        let mut addresses = Addresses::new(spec, "job");
        std::iter::from_fn(|| addresses.next()).take(count).collect()
    }

    #[test]
    fn a_random_map_asks_for_every_block_once_before_any_comes_again() {
        for blocks in [1, 2, 3, 7, 64, 1_000] {
            let all = drawn(&spec(Order::RandomMap, blocks * 4_096, false), 2 * blocks as usize);
            for pass in all.chunks(blocks as usize) {
                let mut seen: Vec<u64> = pass.iter().map(|next| next.offset / 4_096).collect();
                seen.sort_unstable();
                assert!(seen.into_iter().eq(0..blocks), "{blocks} blocks");
            }
        }
    }

    #[test]
    fn a_job_that_runs_once_ends_with_its_span() {
        let all = drawn(&spec(Order::Sequential, 10 * 4_096, true), 100);
        assert!(all.iter().map(|next| next.offset / 4_096).eq(0..10));
        let mixed = Spec { reads_percent: 30, ..spec(Order::Random, 10 * 4_096, true) };
        assert_eq!(drawn(&mixed, 100).len(), 10, "both directions together");
    }

    #[test]
    fn sizes_are_drawn_between_the_smallest_and_the_largest_and_stay_in_the_span() {
        let all = drawn(&Spec { sizes: range(2_048, 65_536), ..spec(Order::Random, 1 << 20, false) }, 1_000);
        assert!(all.iter().all(|next| next.offset + u64::from(next.bytes) <= 1 << 20));
        let sizes: Vec<u32> = all.iter().map(|next| next.bytes).collect();
        assert!(sizes.iter().all(|b| b % 2_048 == 0) && sizes.contains(&2_048) && sizes.contains(&65_536));
    }

    #[test]
    fn directions_and_sizes_come_in_the_shares_that_were_asked_for() {
        let sizes = [Sizes::Split(vec![(4_096, 10), (65_536, 90)]), Sizes::Split(vec![(8_192, 70), (16_384, 30)])];
        let all = drawn(&Spec { reads_percent: 70, sizes, ..spec(Order::Random, 1 << 30, false) }, 100_000);
        let count = |of: &dyn Fn(&Next) -> bool| all.iter().filter(|next| of(next)).count() as i64;
        let reads = count(&|next| next.operation == Operation::Read);
        assert!((reads - 70_000).abs() < 700, "{reads}");
        let small = count(&|next| next.bytes == 4_096);
        assert!((small - reads / 10).abs() < 400, "{small} of {reads}");
        let small_writes = count(&|next| next.operation == Operation::Write && next.bytes == 8_192);
        assert!((small_writes - (100_000 - reads) * 7 / 10).abs() < 600, "{small_writes}");
        let writes = |next: &&Next| next.operation == Operation::Write;
        assert!(all.iter().filter(writes).all(|next| next.offset.is_multiple_of(8_192)), "a write's own alignment");
    }

    #[test]
    fn a_mix_draws_the_blocks_that_one_direction_draws() {
        let one = drawn(&spec(Order::RandomMap, 1 << 24, false), 100);
        let mix = drawn(&Spec { reads_percent: 50, ..spec(Order::RandomMap, 1 << 24, false) }, 100);
        assert!(one.iter().zip(&mix).all(|(a, b)| a.offset == b.offset));
        assert!(mix.iter().any(|next| next.operation == Operation::Write));
    }

    #[test]
    fn what_came_before_counts_for_where_a_job_goes_on() {
        let order = spec(Order::Sequential, 1 << 20, true);
        let all = drawn(&order, 256);
        assert_eq!(drawn(&Spec { after: 100, ..order.clone() }, 256), all[100..]);
        // What is drawn is drawn anew, and the job ends as soon.
        let random = spec(Order::RandomMap, 1 << 20, true);
        assert_eq!(drawn(&Spec { after: 100, ..random.clone() }, 256), drawn(&random, 156));
    }

    #[test]
    fn sequential_reads_and_writes_go_on_each_for_itself() {
        let all = drawn(&Spec { reads_percent: 50, ..spec(Order::Sequential, 1 << 20, false) }, 300);
        for side in [Operation::Read, Operation::Write] {
            let offsets: Vec<u64> = all.iter().filter(|n| n.operation == side).map(|n| n.offset / 4_096).collect();
            assert!(offsets.iter().enumerate().all(|(i, offset)| *offset == i as u64 % 256), "{side:?}");
        }
    }

    #[test]
    fn so_many_requests_are_random_and_the_others_go_on_behind_them() {
        let mostly = Spec { random_percent: [25, 100], ..spec(Order::Random, 1 << 30, false) };
        let all = drawn(&mostly, 20_000);
        let follows = all.windows(2).filter(|pair| pair[1].offset == pair[0].offset + 4_096).count();
        assert!((14_600..15_400).contains(&follows), "{follows}");
    }
}
