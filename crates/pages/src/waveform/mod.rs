//! The page of a waveform: what happened on a bus and on cables, where the time went, and all of it over time.

mod over_time;

use hopscope_signals::pci::SPENT_ON;
use hopscope_signals::pci::latency_timer::LatencyTimer;
use hopscope_signals::pci::pattern::{Pattern, Step};
use hopscope_signals::pci::pins::{NOBODY, Pins};
use hopscope_signals::pci::summary::{Summary, quantile};
use hopscope_signals::waveform::{Bus, Waveform};

use crate::cable;
use crate::charts::stacks::{self, Bar, Segment, Stacks};
use crate::drawing::Key;
use crate::histogram;
use crate::page::{Behind, Block, Chapter, Figure, Kind, Page, Section, Tile};
use crate::table::{Cell, Table, Tone};
use crate::wording::{digits, file_name, percent, rate, span_ps};

/// Initiators with their commands, and transactions of a period, that are drawn.
const BARS_MAX: usize = 24;
/// Rows of a table.
const ROWS_MAX: usize = 400;
/// How each of [`SPENT_ON`] is drawn, and idle clocks.
const CLASSES: [&str; 6] = ["protocol", "waiting", "payload", "width", "nothing", "idle"];

/// A capture that was read.
pub struct Subject<'a> {
    /// As the command line names it.
    pub name: &'a str,
    /// What was found.
    pub found: &'a Waveform,
}

/// The page.
pub fn page(subject: &Subject, command: &str) -> Page {
    let Subject { name, found } = subject;
    let Waveform { bus, cables, .. } = found;
    let file = file_name(name);
    let mut answer: Vec<String> = bus.iter().flat_map(answer).collect();
    answer.extend(cables.iter().map(cable::in_a_sentence));
    answer.extend(found.cut().map(|cut| format!("The capture is broken at {cut}.")));
    let mut sections: Vec<Section> = over_time::section(found).into_iter().collect();
    sections.extend(bus.iter().flat_map(of_bus));
    sections.extend(cables.iter().enumerate().flat_map(|(number, of)| cable::section(number, of, &found.delays(of))));
    let chapter = Chapter {
        id: "capture".to_string(),
        title: file.clone(),
        source: name.to_string(),
        answer,
        tiles: bus.iter().flat_map(tiles).collect(),
        sections,
        data: found.in_short(),
        csvs: Vec::new(),
    };
    Page { title: format!("What happens in {file}"), command: command.to_string(), chapters: vec![chapter] }
}

fn answer(bus: &Bus) -> Vec<String> {
    let Bus { pins, summary, .. } = bus;
    let mut lines = vec![format!(
        "{} transactions on {} in {} clocks of {}: {} of data, in {} of the clocks.",
        summary.transactions,
        pins.decoder.protocol(),
        summary.clocks,
        span_ps(summary.clock_ps),
        rate(summary.bytes_per_second()),
        percent(summary.efficiency()),
    )];
    let spent = summary.spent.iter().filter(|(what, _)| *what != "data");
    if let Some((what, clocks)) = spent.max_by_key(|(_, clocks)| *clocks).filter(|(_, clocks)| *clocks > 0) {
        let share = *clocks as f64 / summary.clocks.max(1) as f64;
        lines.push(format!("Most of the other clocks: {what} ({}).", percent(share)));
    }
    for LatencyTimer { initiator, clocks, bursts } in summary.timers.found() {
        let who = who(pins, Some(initiator));
        lines.push(format!("Latency timer of {who}: {bursts} bursts were given up after {clocks} clocks."));
    }
    if !pins.without.is_empty() {
        lines.push(format!("Not in the capture: {}.", pins.without.join(", ")));
    }
    for (pin, clocks) in pins.unknown_clocks() {
        lines.push(format!("{pin} is neither 0 nor 1 in {clocks} clocks: it is read as not asserted there."));
    }
    if !pins.others.is_empty() {
        lines.push(format!("This is {}; other buses in the capture: {}.", pins.scope, pins.others.join(", ")));
    }
    lines
}

fn tiles(bus: &Bus) -> Vec<Tile> {
    let summary = &bus.summary;
    let tile = |name: &str, figure: String, about: String| Tile { name: name.into(), figure, about, tone: Tone::Plain };
    let wrong = bus.pins.decoder.violations.len() as u64 + summary.parity_errors;
    let tone = if wrong == 0 { Tone::Good } else { Tone::Poor };
    vec![
        tile("Data", rate(summary.bytes_per_second()), format!("{} bytes", summary.bytes)),
        tile("Clocks with data", percent(summary.efficiency()), format!("of {}", summary.clocks)),
        tile("Clocks in use", percent(summary.busy()), format!("by {} transactions", summary.transactions)),
        Tile { tone, ..tile("Violations", wrong.to_string(), "of rules, and wrong parity".to_string()) },
    ]
}

fn who(pins: &Pins, number: Option<usize>) -> String {
    pins.initiator(number).unwrap_or(NOBODY).to_string()
}

fn of_bus(bus: &Bus) -> Vec<Section> {
    let mut sections = vec![spent(bus)];
    sections.extend(bus.repeats.iter().map(|repeats| period(bus, repeats)));
    sections.extend(histograms(&bus.summary));
    sections.extend(violations(&bus.pins));
    sections
}

/// Clocks by what they were, as parts of a bar.
fn segments(spent: &[u64], names: &[&str], of: u64) -> Vec<Segment> {
    let parts = spent.iter().zip(names).zip(CLASSES).filter(|((clocks, _), _)| **clocks > 0);
    let segment = |((clocks, name), class): ((&u64, &&str), &str)| Segment {
        names: vec![name.to_string(), clocks.to_string()],
        class: class.to_string(),
        amount: *clocks as f64,
        tip: format!("{name} {clocks} clocks, {}", percent(*clocks as f64 / of.max(1) as f64)),
    };
    parts.map(segment).collect()
}

fn clocks_legend() -> Vec<Key> {
    SPENT_ON.iter().zip(CLASSES).map(|(name, class)| Key::of_class(class, name)).collect()
}

fn spent(bus: &Bus) -> Section {
    let Bus { pins, summary, .. } = bus;
    let names: Vec<&str> = summary.spent.iter().map(|(what, _)| *what).collect();
    let all: Vec<u64> = summary.spent.iter().map(|(_, clocks)| *clocks).collect();
    let whole = Bar {
        name: "all clocks".to_string(),
        about: "of the capture".to_string(),
        figure: summary.clocks.to_string(),
        segments: segments(&all, &names, summary.clocks),
    };
    let bars = summary.shares.iter().take(BARS_MAX).map(|((initiator, command), share)| Bar {
        name: who(pins, *initiator),
        about: command.word().to_string(),
        figure: share.clocks.to_string(),
        segments: segments(&share.spent, &SPENT_ON, share.clocks),
    });
    let busy: u64 = summary.shares.values().map(|share| share.clocks).sum();
    let stack = |title: &str, bars: Vec<Bar>, legend: Vec<Key>| {
        let stacks = Stacks {
            title: title.to_string(),
            description: format!("{busy} of {} clocks belong to transactions.", summary.clocks),
            bars,
            most: None,
            unit: "clocks".to_string(),
            legend,
            row: (40.0, 24.0),
        };
        stacks::draw(&stacks)
    };
    let mut legend = clocks_legend();
    legend.push(Key::of_class("idle", "idle"));
    let figure = |id: &str, drawing| Figure {
        id: id.to_string(),
        drawing,
        caption: String::new(),
        kind: Kind::Marks,
        data: serde_json::json!({ "clocks": summary.clocks, "spent": summary.spent }),
        behind: Behind::Elsewhere("shares".to_string()),
        width_min: 760,
    };
    let mut figures = vec![figure("spent", stack("Where the clocks went", vec![whole], legend))];
    if busy > 0 {
        let title = "Those in use, by initiator and command";
        figures.push(figure("spent-by", stack(title, bars.collect(), clocks_legend())));
    }
    let section = Section::new("clocks", "Where the clocks went");
    section.block(Block::Figures(figures, 1)).block(Block::Table(shares(pins, summary)))
}

fn shares(pins: &Pins, summary: &Summary) -> Table {
    let rows = summary.shares.iter().take(ROWS_MAX).map(|((initiator, command), share)| {
        let mut row = vec![Cell::words(who(pins, *initiator)), Cell::words(command.word())];
        row.extend(
            [share.transactions, share.bytes, share.data_phases, share.clocks]
                .map(|of| Cell::figure(of.to_string(), of)),
        );
        row.extend([0.0, 0.5, 0.99, 1.0].map(|at| {
            quantile(&share.latencies, at).map_or_else(Cell::empty, |clocks| Cell::figure(clocks.to_string(), clocks))
        }));
        row.push(Cell::words(share.ended_by_others()));
        row
    });
    let columns = [
        ("initiator", "initiator"),
        ("command", "command"),
        ("transactions", "transactions"),
        ("bytes", "bytes"),
        ("data phases", "data_phases"),
        ("clocks", "clocks"),
        ("to the first data: least", "to_data_least_clocks"),
        ("median", "to_data_median_clocks"),
        ("99 %", "to_data_p99_clocks"),
        ("most", "to_data_most_clocks"),
        ("ended by others", "ended_by_others"),
    ];
    Table::new("shares", "By initiator and command", &columns, rows.collect())
}

fn period(bus: &Bus, repeats: &Pattern) -> Section {
    let clocks = repeats.clocks();
    let ps = clocks as f64 * bus.summary.clock_ps;
    let speed = rate(repeats.bytes() as f64 / (ps / 1e12).max(f64::MIN_POSITIVE));
    let listed = bus.pins.decoder.transactions.len() as f64;
    let words = format!(
        "{} transactions in {clocks} clocks ({}) come again and again, {} times: {} bytes, {speed}. {} of the listed \
         transactions are among them.",
        repeats.steps.len(),
        span_ps(ps),
        repeats.times,
        repeats.bytes(),
        percent(repeats.transactions as f64 / listed.max(1.0)),
    );
    let names: Vec<&str> = SPENT_ON.into_iter().chain(["idle"]).collect();
    let bar = |(number, step): (usize, &Step)| {
        let spent = [step.address, step.wait, step.data, step.between, step.after, step.idle_before];
        Bar {
            name: format!("{}. {}", number + 1, step.command.word()),
            about: who(&bus.pins, step.initiator),
            figure: format!("{} clocks", step.clocks()),
            segments: segments(&spent, &names, step.clocks()),
        }
    };
    let mut legend = clocks_legend();
    legend.push(Key::of_class("idle", "idle before it"));
    let stacks = Stacks {
        title: "What repeats".to_string(),
        description: words.clone(),
        bars: repeats.steps.iter().take(BARS_MAX).enumerate().map(bar).collect(),
        most: None,
        unit: "clocks".to_string(),
        legend,
        row: (40.0, 24.0),
    };
    let rows = repeats.steps.iter().enumerate().map(|(number, step)| {
        let mut row = vec![Cell::figure((number + 1).to_string(), number + 1)];
        row.extend([Cell::words(who(&bus.pins, step.initiator)), Cell::words(step.command.word())]);
        let clocks = [step.idle_before, step.address, step.wait, step.data, step.between, step.after, step.bytes];
        row.extend(clocks.map(|of| Cell::figure(of.to_string(), of)));
        row.push(Cell::words(step.ended_by.word()));
        row
    });
    let columns = [
        ("", "number"),
        ("initiator", "initiator"),
        ("command", "command"),
        ("idle before", "idle_before_clocks"),
        ("address", "address_clocks"),
        ("wait", "wait_clocks"),
        ("data", "data_clocks"),
        ("more waits", "between_clocks"),
        ("after", "after_clocks"),
        ("bytes", "bytes"),
        ("ended by", "ended_by"),
    ];
    let figure = Figure {
        id: "period".to_string(),
        drawing: stacks::draw(&stacks),
        caption: "One period, transaction by transaction, in clocks.".to_string(),
        kind: Kind::Marks,
        data: serde_json::json!({ "clocks": clocks, "bytes": repeats.bytes(), "times": repeats.times }),
        behind: Behind::Table(Table::new("period-table", "One period", &columns, rows.collect())),
        width_min: 760,
    };
    Section::new("repeats", "What repeats").words(words).block(Block::Figures(vec![figure], 1))
}

fn histograms(summary: &Summary) -> Option<Section> {
    let figures = [
        ("bursts", "Bursts by their length", "bytes", summary.bursts()),
        ("to-data", "From FRAME# to the first data", "clocks", summary.latencies()),
        ("idle", "Idle clocks between transactions", "clocks", summary.idles.clone()),
    ];
    let figures = figures.iter().filter(|(.., counts)| !counts.is_empty());
    let figures = figures.map(|(id, title, unit, counts)| histogram::figure(id, title, unit, "transactions", counts));
    let figures: Vec<Figure> = figures.collect();
    (!figures.is_empty()).then(|| Section::new("histograms", "How often").block(Block::Figures(figures, 1)))
}

fn violations(pins: &Pins) -> Option<Section> {
    let all = &pins.decoder.violations;
    let rows = all
        .iter()
        .take(ROWS_MAX)
        .map(|of| vec![Cell::figure(span_ps(of.at_ps as f64), digits(of.at_ps as f64 / 1e3)), Cell::words(of.rule)]);
    let caption = format!("The first {} of {}", all.len().min(ROWS_MAX), all.len());
    let table = Table::new("violations-table", &caption, &[("at", "at_ns"), ("what", "rule")], rows.collect());
    (!all.is_empty()).then(|| Section::new("violations", "Violations").block(Block::Table(table)))
}
