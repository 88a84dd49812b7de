//! `hopscope compare`: which of these is better, and why?

use std::ops::Range;
use std::path::Path;

use hopscope_files::job_file::end_of;
use hopscope_files::quantity::digits;
use hopscope_machine::price::digits_per_dollar;
use hopscope_machine::run::{Failure, Options};
use hopscope_pages::compare as pages;
use hopscope_questions::compare::{self, Aligned, Column, Compared, Comparison, From, Group, Limit, Work, json};
use hopscope_questions::explain::Explained;
use hopscope_questions::explanation::Listening;

use crate::answer::{Answer, Refusal, UNHELD};
use crate::inputs::{self, Data, reading};
use crate::outputs::Outputs;
use crate::panics::doing;
use crate::progress::Explaining;
use crate::tables::{bold, span, table, width, wrapped};
use crate::written::Inputs;

const EXAMPLES: &str = "\
Examples:
  hopscope compare sata-ssd nvme-desktop --rw=randread --bs=4k --iodepth=4
  hopscope compare raid-megaraid-32-33 raid-megaraid-64-66 raid-workstation-light
  hopscope compare nvme-desktop nvme-server one.fio other.fio --html side-by-side.html
  hopscope explain nvme-desktop --rw=randread --bs=4k --json > before.json
  hopscope compare before.json after.json --tolerance 5%

A word that ends in .toml is a system file, in .fio a job file, in .json what `explain`, `run` or `compare` wrote
with --json, or what fio wrote; any other word is the name of a shipped system or job. Of several systems and several
jobs each job is compared by itself.

Exit codes: 1 where --tolerance does not hold.";

/// Stages that are shown, of each group.
const STAGES_MAX: usize = 10;
/// Columns that a first column and each further one of a table need.
const FIRST: usize = 20;
const EACH: usize = 20;

/// Put machines, jobs or saved results side by side: which is better, and why?
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Systems, job files and results that were saved with --json, in any order
    #[arg(required = true, value_name = "SYSTEM|JOB|RESULT")]
    words: Vec<String>,
    /// The job as fio takes it on its command line, instead of job files: --rw=randread --bs=64k …
    #[arg(last = true, value_name = "--OPTION=VALUE", allow_hyphen_values = true)]
    job_options: Vec<String>,
    /// End with exit code 1 if one is worse than the first by more than this, in throughput or mean latency, such as 5%
    #[arg(long, value_name = "SHARE", value_parser = inputs::share)]
    tolerance: Option<f64>,
    #[command(flatten)]
    data: Data,
    /// One JSON object, which can be compared again
    #[arg(long)]
    json: bool,
    /// Stop each run when the 95 % interval of its throughput is narrower than this either way, such as 0.5%
    #[arg(long, value_name = "SHARE", value_parser = inputs::share)]
    until: Option<f64>,
    /// Decides every random choice
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    outputs: Outputs,
}

impl Args {
    /// Runs what is to be run, reads what was saved, and compares.
    pub fn run(self) -> Result<Answer, Refusal> {
        doing("reading what is to be compared");
        let inputs = Inputs::of(self.words.iter().map(Path::new)).with_data(self.data.folder());
        self.outputs.spare(&inputs)?;
        let (chosen, sources) =
            reading(|sources| compare::chosen(&self.data.library()?, sources, &self.words, &self.job_options))?;
        let of = chosen.works.len();
        let compared = match compare::compare(chosen, self.tolerance, |work, index| self.explained(work, (index, of))) {
            Ok(compared) => compared,
            Err(failure) => return Err(Refusal::of_run(failure, sources)),
        };
        let Compared { comparison, works, explained } = compared;
        let answer = if self.json {
            Answer::json(&json::report(&comparison))
        } else {
            let said =
                works.iter().flat_map(|work| work.said.iter().map(move |line| format!("{}: {line}", work.system)));
            Answer::text(text(&comparison, &said.collect::<Vec<_>>()))
        };
        let code = if comparison.exceeded().is_empty() { answer.code } else { UNHELD };
        let answer = Answer { code, ..answer };
        Ok(self.outputs.write(answer, &inputs, || {
            let machine = |(work, explained)| {
                let work: &Work = work;
                pages::Machine { blueprint: &work.setting.blueprint, explained }
            };
            let machines: Vec<pages::Machine> = works.iter().zip(&explained).map(machine).collect();
            pages::page(&comparison, &machines, &self.command())
        }))
    }

    /// Explains one machine with one job.
    fn explained(&self, work: &Work, (index, of): (usize, usize)) -> Result<(Column, Explained), Failure> {
        doing(format!("explaining {} with seed {}", work.system, self.seed));
        let options =
            Options { seed: self.seed, until: self.until, not_longer_than_needed: true, ..Options::default() };
        let what = format!("{}: trials ({} of {of})", work.name(), index + 1);
        let explaining = Explaining::of(end_of(&work.setting.jobs), &work.system, what);
        let listening = Listening { watcher: &|from| explaining.watcher(from), news: &|news| explaining.hear(news) };
        compare::explained(work, options, listening)
    }

    /// How to get the same again.
    fn command(&self) -> String {
        let words: Vec<&str> = self.words.iter().chain(&self.job_options).map(String::as_str).collect();
        format!("hopscope compare {}", words.join(" "))
    }
}

/// All of it, group by group.
fn text(comparison: &Comparison, said: &[String]) -> String {
    let groups = comparison.groups.iter().map(|group| group_text(comparison, group));
    let mut out = groups.collect::<Vec<_>>().join("\n");
    if !said.is_empty() {
        out.push('\n');
        out.extend(said.iter().map(|line| wrapped(line, "")));
    }
    out
}

/// The answer, the figures, the stages, and the rest of the verdict.
fn group_text(comparison: &Comparison, group: &Group) -> String {
    let verdict = comparison.verdict(group);
    let mut out = group.job.as_ref().map_or(String::new(), |job| bold(job) + "\n");
    let (answer, rest) = verdict.split_first().map_or((String::new(), &[][..]), |(first, rest)| (first.clone(), rest));
    out += &wrapped(&answer, "").lines().map(|line| bold(line) + "\n").collect::<String>();
    let columns: Vec<&Column> = comparison.of(group).collect();
    let first = columns.first().copied();
    let room = (width().saturating_sub(FIRST) / EACH).max(1);
    for some in columns.chunks(room) {
        out += &format!("\n{}", figures(some, first));
    }
    let stages = comparison.stages(group);
    if !stages.is_empty() {
        out += &format!("\n{}\n", bold("Where a request's time goes, on average"));
        for from in (0..columns.len()).step_by(room) {
            let some = from..columns.len().min(from + room);
            out += &table(&header("stage", &columns[some.clone()]), 0, stage_rows(&stages, some));
        }
    }
    out.push('\n');
    out.extend(rest.iter().map(|line| wrapped(line, "")));
    out
}

/// The longest stages, and the others together.
fn stage_rows(stages: &[Aligned], columns: Range<usize>) -> Vec<Vec<String>> {
    let cell = |ns: f64| if ns > 0.0 { span(ns) } else { "-".to_string() };
    let row = |name: String, each: &[f64]| -> Vec<String> {
        std::iter::once(name).chain(each.iter().map(|ns| cell(*ns))).collect()
    };
    let (shown, rest) = stages.split_at(STAGES_MAX.min(stages.len()));
    let mut rows: Vec<Vec<String>> =
        shown.iter().map(|of| row(of.stage.words(), &of.each_ns[columns.clone()])).collect();
    if !rest.is_empty() {
        let sums: Vec<f64> = columns.map(|index| rest.iter().map(|of| of.each_ns[index]).sum()).collect();
        rows.push(row(format!("{} more stages", rest.len()), &sums));
    }
    rows
}

fn header<'a>(first: &'a str, columns: &[&'a Column]) -> Vec<&'a str> {
    std::iter::once(first).chain(columns.iter().map(|column| &column.name[..])).collect()
}

/// A row a figure; those that no column has are left away.
fn figures(columns: &[&Column], first: Option<&Column>) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |name: &str, of: &dyn Fn(&Column) -> Option<String>| {
        let cells: Vec<Option<String>> = columns.iter().map(|column| of(column)).collect();
        if cells.iter().any(Option::is_some) {
            let cells = cells.into_iter().map(|cell| cell.unwrap_or_else(|| "-".to_string()));
            rows.push(std::iter::once(name.to_string()).chain(cells).collect());
        }
    };
    // What differs from the first column stands below the figure.
    let beside = |column: &Column, words: String, of: fn(&Column) -> Option<f64>| {
        let against = first.filter(|first| !std::ptr::eq(*first, column)).and_then(of).filter(|was| *was > 0.0);
        match against.zip(of(column)).map(|(was, is)| times(is / was)) {
            Some(change) => format!("{words}\n{change}"),
            None => words,
        }
    };
    let figure = |column: &Column, of: fn(&Column) -> Option<f64>, words: &dyn Fn(f64) -> String| {
        of(column).map(|value| beside(column, words(value), of))
    };
    row("from", &|column| match column.from {
        From::Explained => None,
        From::Run => Some("run".to_string()),
        From::Measured => Some("measured".to_string()),
    });
    row("throughput", &|column| {
        let interval = column.interval.filter(|wide| *wide >= 5e-4);
        let wide = interval.map_or(String::new(), |wide| format!(" (±{:.1} %)", 100.0 * wide));
        figure(column, |of| of.throughput_bytes_per_s, &|rate| format!("{} MB/s{wide}", digits(rate / 1e6)))
    });
    row("IOPS", &|column| figure(column, |of| of.iops, &digits));
    row("latency, mean", &|column| figure(column, |of| of.latency_mean_ns, &span));
    row("latency, p99", &|column| figure(column, |of| of.latency_p99_ns, &span));
    row("limited by", &|column| column.limit.as_ref().map(limit));
    row("then by", &|column| column.limit.as_ref()?.next.clone());
    let processor = |column: &Column| column.processor.clone();
    row("processor busy", &|column| processor(column)?.utilisation.map(|share| format!("{:.1} %", 100.0 * share)));
    row("a request", &|column| processor(column)?.ps_per_request.map(|ps| span(ps / 1e3)));
    for layer in layers(columns) {
        row(&format!("  {layer}"), &|column| {
            let of = processor(column)?;
            let clocks = of.layers.iter().find(|of| of.layer == layer)?.clocks_per_request?;
            of.clock_hz.map(|hz| span(clocks / hz * 1e9))
        });
    }
    row("price", &|column| column.price_usd?.total.map(|total| format!("${total:.0}")));
    row("MB/s a dollar", &|column| column.price_usd?.mb_per_s_per_usd.map(digits_per_dollar));
    row("IOPS a dollar", &|column| column.price_usd?.iops_per_usd.map(digits_per_dollar));
    table(&header("", columns), 1, rows)
}

/// The layers of software of all columns, in the order in which they are met.
fn layers(columns: &[&Column]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for layer in columns.iter().filter_map(|column| column.processor.as_ref()).flat_map(|of| &of.layers) {
        if !names.contains(&layer.layer) {
            names.push(layer.layer.clone());
        }
    }
    names
}

fn limit(limit: &Limit) -> String {
    format!("{}\n{}\n{}", limit.what(), percent(limit.gain), limit.tried())
}

/// A ratio as a change, or as it is where it is large.
fn times(ratio: f64) -> String {
    if ratio >= 2.0 { format!("{} times", digits(ratio)) } else { percent(ratio - 1.0) }
}

fn percent(share: f64) -> String {
    let text = format!("{:+.1} %", 100.0 * share);
    // Nothing has no sign.
    if text[1..].starts_with("0.0 ") { "0.0 %".to_string() } else { text }
}
