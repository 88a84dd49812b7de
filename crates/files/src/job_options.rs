//! fio's options in three classes: modelled; without effect here; changing the result and not modelled.
//!
//! An option that is in no class is unknown. None is ignored in silence. One that is modelled is declared once, in
//! `MODELLED`.

use hopscope_kernel::Time;

use crate::job_distributions::{law, percentages, split};
use crate::job_draft::Draft;
use crate::job_file::Think;
use crate::job_values::{
    Refusal, blocks, bytes, count, direction, either, flag, percent, plain, processors, refusal, size, targets, time,
    time_in_us,
};

/// What an option does here.
pub enum Class {
    /// It is modelled.
    Modelled(&'static Modelled),
    /// It has no effect; this is its name.
    WithoutEffect(&'static str),
    /// It has no effect in one job alone, and is not modelled between several.
    BetweenJobs(&'static str),
    /// It changes the result and is not modelled.
    NotModelled,
    /// fio has no such option, or nobody has judged it.
    Unknown,
}

/// Most requests in flight of a job.
pub const DEPTH_MAX: u64 = 1_024;

/// Engines of fio that have one request under way, whatever `iodepth` says (HOWTO.rst, "I/O depth").
pub const SYNCHRONOUS: [&str; 6] = ["psync", "sync", "vsync", "pvsync", "pvsync2", "mmap"];

/// An option that is modelled.
pub struct Modelled {
    /// fio's main name of it, and its other names.
    names: &'static str,
    /// What its value may be, and what of a job it becomes.
    takes: &'static dyn Takes,
    /// Whether it says what one job is like. Else it says how many there are, or how they follow each other.
    pub(crate) is_of_one_job: bool,
}

impl Modelled {
    /// fio's main name of it.
    pub fn name(&self) -> &'static str {
        self.names.split_once(' ').map_or(self.names, |(main, _)| main)
    }

    /// Takes its value, and sets what it becomes.
    pub(crate) fn set(&self, draft: &mut Draft, value: Option<&str>) -> Result<(), Refusal> {
        self.takes.set(draft, self.name(), value)
    }
}

/// How an option is taken.
trait Takes: Sync {
    fn set(&self, draft: &mut Draft, option: &str, value: Option<&str>) -> Result<(), Refusal>;
}

/// On or off, and on where it stands alone.
struct Flag(fn(&mut Draft, bool));

impl Takes for Flag {
    fn set(&self, draft: &mut Draft, option: &str, value: Option<&str>) -> Result<(), Refusal> {
        flag(option, value).map(|is_set| (self.0)(draft, is_set))
    }
}

/// What a reader makes of the option's name and its value.
struct Value<T>(fn(&str, &str) -> Result<T, Refusal>, fn(&mut Draft, T));

impl<T> Takes for Value<T> {
    fn set(&self, draft: &mut Draft, option: &str, value: Option<&str>) -> Result<(), Refusal> {
        let value = value
            .filter(|value| !value.is_empty())
            .ok_or_else(|| refusal(option, "needs a value", "expected key=value"))?;
        (self.0)(option, value).map(|value| (self.1)(draft, value))
    }
}

const fn of_job(names: &'static str, takes: &'static dyn Takes) -> Modelled {
    Modelled { names, takes, is_of_one_job: true }
}

const fn among_jobs(names: &'static str, takes: &'static dyn Takes) -> Modelled {
    Modelled { names, takes, is_of_one_job: false }
}

/// Each option with its names, what its value may be, and what it becomes.
static MODELLED: &[Modelled] = &[
    of_job("bs blocksize bsrange blocksize_range", &Value(blocks, |draft, sizes| draft.blocks = sizes)),
    of_job("bssplit", &Value(split, |draft, splits| draft.job.splits = splits)),
    of_job("cpus_allowed", &Value(processors, |draft, numbers| draft.job.processors = numbers)),
    of_job(
        "cpus_allowed_policy",
        &Value(|o, v| either(o, v, ["shared", "split"]), |draft, split| draft.job.processors_split = split),
    ),
    of_job("filename", &Value(targets, |draft, targets| draft.job.targets = targets)),
    of_job("iodepth", &Value(count, |draft, depth| draft.job.iodepth = depth)),
    of_job("name", &Value(|_, name| Ok(name.to_string()), |draft, name| draft.job.name = name)),
    among_jobs("new_group", &Flag(|draft, is_set| draft.job.new_group = is_set)),
    of_job("norandommap", &Flag(|draft, is_set| draft.job.random_map = !is_set)),
    among_jobs("numjobs", &Value(count, |draft, jobs| draft.numjobs = jobs)),
    of_job("offset fileoffset", &Value(bytes, |draft, bytes| draft.job.offset_bytes = bytes)),
    of_job("percentage_random", &Value(percentages, |draft, percent| draft.job.random_percent = percent)),
    of_job("ramp_time", &Value(time, |draft, time| draft.job.ramp_time = draft.job.start_delay.saturating_add(time))),
    of_job(
        "random_distribution",
        &Value(law, |draft, (law, zones)| (draft.job.distribution, draft.job.zones) = (law, zones)),
    ),
    of_job("randseed", &Value(plain, |draft, seed| draft.job.randseed = Some(seed))),
    // fio's 0 is no limit.
    of_job(
        "runtime timeout",
        &Value(time, |draft, time| draft.job.runtime = Some(time).filter(|time| *time > Time::ZERO)),
    ),
    of_job("rw readwrite", &Value(direction, |draft, rw| draft.job.rw = rw)),
    of_job("rwmixread", &Value(percent, |draft, reads| draft.job.reads_percent = reads)),
    // Where both are given and do not add up to 100, the later one decides.
    of_job("rwmixwrite", &Value(percent, |draft, writes| draft.job.reads_percent = 100 - writes)),
    of_job("size", &Value(size, |draft, size| (draft.job.size_bytes, draft.job.size_percent) = size)),
    of_job("startdelay", &Value(time, |draft, time| draft.job.begins_after(time))),
    among_jobs("stonewall wait_for_previous", &Flag(|draft, is_set| draft.job.stonewall = is_set)),
    of_job("thinktime", &Value(time_in_us, |draft, time| draft.job.think = Think { time, ..draft.job.think })),
    of_job("thinktime_blocks", &Value(count, |draft, every| draft.job.think.every = every)),
    of_job(
        "thinktime_blocks_type",
        &Value(|o, v| either(o, v, ["complete", "issue"]), |draft, issue| draft.job.think.counts_issues = issue),
    ),
    of_job("time_based", &Flag(|draft, is_set| draft.job.time_based = is_set)),
];

/// Why, and what has no effect for that reason.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    (
        "how the host hands requests to its kernel is part of the system, not of the job",
        "ioengine direct buffered thread gpu_dev_id lockmem mem iomem hugepage-size hipri sqthread_poll \
         sqthread_poll_cpu fixedbufs registerfiles nonvectored force_async userspace_reap cmd_type",
    ),
    (
        "there is no file system, and no cache of one",
        "invalidate fallocate fadvise_hint filetype overwrite unlink unlink_each_loop ioscheduler \
         create_serialize create_fsync create_on_open allow_file_create allow_mounted_write openfiles",
    ),
    ("every run repeats exactly, from its seed", "randrepeat allrandrepeat random_generator"),
    (
        "nothing looks into the data",
        "zero_buffers refill_buffers scramble_buffers buffer_pattern buffer_compress_percentage \
         buffer_compress_chunk dedupe_percentage",
    ),
    (
        "simulated clocks cost nothing",
        "clocksource gtod_reduce gtod_cpu disable_lat disable_clat disable_slat disable_bw_measurement \
         disable_bw job_start_clock_id",
    ),
    (
        "it shapes fio's reports and logs",
        "description group_reporting stats per_job_logs write_bw_log write_lat_log write_iops_log \
         write_hist_log log_avg_msec log_hist_msec bwavgtime iopsavgtime disk_util clat_percentiles \
         lat_percentiles slat_percentiles percentile_list significant_figures unified_rw_reporting unit_base",
    ),
];

const BETWEEN_JOBS: &str = "exitall exit_what";

/// After `=` the value, if any, with which the option changes nothing.
const NOT_MODELLED: &str = "\
    atomic=0 blockalign ba blocksize_unaligned=0 bs_unaligned=0 bs_is_seq_rand=0 cpumask create_only=0 directory \
    do_verify=0 end_fsync=0 exec_postrun exec_prerun \
    experimental_verify=0 fdatasync=0 file_append=0 file_service_type=roundrobin filename_format filesize \
    fill_device=0 fill_fs=0 flow=0 fsync=0 fsync_on_close=0 include io_limit io_size io_submit_mode=inline \
    iodepth_batch iodepth_batch_complete iodepth_batch_complete_max iodepth_batch_complete_min=1 \
    iodepth_batch_submit iodepth_low iomem_align kb_base=1024 latency_percentile latency_target=0 latency_window \
    lockfile=none loops=1 max_latency=0 mem_align merge_blktrace_file nice=0 nr_files=1 nrfiles=1 numa_cpu_nodes \
    numa_mem_policy number_ios=0 offset_align=0 offset_increment=0 opendir \
    percentage_sequential pre_read=0 prio prioclass profile ramp_size=0 rate=0 \
    rate_cycle rate_iops=0 rate_iops_min=0 rate_min=0 rate_process=linear read_iolog rw_sequencer rwmixcycle \
    serialize_overlap=0 softrandommap=0 sprandom=0 steadystate sync=0 \
    sync_file_range thinktime_iotime=0 thinktime_spin=0 trim_percentage=0 verify=0 \
    verify_backlog=0 verify_only=0 wait_for write_barrier write_iolog zonecapacity zonemode=none zonerange \
    zonesize zoneskip";

/// The class of an option with its value.
pub fn classify(option: &str, value: Option<&str>) -> Class {
    let among = |names: &'static str| names.split(' ').find(|name| *name == option);
    if let Some(modelled) = modelled(option) {
        return Class::Modelled(modelled);
    }
    // The host's page cache stands between such a job and the devices.
    if matches!((option, value), ("direct", Some("0")) | ("buffered", None | Some("1"))) {
        return Class::NotModelled;
    }
    if let Some(name) = WITHOUT_EFFECT.iter().find_map(|(_, names)| among(names)) {
        return Class::WithoutEffect(name);
    }
    if let Some(name) = among(BETWEEN_JOBS) {
        return Class::BetweenJobs(name);
    }
    match not_modelled().find(|(name, _)| *name == option) {
        Some((name, neutral)) if neutral.is_some() && neutral == value => Class::WithoutEffect(name),
        Some(_) => Class::NotModelled,
        None => Class::Unknown,
    }
}

/// Why an option has no effect here, if it never has one.
pub fn why_without_effect(option: &str) -> Option<&'static str> {
    WITHOUT_EFFECT.iter().find(|(_, names)| names.split(' ').any(|name| name == option)).map(|(why, _)| *why)
}

/// The option of that name, if it is modelled.
pub(crate) fn modelled(option: &str) -> Option<&'static Modelled> {
    MODELLED.iter().find(|modelled| modelled.names.split(' ').any(|name| name == option))
}

/// Main names of the options that are modelled.
pub fn names() -> Vec<&'static str> {
    MODELLED.iter().map(Modelled::name).collect()
}

/// Every option that is in a class.
pub fn known() -> Vec<&'static str> {
    let without_effect = WITHOUT_EFFECT.iter().map(|(_, names)| *names);
    let lists = MODELLED.iter().map(|modelled| modelled.names).chain(without_effect).chain([BETWEEN_JOBS]);
    lists.flat_map(|names| names.split(' ')).chain(not_modelled().map(|(name, _)| name)).collect()
}

fn not_modelled() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    NOT_MODELLED
        .split(' ')
        .map(|entry| entry.split_once('=').map_or((entry, None), |(name, value)| (name, Some(value))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_in_one_class_only() {
        let mut known = known();
        known.sort_unstable();
        let all = known.len();
        known.dedup();
        assert_eq!(known.len(), all);
        assert!(known.iter().all(|name| !name.is_empty() && !matches!(classify(name, None), Class::Unknown)));
    }

    #[test]
    fn a_value_decides_where_an_option_can_ask_for_nothing() {
        assert!(matches!(classify("loops", Some("1")), Class::WithoutEffect("loops")));
        assert!(matches!(classify("loops", Some("2")), Class::NotModelled));
        assert!(matches!(classify("direct", Some("1")), Class::WithoutEffect("direct")));
        assert!(matches!(classify("direct", Some("0")), Class::NotModelled));
        assert!(matches!(classify("blocksize", None), Class::Modelled(option) if option.name() == "bs"));
        assert!(why_without_effect("ioengine").is_some() && why_without_effect("bs").is_none());
    }
}
