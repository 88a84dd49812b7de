//! The page of a replay: response times in the simulation, beside those that were recorded.

use hopscope_machine::blueprint::Blueprint;
use hopscope_questions::replay::{Replayed, Responses, report};
use serde_json::json;

use crate::charts::distributions::{self, Distribution};
use crate::explain;
use crate::page::{Behind, Block, Chapter, Figure, Kind, Page, Section, Tile};
use crate::table::{Cell, Table, Tone};
use crate::wording::{digits, file_name, percent, rate, slug, span_ps};

/// Steps of a distribution.
const STEPS: u32 = 200;

/// A trace that was replayed.
pub struct Subject<'a> {
    /// The trace, as the command line names it.
    pub trace: &'a str,
    /// The system, as the command line names it.
    pub system: &'a str,
    /// The machine.
    pub blueprint: &'a Blueprint,
    /// What decided the draws.
    pub seed: u64,
    /// What came of it.
    pub replayed: &'a Replayed,
}

/// The page.
pub fn page(subject: &Subject, command: &str) -> Page {
    let Subject { trace, system, blueprint, seed, replayed } = subject;
    let figures = &replayed.figures;
    let [reads, writes] = figures.requests;
    let mut answer = vec![format!(
        "{reads} reads and {writes} writes of {trace} get {}, {} IOPS on {} of {system}.",
        rate(figures.bytes_per_second()),
        digits(figures.iops()),
        replayed.target
    )];
    if let Some((gaps, told)) = replayed.gaps {
        answer.push(format!("Gaps are read as {}, told by: {}.", gaps.word(), told.word()));
    }
    let mut tiles = vec![tile("Mean response", figures.simulated.mean_ns(), "in the simulation")];
    if let Some(demerit) = figures.demerit_ns() {
        tiles.push(tile("Recorded", figures.recorded.mean_ns(), "mean response of the trace"));
        tiles.push(tile("Demerit figure", demerit, "between the two distributions"));
        let close = percent(figures.paired.close_share());
        answer.push(format!(
            "Request by request, the two are {} apart in the mean; {close} are within 1 ms.",
            span_ps(1e3 * figures.paired.mean_absolute_error_ns())
        ));
    }
    if let Some(problem) = &replayed.problem {
        let (line, _) = problem.line_and_column();
        answer.push(format!("The trace could be read up to line {line} only: {}.", problem.title()));
    }
    let words = "How many requests had ended after so long: the share that is not above each time. The further right, \
                 the slower.";
    let section = Section::new("response-times", "Response times").words(words);
    let mut sections = vec![section.block(Block::Figures(vec![figure(replayed)], 1))];
    if let Some(accounted) = &replayed.accounted {
        sections.extend(explain::account_sections(blueprint, &accounted.account, accounted.latency.as_ref()));
    }
    let chapter = Chapter {
        id: slug(&format!("replay {system}")),
        title: blueprint.title.clone(),
        source: format!("{trace} ({}); {system}, seed {seed}", replayed.format.word()),
        answer,
        tiles,
        sections,
        data: report(trace, system, *seed, replayed),
        csvs: Vec::new(),
    };
    let title = format!("{} on {system}", file_name(trace));
    Page { title, command: command.to_string(), chapters: vec![chapter] }
}

fn tile(name: &str, ns: f64, about: &str) -> Tile {
    Tile { name: name.into(), figure: span_ps(1e3 * ns), about: about.into(), tone: Tone::Plain }
}

fn figure(replayed: &Replayed) -> Figure {
    let figures = &replayed.figures;
    let both = [("simulated", &figures.simulated), ("recorded", &figures.recorded)];
    let steps = |responses: &Responses| -> Vec<(f64, f64)> {
        let shares = (1..=STEPS).map(|step| f64::from(step) / f64::from(STEPS));
        shares.map(|share| (responses.at_ns(share) as f64, share)).collect()
    };
    let there = both.into_iter().filter(|(_, responses)| responses.count() > 0);
    let all: Vec<Distribution> =
        there.map(|(name, responses)| Distribution { name: name.into(), steps: steps(responses) }).collect();
    let rows = (0..STEPS as usize).filter(|step| (step + 1).is_multiple_of(10)).map(|step| {
        let share = (step + 1) as f64 / f64::from(STEPS);
        let times = all.iter().map(|of| Cell::figure(span_ps(1e3 * of.steps[step].0), of.steps[step].0));
        [Cell::figure(percent(share), share)].into_iter().chain(times).collect()
    });
    let columns: Vec<(&str, &str)> = [("share", "share"), ("simulated", "simulated_ns"), ("recorded", "recorded_ns")]
        .into_iter()
        .take(1 + all.len())
        .collect();
    let caption = "Times that so many requests did not exceed";
    let table = Table::new("responses-table", caption, &columns, if all.is_empty() { vec![] } else { rows.collect() });
    Figure {
        id: "responses".into(),
        drawing: distributions::draw(&all, "Response times, cumulative"),
        caption: "The share of requests that took no longer than a time, on a logarithmic scale.".into(),
        kind: Kind::Marks,
        data: json!(all.iter().map(|of| json!({ "name": of.name, "steps_ns": of.steps })).collect::<Vec<_>>()),
        behind: Behind::Table(table),
        width_min: 760,
    }
}
