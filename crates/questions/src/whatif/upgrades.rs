//! Upgrades: which of them fit a machine, and what they buy.

use hopscope_files::job_file;
use hopscope_files::library::Library;
use hopscope_files::problem::{Problem, Problems, Sources, place};
use hopscope_files::quantity;
use hopscope_files::upgrade_file::{self, Condition, UpgradeFile};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::rewiring::NOT_THERE;
use hopscope_machine::run::{Failure, Options};

use super::amount::amount;
use super::change::{Changed, apply};
use super::{Limit, News, Performance, Progress, Setting, Upgrade, Upgrades, too_few};
use crate::explain::Explained;
use crate::trials::{Gain, Trials, performance};

/// Why a condition does not hold, if so.
fn holds(condition: &Condition, blueprint: &mut Blueprint) -> Result<(), Problem> {
    for name in blueprint.named(&condition.part, condition.place)? {
        let Some((key, sign, text)) = &condition.key else { continue };
        let at = |problem: Problem| Problem { place: Some(condition.place), ..problem };
        let entry = blueprint.entry_mut(&format!("{name}.{key}")).map_err(at)?;
        let wanted = quantity::parse(text).map_err(|expected| Problem::at(condition.place, expected))?;
        let (is, limit) = (amount(&entry.value), amount(&wanted));
        let holds = entry.value.kind() == wanted.kind()
            && match sign {
                '<' => is < limit,
                '>' => is > limit,
                _ => entry.value == wanted,
            };
        if !holds {
            let title = format!("`{name}.{key}` is {}: not {}", entry.written, condition.text);
            return Err(Problem::at(condition.place, title));
        }
    }
    Ok(())
}

/// The machine and its work with the upgrade; or why it does not fit.
pub fn with_upgrade(
    file: &UpgradeFile,
    setting: &Setting,
    library: &Library,
    sources: &mut Sources,
) -> Result<Changed, Problems> {
    let mut blueprint = setting.blueprint.clone();
    for condition in &file.conditions {
        holds(condition, &mut blueprint)?;
    }
    apply(setting, &file.changes, library, sources)
}

/// What is wrong with the upgrade file that `sources` keeps under the number `file`. It is right if it fits one
/// system of the library.
pub(crate) fn check(library: &Library, sources: &mut Sources, file: u32) -> Result<(), Problems> {
    let upgrade = upgrade_file::read(sources, file)?;
    let jobs = job_file::read_options(sources, &["--rw=read", "--bs=64k"])?.jobs;
    let none = Problem::at(place(file, 0..0), "there is no system that this upgrade could fit");
    // Of the refusals, the one that comes furthest into the file speaks of the system that the upgrade is for.
    let mut refused = ((0, false), Problems::from(none));
    for text in library.systems().filter_map(|name| library.system(name).cloned()).collect::<Vec<_>>() {
        let system = sources.add(text.name, text.text);
        let Ok(blueprint) = Blueprint::read(library, sources, system) else { continue };
        match with_upgrade(&upgrade, &Setting { blueprint, jobs: jobs.clone() }, library, sources) {
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
    let trials = Trials::new(setting, options.seed, base).ok_or_else(|| too_few(setting, base))?;
    upgrades_with(trials, setting, library, sources, base, progress)
}

/// The same, by trials of the setting.
pub(super) fn upgrades_with(
    mut trials: Trials<'_>,
    setting: &Setting,
    library: &Library,
    sources: &mut Sources,
    base: &Explained,
    progress: Progress<'_>,
) -> Result<Upgrades, Failure> {
    let effort = trials.effort().clone();
    let (mut candidates, mut do_not_fit) = (Vec::new(), Vec::new());
    for name in library.upgrades().map(String::from).collect::<Vec<_>>() {
        let Some(text) = library.upgrade(&name).cloned() else { continue };
        let number = sources.add(text.name, text.text);
        let file = upgrade_file::read(sources, number)?;
        match with_upgrade(&file, setting, library, sources) {
            Ok(changed) => candidates.push(Candidate { name, file, changed }),
            Err(problems) => do_not_fit.push((name, problems.to_string())),
        }
    }
    let before = performance(&base.outcome).ok_or_else(|| too_few(setting, base))?;
    let limit = Limit::by(trials.clone(), setting, base)?;
    let settings: Vec<Setting> = candidates.iter().map(|candidate| candidate.changed.setting.clone()).collect();
    let count = settings.len();
    let said = |done, of| progress(News { done, of, what: "upgrades tried", throughput: None });
    let gains = trials.gains(&settings, &said)?;
    let one = |(candidate, gain): (Candidate, Option<Gain>)| -> Result<Option<Upgrade>, Failure> {
        let Candidate { name, file, changed } = candidate;
        let Some(gain) = gain else { return Ok(None) };
        let next_limit = Limit::among(&trials, &changed.setting, base)?;
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
