//! `hopscope reproduce`: does the model deserve trust?

use hopscope_pages::study::{self, Studied};
use hopscope_studies::pictures::Pictures;
use hopscope_studies::report::{
    Alternative, Cell, CellBasis, Changed, CheckedClaim, Parameter, Report, Summary, Table,
};
use hopscope_studies::{Study, Wish};
use serde_json::{Value, json};

use crate::answer::{Answer, Refusal};
use crate::inputs::{Data, reading};
use crate::outputs::Outputs;
use crate::panics::doing;
use crate::progress::Steps;
use crate::tables::{bold, close_table, digits, table};
use crate::written::Inputs;

const EXAMPLES: &str = "\
Examples:
  hopscope reproduce piix4e
  hopscope reproduce piix4e --sensitivity
  hopscope reproduce piix4e --html piix4e.html --svg figures --csv tables
  hopscope reproduce --json > studies.json";

/// Run published studies and compare cell by cell: does the model deserve trust?
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Studies (`hopscope studies`); all of them if there is none
    studies: Vec<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
    /// Move every assumed and fitted number by a tenth and switch every mechanism off, too (some minutes)
    #[arg(long)]
    sensitivity: bool,
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
        let studies = super::studies::named(&self.studies)?;
        let inputs = Inputs::default().with_data(self.data.folder());
        self.outputs.spare(&inputs)?;
        let (mut reports, mut pictures) = (Vec::new(), Vec::new());
        for study in &studies {
            let (report, shown) = self.reproduce(study)?;
            reports.push(report);
            pictures.push(shown);
        }
        let missed = reports.iter().flat_map(|r| &r.claims).any(|c| !c.holds && c.basis != CellBasis::Input);
        let code = u8::from(self.strict && missed);
        let answer =
            if self.json { Answer::json(&to_json(&reports)) } else { Answer::text(reports.iter().map(text).collect()) };
        Ok(self.outputs.write(Answer { code, ..answer }, &inputs, || {
            let studied = |((study, report), pictures)| Studied { report, pictures, source: Study::source(study) };
            let studied: Vec<Studied> = studies.iter().copied().zip(&reports).zip(&pictures).map(studied).collect();
            study::page(&studied, &self.command())
        }))
    }

    /// How to get the same again.
    fn command(&self) -> String {
        let sensitivity = if self.sensitivity { " --sensitivity" } else { "" };
        ["hopscope reproduce".to_string()].into_iter().chain(self.studies.iter().cloned()).collect::<Vec<_>>().join(" ")
            + sensitivity
    }

    /// The report, and what it can show if somebody wants to see it.
    fn reproduce(&self, study: &Study) -> Result<(Report, Pictures), Refusal> {
        doing(format!("reproducing {}", study.id));
        let (library, sources) = reading(|_| self.data.library())?;
        let steps = Steps::new();
        let progress = |done: usize, of: usize, what: &str| steps.at(done, of, what);
        let wish =
            Wish { library: &library, trains: !self.no_trains, sensitivity: self.sensitivity, progress: &progress };
        let report = (study.reproduce)(&wish);
        let shown = if self.outputs.wanted() {
            report.and_then(|r| Ok((r, (study.pictures)(&wish)?)))
        } else {
            report.map(|r| (r, Pictures::default()))
        };
        shown.map_err(|failure| Refusal::of_run(failure, sources))
    }
}

/// One study as itself, several in a list.
fn to_json(reports: &[Report]) -> Value {
    match reports {
        [one] => json!(one),
        all => json!({ "studies": all }),
    }
}

fn text(report: &Report) -> String {
    let Summary { cells, predicted, fitted_parameters, .. } = report.summary;
    let s = &report.summary;
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let mut out = bold(&format!("{}: {}", report.study, report.title)) + "\n";
    out += &format!(
        "{cells} cells, {predicted} predicted: mean error {} (predicted {}, fitted {}),\n",
        percent(s.mean_abs_error),
        percent(s.mean_abs_error_predicted),
        percent(s.mean_abs_error_fitted)
    );
    out += &format!(
        "largest {}, {} within 5 %; {fitted_parameters} fitted parameters.\n",
        percent(s.max_abs_error),
        percent(s.within_5_percent)
    );
    for table in &report.tables {
        out += &format!("\n{}\n", one_table(table));
    }
    out += &format!("\n{}\n{}", bold("Claims"), claims(&report.claims));
    out +=
        &format!("\n{}\n{}", bold("Other readings, and what a reader would guess"), alternatives(&report.alternatives));
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
        digits(cell.published),
        cell.simulated.map_or_else(not_yet, digits),
        interval,
        cell.error.map_or(String::new(), |e| format!("{:+.1} %", 100.0 * e)),
        basis(cell.basis).to_string(),
    ]
}

fn basis(basis: CellBasis) -> &'static str {
    match basis {
        CellBasis::Input => "input",
        CellBasis::Fitted => "fitted",
        CellBasis::Predicted => "predicted",
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

fn claims(claims: &[CheckedClaim]) -> String {
    let rows = claims.iter().map(|c| {
        let verdict = match (c.basis, c.holds) {
            (CellBasis::Input, _) => "input",
            (_, true) => "holds",
            (_, false) => "does not hold",
        };
        let simulated = format!("{} {}", digits(c.simulated), c.unit);
        vec![verdict.to_string(), c.published.clone(), simulated, c.claim.clone()]
    });
    table(&["", "published", "simulated", "claim"], 3, rows)
}

fn alternatives(alternatives: &[Alternative]) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let rows = alternatives.iter().map(|a| vec![percent(a.mean_abs_error), percent(a.max_abs_error), a.what.clone()]);
    table(&["mean error", "largest", "reading"], 2, rows)
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
        vec![percent(c.mean_abs_error), percent(c.mean_abs_error_predicted), percent(c.max_abs_error), c.what.clone()]
    });
    table(&["mean error", "predicted", "largest", "change"], 3, rows)
}
