//! Workloads in fio's language: job files, the same options on a command line, and those that a result of fio keeps.
//!
//! What fio means is what its manual says (HOWTO.rst of fio 3): sections, units and defaults. Every option is
//! in one of three classes: modelled; without effect here; changing the result and not modelled, which is an error.

use std::collections::BTreeMap;
use std::ops::Range;

use hopscope_kernel::Time;
use hopscope_parts::nearest::{did_you_mean, nearest};
use hopscope_parts::parameters::Place;
use hopscope_parts::workload::Zone;

use crate::fio_result;
use crate::job_distributions::Distribution;
use crate::job_draft::Draft;
use crate::job_options::{Class, classify, known, names};
use crate::job_values::flag;
use crate::problem::{Problem, Problems, Sources, place};

mod result;
mod rw;

pub use result::{of_options, stands_for};
pub use rw::Rw;

pub use hopscope_parts::workload::Think;

/// What a job file asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFile {
    /// The jobs, in the order of the file. Those of one stage run at the same time.
    pub jobs: Vec<Job>,
    /// Options that were given and have no effect here, sorted.
    pub without_effect: Vec<String>,
    /// What was taken otherwise than it is written, or without being written, and why: sentences without a full stop.
    pub notes: Vec<String>,
    /// Whether a result of fio stands for the job file, so that its files are those of another machine.
    pub is_measured: bool,
}

impl JobFile {
    /// What a report says of how options were taken, a line each.
    pub fn said(&self) -> Vec<String> {
        let mut lines = self.notes.clone();
        if !self.without_effect.is_empty() {
            lines.push(format!("Options without effect here: {}", self.without_effect.join(", ")));
        }
        lines
    }
}

/// One job.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its name in reports.
    pub name: String,
    /// Direction and order.
    pub rw: Rw,
    /// Smallest request, bytes.
    pub block_bytes_min: u64,
    /// Largest request, bytes; the same as the smallest where there is one size.
    pub block_bytes_max: u64,
    /// Smallest and largest write of a job that also reads, where they differ from those of its reads.
    pub write_blocks: Option<(u64, u64)>,
    /// Sizes of reads and of writes with their percentages, which add up to a hundred; none where sizes are even.
    pub splits: [Vec<(u64, u32)>; 2],
    /// Of a hundred requests of a mix, so many are reads.
    pub reads_percent: u32,
    /// Requests under way at a time.
    pub iodepth: u64,
    /// Whether its `ioengine` has one request under way, whatever `iodepth` says.
    pub synchronous: bool,
    /// Where it asks for the cache of the operating system (`direct=0`), if it does.
    pub buffered: Option<Place>,
    /// Whether it looks for the end of its requests (`hipri`) in the place of waiting for interrupts.
    pub polls: bool,
    /// Bytes to transfer, and the extent of each target that is used; all of it if neither size is given.
    pub size_bytes: Option<u64>,
    /// The same as a percentage of the target, 1 to 100. At most one of the two sizes is given.
    pub size_percent: Option<u64>,
    /// Where on the target the extent starts.
    pub offset_bytes: u64,
    /// Parts to address; none is the system's default target.
    pub targets: Vec<String>,
    /// Longest time to run.
    pub runtime: Option<Time>,
    /// Whether to start over when the extent is done, until `runtime` is over.
    pub time_based: bool,
    /// Time to do nothing at first.
    pub start_delay: Time,
    /// Time before measuring, on top of `runtime`: fio's `startdelay` and its `ramp_time`.
    pub ramp_time: Time,
    /// Seed of its random choices.
    pub randseed: Option<u64>,
    /// Whether random blocks are drawn without return, so that none comes twice before all came once (fio's default).
    pub random_map: bool,
    /// Where requests in random order go.
    pub distribution: Distribution,
    /// The zones of a zoned distribution, of reads and of writes.
    pub zones: [Vec<Zone>; 2],
    /// Of a hundred requests in random order, so many go to a drawn block, of reads and of writes; the others go on.
    pub random_percent: [u32; 2],
    /// The processors that it may run on, by number, in order; none is any of them.
    pub processors: Vec<usize>,
    /// Whether each of several alike gets one of them, in turn; else all may run on all.
    pub processors_split: bool,
    /// How it pauses; a time of zero is no pause.
    pub think: Think,
    /// Whether it waits for the jobs before it to end.
    pub stonewall: bool,
    /// Whether it begins another group in reports.
    pub new_group: bool,
    /// Jobs of one stage run at the same time, each stage after the one before; counted from 0.
    pub stage: usize,
    /// Its group in reports, counted from 0.
    pub group: usize,
    /// Where its name is written.
    pub place: Place,
    /// Where each of its modelled options is written, by fio's main name of it.
    pub places: BTreeMap<String, Place>,
    /// Their values as they are written; empty for an option that stands alone.
    pub written: BTreeMap<String, String>,
}

impl Job {
    /// Where an option is written; where the job is, if it is not.
    pub fn place_of(&self, option: &str) -> Place {
        self.places.get(option).copied().unwrap_or(self.place)
    }

    /// Has it do nothing for so long at first, and run as long as before until it is measured.
    pub(crate) fn begins_after(&mut self, time: Time) {
        self.ramp_time = self.ramp_time.saturating_sub(self.start_delay).saturating_add(time);
        self.start_delay = time;
    }

    /// Gives one modelled option another value, as if it were written `at`.
    pub fn set(&mut self, option: &str, value: &str, at: Place) -> Result<(), Problem> {
        let (option, main) = match classify(option, Some(value)) {
            Class::Modelled(option) if option.is_of_one_job => (option, option.name()),
            _ => {
                let problem = Problem::at(at, format!("`{option}` is no option of a job that can be changed"));
                return Err(problem.help(did_you_mean(option, &names())));
            }
        };
        let reads = (self.block_bytes_min, self.block_bytes_max);
        let blocks = [reads, self.write_blocks.unwrap_or(reads)];
        if main == "iodepth" && self.synchronous {
            let problem = Problem::at(at, "`iodepth` has no effect with the `ioengine` of this job");
            return Err(problem.help("it has one request under way, as in fio: take io_uring or libaio"));
        }
        let mut draft = Draft { job: self.clone(), blocks, numjobs: 1, engine: None, hipri: self.polls };
        option.set(&mut draft, Some(value)).map_err(|(title, expected)| Problem::at(at, title).help(expected))?;
        if main == "bs" {
            draft.job.splits = Default::default();
        }
        *self = draft.closed();
        self.places.insert(main.to_string(), at);
        self.written.insert(main.to_string(), value.to_string());
        Ok(())
    }
}

/// When a run ends, where its jobs say so.
pub fn end_of(jobs: &[Job]) -> Option<Time> {
    let last = jobs.iter().map(|job| job.stage).max()?;
    (0..=last).try_fold(Time::ZERO, |sum, stage| {
        let of_stage = || jobs.iter().filter(|job| job.stage == stage);
        let runtime = of_stage().filter_map(|job| job.runtime).max()?;
        Some(sum.saturating_add(of_stage().map(|job| job.ramp_time).max()?).saturating_add(runtime))
    })
}

const MOST_JOBS: usize = 256;
const LONGEST_OPTION: usize = 4_096;
const MOST_PROBLEMS: usize = 1_000;

/// Reads the job file that `sources` keeps under the number `file`; where that is a result of fio, the jobs that were
/// measured.
pub fn read(sources: &Sources, file: u32) -> Result<JobFile, Problems> {
    let text = sources.text(file);
    if fio_result::is_result(sources.name(file), text) {
        return result::read(sources, file);
    }
    if let Some(problem) = fio_result::refuse_other_output(text, file) {
        return Err(problem.into());
    }
    let mut reader = JobReader::new(file);
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        // fio cuts a line at the first of either, wherever it is.
        let code = line.split([';', '#']).next().unwrap_or_default();
        let at = start + code.len() - code.trim_start().len();
        start += line.len();
        let code = code.trim();
        if let Some(section) = code.strip_prefix('[') {
            match section.strip_suffix(']').map(str::trim) {
                // fio compares six letters.
                Some(name) if name.starts_with("global") => reader.open_global(),
                Some(name) if !name.is_empty() => reader.open_job(name, at..at + code.len()),
                _ => reader.refuse(at..at + code.len(), "this is no section", "expected [name]", ""),
            }
        } else if !code.is_empty() {
            reader.option(code, at);
        }
    }
    reader.close_job();
    if reader.jobs.is_empty() && reader.problems.is_empty() {
        let help = "write [name] above the options of a job; [global] is only for what jobs share";
        reader.refuse(0..0, "there is no job in this file", "", help);
    }
    reader.finish()
}

/// Reads options as `fio` takes them on its command line, and keeps them in `sources` as a text that errors can show.
///
/// `--name=` starts a job; what is before the first one is shared; without any there is one job, named `job`.
pub fn read_options<S: AsRef<str>>(sources: &mut Sources, options: &[S]) -> Result<JobFile, Problems> {
    let options: Vec<&str> = options.iter().map(AsRef::as_ref).collect();
    let text = options.join(" ");
    let end = text.len();
    let file = sources.add("command line", text);
    let mut reader = JobReader::new(file);
    reader.open_global();
    if !options.iter().any(|option| option.starts_with("--name=")) {
        reader.open_job("job", 0..end);
    }
    let mut start = 0;
    for option in options {
        let span = start..start + option.len();
        start = span.end + 1;
        match option.strip_prefix("--") {
            Some(setting) => match setting.strip_prefix("name=") {
                Some(name) if name.starts_with("global") => reader.open_global(),
                Some(name) => reader.open_job(name, span),
                None => reader.option(setting, span.start + 2),
            },
            None => reader.refuse(span, "this is no option", "expected --key=value, as in --rw=randread", ""),
        }
    }
    reader.close_job();
    reader.finish()
}

/// One option, and where it stands.
struct Setting<'a> {
    key: &'a str,
    value: Option<&'a str>,
    /// As people write it.
    text: &'a str,
    span: Range<usize>,
    key_span: Range<usize>,
    value_span: Range<usize>,
}

struct JobReader {
    file: u32,
    global: Draft,
    open: Option<Draft>,
    jobs: Vec<Job>,
    sections: usize,
    without_effect: Vec<String>,
    notes: Vec<String>,
    between_jobs: Vec<(&'static str, Range<usize>)>,
    in_section: bool,
    is_measured: bool,
    problems: Vec<Problem>,
}

impl JobReader {
    fn new(file: u32) -> Self {
        JobReader {
            file,
            global: Draft::new(file),
            open: None,
            jobs: Vec::new(),
            sections: 0,
            without_effect: Vec::new(),
            notes: Vec::new(),
            between_jobs: Vec::new(),
            in_section: false,
            is_measured: false,
            problems: Vec::new(),
        }
    }

    fn refuse(&mut self, span: Range<usize>, title: impl Into<String>, label: impl Into<String>, help: &str) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(Problem::at(place(self.file, span), title).label(label).help(help));
        }
    }

    fn open_global(&mut self) {
        self.close_job();
        self.in_section = true;
    }

    fn open_job(&mut self, name: &str, span: Range<usize>) {
        self.close_job();
        self.in_section = true;
        self.sections += 1;
        let mut draft = self.global.clone();
        draft.job.name = name.to_string();
        draft.job.place = place(self.file, span);
        self.open = Some(draft);
    }

    fn close_job(&mut self) {
        let Some(draft) = self.open.take() else { return };
        let numjobs = draft.numjobs;
        self.without_effect.extend(draft.without_effect());
        let job = draft.closed();
        let span = |place: Place| place.start as usize..place.end as usize;
        if job.time_based && job.runtime.is_none() {
            self.refuse(
                span(job.place_of("time_based")),
                "`time_based` needs a `runtime`",
                "until when?",
                "add runtime=10s",
            );
        }
        for clone in 0..numjobs {
            match self.jobs.len() {
                MOST_JOBS => {
                    let place = if numjobs > 1 { job.place_of("numjobs") } else { job.place };
                    self.refuse(span(place), format!("there are more than {MOST_JOBS} jobs"), "", "");
                }
                0..MOST_JOBS => {}
                _ => return,
            }
            // What is there several times starts together.
            let first = clone == 0;
            let processors = match &job.processors[..] {
                all @ [_, ..] if job.processors_split => vec![all[clone as usize % all.len()]],
                all => all.to_vec(),
            };
            let (stonewall, new_group) = (job.stonewall && first, job.new_group && first);
            self.jobs.push(Job { stonewall, new_group, processors, ..job.clone() });
        }
    }

    fn finish(mut self) -> Result<JobFile, Problems> {
        for (name, span) in std::mem::take(&mut self.between_jobs) {
            if self.sections > 1 {
                let title = format!("`{name}` changes the result and is not modelled");
                self.refuse(span, title, "not modelled between several jobs", "write one file for each job");
            } else {
                self.without_effect.push(name.to_string());
            }
        }
        if self.sections == 1 && self.jobs.first().is_some_and(|job| job.stonewall) {
            self.without_effect.push("stonewall".to_string());
        }
        let (mut stage, mut group) = (0, 0);
        for (index, job) in self.jobs.iter_mut().enumerate() {
            stage += usize::from(job.stonewall && index > 0);
            group += usize::from((job.stonewall || job.new_group) && index > 0);
            (job.stage, job.group) = (stage, group);
        }
        self.without_effect.sort_unstable();
        self.without_effect.dedup();
        self.notes.dedup();
        Problems(self.problems).unless_empty(JobFile {
            jobs: self.jobs,
            without_effect: self.without_effect,
            notes: self.notes,
            is_measured: self.is_measured,
        })
    }

    /// Takes `key=value`, or a key alone, which starts at byte `start`.
    fn option(&mut self, text: &str, start: usize) {
        let span = start..start + text.len();
        let (key, value) =
            text.split_once('=').map_or((text, None), |(key, value)| (key.trim_end(), Some(value.trim())));
        let value_span = value.map_or(span.clone(), |value| span.end - value.len()..span.end);
        if !self.in_section {
            return self.refuse(span, "this option is in no section", "expected [name] above it", "");
        }
        let key_span = start..start + key.len();
        self.set(&Setting { key, value, text, span, key_span, value_span });
    }

    fn set(&mut self, setting: &Setting<'_>) {
        let Setting { key, value, text, .. } = *setting;
        let (span, key_span) = (setting.span.clone(), setting.key_span.clone());
        if text.len() > LONGEST_OPTION {
            let label = format!("expected at most {LONGEST_OPTION} bytes");
            return self.refuse(key_span, "this option is too long", label, "");
        }
        match classify(key, value) {
            Class::Modelled(option) => {
                let draft = self.open.as_mut().unwrap_or(&mut self.global);
                match option.set(draft, value) {
                    Ok(()) => {
                        draft.job.places.insert(option.name().to_string(), place(self.file, span));
                        draft.job.written.insert(option.name().to_string(), value.unwrap_or_default().to_string());
                    }
                    Err((title, expected)) => self.refuse(setting.value_span.clone(), title, expected, ""),
                }
            }
            // What the engine and polling come to is known when all options of the job are.
            Class::WithoutEffect("ioengine") => {
                let draft = self.open.as_mut().unwrap_or(&mut self.global);
                draft.engine = value.map(str::to_string);
            }
            Class::WithoutEffect("hipri") => {
                let draft = self.open.as_mut().unwrap_or(&mut self.global);
                match flag(key, value) {
                    Ok(is_set) => draft.hipri = is_set,
                    Err((title, expected)) => return self.refuse(setting.value_span.clone(), title, expected, ""),
                }
                draft.job.places.insert("hipri".to_string(), place(self.file, span));
            }
            Class::WithoutEffect(name) => {
                if matches!(name, "direct" | "buffered") {
                    self.open.as_mut().unwrap_or(&mut self.global).job.buffered = None;
                }
                self.without_effect.push(name.to_string());
            }
            // Whether there is a cache, the machine says.
            Class::NotModelled if matches!(key, "direct" | "buffered") && !self.is_measured => {
                let draft = self.open.as_mut().unwrap_or(&mut self.global);
                draft.job.buffered = Some(place(self.file, span));
            }
            Class::BetweenJobs(name) => self.between_jobs.push((name, span)),
            Class::NotModelled => {
                let help = if self.is_measured {
                    "write a job file without it, and compare: hopscope explain SYSTEM JOB.fio --measured RESULT"
                } else {
                    "the answer would be that of another workload: leave it away if that is what you want"
                };
                self.refuse(span, format!("`{text}` changes the result and is not modelled"), "not modelled", help);
            }
            Class::Unknown => {
                let label = match nearest(key, known()) {
                    Some(name) => format!("did you mean `{name}`?"),
                    None => "expected an option of fio, such as rw=randread or bs=64k".to_string(),
                };
                self.refuse(key_span, format!("unknown option `{key}`"), label, "");
            }
        }
    }
}
