//! Given changes, all together: before and after, each with its account.

use hopscope_files::change::Change;
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_machine::run::{Failure, Options};

use super::{Comparison, Limit, Setting, Side, apply, base, too_few};
use crate::trials::performance;

/// Runs the jobs on the machine as it is and as changed, with the same seed, for as long as they ask.
pub fn compare(
    setting: &Setting,
    changes: &[Change],
    library: &Library,
    sources: &mut Sources,
    options: Options,
) -> Result<Comparison, Failure> {
    let changed = apply(setting, changes, library, sources)?;
    let (before, after) = rayon::join(|| side(setting, options), || side(&changed.setting, options));
    Ok(Comparison { changes: changed.words, also_on: changed.also_on, before: before?, after: after? })
}

/// One side: a run with its account.
fn side(setting: &Setting, options: Options) -> Result<Side, Failure> {
    let explained = base(setting, options)?;
    let performance = performance(&explained.outcome).ok_or_else(|| too_few(setting, &explained))?;
    let limit = Limit::of(setting, options.seed, &explained)?;
    Ok(Side { setting: setting.clone(), performance, limit, explained })
}
