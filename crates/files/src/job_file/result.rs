//! The jobs of a result of fio: the options that it keeps of them, and what its figures say of those that it leaves out.

use hopscope_parts::parameters::Place;

use super::{Job, JobFile, JobReader, Setting};
use crate::fio_result::inferred::Beginning;
use crate::fio_result::{self, Given, Measured, MeasuredJob};
use crate::job_draft::Draft;
use crate::job_options::{Class, classify};
use crate::job_values::{flag, targets};
use crate::problem::{Problems, Sources};

/// Options of a result that mean something else there than in a job file: its name is that of the report, what was
/// done by several threads may be there once or several times, its files are none of the system's, and the page cache
/// of the machine that was measured is not here.
const DECIDED_BY_JOB: [&str; 6] = ["name", "numjobs", "filename", "directory", "direct", "buffered"];

/// Linux' EOPNOTSUPP.
const NOT_SUPPORTED: i64 = 95;

/// Takes the options that a result of fio keeps as the jobs.
pub(super) fn read(sources: &Sources, file: u32) -> Result<JobFile, Problems> {
    let measured = fio_result::read(sources, file)?;
    let mut reader = JobReader::new(file);
    reader.is_measured = !measured.is_simulated();
    reader.open_global();
    for option in measured.global.iter().filter(|option| !DECIDED_BY_JOB.contains(&option.key.as_str())) {
        reader.given(option);
    }
    let mut device: Option<&str> = None;
    for (index, job) in measured.jobs.iter().enumerate() {
        let span = span(job.place);
        if measured.options(job).all(|option| option.key == "name") {
            let help = "it does not say what was measured: write that as a job file";
            reader.refuse(span, format!("the result keeps no options of `{}`", job.name), "what did it do?", help);
            continue;
        }
        if job.error != 0 && job.sides.iter().all(Option::is_none) {
            let title = format!("`{}` failed with error {}, and measured nothing", job.name, job.error);
            let help = match job.error {
                NOT_SUPPORTED => "its device or its engine cannot do what it asked for, such as hipri: run it without",
                _ => "what fio said of it while it ran says why: run it again",
            };
            reader.refuse(span, title, "nothing to be simulated", help);
            continue;
        }
        reader.open_job(&job.name, span);
        for option in job.options.iter().filter(|option| !DECIDED_BY_JOB.contains(&option.key.as_str())) {
            reader.given(option);
        }
        for option in ["direct", "buffered", "directory"].into_iter().filter_map(|key| measured.option(job, key)) {
            reader.of_another_machine(option);
        }
        reader.threads(&measured, job);
        if let Some(option) = measured.option(job, "filename") {
            reader.measured_on(option, job, &mut device);
        }
        reader.left_out(&measured, index);
    }
    reader.close_job();
    reader.finish()
}

/// What can be read of the options of a measured job, and those that are not modelled or cannot be read: for comparing,
/// not for running.
pub fn of_options<'a>(measured: &'a Measured, job: &'a MeasuredJob) -> (Job, Vec<&'a Given>) {
    let mut draft = Draft::new(0);
    let mut rest = Vec::new();
    for option in measured.options(job) {
        let value = option.value.as_deref();
        let is_read = match classify(&option.key, value) {
            // A device is another here than where it was measured.
            Class::Modelled(option) if option.name() == "filename" => true,
            Class::BetweenJobs(_) => true,
            Class::Modelled(option) => option.set(&mut draft, value).is_ok(),
            Class::WithoutEffect("ioengine") => {
                draft.engine = option.value.clone();
                true
            }
            Class::WithoutEffect("hipri") => flag("hipri", value).map(|is_set| draft.hipri = is_set).is_ok(),
            Class::WithoutEffect(_) => true,
            Class::NotModelled | Class::Unknown => option.key == "directory",
        };
        if !is_read {
            rest.push(option);
        }
    }
    draft.engine = draft.engine.or_else(|| measured.default_engine(job).map(str::to_string));
    draft.job.time_based |= measured.starts_over(job, &draft.job);
    (draft.closed(), rest)
}

fn span(place: Place) -> std::ops::Range<usize> {
    place.start as usize..place.end as usize
}

impl JobReader {
    /// Takes an option of a result.
    fn given(&mut self, option: &Given) {
        let value = option.value.as_deref();
        let text = option.text();
        let (key_span, value_span) = (span(option.key_place), span(option.value_place));
        let span = key_span.start.min(value_span.start)..value_span.end;
        self.set(&Setting { key: &option.key, value, text: &text, span, key_span, value_span });
    }

    /// Takes an option that says how the device was reached there.
    fn of_another_machine(&mut self, option: &Given) {
        let text = option.text();
        match classify(&option.key, option.value.as_deref()) {
            Class::NotModelled if !self.is_measured => self.given(option),
            Class::NotModelled if option.key == "directory" => {
                self.without_effect.push(format!("{text} (the system's default device)"));
            }
            Class::NotModelled => {
                self.without_effect.push(format!("{text} (the host's page cache is not simulated)"));
            }
            _ => self.given(option),
        }
    }

    /// Takes as many jobs as an entry of the result stands for.
    fn threads(&mut self, measured: &Measured, job: &MeasuredJob) {
        let Some(option) = measured.option(job, "numjobs") else {
            return self.refuse_others(measured, job);
        };
        if measured.is_group(job) {
            self.given(option);
            if !measured.says_group(job) {
                let (name, count) = (&job.name, measured.numjobs(job));
                self.notes.push(format!(
                    "`{name}` is in the result once and had numjobs={count}: taken as {count} jobs with \
                     group_reporting, which fio leaves out of its result"
                ));
            }
        } else if option.value.as_deref() != Some("1") {
            self.without_effect.push("numjobs (each job is in the result)".to_string());
        }
        self.refuse_others(measured, job);
    }

    /// Refuses a group that had other jobs in it than those whose options are there.
    fn refuse_others(&mut self, measured: &Measured, job: &MeasuredJob) {
        let Some(threads) = measured.others(job) else { return };
        let title = format!("`{}` is a group of {threads} jobs, and the result keeps the options of one", job.name);
        let label = format!("numjobs is {} in these options, and its job_runtime that of more", measured.numjobs(job));
        let help = "write a job file with all of them, and compare: hopscope explain SYSTEM JOB.fio --measured RESULT";
        self.refuse(span(job.place), title, label, help);
    }

    /// Takes the file that a job of a result was measured on: a device of another machine than the system, so that the
    /// system's default device stands for it, as long as there is one only; or a part of the system.
    fn measured_on<'a>(&mut self, option: &'a Given, job: &MeasuredJob, device: &mut Option<&'a str>) {
        let file = option.value.as_deref().unwrap_or_default();
        // A name alone may be that of a part: that is known where the system is.
        if !file.contains(['/', '\\']) {
            return self.given(option);
        }
        let span = span(option.value_place);
        let help = "which of them is which of this system's is not known: write a job file with one job a device, and \
                    filename= with a part of the system";
        let is_device = file.starts_with("/dev/") || file.starts_with(r"\\.\");
        match targets("filename", file) {
            Ok(files) if is_device && files.len() > 1 => {
                self.refuse(span, format!("`{}` was measured on {} devices", job.name, files.len()), "", help);
            }
            Ok(_) if is_device && device.is_some_and(|device| device != file) => {
                self.refuse(span, format!("`{}` was measured on another device", job.name), "", help);
            }
            Ok(files) => {
                if is_device {
                    *device = Some(file);
                }
                self.without_effect.push(stands_for(file, files.len()));
            }
            Err((title, expected)) => self.refuse(span, title, expected, ""),
        }
    }

    /// Takes what fio leaves out of its result, as far as the figures say it.
    fn left_out(&mut self, measured: &Measured, index: usize) {
        let job = &measured.jobs[index];
        let Some(draft) = self.open.as_mut() else { return };
        let name = &job.name;
        draft.engine = draft.engine.take().or_else(|| measured.default_engine(job).map(str::to_string));
        if measured.starts_over(job, &draft.job) {
            draft.job.time_based = true;
            draft.job.written.insert("time_based".to_string(), "1".to_string());
            self.notes.push(format!(
                "`{name}` moved more than its size: taken as time_based, which fio leaves out of its result"
            ));
        }
        if let Some(runtime) = draft.job.runtime.filter(|_| measured.done_with_size(job, &draft.job)) {
            draft.job.runtime = None;
            draft.job.written.remove("runtime");
            let seconds = runtime.as_seconds_f64();
            self.without_effect.push(format!("runtime={seconds} (`{name}` was done with its size long before)"));
        }
        let before = index.checked_sub(1).map(|before| &measured.jobs[before]);
        match before.and_then(|before| measured.beginning(before, job)) {
            Some(Beginning::After) => {
                draft.job.stonewall = true;
                self.notes.push(format!(
                    "`{name}` is of another group than the job before it: taken as stonewall, which fio leaves out of \
                     its result"
                ));
            }
            Some(Beginning::Together) => draft.job.new_group = true,
            None => {}
        }
    }
}

/// What is said of files that the system's default device stands for.
pub fn stands_for(file: &str, count: usize) -> String {
    match count {
        0 | 1 => format!("filename={file} (the system's default device)"),
        count => format!("filename={file} ({count} files: the system's default device stands for all of them)"),
    }
}
