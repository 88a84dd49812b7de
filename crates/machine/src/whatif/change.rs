//! Changes as people write them, and what they make of a machine and its work.
//!
//! | form | meaning |
//! |---|---|
//! | `part.key=value` | another value for a number or a choice; `x2` and `x0.5` are so many times the present one |
//! | `job.option=value` | another value for an option of every job, in fio's words |
//! | `part=role/model` | another device of the same kind in the place of a part |
//! | `name=role/model@part.port` | a further part; `,plug=part.port` for each further plug of its kind |
//!
//! `[model]` stands for a part wherever one is named: for all parts of that model where something is changed or
//! replaced, for the first one where something is plugged in or copied. The port `free` is the first that fits.

use hopscope_parts::parameters::{Place, Value};

use super::Setting;
use super::amount::times;
use crate::blueprint::Blueprint;
use crate::job_file::Job;
use crate::library::Library;
use crate::problem::{Problem, Problems, Sources};
use crate::rewiring::Addition;

/// What stands for the workload where a part is named.
pub const JOB: &str = "job";

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Another value for a number or a choice of parts, or for an option of all jobs.
    Set {
        /// A part's name, `[model]`, or `job`.
        of: String,
        /// Which number, choice or option.
        key: String,
        /// Its value; `x2` for twice the present one.
        value: String,
        /// Where that is written.
        place: Place,
    },
    /// Another device of the same kind.
    Replace {
        /// A part's name, or `[model]`.
        part: String,
        /// The part file, `role/model`.
        uses: String,
        /// Where that is written.
        place: Place,
    },
    /// A further part.
    Add(Addition),
}

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

impl Change {
    /// Reads `part.key=value`, which is written at `place`.
    pub fn assignment(text: &str, place: Place) -> Result<Change, Problem> {
        let example = "write part.key=value, such as pci.clock=66MHz or job.iodepth=4";
        let refused = || Problem::at(place, format!("`{text}` is no change of a number")).help(example);
        let (path, value) = sides(text).ok_or_else(refused)?;
        let (of, key) = match path.strip_prefix('[').and_then(|rest| rest.split_once("].")) {
            Some((model, key)) => (format!("[{model}]"), key),
            None => path.split_once('.').map(|(of, key)| (of.to_string(), key)).ok_or_else(refused)?,
        };
        Ok(Change::Set { of, key: key.to_string(), value: value.to_string(), place })
    }

    /// Reads `part=role/model`, which is written at `place`.
    pub fn replacement(text: &str, place: Place) -> Result<Change, Problem> {
        let example = "write part=role/model, such as disk=disk/quantum-fireball-el10.2a";
        let (part, uses) =
            sides(text).ok_or_else(|| Problem::at(place, format!("`{text}` replaces nothing")).help(example))?;
        Ok(Change::Replace { part: part.to_string(), uses: uses.to_string(), place })
    }

    /// Reads `name=role/model@part.port,plug=part.port…`, which is written at `place`.
    pub fn addition(text: &str, place: Place) -> Result<Change, Problem> {
        let example = "write name=role/model@part.port, such as disk2=disk/quantum-fireball-el10.2a@cable.drive1";
        let refused = || Problem::at(place, format!("`{text}` adds no part")).help(example);
        let (name, rest) = sides(text).ok_or_else(refused)?;
        if !crate::parameter_table::is_key(name) || name == JOB {
            let problem = Problem::at(place, format!("`{name}` is no name for a part"));
            return Err(problem.help("expected small letters, digits, `_` and `-`"));
        }
        let (what, plugs) = rest.split_once('@').map_or((rest, None), |(what, plugs)| (what, Some(plugs)));
        let plug = |plug: &str| match plug.split_once('=') {
            Some((key, target)) => (Some(key.trim().to_string()), target.trim().to_string()),
            None => (None, plug.trim().to_string()),
        };
        let plugs = plugs.map_or(Vec::new(), |plugs| plugs.split(',').map(plug).collect());
        Ok(Change::Add(Addition { name: name.to_string(), what: what.trim().to_string(), plugs, place }))
    }

    fn place(&self) -> Place {
        match self {
            Change::Set { place, .. } | Change::Replace { place, .. } => *place,
            Change::Add(addition) => addition.place,
        }
    }

    /// Parts come before their numbers, and the machine before its work.
    fn turn(&self) -> u8 {
        match self {
            Change::Replace { .. } => 0,
            Change::Add(_) => 1,
            Change::Set { of, .. } if of == JOB => 3,
            Change::Set { .. } => 2,
        }
    }
}

/// What is before and after the first `=`, if there is something.
fn sides(text: &str) -> Option<(&str, &str)> {
    let (left, right) = text.split_once('=')?;
    let (left, right) = (left.trim(), right.trim());
    (!left.is_empty() && !right.is_empty()).then_some((left, right))
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
                let wires = |part: &crate::blueprint::Part| part.plugs().map(|(_, port)| port).collect::<Vec<_>>();
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
                    let (before, now) = {
                        let entry = blueprint.entry_mut(&path)?;
                        let relative = factor(value).filter(|_| !matches!(entry.value, Value::Text(_)));
                        let times = relative.map(|factor| times(&entry.written, factor));
                        (entry.written.clone(), times.unwrap_or(Some(value.clone())))
                    };
                    let Some(now) = now else {
                        return Err(Problem::at(*place, format!("`{path}` cannot be {value} of {before}")).into());
                    };
                    blueprint.assign(&path, &now, Some(*place))?;
                    self.words.push(format!("{path} is {now} instead of {before}"));
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

fn uses_of(blueprint: &Blueprint, name: &str) -> String {
    blueprint.parts().iter().find(|part| part.name == name).map(|part| part.uses.clone()).unwrap_or_default()
}

/// The factor in `x2` and `x0.5`.
fn factor(value: &str) -> Option<f64> {
    let digits = value.strip_prefix('x')?;
    let plain = digits.starts_with(|c: char| c.is_ascii_digit());
    digits.parse().ok().filter(|factor: &f64| plain && factor.is_finite())
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
