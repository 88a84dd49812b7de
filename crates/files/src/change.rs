//! Changes of a machine and its work as people write them, on the command line and in files.
//!
//! | form | meaning |
//! |---|---|
//! | `part.key=value` | another value for a number or a choice; `x2` and `x0.5` are so many times the present one |
//! | `part.table.rows[].key=value` | the same for every row of a table |
//! | `job.option=value` | another value for an option of every job, in fio's words |
//! | `part=role/model` | another device of the same kind in the place of a part |
//! | `name=role/model@part.port` | a further part; `,plug=part.port` for each further plug of its kind |
//!
//! `[model]` stands for a part wherever one is named: for all parts of that model where something is changed or
//! replaced, for the first one where something is plugged in or copied. The port `free` is the first that fits.

use hopscope_parts::parameters::Place;

use crate::parameter_table::is_key;
use crate::problem::{Problem, Problems, Sources, place};

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

/// A part that is not there yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addition {
    /// Its name.
    pub name: String,
    /// Its part file, `role/model`; or `[model]`, which is another one of the first such part, numbers included.
    pub what: String,
    /// Which plug (the first of its kind if none is named), and the port: `part.port`, `[model].port`, where the
    /// port may be `free`.
    pub plugs: Vec<(Option<String>, String)>,
    /// Where it is asked for.
    pub place: Place,
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
        if !is_key(name) || name == JOB {
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

    /// Where it is written.
    pub fn place(&self) -> Place {
        match self {
            Change::Set { place, .. } | Change::Replace { place, .. } => *place,
            Change::Add(addition) => addition.place,
        }
    }

    /// Parts come before their numbers, and the machine before its work.
    pub fn turn(&self) -> u8 {
        match self {
            Change::Replace { .. } => 0,
            Change::Add(_) => 1,
            Change::Set { of, .. } if of == JOB => 3,
            Change::Set { .. } => 2,
        }
    }
}

/// Reads the parts that are replaced, those that are added and the changes of a command line, and keeps them in `sources`
/// as texts that errors can show.
pub fn read_options(sources: &mut Sources, given: [&[String]; 3]) -> Result<Vec<Change>, Problems> {
    type Reader = fn(&str, Place) -> Result<Change, Problem>;
    const READERS: [(&str, Reader); 3] =
        [("--replace", Change::replacement), ("--add", Change::addition), ("--change", Change::assignment)];
    let (mut changes, mut problems) = (Vec::new(), Problems::default());
    for ((option, read), texts) in READERS.into_iter().zip(given) {
        for text in texts {
            let line = format!("{option} {text}");
            let span = option.len() + 1..line.len();
            let file = sources.add("command line", line);
            match read(text, place(file, span)) {
                Ok(change) => changes.push(change),
                Err(found) => problems.0.push(found),
            }
        }
    }
    problems.unless_empty(changes)
}

/// What is before and after the first `=`, if there is something.
fn sides(text: &str) -> Option<(&str, &str)> {
    let (left, right) = text.split_once('=')?;
    let (left, right) = (left.trim(), right.trim());
    (!left.is_empty() && !right.is_empty()).then_some((left, right))
}
