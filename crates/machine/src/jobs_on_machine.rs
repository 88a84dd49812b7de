//! What jobs ask of the machine that they run on: files that stand for its device, and a driver that polls.

use std::collections::BTreeSet;

use hopscope_files::job_file::{Job, JobFile, stands_for};
use hopscope_files::library::Library;
use hopscope_files::problem::{Problem, Problems, Sources};
use hopscope_parts::parameters::Value;

use crate::blueprint::{Blueprint, Part};

/// How a driver learns that a request has ended: the choice in its part file, and its two values.
const NOTICE: (&str, &str, &str) = ("notice", "interrupt", "poll");

/// The kind of part that has a file cache, which `direct` goes past.
const IO_STACK: &str = "io-stack";

impl Blueprint {
    /// Settles jobs and machine with each other: files of another machine stand for the default device, and where a job
    /// polls (`hipri`), the driver of its device does, as in fio.
    pub fn settle(&mut self, file: &mut JobFile, library: &Library, sources: &mut Sources) -> Result<(), Problems> {
        if file.is_measured && file.jobs.iter().any(|job| !job.targets.is_empty()) {
            stand_in(file, &self.devices());
        }
        poll(file, self, library, sources)?;
        if self.parts().iter().any(|part| part.model() == IO_STACK) {
            file.without_effect.retain(|option| !matches!(&option[..], "direct" | "buffered"));
        }
        file.without_effect.sort_unstable();
        file.without_effect.dedup();
        Ok(())
    }
}

/// Has the default device stand for files whose names are no device of the machine.
fn stand_in(file: &mut JobFile, devices: &[String]) {
    for job in &mut file.jobs {
        if !job.targets.is_empty() && !job.targets.iter().any(|target| devices.contains(target)) {
            let targets = std::mem::take(&mut job.targets);
            file.without_effect.push(stands_for(&targets.join(":"), targets.len()));
        }
    }
}

fn poll(
    file: &mut JobFile,
    blueprint: &mut Blueprint,
    library: &Library,
    sources: &mut Sources,
) -> Result<(), Problems> {
    let of = |job: &Job| job.targets.first().unwrap_or(&blueprint.default_target).clone();
    let targets: Vec<String> = file.jobs.iter().map(of).collect();
    let polled = targets.iter().zip(&file.jobs).filter(|(_, job)| job.polls);
    let polled: BTreeSet<String> = polled.map(|(target, _)| target.clone()).collect();
    for device in polled {
        let on_it: Vec<usize> = (0..targets.len()).filter(|index| targets[*index] == device).collect();
        if let Some(index) = on_it.iter().find(|index| !file.jobs[**index].polls) {
            let title = format!("`{}` waits for interrupts, and other jobs on {device} poll", file.jobs[*index].name);
            let problem = Problem::at(file.jobs[*index].place, title);
            return Err(problem.help("a driver does one or the other: give all of them hipri, or none").into());
        }
        let driver = blueprint.parts().iter().find(|part| controls(part, &device) && notice(part).is_some());
        let how = driver.and_then(notice);
        match (driver, how.as_deref()) {
            (Some(_), Some(how)) if how == NOTICE.2 => {}
            (Some(driver), Some(how)) if how == NOTICE.1 && library.part(&polling(&driver.uses)).is_some() => {
                let (name, uses, polling) = (driver.name.clone(), driver.uses.clone(), polling(&driver.uses));
                let at = file.jobs[on_it[0]].place_of("hipri");
                blueprint.exchange(library, sources, (&name, &polling), at)?;
                file.notes.push(format!("hipri: {name} polls, as {polling} in the place of {uses}"));
            }
            _ => {
                on_it.iter().for_each(|index| file.jobs[*index].polls = false);
                let why = match driver {
                    Some(driver) => format!("there is no {}: it waits for interrupts", polling(&driver.uses)),
                    None => "no driver of this device can poll".to_string(),
                };
                file.without_effect.push(format!("hipri ({why})"));
            }
        }
    }
    Ok(())
}

/// The part file of a driver that does the same and polls.
fn polling(uses: &str) -> String {
    format!("{uses}-polled")
}

fn controls(part: &Part, device: &str) -> bool {
    part.plugs().any(|(plug, port)| plug == "controls" && port.split('.').next() == Some(device))
}

fn notice(driver: &Part) -> Option<String> {
    match &driver.parameters.entries.get(NOTICE.0)?.value {
        Value::Text(how) => Some(how.clone()),
        _ => None,
    }
}
