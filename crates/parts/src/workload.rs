//! A workload: one thread that keeps so many requests in flight at one device.
//!
//! Addresses follow the job: one after the other from an offset on, or anywhere within a span; the end of the
//! span leads back to its beginning. The thread does the work of a request above the driver, completion and
//! next submission together.
//!
//! Not modelled: several threads a job, think time, mixed reads and writes.

use std::rc::Rc;

use hopscope_kernel::{Label, Queue, Sim};
use rand_core::RngCore;
use rand_pcg::Pcg64Mcg;

use crate::disk::fingerprint;
use crate::protocols::storage::{Completion, Operation, READ, Request, Storage, WRITE};

static IN_FLIGHT: Label = Label::workload("as many requests in flight as the job allows");

/// What a job asks of one device.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Reads or writes.
    pub operation: Operation,
    /// The order of addresses.
    pub order: Order,
    /// Smallest request, bytes; addresses are multiples of it.
    pub block_bytes_min: u32,
    /// Largest request, bytes: sizes between are drawn, in steps of the smallest.
    pub block_bytes_max: u32,
    /// Requests in flight.
    pub depth: usize,
    /// First byte.
    pub offset_bytes: u64,
    /// Bytes from there.
    pub size_bytes: u64,
    /// The job ends when it has moved its span once.
    pub once: bool,
    /// Decides what is drawn.
    pub seed: u64,
}

/// The order of a job's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One after the other.
    Sequential,
    /// Drawn; none comes twice before all have come.
    RandomMap,
    /// Drawn, each by itself.
    Random,
}

/// Starts a job on a device.
pub fn start(sim: &Sim, name: &str, spec: Spec, target: Rc<dyn Storage>) {
    let addresses = Addresses::new(&spec, fingerprint(name));
    let thread = Thread { sim: sim.clone(), done: Queue::new(sim, spec.depth), target, spec };
    sim.process(name, async move { thread.run(addresses).await });
}

struct Thread {
    sim: Sim,
    spec: Spec,
    target: Rc<dyn Storage>,
    done: Queue<Completion>,
}

impl Thread {
    async fn run(&self, mut addresses: Addresses) {
        let (processor, span) = (self.target.processor(), self.target.time_per_request());
        let mut in_flight = 0;
        loop {
            let next = addresses.next();
            if in_flight == self.spec.depth || next.is_none() {
                if in_flight == 0 {
                    return;
                }
                self.complete().await;
                in_flight -= 1;
            }
            let Some((offset, bytes)) = next else { continue };
            if let Some(processor) = &processor {
                processor.run_thread(span).await;
            }
            let (operation, issued, done) = (self.spec.operation, self.sim.now(), self.done.clone());
            let offset_bytes = self.spec.offset_bytes + offset;
            self.target.submit(Request { operation, offset_bytes, bytes, issued, done });
            in_flight += 1;
        }
    }

    async fn complete(&self) {
        let Completion { operation, bytes, issued } = self.done.take(&IN_FLIGHT).await;
        let label = if operation == Operation::Read { &READ } else { &WRITE };
        self.sim.transferred(label, issued, bytes);
    }
}

/// What the job asks for next: an offset within its span, and a size.
struct Addresses {
    spec: Spec,
    random: Pcg64Mcg,
    /// Bytes asked for since the span began.
    moved: u64,
    /// Key of the present pass of a random map.
    key: u64,
    index: u64,
}

impl Addresses {
    fn new(spec: &Spec, name: u64) -> Addresses {
        let mut random = Pcg64Mcg::new(u128::from(spec.seed) << 64 | u128::from(name) | 1);
        let key = random.next_u64();
        Addresses { spec: spec.clone(), random, moved: 0, key, index: 0 }
    }

    fn next(&mut self) -> Option<(u64, u32)> {
        let (min, max, size) = (self.spec.block_bytes_min, self.spec.block_bytes_max, self.spec.size_bytes);
        let mut bytes = min * (1 + below(&mut self.random, u64::from(max / min)) as u32);
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
        let blocks = size / u64::from(min);
        let offset = match self.spec.order {
            Order::Sequential => self.moved,
            Order::Random => below(&mut self.random, blocks) * u64::from(min),
            Order::RandomMap => {
                if self.index == blocks {
                    (self.index, self.key) = (0, self.random.next_u64());
                }
                self.index += 1;
                permute(self.index - 1, blocks, self.key) * u64::from(min)
            }
        };
        self.moved += u64::from(bytes);
        Some((offset.min(size - u64::from(bytes)), bytes))
    }
}

/// A number below `n`, evenly.
fn below(random: &mut Pcg64Mcg, n: u64) -> u64 {
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

    fn spec(order: Order, size_bytes: u64, once: bool) -> Spec {
        let (block_bytes_min, block_bytes_max) = (4_096, 4_096);
        let operation = Operation::Read;
        Spec {
            operation,
            order,
            block_bytes_min,
            block_bytes_max,
            depth: 1,
            offset_bytes: 0,
            size_bytes,
            once,
            seed: 1,
        }
    }

    #[test]
    fn a_random_map_asks_for_every_block_once_before_any_comes_again() {
        for blocks in [1, 2, 3, 7, 64, 1_000] {
            let mut addresses = Addresses::new(&spec(Order::RandomMap, blocks * 4_096, false), 7);
            for _ in 0..2 {
                let mut seen: Vec<u64> = (0..blocks).filter_map(|_| addresses.next()).map(|(o, _)| o / 4_096).collect();
                seen.sort_unstable();
                assert!(seen.into_iter().eq(0..blocks), "{blocks} blocks");
            }
        }
    }

    #[test]
    fn a_job_that_runs_once_ends_with_its_span() {
        let mut addresses = Addresses::new(&spec(Order::Sequential, 10 * 4_096, true), 7);
        assert_eq!(
            std::iter::from_fn(|| addresses.next()).map(|(o, _)| o / 4_096).collect::<Vec<_>>(),
            (0..10).collect::<Vec<_>>()
        );
    }

    #[test]
    fn sizes_are_drawn_between_the_smallest_and_the_largest_and_stay_in_the_span() {
        let drawn = Spec { block_bytes_min: 2_048, block_bytes_max: 65_536, ..spec(Order::Random, 1 << 20, false) };
        let mut addresses = Addresses::new(&drawn, 7);
        let sizes: Vec<u32> = (0..1_000)
            .filter_map(|_| addresses.next())
            .map(|(o, b)| {
                assert!(o + u64::from(b) <= 1 << 20);
                b
            })
            .collect();
        assert!(sizes.iter().all(|b| b % 2_048 == 0) && sizes.contains(&2_048) && sizes.contains(&65_536));
    }
}
