//! What changes make of a machine and its work.

use hopscope_files::change::{Change, JOB};
use hopscope_files::factor::factor;
use hopscope_files::job_file::Job;
use hopscope_files::library::Library;
use hopscope_files::problem::{Problem, Problems, Sources};
use hopscope_machine::blueprint::Blueprint;
use hopscope_parts::parameters::Place;

use super::Setting;

/// What changes made.
#[derive(Clone)]
pub struct Changed {
    /// The machine and its work, as changed.
    pub setting: Setting,
    /// The changes in words, in the order in which they were made.
    pub words: Vec<String>,
    /// Devices that were added and that no job addressed: they do the same job.
    pub also_on: Vec<String>,
}

/// Makes all changes together: replaced parts first, then added ones, then numbers, then the jobs.
pub fn apply(
    setting: &Setting,
    changes: &[Change],
    library: &Library,
    sources: &mut Sources,
) -> Result<Changed, Problems> {
    let mut changed = Changed { setting: setting.clone(), words: Vec::new(), also_on: Vec::new() };
    let mut problems = Problems::default();
    let mut ordered: Vec<&Change> = changes.iter().collect();
    ordered.sort_by_key(|change| change.turn());
    for change in ordered {
        if let Err(mut found) = changed.make(change, library, sources) {
            found.0.iter_mut().for_each(|problem| problem.place = problem.place.or(Some(change.place())));
            problems.0.extend(found.0);
        }
    }
    problems.unless_empty(())?;
    changed.setting.blueprint.check()?;
    changed.put_to_work(&setting.blueprint);
    Ok(changed)
}

impl Changed {
    fn make(&mut self, change: &Change, library: &Library, sources: &mut Sources) -> Result<(), Problems> {
        let blueprint = &mut self.setting.blueprint;
        match change {
            Change::Replace { part, uses, place } => {
                for name in blueprint.named(part, *place)? {
                    let before = uses_of(blueprint, &name);
                    blueprint.replace(library, sources, (&name, uses), *place)?;
                    self.words.push(format!("{name} is {uses} instead of {before}"));
                }
            }
            Change::Add(addition) => {
                blueprint.add(library, sources, addition)?;
                let added = blueprint.parts().iter().find(|part| part.name == addition.name);
                let wires =
                    |part: &hopscope_machine::blueprint::Part| part.plugs().map(|(_, port)| port).collect::<Vec<_>>();
                self.words.extend(
                    added.map(|p| format!("{} is a further {}, at {}", p.name, p.uses, wires(p).join(" and "))),
                );
            }
            Change::Set { of, key, value, place } if of == JOB => {
                for job in &mut self.setting.jobs {
                    let before = job.clone();
                    let value = relative_of_job(job, key, value);
                    job.set(key, &value, *place)?;
                    if *job != before {
                        self.words.push(format!("{key} {value} in the job {}", job.name));
                    }
                }
            }
            Change::Set { of, key, value, place } => {
                for name in blueprint.named(of, *place)? {
                    let path = format!("{name}.{key}");
                    let paths = blueprint.numbers_at(&path);
                    for path in &paths {
                        let (now, before) = set(blueprint, path, value, *place)?;
                        if paths.len() == 1 {
                            self.words.push(format!("{path} is {now} instead of {before}"));
                        }
                    }
                    if paths.len() > 1 {
                        self.words.push(format!("{path} is {value} in {} rows", paths.len()));
                    }
                }
            }
        }
        Ok(())
    }

    /// A device that nobody uses changes nothing: new ones do what the first job does.
    fn put_to_work(&mut self, before: &Blueprint) {
        let Setting { blueprint, jobs } = &mut self.setting;
        let there = before.devices();
        let target = |job: &Job| job.targets.first().unwrap_or(&blueprint.default_target).clone();
        let addressed: Vec<String> = jobs.iter().map(target).collect();
        let Some(first) = addressed.first().cloned() else { return };
        for device in blueprint.devices() {
            if there.contains(&device) || addressed.contains(&device) {
                continue;
            }
            let same: Vec<Job> = jobs.iter().filter(|job| target(job) == first).cloned().collect();
            for mut job in same {
                job.name = format!("{} on {device}", job.name);
                job.targets = vec![device.clone()];
                jobs.push(job);
            }
            self.also_on.push(device);
        }
    }
}

/// Sets one number or choice; returns what it is now, and what it was.
fn set(blueprint: &mut Blueprint, path: &str, value: &str, place: Place) -> Result<(String, String), Problem> {
    let before = blueprint.entry_mut(path)?.written.clone();
    let now = blueprint.resolved(path, value).map_err(|problem| Problem { place: Some(place), ..problem })?;
    blueprint.assign(path, &now, Some(place))?;
    Ok((now, before))
}

fn uses_of(blueprint: &Blueprint, name: &str) -> String {
    blueprint.parts().iter().find(|part| part.name == name).map(|part| part.uses.clone()).unwrap_or_default()
}

/// An option of a job in fio's words, where `x2` is twice what it is now.
fn relative_of_job(job: &Job, option: &str, value: &str) -> String {
    let now = match option {
        "iodepth" => job.iodepth,
        "bs" | "blocksize" => job.block_bytes_min,
        "rwmixread" => job.reads_percent.into(),
        "rwmixwrite" => (100 - job.reads_percent).into(),
        "thinktime" => job.think.time.as_ps() / 1_000_000,
        "thinktime_blocks" => job.think.every,
        _ => return value.to_string(),
    };
    factor(value).map_or(value.to_string(), |factor| ((now as f64 * factor).round() as u64).to_string())
}
