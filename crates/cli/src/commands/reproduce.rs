//! `hopscope reproduce`: does the model deserve trust?

use std::path::{Path, PathBuf};
use std::sync::RwLock;
use std::sync::atomic::Ordering;

use hopscope_files::library::Library;
use hopscope_files::problem::Problem;
use hopscope_files::quantity::digits;
use hopscope_machine::run::Failure;
use hopscope_pages::study::page;
use hopscope_studies::report::{
    Alternative, Cell, CellBasis, Changed, CheckedClaim, Forecast, Parameter, Report, Table,
};
use hopscope_studies::reproduction::{Ready, Reproduced, json};
use hopscope_studies::{Wish, forecasts};
use serde_json::Value;

use crate::answer::{Answer, Refusal};
use crate::inputs::{Data, reading, reading_more};
use crate::interrupts;
use crate::outputs::Outputs;
use crate::panics::doing;
use crate::progress::Steps;
use crate::tables::{bold, close_table, table, wrapped};
use crate::written::{self, Inputs};

const EXAMPLES: &str = "\
Examples:
  hopscope reproduce piix4e
  hopscope reproduce piix4e --sensitivity
  hopscope reproduce piix4e --html piix4e.html --svg figures --csv tables
  hopscope reproduce --json > studies.json

A forecast is worth something only if it is committed before the published
figure is in view: studies/STUDY/forecast.csv, then the figure.
  hopscope reproduce STUDY --forecast studies/STUDY/forecast.csv";

/// Run published studies and compare cell by cell: does the model deserve trust?
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Studies (`hopscope studies`); all of them if there is none
    studies: Vec<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
    /// Move every assumed and fitted number by a tenth and switch every mechanism off, too (minutes; Ctrl-C ends it
    /// with what is known)
    #[arg(long)]
    sensitivity: bool,
    /// Write what is simulated for cells whose figure is not published yet, for studies/STUDY/forecast.csv
    #[arg(long, value_name = "FILE")]
    forecast: Option<PathBuf>,
    /// Simulate regular bursts one by one (slower, the same results)
    #[arg(long)]
    no_trains: bool,
    /// Exit with 1 where a claim does not hold
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    outputs: Outputs,
    #[command(flatten)]
    data: Data,
}

impl Args {
    /// Runs the studies.
    pub fn run(self) -> Result<Answer, Refusal> {
        let (library, sources) = reading(|_| self.data.library())?;
        let (ready, sources) = reading_more(sources, |sources| Ready::read(&library, &self.studies, sources))?;
        let inputs = Inputs::default().with_data(self.data.folder());
        self.outputs.spare(&inputs)?;
        if let Some(why) = self.forecast.as_deref().and_then(|path| inputs.refuses(path).err()) {
            return Err(Problem::nowhere(why).into());
        }
        let studies = self.reproduce(&ready, &library).map_err(|failure| Refusal::of_run(failure, sources))?;
        let complaints = match &self.forecast {
            Some(path) => write_forecast(path, &studies, &inputs)?,
            None => String::new(),
        };
        let code = u8::from(self.strict && studies.iter().any(Reproduced::misses_a_claim));
        let answer = match self.json {
            true => Answer::json(&json(&studies)),
            false => Answer::text(studies.iter().map(|one| text(&one.report)).collect()),
        };
        Ok(self.outputs.write(Answer { code, complaints, ..answer }, &inputs, || page(&studies, &self.command())))
    }

    /// How to get the same again.
    fn command(&self) -> String {
        let sensitivity = if self.sensitivity { " --sensitivity" } else { "" };
        ["hopscope reproduce".to_string()].into_iter().chain(self.studies.iter().cloned()).collect::<Vec<_>>().join(" ")
            + sensitivity
    }

    /// Runs them, with a line for each that says how far it is.
    fn reproduce(&self, ready: &Ready, library: &Library) -> Result<Vec<Reproduced>, Failure> {
        let steps = RwLock::new(Steps::new());
        let begins = |study: &str| {
            doing(format!("reproducing {study}"));
            steps.write().into_iter().for_each(|mut of_last| *of_last = Steps::new());
        };
        let progress =
            |done: usize, of: usize, what: &str| steps.read().iter().for_each(|steps| steps.at(done, of, what));
        let noticed = self.sensitivity.then(interrupts::noticed);
        let stop = || noticed.is_some_and(|noticed| noticed.load(Ordering::Relaxed));
        let (trains, sensitivity) = (!self.no_trains, self.sensitivity);
        let wish = Wish { library, trains, sensitivity, stop: &stop, progress: &progress };
        ready.reproduce(&wish, self.outputs.wanted(), begins)
    }
}

/// The forecast of one study; says how much there is to forecast.
fn write_forecast(path: &Path, studies: &[Reproduced], inputs: &Inputs) -> Result<String, Refusal> {
    let (text, rows) = forecasts::of(studies)?;
    match written::file(path, &text, inputs) {
        Ok(()) => Ok(format!("{rows} forecasts are in {}: commit it before the figures come\n", path.display())),
        Err(why) => Err(Problem::nowhere(why).help("choose another file").into()),
    }
}

fn text(report: &Report) -> String {
    bold(&format!("{}: {}", report.study, report.title)) + "\n" + &summary(report) + &details(report)
}

/// What is read first.
fn summary(report: &Report) -> String {
    let s = &report.summary;
    let percent = |share: Option<f64>| share.map_or("none".to_string(), |share| format!("{:.1} %", 100.0 * share));
    let of = |count: usize, word: &str, error: Option<f64>| format!("{count} {word} ({})", percent(error));
    let labels = [
        of(s.predicted, "predicted", s.mean_abs_error_predicted),
        of(s.seen, "seen", s.mean_abs_error_seen),
        format!("fitted ({})", percent(s.mean_abs_error_fitted)),
    ];
    let mut out = format!(
        "{} cells: mean error {}: {}, {}, {},\n",
        s.cells,
        percent(s.mean_abs_error),
        labels[0],
        labels[1],
        labels[2]
    );
    out += &format!(
        "largest {}, {} within 5 %; {} fitted parameters.\n",
        percent(s.max_abs_error),
        percent(s.within_5_percent),
        s.fitted_parameters
    );
    if s.repeats > 0 {
        let words = format!(
            "{} more cells only repeat others, and are not counted: mean error {}.",
            s.repeats,
            percent(s.mean_abs_error_repeats)
        );
        out += &wrapped(&words, "");
    }
    if s.awaited > 0 {
        out += &wrapped(&format!("{} more cells have no published figure yet.", s.awaited), "");
    }
    for null in &report.alternatives {
        if let Some(ours) = null.ours.filter(|ours| !ours.wins) {
            let words = format!(
                "We lose against a {}: mean error {:.1} %, ours {:.1} %.",
                null.what,
                100.0 * null.mean_abs_error,
                100.0 * ours.mean_abs_error
            );
            out += &wrapped(&words, "");
        }
    }
    out
}

fn details(report: &Report) -> String {
    let mut out = String::new();
    for table in &report.tables {
        out += &format!("\n{}\n", one_table(table));
    }
    out += &format!("\n{}\n{}", bold("Claims"), claims(&report.claims));
    out +=
        &format!("\n{}\n{}", bold("Other readings, and what a reader would guess"), alternatives(&report.alternatives));
    let forecast = forecast_table(report);
    if !forecast.is_empty() {
        out += &format!("\n{}\n{forecast}", bold("Forecasts"));
    }
    out += &format!("\n{}\n{}", bold("What the result rests on"), parameters(&report.parameters));
    if !report.ablations.is_empty() {
        out += &format!("\n{}\n{}", bold("Mechanisms switched off"), changes(&report.ablations));
        out += &format!("\n{}\n{}", bold("Numbers moved by a tenth"), changes(&report.sensitivity));
    }
    out
}

/// More key columns than this make sections: the first and the last key are their heading.
const KEYS_MAX: usize = 3;

fn one_table(shown: &Table) -> String {
    let title = bold(&format!("{}, {}", shown.title, shown.unit));
    let keys: Vec<&str> = shown.cells.first().map_or(Vec::new(), |c| c.key.keys().map(String::as_str).collect());
    if keys.len() <= KEYS_MAX {
        return format!("{title}\n{}", cells(&keys, shown.cells.iter()));
    }
    let heading = |cell: &Cell| format!("{}, {}", plain(&cell.key[keys[0]]), plain(&cell.key[keys[keys.len() - 1]]));
    let mut headings: Vec<String> = Vec::new();
    for cell in &shown.cells {
        if !headings.contains(&heading(cell)) {
            headings.push(heading(cell));
        }
    }
    let section = |head: &String| {
        let rows = cells(&keys[1..keys.len() - 1], shown.cells.iter().filter(|cell| heading(cell) == *head));
        format!("\n{head}\n{rows}")
    };
    format!("{title}{}", headings.iter().map(section).collect::<String>())
}

fn cells<'a>(keys: &[&str], cells: impl Iterator<Item = &'a Cell>) -> String {
    let header: Vec<&str> =
        keys.iter().copied().chain(["published", "simulated", "interval", "error", "basis"]).collect();
    let rows = cells.map(|cell| {
        let mut row: Vec<String> = keys.iter().map(|key| plain(&cell.key[*key])).collect();
        row.extend(figures(cell));
        row
    });
    if keys.contains(&"event") { table(&header, 0, rows) } else { close_table(&header, rows) }
}

fn figures(cell: &Cell) -> [String; 5] {
    let not_yet = || "not simulated".to_string();
    let interval = if cell.interval > 0.0 { format!("±{}", digits(cell.interval)) } else { String::new() };
    [
        cell.published.map_or_else(|| "awaited".to_string(), digits),
        cell.simulated.map_or_else(not_yet, digits),
        interval,
        cell.error.map_or(String::new(), |e| format!("{:+.1} %", 100.0 * e)),
        if cell.repeats.is_some() { format!("{}, repeats", cell.basis.word()) } else { cell.basis.word().to_string() },
    ]
}

/// What was forecast, beside what is simulated now and what was published since.
fn forecast_table(report: &Report) -> String {
    let row = |what: String, forecast: &Forecast, now: Option<f64>, published: String| {
        let verdict = match forecast {
            Forecast { in_time: false, .. } => "came too late",
            Forecast { stands: false, .. } => "no longer stands",
            Forecast { same_machine: false, .. } => "stands, by other numbers",
            Forecast { .. } => "stands",
        };
        let now = now.map_or(String::new(), digits);
        vec![verdict.to_string(), digits(forecast.simulated), now, published, what]
    };
    let cells = report.tables.iter().flat_map(|table| table.cells.iter().map(move |cell| (table, cell)));
    let cells = cells.filter_map(|(table, cell)| {
        let key: Vec<String> = cell.key.values().map(plain).collect();
        let what = format!("{}: {}", table.id, key.join(", "));
        Some(row(what, cell.forecast.as_ref()?, cell.simulated, cell.published.map_or(String::new(), digits)))
    });
    let claims = report.claims.iter();
    let claims =
        claims.filter_map(|c| Some(row(c.id.clone(), c.forecast.as_ref()?, Some(c.simulated), c.published.clone())));
    let rows: Vec<Vec<String>> = cells.chain(claims).collect();
    if rows.is_empty() { String::new() } else { table(&["", "forecast", "simulated", "published", "cell"], 4, rows) }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

fn claims(claims: &[CheckedClaim]) -> String {
    let rows = claims.iter().map(|c| {
        let verdict = match (c.basis, c.holds) {
            (CellBasis::Input, _) => "input",
            (_, true) => "holds",
            _ if !c.can_hold() => "awaited",
            (_, false) => "does not hold",
        };
        let simulated = format!("{} {}", digits(c.simulated), c.unit);
        let basis = if c.basis == CellBasis::Input { "" } else { c.basis.word() };
        vec![verdict.to_string(), basis.to_string(), c.published.clone(), simulated, c.claim.clone()]
    });
    table(&["", "basis", "published", "simulated", "claim"], 4, rows)
}

fn alternatives(alternatives: &[Alternative]) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let rows = alternatives.iter().map(|a| {
        let ours = match a.ours {
            Some(ours) if ours.wins => percent(ours.mean_abs_error),
            Some(ours) => format!("{}, worse", percent(ours.mean_abs_error)),
            None => String::new(),
        };
        vec![percent(a.mean_abs_error), percent(a.max_abs_error), ours, a.what.clone()]
    });
    table(&["mean error", "largest", "ours there", "reading"], 3, rows)
}

/// Every fitted number; the assumed ones by their reasons.
fn parameters(parameters: &[Parameter]) -> String {
    let (fitted, assumed): (Vec<&Parameter>, Vec<&Parameter>) = parameters.iter().partition(|p| p.basis == "fitted");
    let rows = fitted.iter().map(|p| {
        let why = if p.range.is_empty() { p.from.clone() } else { format!("{} (plausible: {})", p.from, p.range) };
        vec![p.name.replace(' ', "\n"), p.value.clone(), why]
    });
    let mut out = table(&["fitted", "value", "to what"], 2, rows);
    let mut reasons: Vec<(&str, Vec<&Parameter>)> = Vec::new();
    for p in assumed {
        match reasons.iter_mut().find(|(reason, _)| *reason == p.from) {
            Some((_, numbers)) => numbers.push(p),
            None => reasons.push((&p.from, vec![p])),
        }
    }
    let rows = reasons.into_iter().map(|(reason, numbers)| {
        let (name, value) = match numbers[..] {
            [one] => (one.name.replace(' ', "\n"), one.value.clone()),
            _ => (
                numbers[0].name.split(' ').next().unwrap_or_default().to_string(),
                format!("{} numbers", numbers.len()),
            ),
        };
        vec![name, value, reason.to_string()]
    });
    out += "\n";
    out + &table(&["assumed", "value", "why"], 2, rows)
}

fn changes(changes: &[Changed]) -> String {
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let rows = changes.iter().map(|c| {
        let what =
            if c.counts_as_fitted { format!("{} (so much that it counts as fitted)", c.what) } else { c.what.clone() };
        vec![percent(c.mean_abs_error), percent(c.mean_abs_error_not_fitted), percent(c.max_abs_error), what]
    });
    table(&["mean error", "not fitted", "largest", "change"], 3, rows)
}
