//! Reads a folder, and checks everything that can be wrong before a run.

use std::collections::BTreeSet;
use std::sync::Arc;

use hopscope_files::library::Library;
use hopscope_files::problem::{Problem, Problems, Sources, place};
use hopscope_files::quantity;
use hopscope_parts::nearest::did_you_mean;
use hopscope_parts::parameters::{Place, Value};

use super::beside::{Answered, NullModel, table_named};
use super::cells::{Devices, Now};
use super::numbers::{self, Numbers};
use super::pictures::{self, WriteCycle};
use super::readings::{Path, Reading, SIMULATED};
use super::rows::{Around, PROBE, Table, unreadable};
use super::{FORECASTS, Read, Setup, Texts, study_file, templates};
use super::{declared, figures};
use crate::fitting::WORKLOAD;
use crate::machines::Machines;
use crate::shelf::Claim;
use crate::study_file::{Ablation, Fit, Number, StudyFile};
use crate::{fitting, forecasts};

const CLAIMS: &str = "claims.csv";

/// Collects what is wrong, and goes on.
fn keep<T>(problems: &mut Problems, found: Result<T, impl Into<Problems>>) -> Option<T> {
    found.map_err(|wrong| problems.0.extend(wrong.into().0)).ok()
}

impl<'a> Setup<'a> {
    /// Reads it and checks everything that can be wrong before a run.
    pub(crate) fn read(
        id: &str,
        texts: &Texts,
        library: &'a Library,
        sources: &mut Sources,
    ) -> Result<Setup<'a>, Problems> {
        let (file, file_number) = study_file(id, texts, sources)?;
        let top = place(file_number, 0..0);
        let nowhere = |title: String| Problem::at(top, title);
        if file.table.iter().all(|table| table.beside) {
            let help = "[[table]] says of a table its columns and the run that answers a row";
            return Err(nowhere("the study has no table".into()).help(help).into());
        }
        let machines = Machines::read(&file, library, sources)?;
        let mut twice = Problems::default();
        keep(&mut twice, once(file.null.iter().map(|null| &null.id[..]), "null models", sources, file_number));
        keep(&mut twice, once(file.reading.iter().map(|one| &one.id[..]), "readings", sources, file_number));
        keep(&mut twice, once(file.chart.iter().map(|chart| &chart.id[..]), "charts", sources, file_number));
        keep(&mut twice, once(file.claim.iter().map(|claim| &claim.id.get_ref()[..]), "answers", sources, file_number));
        twice.unless_empty(())?;
        let own = file.numbers.iter().map(|(name, number)| Ok((name.clone(), value_of(name, number)?)));
        let own = own.collect::<Result<Numbers, String>>().map_err(nowhere)?;
        let taken = |name: &str| figures::names().chain([PROBE, "min", "max", SIMULATED]).any(|known| known == name);
        if let Some(name) = file.numbers.keys().chain(file.given.keys()).find(|name| taken(name)) {
            return Err(nowhere(format!("a number is called `{name}`, as a word of formulas is")).into());
        }
        if let Some((name, given)) = file.given.iter().find(|(name, _)| own.contains_key(*name)) {
            let at = place(file_number, given.part.span());
            return Err(Problem::at(at, format!("two numbers are called `{name}`")).into());
        }
        let numbers = numbers::with_given(&own, &file.given, &machines, file_number)?;
        let called: Vec<String> = machines.0.keys().cloned().collect();
        let names: Vec<&String> = called.iter().collect();
        let around = Around { file: file_number, numbers: &numbers, machines: &names };
        let tables = read_tables(&file, texts, sources, &around)?;
        if let Some(run) = file.run.iter().find(|run| taken(&run.id) || numbers.contains_key(&run.id)) {
            let at = stated(sources, file_number, "id", &run.id);
            return Err(
                Problem::at(at, format!("a run is called `{}`, as something else of formulas is", run.id)).into()
            );
        }
        let devices: Devices = machines.0.iter().map(|(name, machine)| (name.clone(), machine.devices())).collect();

        let mut problems = Problems::default();
        let each = |problems: &mut Problems, null| keep(problems, NullModel::read(null, &tables, &around));
        let nulls: Vec<NullModel> = file.null.iter().filter_map(|null| each(&mut problems, null)).collect();
        let claims = keep(&mut problems, read_claims(&file, texts, sources, &tables, &around)).unwrap_or_default();
        let each = |problems: &mut Problems, reading| keep(problems, Reading::read(reading, &tables, &around));
        let readings: Vec<Reading> = file.reading.iter().filter_map(|one| each(&mut problems, one)).collect();
        let each = |problems: &mut Problems, path| keep(problems, Path::read(path, &tables, &around));
        let paths: Vec<Path> = file.path.iter().filter_map(|path| each(&mut problems, path)).collect();
        let accuracy = file.accuracy.as_ref().map(|stated| stated.read().map_err(nowhere));
        let accuracy = accuracy.and_then(|stated| keep(&mut problems, stated));
        let charts = file.chart.iter();
        let charts = charts
            .filter_map(|chart| keep(&mut problems, pictures::chart(chart, file_number, &tables, accuracy.clone())));
        let charts = charts.collect();
        if let Some(Err(wrong)) = file.forecasts.as_ref().map(|text| forecasts::read(text)) {
            problems.0.push(nowhere(format!("{FORECASTS}: {wrong}")));
        }
        let read = Read { devices, tables, nulls, claims, readings, paths, charts, cycles: Vec::new() };
        let (file, own) = (Arc::new(file), own.clone());
        let mut setup = Setup { library, file, file_number, machines, numbers: own, read: Arc::new(read) };
        let cycles = setup.file.write_cycle.iter();
        let cycles = cycles.filter_map(|cycle| keep(&mut problems, WriteCycle::read(cycle, &setup, &around)));
        let cycles: Vec<WriteCycle> = cycles.collect();
        if let Some(read) = Arc::get_mut(&mut setup.read) {
            read.cycles = cycles;
        }
        setup.check(sources, &numbers, &mut problems);
        problems.unless_empty(setup)
    }

    /// Checks what needs all of it: fits, ablations, titles, and the job of every row.
    fn check(&self, sources: &Sources, numbers: &Numbers, problems: &mut Problems) {
        let at = |key: &str, text: &str| stated(sources, self.file_number, key, text);
        for fit in &self.file.fit {
            keep(problems, self.check_fit(fit, at("cells", &fit.cells)));
        }
        for Ablation { what, set } in &self.file.ablation {
            keep(problems, self.check_set(&format!("ablation `{what}`"), set, at("what", what)));
        }
        for declared::Reading { id, set, .. } in &self.file.reading {
            keep(problems, self.check_set(&format!("reading `{id}`"), set, at("id", id)));
        }
        let known = |name: &str| numbers.get(name).map(numbers::plain);
        for table in &self.read.tables {
            let title = &table.declared.title;
            keep(problems, templates::text(title, at("title", title), &known).map(|_| ()));
        }
        let now = Now { numbers, devices: &self.read.devices };
        let rows = self.read.tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row)));
        for (table, row) in rows.filter(|(_, row)| row.derived.is_none()) {
            // What is wrong with every row is said of the first.
            if let Err(Problems(found)) = self.asked(table, row, &now) {
                let new = |problem: &Problem| problems.0.iter().all(|known| known.title != problem.title);
                let found: Vec<Problem> = found.into_iter().filter(new).collect();
                problems.0.extend(found);
            }
        }
    }

    /// Ablations and readings set numbers of parts that the study's machines have, or its own.
    fn check_set(&self, what: &str, set: &[(String, String, String)], top: Place) -> Result<(), Problems> {
        let machines = self.machines.0.values();
        let files: Vec<&String> = machines.flat_map(|machine| machine.parts()).map(|known| &known.uses).collect();
        for (part, key, value) in set {
            if part == WORKLOAD {
                let known: Vec<&String> = self.numbers.keys().chain(self.file.given.keys()).collect();
                if !known.contains(&key) || quantity::parse(value).is_err() {
                    let title = format!("{what}: the study has no number `{key}` that could be {value}");
                    return Err(Problem::at(top, title).help(did_you_mean(key, &known)).into());
                }
            } else if !files.contains(&part) {
                let title = format!("{what}: no machine of the study has a part `{part}`");
                return Err(Problem::at(top, title).help(did_you_mean(part, &files)).into());
            }
        }
        self.clone().set_all(set).map_err(|Problems(found)| {
            // Of a number that no part has, the words say nothing of where.
            Problems(found.into_iter().map(|found| Problem { place: found.place.or(Some(top)), ..found }).collect())
        })
    }

    /// A fit moves numbers that are fitted, by cells that are there.
    fn check_fit(&self, fit: &Fit, top: Place) -> Result<(), Problems> {
        let looks_at = format!("a fit looks at cells `{}`", fit.cells);
        for name in &fit.tables {
            table_named(&self.read.tables, name, top)?;
        }
        match &fit.claim {
            Some(id) if self.claim(id).is_none() => {
                let known: Vec<&String> = self.read.claims.iter().map(|known| &known.claim.id).collect();
                let problem = Problem::at(top, format!("{looks_at}, and there is no claim `{id}`"));
                return Err(problem.help(did_you_mean(id, &known)).into());
            }
            None if self.rows_of(fit).is_empty() => {
                let problem = Problem::at(top, format!("{looks_at}, and none of them is fitted"));
                return Err(problem.help("a column `basis` of the table says `fitted` of those").into());
            }
            _ => {}
        }
        let fitted = self.machines.fitted(&self.file.id);
        for key in &fit.keys {
            let known = match fit.part.as_str() {
                WORKLOAD => self.file.numbers.get(key).is_some_and(|number| number.fitted.is_some()),
                part => fitted.iter().any(|known| known.part == part && known.keys.contains(key)),
            };
            if !known {
                let title = format!("a fit moves `{key}` of {}, which this study has not fitted", fit.part);
                let help = format!("its basis is fitted = \"{}: …\", in a part of the study's machines", self.file.id);
                return Err(Problem::at(top, title).help(help).into());
            }
        }
        Ok(())
    }

    /// Sets numbers of parts, and of the study.
    pub(super) fn set_all(&mut self, numbers: &[(String, String, String)]) -> Result<(), Problems> {
        fitting::set_all(self, numbers)
    }
}

/// Where `study.toml` first gives a key that text; its beginning where it does not.
fn stated(sources: &Sources, file: u32, key: &str, text: &str) -> Place {
    let (whole, quoted) = (sources.text(file), format!("\"{text}\""));
    let is_key = |(start, _): &(usize, &str)| {
        let line = whole[..*start].rsplit('\n').next().unwrap_or_default();
        line.split('=').next().is_some_and(|word| word.trim() == key)
    };
    let found = whole.match_indices(&quoted).find(is_key);
    found.map_or(place(file, 0..0), |(start, _)| place(file, start..start + quoted.len()))
}

/// Files and parts of a page are called by it.
fn named(id: &str, at: Place) -> Result<(), Problem> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match !id.is_empty() && id.chars().all(plain) && !id.starts_with('.') {
        true => Ok(()),
        false => Err(Problem::at(at, format!("`{id}` is no name")).help("letters, digits, `-` and `_`")),
    }
}

/// Whether no name is there twice, and each is one.
fn once<'a>(ids: impl Iterator<Item = &'a str>, what: &str, sources: &Sources, file: u32) -> Result<(), Problems> {
    let (mut known, mut problems): (BTreeSet<&str>, Problems) = (BTreeSet::new(), Problems::default());
    for id in ids {
        let at = stated(sources, file, "id", id);
        keep(&mut problems, named(id, at));
        if !known.insert(id) {
            problems.0.push(Problem::at(at, format!("two {what} are called `{id}`")));
        }
    }
    problems.unless_empty(())
}

/// What a table or a run may say beside what else.
fn fits_together(table: &declared::Table, is_run: bool, at: Place) -> Result<(), Problem> {
    let declared::Table { id, title, unit, key, file, published, rows, derived, each, .. } = table;
    let has_columns = !key.is_empty() || file.is_some() || published.is_some() || !rows.is_empty() || each.is_some();
    let is_shown = !title.is_empty() || !unit.is_empty() || table.beside || !derived.is_empty();
    let wrong = |title: String, help: &str| Err(Problem::at(at, title).help(help));
    if is_run && (has_columns || is_shown) {
        let help = "it has no key, file, rows, published, title, unit, beside, each and derived; a [[table]] has";
        return wrong(format!("run `{id}` stands in no table"), help);
    }
    if !is_run && (key.is_empty() || title.is_empty()) {
        let help = "title = \"…\" says what it shows, key = [COLUMN, …] tells its figures apart";
        return wrong(format!("table `{id}` has no `key` or no `title`"), help);
    }
    let counts = table.seeds.is_some() || table.within.is_some() || table.ladder.is_some() || each.is_some();
    if table.probe.is_some() && (counts || table.of.is_some()) {
        let help = "leave away seeds, within, ladder, each and of: it is read off one run";
        return wrong(format!("`{id}` reads a probe off a run"), help);
    }
    if table.seeds.is_some() && table.within.is_some() {
        return wrong(format!("`{id}` says how many runs and how well the mean is to be known"), "say one of both");
    }
    if table.ladder.is_some() && table.devices.is_empty() {
        return wrong(format!("`{id}` has a ladder without `devices`"), "write devices = [\"disk*\"]");
    }
    Ok(())
}

/// Every table, then the runs that stand in none.
fn read_tables(
    file: &StudyFile,
    texts: &Texts,
    sources: &mut Sources,
    around: &Around,
) -> Result<Vec<Table>, Problems> {
    let (mut tables, mut problems): (Vec<Table>, Problems) = (Vec::new(), Problems::default());
    for declared in file.table.iter().chain(&file.run) {
        let id = &declared.id;
        if tables.iter().any(|known| known.declared.id == *id) {
            let title = format!("two tables or runs are called `{id}`");
            problems.0.push(Problem::at(stated(sources, around.file, "id", id), title));
            continue;
        }
        let at = stated(sources, around.file, "id", id);
        let is_run = file.run.iter().any(|run| std::ptr::eq(run, declared));
        let found = named(id, at).and_then(|()| fits_together(declared, is_run, at));
        if keep(&mut problems, found).is_none() {
            continue;
        }
        if is_run {
            tables.extend(keep(&mut problems, Table::alone(declared.clone(), around)));
            continue;
        }
        let name = declared.file.clone().unwrap_or_else(|| format!("{id}.csv"));
        let Some(text) = texts.get(&name) else {
            let problem = Problem::at(at, format!("table `{id}`: the study's folder has no {name}"));
            problems.0.push(problem.help(did_you_mean(&name, &texts.keys().collect::<Vec<_>>())));
            continue;
        };
        let csv = sources.add(text.name.clone(), text.text.clone());
        tables.extend(keep(&mut problems, Table::read(declared.clone(), csv, sources, around)));
    }
    problems.unless_empty(tables)
}

/// A number of the study; it and its range can be read.
fn value_of(name: &str, number: &Number) -> Result<Value, String> {
    let parse = |text: &String| quantity::parse(text).map_err(|why| format!("number `{name}`: {why}"));
    let besides = number.range.iter().chain(&number.values).chain(&number.multiple_of);
    besides.into_iter().try_for_each(|text| parse(text).map(|_| ()))?;
    let bases = [&number.fitted, &number.assumed, &number.source];
    if bases.into_iter().flatten().count() != 1 {
        return Err(format!("number `{name}` has one of `fitted`, `assumed` and `source`"));
    }
    parse(&number.value)
}

/// Every claim of `claims.csv`, each with what answers it.
fn read_claims(
    file: &StudyFile,
    texts: &Texts,
    sources: &mut Sources,
    tables: &[Table],
    around: &Around,
) -> Result<Vec<Answered>, Problems> {
    let (mut claims, mut problems): (Vec<Answered>, Problems) = (Vec::new(), Problems::default());
    let mut known = Vec::new();
    if let Some(text) = texts.get(CLAIMS) {
        let csv = sources.add(text.name.clone(), text.text.clone());
        let mut reader = csv::Reader::from_reader(text.text.as_bytes());
        let header = reader.headers().map_err(|error| unreadable(csv, &error, "this is no claim"))?.clone();
        for row in reader.records() {
            let row = row.map_err(|error| unreadable(csv, &error, "this is no claim"))?;
            let start = row.position().map_or(0, |position| position.byte() as usize);
            let at = place(csv, start..start);
            let claim = row.deserialize(Some(&header));
            let claim: Claim = claim.map_err(|error| Problem::at(at, "this is no claim").label(error.to_string()))?;
            if known.contains(&claim.id) {
                problems.0.push(Problem::at(at, format!("the claim `{}` is there twice", claim.id)));
                continue;
            }
            known.push(claim.id.clone());
            keep(&mut problems, claim.is_sound().map_err(|wrong| Problem::at(at, wrong)));
            match file.claim.iter().find(|answer| *answer.id.get_ref() == claim.id) {
                Some(answer) => claims.extend(keep(&mut problems, Answered::read(claim, answer, tables, around))),
                None => {
                    let problem = Problem::at(at, format!("nothing answers the claim `{}`", claim.id));
                    problems.0.push(problem.help("[[claim]] of study.toml says what does"));
                }
            }
        }
    }
    for answer in file.claim.iter().filter(|answer| !known.contains(answer.id.get_ref())) {
        let title = format!("{CLAIMS} has no claim `{}`", answer.id.get_ref());
        let problem = Problem::at(place(around.file, answer.id.span()), title);
        problems.0.push(problem.help(did_you_mean(answer.id.get_ref(), &known)));
    }
    problems.unless_empty(claims)
}
