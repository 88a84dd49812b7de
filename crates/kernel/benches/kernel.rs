//! What the kernel costs, in time: the rows of the kernel study.
//!
//! ```text
//! cargo bench -p hopscope-kernel --bench kernel              # all; compares with the run before
//! cargo bench -p hopscope-kernel --bench kernel -- masters   # those whose name contains a word
//! ```
//!
//! Criterion prints time per element: a grant, a burst, a customer, a sleep or a pop and push.
//! On a machine that others use, take the lower bound of the interval, and repeat.

mod models;

use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use hopscope_kernel::{Sim, bench::EventQueue};
use models::{Model, by_hand};

fn bench(c: &mut Criterion, name: &str, count: u64, build: impl Fn(u64) -> Sim) {
    let mut group = c.benchmark_group("kernel");
    group.throughput(Throughput::Elements(count)).sample_size(20).measurement_time(Duration::from_secs(2));
    group.bench_function(name, |b| b.iter_batched(|| build(count), models::run, BatchSize::PerIteration));
    group.finish();
}

fn kernel(c: &mut Criterion) {
    let observed = |model: Model| move |count| models::observed(model.build(count));
    let plain = |model: Model| move |count| model.build(count);
    for (name, random) in [("masters", false), ("masters at random", true)] {
        let mut group = c.benchmark_group("kernel");
        group.throughput(Throughput::Elements(400_000)).sample_size(20).measurement_time(Duration::from_secs(2));
        group.bench_function(format!("{name}, by hand"), |b| b.iter(|| by_hand::masters(black_box(400_000), random)));
        group.finish();
        bench(c, name, 400_000, plain(Model::Masters { random }));
        bench(c, &format!("{name}, observed"), 400_000, observed(Model::Masters { random }));
    }
    for (name, trains) in [("transfers by trains", true), ("transfers by bursts", false)] {
        let count = if trains { 10_000 * 2_048 } else { 1_000 * 2_048 };
        bench(c, name, count, plain(Model::Transfers { trains }));
        bench(c, &format!("{name}, observed"), count, observed(Model::Transfers { trains }));
    }
    for (name, by_hand) in [("ways", false), ("ways by hand", true)] {
        bench(c, name, 300_000, plain(Model::Ways { by_hand }));
    }
    for (name, observed, alike) in
        [("carriers", false, false), ("carriers, observed", true, false), ("carriers, alike", false, true)]
    {
        bench(c, name, 300 * 64 * 3, plain(Model::Carriers { observed, alike }));
    }
    for (name, observed) in [("convoys", false), ("convoys, observed", true)] {
        bench(c, name, 3_000 * 128, plain(Model::Convoys { observed }));
    }
    for (name, ahead) in [("turns", true), ("turns by hand", false)] {
        bench(c, name, 400 * 512, plain(Model::Turns { ahead }));
    }
    bench(c, "server", 200_000, plain(Model::Server));
    for pending in [4, 64, 1_024] {
        bench(c, &format!("{pending} sleepers"), 262_144, plain(Model::Sleepers { pending }));
    }
}

/// One pop and one push, with so many pending.
fn events(c: &mut Criterion) {
    const OPERATIONS: u64 = 200_000;
    let mut group = c.benchmark_group("events");
    group.throughput(Throughput::Elements(OPERATIONS)).sample_size(20).measurement_time(Duration::from_secs(2));
    for pending in [4, 16, 32, 48, 64, 128, 256, 1_024] {
        group.bench_function(format!("{pending} pending"), |b| {
            let mut queue = EventQueue::filled(pending);
            b.iter(|| queue.churn(black_box(OPERATIONS)));
        });
    }
    group.finish();
}

criterion_group!(benches, kernel, events);
criterion_main!(benches);
