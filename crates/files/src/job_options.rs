//! fio's options in three classes: modelled; without effect here; changing the result and not modelled.
//!
//! An option that is in no class is unknown. None is ignored in silence.

/// What an option does here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It is modelled; this is fio's main name of it.
    Modelled(&'static str),
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

/// A main name and its other names.
const MODELLED: &[&str] = &[
    "bs blocksize bsrange blocksize_range",
    "bssplit",
    "cpus_allowed",
    "cpus_allowed_policy",
    "filename",
    "iodepth",
    "name",
    "new_group",
    "norandommap",
    "numjobs",
    "offset fileoffset",
    "percentage_random",
    "ramp_time",
    "random_distribution",
    "randseed",
    "runtime timeout",
    "rw readwrite",
    "rwmixread",
    "rwmixwrite",
    "size",
    "stonewall wait_for_previous",
    "thinktime",
    "thinktime_blocks",
    "thinktime_blocks_type",
    "time_based",
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
    serialize_overlap=0 softrandommap=0 sprandom=0 startdelay=0 steadystate sync=0 \
    sync_file_range thinktime_iotime=0 thinktime_spin=0 trim_percentage=0 verify=0 \
    verify_backlog=0 verify_only=0 wait_for write_barrier write_iolog zonecapacity zonemode=none zonerange \
    zonesize zoneskip";

/// The class of an option with its value.
pub fn classify(option: &str, value: Option<&str>) -> Class {
    let among = |names: &'static str| names.split(' ').find(|name| *name == option);
    if let Some(main) = MODELLED.iter().find(|names| among(names).is_some()).and_then(|names| names.split(' ').next()) {
        return Class::Modelled(main);
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

/// Main names of the options that are modelled.
pub(crate) fn modelled() -> Vec<&'static str> {
    MODELLED.iter().filter_map(|names| names.split(' ').next()).collect()
}

/// Every option that is in a class.
pub fn known() -> Vec<&'static str> {
    let without_effect = WITHOUT_EFFECT.iter().map(|(_, names)| *names);
    let lists = MODELLED.iter().copied().chain(without_effect).chain([BETWEEN_JOBS]);
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
        assert!(known.iter().all(|name| !name.is_empty() && classify(name, None) != Class::Unknown));
    }

    #[test]
    fn a_value_decides_where_an_option_can_ask_for_nothing() {
        assert_eq!(classify("loops", Some("1")), Class::WithoutEffect("loops"));
        assert_eq!(classify("loops", Some("2")), Class::NotModelled);
        assert_eq!(classify("direct", Some("1")), Class::WithoutEffect("direct"));
        assert_eq!(classify("direct", Some("0")), Class::NotModelled);
        assert_eq!(classify("blocksize", None), Class::Modelled("bs"));
        assert!(why_without_effect("ioengine").is_some() && why_without_effect("bs").is_none());
    }
}
