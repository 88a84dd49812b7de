//! What a job asks of a device, checked against it.

use hopscope_files::job_distributions::Distribution;
use hopscope_files::job_file::Job;
use hopscope_files::job_options::DEPTH_MAX;
use hopscope_files::problem::Problem;
use hopscope_kernel::Time;
use hopscope_parts::protocols::storage::Storage;
use hopscope_parts::workload::{self, Order, Sizes};

/// Largest request.
const BLOCK_MAX: u64 = 16 << 20;

/// Whether the machine has the processors that the job may run on.
pub(crate) fn has_processors(job: &Job, volume: &dyn Storage) -> Result<(), Problem> {
    let count = volume.processor().map_or(0, |processor| processor.count());
    let Some(missing) = job.processors.iter().find(|number| **number >= count) else { return Ok(()) };
    let problem = Problem::at(job.place_of("cpus_allowed"), format!("this device's host has no processor {missing}"));
    Err(problem.help(match count {
        0 => "no processor works for it".to_string(),
        1 => "it has one, number 0; a system's file says how many, and so does --set cpu.processors=\"4 processors\""
            .to_string(),
        _ => format!("it has {count}, numbers 0 to {}", count - 1),
    }))
}

/// What the job asks of this device.
pub(crate) fn of(job: &Job, volume: &dyn Storage, seed: u64) -> Result<workload::Spec, Problem> {
    let block = u64::from(volume.block_bytes());
    let reads = (job.block_bytes_min, job.block_bytes_max);
    let of_writes = job.write_blocks.unwrap_or(reads);
    let sides = job.rw.sides();
    let used = || [reads, of_writes].into_iter().zip(sides).filter(|(_, used)| *used).map(|(sizes, _)| sizes);
    let bs = if job.places.contains_key("bssplit") { "bssplit" } else { "bs" };
    let sizes = used().flat_map(|(min, max)| [min, max]).chain(job.splits.iter().flatten().map(|size| size.0));
    for (size, option) in sizes.map(|size| (size, bs)).chain([(job.offset_bytes, "offset")]) {
        if size % block != 0 {
            let problem = Problem::at(job.place_of(option), format!("{size} bytes are no whole sectors"));
            return Err(problem.help(format!("a multiple of {block} bytes is needed")));
        }
    }
    for (min, max) in used() {
        if max > BLOCK_MAX || max % min != 0 {
            let problem = Problem::at(job.place_of(bs), format!("requests of {min} to {max} bytes"));
            return Err(problem.help("at most 16 MiB, and the largest a multiple of the smallest"));
        }
    }
    for side in job.splits.iter() {
        let min = side.iter().map(|size| size.0).min().unwrap_or(1);
        if let Some((size, _)) = side.iter().find(|(size, _)| size % min != 0) {
            let problem = Problem::at(job.place_of(bs), format!("requests of {min} and of {size} bytes"));
            return Err(problem.help("each size a multiple of the smallest, on which addresses are aligned"));
        }
    }
    if job.iodepth > DEPTH_MAX {
        let problem = Problem::at(job.place_of("iodepth"), format!("{} requests in flight", job.iodepth));
        return Err(problem.help(format!("at most {DEPTH_MAX}")));
    }
    let (min, max) = used().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or(reads);
    let room = volume.size_bytes().saturating_sub(job.offset_bytes);
    let asked = job.size_bytes.or(job.size_percent.map(|percent| volume.size_bytes() / 100 * percent));
    let size_bytes = asked.unwrap_or(room) / min * min;
    if size_bytes > room || size_bytes < max {
        let option = if size_bytes > room && asked.is_none() { "offset" } else { "size" };
        let problem = Problem::at(job.place_of(option), format!("{size_bytes} bytes from byte {}", job.offset_bytes));
        let help = format!("the device has {} bytes, and a request needs {max}", volume.size_bytes());
        return Err(problem.help(help));
    }
    let sizes_of = |side: usize, (min, max): (u64, u64)| match &job.splits[side][..] {
        [] => Sizes::Range { min: min as u32, max: max as u32 },
        split => Sizes::Split(split.iter().map(|(bytes, percent)| (*bytes as u32, *percent)).collect()),
    };
    Ok(workload::Spec {
        reads_percent: match sides {
            [true, true] => job.reads_percent,
            [reads, _] => 100 * u32::from(reads),
        },
        order: match (job.rw.is_random(), job.distribution, job.random_map) {
            (false, ..) => Order::Sequential,
            (true, Distribution::Random, true) => Order::RandomMap,
            (true, Distribution::Random, false) => Order::Random,
            (true, Distribution::Zipf(theta), _) => Order::Zipf(theta),
            (true, Distribution::Pareto(share), _) => Order::Pareto(share),
            (true, Distribution::Normal(percent), _) => Order::Normal(percent),
            (true, Distribution::Zoned, _) => Order::Zoned(job.zones.clone()),
        },
        random_percent: job.random_percent,
        sizes: [sizes_of(0, reads), sizes_of(1, of_writes)],
        depth: job.iodepth as usize,
        offset_bytes: job.offset_bytes,
        size_bytes,
        start_delay: job.start_delay,
        behind: 0,
        after: 0,
        once: !job.time_based,
        processors: match volume.processor() {
            Some(all) => all.threads_on().iter().copied().filter(|number| job.processors.contains(number)).collect(),
            None => Vec::new(),
        },
        think: Some(job.think).filter(|think| think.time > Time::ZERO),
        seed: job.randseed.unwrap_or(0).wrapping_mul(0x9E37_79B9).wrapping_add(seed),
    })
}
