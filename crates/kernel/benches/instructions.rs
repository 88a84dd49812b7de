//! What the kernel costs, in instructions: the same on every run, so that a change of one percent shows.
//!
//! ```text
//! cargo install gungraun-runner --version 0.20.0    # once; must match the library; needs valgrind
//! cargo bench -p hopscope-kernel --bench instructions --features instructions
//! ```
//!
//! Each model is counted at N and at 2N grants (bursts, customers); the difference over N is the cost of one.
//! Building and dropping a model are not counted; what a run costs once cancels in the difference.

// The macros write items without documentation.
#![allow(missing_docs)]

mod models;

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group, main};
use hopscope_kernel::Sim;
use models::Model;

const N: u64 = 8 * 2_048;

fn observed(model: Model, count: u64) -> Sim {
    models::observed(model.build(count))
}

#[library_benchmark]
#[bench::masters_n(Model::Masters { random: false }.build(N))]
#[bench::masters_2n(Model::Masters { random: false }.build(2 * N))]
#[bench::masters_observed_n(observed(Model::Masters { random: false }, N))]
#[bench::masters_observed_2n(observed(Model::Masters { random: false }, 2 * N))]
#[bench::bursts_n(Model::Transfers { trains: false }.build(N))]
#[bench::bursts_2n(Model::Transfers { trains: false }.build(2 * N))]
#[bench::bursts_observed_n(observed(Model::Transfers { trains: false }, N))]
#[bench::bursts_observed_2n(observed(Model::Transfers { trains: false }, 2 * N))]
#[bench::trains_n(Model::Transfers { trains: true }.build(N))]
#[bench::trains_2n(Model::Transfers { trains: true }.build(2 * N))]
#[bench::trains_observed_n(observed(Model::Transfers { trains: true }, N))]
#[bench::trains_observed_2n(observed(Model::Transfers { trains: true }, 2 * N))]
#[bench::ways_n(Model::Ways { by_hand: false }.build(12 * N))]
#[bench::ways_2n(Model::Ways { by_hand: false }.build(24 * N))]
#[bench::ways_by_hand_n(Model::Ways { by_hand: true }.build(12 * N))]
#[bench::ways_by_hand_2n(Model::Ways { by_hand: true }.build(24 * N))]
#[bench::server_n(Model::Server.build(N))]
#[bench::server_2n(Model::Server.build(2 * N))]
fn model(sim: Sim) -> Sim {
    black_box(models::run(sim))
}

library_benchmark_group!(name = kernel, benchmarks = model);
main!(library_benchmark_groups = kernel);
