//! Upgrades as data, `data/upgrades/<name>.toml`: what they are for, what they change, and what they buy.

use hopscope_parts::parameters::{Basis, Place};

use super::amount::amount;
use super::change::{Change, Changed, apply};
use super::{Limit, News, Performance, Progress, Setting, Upgrade, Upgrades, too_few};
use crate::blueprint::Blueprint;
use crate::explain::Explained;
use crate::job_file;
use crate::library::Library;
use crate::parameter_table::{TableReader, document};
use crate::problem::{Problem, Problems, Sources, place};
use crate::quantity;
use crate::rewiring::NOT_THERE;
use crate::run::{Failure, Options};
use crate::trials::{Gain, Trials, performance};

/// The key that tells an upgrade file from others.
pub(crate) const APPLIES_TO: &str = "applies_to";
/// Reads one change from a text, and the place where that is written.
type Reader = fn(&str, Place) -> Result<Change, Problem>;
const CHANGES: &[(&str, Reader)] =
    &[("replace", Change::replacement), ("add", Change::addition), ("change", Change::assignment)];
const ROOT_KEYS: &[&str] = &["title", "basis", APPLIES_TO, "replace", "add", "change"];

/// An upgrade as its file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct UpgradeFile {
    /// What it is.
    pub title: String,
    /// Why its numbers are what they are.
    pub basis: Basis,
    /// What must hold of a machine: all of it.
    conditions: Vec<Condition>,
    changes: Vec<Change>,
}

/// Something that must hold of a machine: that it has a part, or how a number of it compares.
#[derive(Clone, Debug, PartialEq)]
struct Condition {
    text: String,
    part: String,
    key: Option<(String, char, String)>,
    place: Place,
}

/// Reads the upgrade file that `sources` keeps under the number `file`.
pub fn read(sources: &Sources, file: u32) -> Result<UpgradeFile, Problems> {
    let root = document(file, sources.text(file))?;
    let root = root.get_ref();
    let mut reader = TableReader::new(file);
    let start = place(file, 0..0);
    reader.refuse_unknown(root, ROOT_KEYS);
    let (title, _) = reader.required_text(root, "title", start, "PCI at 66 MHz");
    let basis = root.get("basis").and_then(|basis| reader.table_basis(basis));
    if basis.is_none() && !root.contains_key("basis") {
        let help = "write basis = { source = \"…\" }, or measured, fitted or assumed";
        reader.problem(Problem::at(start, "this upgrade does not say why it is possible").help(help));
    }
    let conditions = reader.texts(root, APPLIES_TO).into_iter().map(|(text, at)| condition(text, at)).collect();
    let mut changes = Vec::new();
    for (key, read) in CHANGES {
        for (text, at) in reader.texts(root, key) {
            match read(&text, at) {
                Ok(change) => changes.push(change),
                Err(problem) => reader.problem(problem),
            }
        }
    }
    if changes.is_empty() && reader.problems.is_empty() {
        let help = "write change = [\"[pci-bus].clock=66 MHz\"], replace = […] or add = […]";
        reader.problem(Problem::at(start, "this upgrade changes nothing").help(help));
    }
    let basis = basis.unwrap_or(Basis::Assumed(String::new()));
    reader.finish(UpgradeFile { title, basis, conditions, changes })
}

/// `[model]`, `part`, and with a key and one of `<`, `>` and `=`: `[pci-bus].clock < 50 MHz`.
fn condition(text: String, place: Place) -> Condition {
    let (path, compared) = match text.find(['<', '>', '=']) {
        Some(at) => {
            let sign = char::from(text.as_bytes()[at]);
            (text[..at].trim(), Some((sign, text[at + 1..].trim().to_string())))
        }
        None => (text.trim(), None),
    };
    let dot = path.find(']').map_or(path.find('.'), |end| path[end..].find('.').map(|dot| end + dot));
    let (part, key) = dot.map_or((path, ""), |dot| (&path[..dot], &path[dot + 1..]));
    let key = compared.map(|(sign, value)| (key.to_string(), sign, value));
    Condition { part: part.to_string(), key, text: text.clone(), place }
}

impl Condition {
    /// Why it does not hold, if so.
    fn holds(&self, blueprint: &mut Blueprint) -> Result<(), Problem> {
        for name in blueprint.named(&self.part, self.place)? {
            let Some((key, sign, text)) = &self.key else { continue };
            let at = |problem: Problem| Problem { place: Some(self.place), ..problem };
            let entry = blueprint.entry_mut(&format!("{name}.{key}")).map_err(at)?;
            let wanted = quantity::parse(text).map_err(|expected| Problem::at(self.place, expected))?;
            let (is, limit) = (amount(&entry.value), amount(&wanted));
            let holds = entry.value.kind() == wanted.kind()
                && match sign {
                    '<' => is < limit,
                    '>' => is > limit,
                    _ => entry.value == wanted,
                };
            if !holds {
                let title = format!("`{name}.{key}` is {}: not {}", entry.written, self.text);
                return Err(Problem::at(self.place, title));
            }
        }
        Ok(())
    }
}

impl UpgradeFile {
    /// The machine and its work with the upgrade; or why it does not fit.
    pub fn apply(&self, setting: &Setting, library: &Library, sources: &mut Sources) -> Result<Changed, Problems> {
        let mut blueprint = setting.blueprint.clone();
        for condition in &self.conditions {
            condition.holds(&mut blueprint)?;
        }
        apply(setting, &self.changes, library, sources)
    }
}

/// What is wrong with the upgrade file that `sources` keeps under the number `file`. It is right if it fits one
/// system of the library.
pub(crate) fn check(library: &Library, sources: &mut Sources, file: u32) -> Result<(), Problems> {
    let upgrade = read(sources, file)?;
    let jobs = job_file::read_options(sources, &["--rw=read", "--bs=64k"])?.jobs;
    let none = Problem::at(place(file, 0..0), "there is no system that this upgrade could fit");
    // Of the refusals, the one that comes furthest into the file speaks of the system that the upgrade is for.
    let mut refused = ((0, false), Problems::from(none));
    for text in library.systems().filter_map(|name| library.system(name).cloned()).collect::<Vec<_>>() {
        let system = sources.add(text.name, text.text);
        let Ok(blueprint) = Blueprint::read(library, sources, system) else { continue };
        match upgrade.apply(&Setting { blueprint, jobs: jobs.clone() }, library, sources) {
            Ok(_) => return Ok(()),
            Err(problems) => {
                let first = problems.0.first();
                let at = first.and_then(|problem| problem.place).map_or(0, |place| place.start);
                let has_the_parts = first.is_some_and(|problem| !problem.title.starts_with(NOT_THERE));
                if (at, has_the_parts) >= refused.0 {
                    refused = ((at, has_the_parts), problems);
                }
            }
        }
    }
    Err(refused.1)
}

/// An upgrade that fits, not run yet.
struct Candidate {
    name: String,
    file: UpgradeFile,
    changed: Changed,
}

/// Makes every upgrade of the library that fits, each by itself, and ranks them by what they buy.
pub fn upgrades(
    setting: &Setting,
    library: &Library,
    sources: &mut Sources,
    options: Options,
    base: &Explained,
    progress: Progress<'_>,
) -> Result<Upgrades, Failure> {
    let effort = Trials::new(setting, options.seed, base).ok_or_else(|| too_few(setting, base))?.effort().clone();
    let (mut candidates, mut do_not_fit) = (Vec::new(), Vec::new());
    for name in library.upgrades().map(String::from).collect::<Vec<_>>() {
        let Some(text) = library.upgrade(&name).cloned() else { continue };
        let number = sources.add(text.name, text.text);
        let file = read(sources, number)?;
        match file.apply(setting, library, sources) {
            Ok(changed) => candidates.push(Candidate { name, file, changed }),
            Err(problems) => do_not_fit.push((name, problems.to_string())),
        }
    }
    let before = performance(&base.outcome).ok_or_else(|| too_few(setting, base))?;
    let limit = Limit::of(setting, options.seed, base)?;
    let mut trials = Trials::new(setting, options.seed, base).ok_or_else(|| too_few(setting, base))?;
    let settings: Vec<Setting> = candidates.iter().map(|candidate| candidate.changed.setting.clone()).collect();
    let count = settings.len();
    let said = |done, of| progress(News { done, of, what: "upgrades tried", throughput: None });
    let gains = trials.gains(&settings, &said)?;
    let one = |(candidate, gain): (Candidate, Option<Gain>)| -> Result<Option<Upgrade>, Failure> {
        let Candidate { name, file, changed } = candidate;
        let Some(gain) = gain else { return Ok(None) };
        let next_limit = Limit::among(&trials.of_another(&changed.setting), &changed.setting, base)?;
        let latency = gain.latency.inverse().mean;
        let performance = Performance {
            throughput_bytes_per_s: before.throughput_bytes_per_s * (1.0 + gain.throughput.mean),
            latency_mean_ns: before.latency_mean_ns * (1.0 + latency),
            transfers: before.transfers,
        };
        progress(News { done: count, of: count, what: &file.title, throughput: Some(gain.throughput.mean) });
        let Changed { words: changes, also_on, .. } = changed;
        let gain = gain.throughput.mean;
        let UpgradeFile { title, basis, .. } = file;
        Ok(Some(Upgrade { name, title, basis, changes, also_on, performance, gain, latency, next_limit }))
    };
    let tried: Vec<Option<Upgrade>> = candidates.into_iter().zip(gains).map(one).collect::<Result<_, Failure>>()?;
    let mut upgrades: Vec<Upgrade> = tried.into_iter().flatten().collect();
    upgrades.sort_by(|a, b| b.gain.total_cmp(&a.gain).then_with(|| a.name.cmp(&b.name)));
    Ok(Upgrades { before, limit, upgrades, do_not_fit, effort })
}
