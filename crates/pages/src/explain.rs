//! The page of one run explained: where did the rest go, and what limits it?

use hopscope_files::job_file::Job;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::fio_json::Figures;
use hopscope_machine::run::{Failure, Options, Outcome};
use hopscope_observe::account::{Account, LaneAccount};
use hopscope_observe::lives::Latency;
use hopscope_questions::diagnosis::{Diagnosis, Headline, HopGain, Limiting, limited_by, named};
use hopscope_questions::explain::{self, EXTENT, Explained};
use hopscope_questions::explain_json;
use hopscope_questions::explanation::Explanation;
use hopscope_questions::measured::Comparison;
use hopscope_questions::measured::json as measured_json;
use hopscope_questions::passage::{Enough, Passage};
use hopscope_questions::trials::Setting;
use hopscope_studies::report::Parameter;

use crate::account;
use crate::latency::{self, Hues};
use crate::map;
use crate::measured;
use crate::page::{Block, Chapter, Figure, Page, Section, Tile};
use crate::passage;
use crate::study::parameter_table;
use crate::table::{Cell, Table, Tone};
use crate::wording::{digits, gained, percent, rate, signed_percent, slug, span, span_ps};

/// A run that was explained.
pub struct Subject<'a> {
    /// The system, as the command line names it.
    pub system: &'a str,
    /// The job, as the command line names it.
    pub job: &'a str,
    /// The machine.
    pub blueprint: &'a Blueprint,
    /// The run and its account.
    pub explained: &'a Explained,
    /// What limits it.
    pub diagnosis: Option<&'a Diagnosis>,
    /// What was measured, beside it.
    pub measured: Option<&'a Comparison>,
    /// What came by in the window of the account.
    pub passage: Option<&'a Passage>,
}

/// What came by in the window of the account, as much of it as a page takes, and told apart as it is drawn.
pub fn came_by(
    blueprint: &Blueprint,
    jobs: &[Job],
    options: Options,
    explained: &Explained,
) -> Result<Option<Passage>, Failure> {
    if explained.too_long {
        return Ok(None);
    }
    let latency = explained.latency_alike();
    let hues = latency.as_ref().map(Hues::of);
    let apart = hues.as_ref().map_or(&[][..], Hues::hops);
    hopscope_questions::passage::passage(blueprint, jobs, options, explained, (apart, Enough::FOR_A_PAGE))
}

/// The page of where the rest went, and what limits.
pub fn page(subject: &Subject, command: &str) -> Page {
    let Subject { system, explained, diagnosis, .. } = subject;
    let title = format!("Where the bandwidth of {system} goes");
    written(subject, title, answer(explained, *diagnosis), command)
}

/// A machine with its jobs, and both as they were named.
pub struct Named<'a> {
    /// The system.
    pub system: &'a str,
    /// The job.
    pub job: &'a str,
    /// Both, read.
    pub setting: &'a Setting,
}

/// The page of an explanation. The run is made once more: requests are followed one by one.
pub fn of_explanation(
    named: &Named,
    options: Options,
    explanation: &Explanation,
    command: &str,
) -> Result<Page, Failure> {
    let Named { system, job, setting } = *named;
    let blueprint = &setting.blueprint;
    let Explanation { explained, diagnosis, measured } = explanation;
    let (alone, in_phase) = explained.by_itself(setting);
    let passage = came_by(&alone.blueprint, &alone.jobs, options, &in_phase)?;
    let (diagnosis, measured, passage) = (diagnosis.as_ref(), measured.as_ref(), passage.as_ref());
    Ok(page(&Subject { system, job, blueprint, explained, diagnosis, measured, passage }, command))
}

/// The page of a run that was made. It is made again, accounted for, and looked at request by request.
pub fn of_outcome(named: &Named, options: Options, outcome: Outcome, command: &str) -> Result<Page, Failure> {
    let Named { system, job, setting: Setting { blueprint, jobs } } = *named;
    // Whoever interrupts the run does not interrupt its page.
    let options = Options { interrupted: None, ..options };
    let explained = &explain::observe(blueprint, jobs, options, EXTENT, outcome)?;
    let passage = came_by(blueprint, jobs, options, explained)?;
    let (diagnosis, measured, passage) = (None, None, passage.as_ref());
    Ok(of_run(&Subject { system, job, blueprint, explained, diagnosis, measured, passage }, command))
}

/// The page of a run alone: what a workload gets, without trials of what limits it.
fn of_run(subject: &Subject, command: &str) -> Page {
    let Subject { system, explained, .. } = subject;
    let lines = vec![got(explained), "`hopscope explain` tries every hop, and says which one limits.".to_string()];
    written(subject, format!("What {system} gives"), lines, command)
}

fn written(subject: &Subject, title: String, answer: Vec<String>, command: &str) -> Page {
    let Subject { system, job, blueprint, explained, diagnosis, measured, passage } = subject;
    let account = &explained.alike();
    let mut sections = Vec::new();
    let window = format!(
        "The account covers {} of the run, from {} on. Of each hop it goes from what it can carry to what arrived: every \
         picosecond has a class and, where it waited, a cause, followed to whoever was at work meanwhile. Hops without \
         a rate of their own show shares of the time.",
        span(account.span()),
        span(explained.phase_begins() + account.from)
    );
    let limiting = diagnosis.and_then(Diagnosis::limiting).map_or(Vec::new(), |limiting| limiting.hops);
    let latency = explained.latency_alike();
    sections.push(glance(window, blueprint, (account, latency.as_ref(), &limiting), Some(explained)));
    sections.extend(measured.map(measured::section));
    // Lanes that are alike are one here as they are in figures; `--json` has each.
    let alike = Explained { account: account.clone(), latency: latency.clone(), ..(*explained).clone() };
    let mut data = explain_json::report(blueprint, &alike, *diagnosis);
    data["system"] = (*system).into();
    data["job"] = (*job).into();
    if let Some(comparison) = measured {
        data["measured"] = measured_json::report(comparison);
    }
    sections.extend(diagnosis.map(profile));
    let mut latencies = Section::new("latencies", "Latency");
    if let Some(latency) = &latency {
        latencies.blocks.push(Block::Figures(vec![latency::figure(latency)], 1));
    }
    let mut each = latency::histograms(&explained.outcome);
    each.extend(passage.and_then(latency::over_time));
    if !each.is_empty() {
        latencies.blocks.push(Block::Figures(each, 2));
    }
    sections.push(latencies);
    match passage.zip(latency.as_ref()) {
        Some((passage, latency)) => sections.push(passage::section(passage, &Hues::of(latency))),
        None => {
            let busy = Block::Figures(vec![account::utilisation(account)], 1);
            sections.push(Section::new("over-time", "Over time").block(busy));
        }
    }
    sections.push(Section::new("jobs", "What was run").block(Block::Table(jobs(&explained.outcome))));
    sections.push(numbers(blueprint));
    let chapter = Chapter {
        id: slug(&format!("explain {system}")),
        title: blueprint.title.clone(),
        source: format!("{}; {system}, {job}", blueprint.title),
        answer,
        tiles: tiles(explained, *diagnosis).into_iter().chain(measured.and_then(measured::tile)).collect(),
        sections,
        data,
        csvs: Vec::new(),
    };
    Page { title, command: command.to_string(), chapters: vec![chapter] }
}

fn got(explained: &Explained) -> String {
    format!("The jobs get {}, {} IOPS.", rate(explained.throughput()), digits(explained.iops()))
}

fn answer(explained: &Explained, diagnosis: Option<&Diagnosis>) -> Vec<String> {
    let mut lines = vec![got(explained)];
    lines.extend(explained.phase_words(rate, span));
    match diagnosis {
        Some(diagnosis) => {
            lines.push(diagnosis.why.clone());
            lines.extend(diagnosis.remedies.iter().map(|remedy| {
                let gain = gained(remedy.gain.throughput);
                format!("To try: {} (now {}), {gain}.", remedy.change, remedy.instead_of)
            }));
            lines.push(diagnosis.then.clone());
        }
        None => lines.push(explained.undiagnosed()),
    }
    lines.extend(explained.untold().map(str::to_string));
    lines.retain(|line| !line.is_empty());
    lines
}

fn tiles(explained: &Explained, diagnosis: Option<&Diagnosis>) -> Vec<Tile> {
    let tile = |name: &str, figure: String, about: String| Tile { name: name.into(), figure, about, tone: Tone::Plain };
    let mut tiles =
        vec![tile("Throughput", rate(explained.throughput()), format!("{} IOPS", digits(explained.iops())))];
    if let Some((diagnosis, limiting)) = diagnosis.and_then(|diagnosis| Some((diagnosis, diagnosis.limiting()?))) {
        let (figure, about) = limit(diagnosis, &limiting);
        tiles.push(Tile { tone: Tone::Fair, ..tile("Limited by", figure, about) });
    }
    if let Some(latency) = &explained.latency {
        let p99 = latency.p99.as_ref().map_or(String::new(), |p99| format!("; 99th percentile {}", span(p99.mean())));
        let about = format!("mean of {} requests{p99}", latency.mean.count);
        tiles.push(tile("Latency", span(latency.mean.mean()), about));
    }
    tiles
}

/// What limits, and what confirms it.
fn limit(diagnosis: &Diagnosis, limiting: &Limiting) -> (String, String) {
    let Limiting { first, hops, doubled } = limiting;
    let (word, gain) = (diagnosis.headline.word(), gained(doubled.throughput));
    match (&diagnosis.without_thinking, &hops[..]) {
        (Some(without), _) if diagnosis.headline == Headline::Workload => {
            ("the workload".to_string(), format!("{} without its think time", gained(without.throughput)))
        }
        (_, hops @ []) => (
            limited_by(hops, doubled.throughput.mean),
            format!("{word}: {} gains most, {gain} at twice its pace", first.hop),
        ),
        (_, [hop]) => (hop.clone(), format!("{word}: {gain} at twice its pace, at work {}", percent(first.busy))),
        (_, hops) => (named(hops), format!("{word}: {gain} together at twice their pace")),
    }
}

/// Every hop at twice its pace.
fn profile(diagnosis: &Diagnosis) -> Section {
    let rows = diagnosis.profile.iter().map(|hop| {
        let figure = |share: f64| Cell::figure(signed_percent(share), share);
        vec![
            Cell::words(hop.hop.clone()),
            figure(hop.doubled.throughput.mean),
            Cell::figure(percent(hop.doubled.throughput.half_width), hop.doubled.throughput.half_width),
            figure(hop.doubled.latency.mean),
            share_of(hop),
            Cell::figure(percent(hop.share.throughput.half_width), hop.share.throughput.half_width),
            Cell::figure(percent(hop.busy), hop.busy),
        ]
    });
    let columns = [
        ("hop", "lane"),
        ("throughput", "throughput_gain"),
        ("±", "interval"),
        ("latency", "latency_gain"),
        ("share of a little more", "share"),
        ("±", "share_interval"),
        ("at work", "busy_share"),
    ];
    let words = "Each hop was simulated at twice its pace by itself, with the same requests and draws: what that gains. \
                 Beside it, its share in a small change: the gain at a twentieth more, over that twentieth; unknown where \
                 chance may be more than all of it.";
    let table = Table::new("profile-table", "What each hop would gain", &columns, rows.collect());
    Section::new("profile", "What limits, as trials confirm it").words(words).block(Block::Table(table))
}

/// The share of a hop in a small change.
fn share_of(hop: &HopGain) -> Cell {
    let share = hop.share.throughput.mean;
    let text = if hop.knows_share() { signed_percent(share) } else { "unknown".to_string() };
    Cell::figure(text, share)
}

/// What hops did, and where latencies went, of a run without trials.
pub(crate) fn account_sections(blueprint: &Blueprint, account: &Account, latency: Option<&Latency>) -> Vec<Section> {
    let words = format!("What the hops did in {}, while the first of its requests went by.", span(account.span()));
    let mut sections = vec![glance(words, blueprint, (account, latency, &[]), None)];
    sections.extend(
        latency.map(|latency| {
            Section::new("latencies", "Latency").block(Block::Figures(vec![latency::figure(latency)], 1))
        }),
    );
    sections
}

/// The map, and beside it the account of each hop, with its lanes one by one where it stands for several: those of the
/// ones that limit first, then of those that carry bytes at a rate of their own.
fn glance(
    words: String,
    blueprint: &Blueprint,
    (account, latency, limiting): (&Account, Option<&Latency>, &[String]),
    explained: Option<&Explained>,
) -> Section {
    let mut map = map::figure(blueprint, (account, latency), limiting, &|_| None);
    map.caption += map::LEADS;
    let rank = |lane: &LaneAccount| match lane.capacity {
        _ if limiting.contains(&lane.lane) => 0,
        Some(_) => 1,
        None => 2,
    };
    let mut lanes: Vec<&LaneAccount> = account.lanes.iter().collect();
    lanes.sort_by_key(|lane| rank(lane));
    let accounts = lanes.iter().map(|lane| {
        let each = explained.and_then(|explained| map::each(explained, &lane.lane));
        let caption = each.as_ref().map_or("", |_| "The mean of those that were at work; they are one by one below.");
        let of_all = Figure { caption: caption.to_string(), ..account::lane(account, lane) };
        std::iter::once(of_all).chain(each).collect()
    });
    let block = Block::Chosen(Box::new(map), accounts.collect());
    Section::new("glance", "The machine at a glance").words(words).block(block)
}

fn jobs(outcome: &Outcome) -> Table {
    let rows = outcome.jobs.iter().map(|job| {
        let mut row = vec![Cell::words(job.name.clone()), Cell::words(job.target.clone())];
        row.push(Cell::figure(job.iodepth.to_string(), job.iodepth));
        match (Figures::of(job), &job.got) {
            (Some(figures), Some(got)) => {
                let ns = &got.latency_ns;
                row.push(Cell::figure(rate(figures.bytes_per_second), figures.bytes_per_second));
                row.push(Cell::figure(digits(figures.iops), figures.iops));
                row.push(Cell::figure(span_ps(1e3 * ns.mean()), ns.mean()));
                for quantile in [0.5, 0.99] {
                    let at = ns.value_at_quantile(quantile) as f64;
                    row.push(Cell::figure(span_ps(1e3 * at), at));
                }
            }
            _ => row.extend((0..5).map(|_| Cell::empty())),
        }
        row
    });
    let columns = [
        ("job", "job"),
        ("on", "target"),
        ("depth", "iodepth"),
        ("throughput", "bytes_per_s"),
        ("IOPS", "iops"),
        ("mean latency", "latency_mean_ns"),
        ("median", "latency_median_ns"),
        ("99th percentile", "latency_p99_ns"),
    ];
    Table::new("jobs-table", "Jobs, over the whole run", &columns, rows.collect())
}

/// What the result rests on.
pub(crate) fn numbers(blueprint: &Blueprint) -> Section {
    let all: Vec<Parameter> = blueprint
        .numbers()
        .into_iter()
        .chain(blueprint.choices())
        .map(|(name, entry)| Parameter {
            name,
            value: entry.written.clone(),
            basis: entry.basis.word().to_string(),
            from: entry.basis.text().to_string(),
            range: String::new(),
        })
        .collect();
    let of = |basis: &str| -> Vec<&Parameter> { all.iter().filter(|parameter| parameter.basis == basis).collect() };
    let (fitted, assumed) = (of("fitted"), of("assumed"));
    let words = format!(
        "Of {} numbers, {} were assumed and {} fitted; the others come from documents and measurements.",
        all.len(),
        assumed.len(),
        fitted.len()
    );
    let mut section = Section::new("rests-on", "What the result rests on").words(words);
    for (basis, caption, list) in [
        ("fitted", "Fitted: chosen so that results fit", fitted),
        ("assumed", "Assumed: nothing better is known", assumed),
    ] {
        if !list.is_empty() {
            section.blocks.push(Block::Table(parameter_table(basis, &format!("{caption} ({})", list.len()), &list)));
        }
    }
    section
}

#[cfg(test)]
mod tests {
    use hopscope_questions::trials::{Gain, Shift};

    use super::*;

    #[test]
    fn a_share_that_chance_hides_is_unknown_and_kept() {
        let cell = |mean, half_width| {
            let share = Gain { throughput: Shift { mean, half_width }, latency: Shift::NONE };
            let (part, hop) = ("disk0".to_string(), "disk0.arm".to_string());
            let cell = share_of(&HopGain { part, hop, doubled: Gain::NONE, share, busy: 0.5 });
            let text = cell.text.clone();
            let csv = Table::new("shares", "Shares", &[("share", "share")], vec![vec![cell]]).csv;
            (text, csv.expect("for programs, too").text())
        };
        assert_eq!(cell(0.62, 0.04), ("+62.0 %".to_string(), "share\n0.62\n".to_string()));
        assert_eq!(cell(1.47, 2.95), ("unknown".to_string(), "share\n1.47\n".to_string()));
    }
}
