//! Several studies, reproduced together: all of them are read before the first is run.

use hopscope_files::library::Library;
use hopscope_files::problem::{Problems, Sources};
use hopscope_machine::run::Failure;
use serde_json::{Value, json};

use crate::pictures::Pictures;
use crate::report::Report;
use crate::{Opened, Study, Wish};

/// Studies that can be run, in the order in which they were named.
pub struct Ready<'a>(Vec<One<'a>>);

struct One<'a> {
    id: String,
    source: String,
    opened: Opened<'a>,
}

/// A study that was run.
pub struct Reproduced {
    /// What it said.
    pub report: Report,
    /// What it can show; nothing where nobody wanted to see it.
    pub pictures: Pictures,
    /// Who published it, and when.
    pub source: String,
}

impl Reproduced {
    /// Whether a claim does not hold that could have.
    pub fn misses_a_claim(&self) -> bool {
        self.report.claims.iter().any(|claim| !claim.holds && claim.can_hold())
    }
}

/// For programs: one study as itself, several in a list.
pub fn json(studies: &[Reproduced]) -> Value {
    match studies {
        [one] => json!(one.report),
        all => json!({ "studies": all.iter().map(|one| &one.report).collect::<Vec<_>>() }),
    }
}

impl<'a> Ready<'a> {
    /// Reads the studies of these names, or all of them where there is none.
    pub fn read(library: &'a Library, names: &[String], sources: &mut Sources) -> Result<Ready<'a>, Problems> {
        let studies = Study::named(library, names)?;
        let one = |study: &Study| {
            let source = study.head(sources)?.source;
            Ok(One { id: study.id().to_string(), source, opened: study.open(library, sources)? })
        };
        studies.iter().map(one).collect::<Result<_, Problems>>().map(Ready)
    }

    /// Runs one after the other, with pictures if somebody wants to see them. The first that fails ends it: a part of
    /// what was asked for would be taken for all of it. `begins` is told the name of each before it is run.
    pub fn reproduce(&self, wish: &Wish, pictures: bool, begins: impl Fn(&str)) -> Result<Vec<Reproduced>, Failure> {
        let run = |one: &One| {
            begins(&one.id);
            let report = one.opened.reproduce(wish)?;
            let pictures = if pictures { one.opened.pictures(wish)? } else { Pictures::default() };
            Ok(Reproduced { report, pictures, source: one.source.clone() })
        };
        self.0.iter().map(run).collect()
    }
}
