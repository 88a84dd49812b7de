//! Given changes, all together: before and after, each with its account.

use super::trial::performance;
use super::{Change, Comparison, Limit, Setting, Side, apply};
use crate::explain::{EXTENT, explain};
use crate::library::Library;
use crate::problem::Sources;
use crate::run::{Failure, Options};

/// Runs the jobs on the machine as it is and as changed, with the same seed, for as long as they ask.
pub fn compare(
    setting: &Setting,
    changes: &[Change],
    library: &Library,
    sources: &mut Sources,
    seed: u64,
) -> Result<Comparison, Failure> {
    let changed = apply(setting, changes, library, sources)?;
    let options = Options { seed, ..Options::default() };
    let (before, after) = rayon::join(|| side(setting, options), || side(&changed.setting, options));
    Ok(Comparison { changes: changed.words, also_on: changed.also_on, before: before?, after: after? })
}

/// One side: a run with its account.
pub(super) fn side(setting: &Setting, options: Options) -> Result<Side, Failure> {
    let explained = explain(&setting.blueprint, &setting.jobs, options, EXTENT, None)?;
    let performance = performance(&explained.outcome)?;
    Ok(Side { setting: setting.clone(), performance, limit: Limit::of(&explained.account), explained })
}
