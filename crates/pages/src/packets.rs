//! The page of a capture of PCI Express packets: who asks for what, how long it takes, what drives do, over time.

use hopscope_signals::pcie::agents::{Row as Requests, RowKey, Spread};
use hopscope_signals::pcie::capture::Capture;
use hopscope_signals::pcie::fields;
use hopscope_signals::pcie::nvme::{Command, Drive, PHASES};
use hopscope_signals::pcie::over_time::{MOVED, WAITED_FOR, ps};
use hopscope_signals::pcie::pairs::Transaction;
use hopscope_signals::timeline::slots::Slots;
use hopscope_signals::timeline::steps::Steps;
use serde_json::Value;

use crate::charts::distributions::{self, Distribution};
use crate::charts::levels::{self, Levels, Measure, Row, Single};
use crate::charts::stacks::{self, Bar, Segment, Stacks};
use crate::drawing::Key;
use crate::page::{Behind, Block, Chapter, Figure, Kind, Page, Section, Tile};
use crate::table::{Cell, Table, Tone};
use crate::wording::{digits, file_name, rate, slug, span_ps};

/// Rows of a table, and curves of a drawing.
const ROWS_MAX: usize = 400;
const CURVES_MAX: usize = 6;
/// Steps of a distribution.
const STEPS: u32 = 200;
/// Commands of a drive that are listed.
const COMMANDS_MAX: usize = 200;
/// How what is waited for is drawn.
const WAITED: [&str; 2] = ["waiting", "payload"];
const MOVED_CLASSES: [&str; 2] = ["payload", "width"];
/// How the phases of a command are drawn, but for all of them together.
const PHASE_CLASSES: [&str; 7] = ["waiting", "protocol", "protocol", "waiting", "payload", "waiting", "nothing"];

/// A capture that was read.
pub struct Subject<'a> {
    /// As the command line names it.
    pub name: &'a str,
    /// What was found.
    pub found: &'a Capture,
    /// The same for programs, but for the transactions one by one.
    pub data: Value,
}

/// The page.
pub fn page(subject: Subject, command: &str) -> Page {
    let Subject { name, found, data } = subject;
    let file = file_name(name);
    let packets = &found.packets;
    let mut answer = vec![format!("{} packets in {}.", packets.packets, span_ps(1e3 * packets.span_ns as f64))];
    for drive in &found.drives {
        answer.push(format!("An NVMe drive, {}: {} commands.", drive.id, drive.commands.len()));
    }
    let lost = found.strays.completions + packets.missing + packets.unreadable;
    if lost > 0 {
        answer.push(format!(
            "{} completions have no request in the capture, {} packets are missing, {} frames cannot be read.",
            found.strays.completions, packets.missing, packets.unreadable
        ));
    }
    answer.extend(found.stopped.as_ref().map(|why| format!("The capture is broken: {why}.")));
    let mut sections: Vec<Section> = over_time(found).into_iter().collect();
    sections.push(requests(found));
    sections.extend(found.drives.iter().enumerate().map(|(number, drive)| of_drive(number, drive)));
    sections.push(kinds(found));
    sections.extend(decided(found));
    let chapter = Chapter {
        id: "capture".to_string(),
        title: file.clone(),
        source: name.to_string(),
        answer,
        tiles: tiles(found),
        sections,
        data,
        csvs: Vec::new(),
    };
    Page { title: format!("What happens in {file}"), command: command.to_string(), chapters: vec![chapter] }
}

fn tiles(found: &Capture) -> Vec<Tile> {
    let tile = |name: &str, figure: String, about: &str| Tile {
        name: name.into(),
        figure,
        about: about.into(),
        tone: Tone::Plain,
    };
    let seconds = found.packets.span_ns.max(1) as f64 / 1e9;
    let bytes =
        |of: fn(&hopscope_signals::pcie::agents::Agent) -> u64| found.agents.agents.values().map(of).sum::<u64>();
    let (read, written) = (bytes(|agent| agent.reads.bytes), bytes(|agent| agent.writes.bytes));
    let most = found.agents.agents.values().map(|agent| agent.in_flight_max).max().unwrap_or(0);
    vec![
        tile("Asked for by reads", rate(read as f64 / seconds), &format!("{read} bytes")),
        tile("Written", rate(written as f64 / seconds), &format!("{written} bytes")),
        tile("Requests at once", most.to_string(), "of one requester, at most"),
        tile("Packets", found.packets.packets.to_string(), "of all kinds"),
    ]
}

fn over_time(found: &Capture) -> Option<Section> {
    let (mut rows, mut singles) = (Vec::new(), Vec::new());
    let requesters = &found.over_time.requesters;
    for of in requesters {
        let who = format!("{} ({})", of.id, of.way.word());
        let place = rows.len();
        if of.waited.until_ps() > 0 {
            let name = format!("requests of {who} that wait");
            let kinds = levels::kinds(&WAITED_FOR, &WAITED);
            let mine = |one: &&Transaction| (one.way, one.requester.id) == (of.way, of.id);
            let mut slots = Slots::default();
            let waiting = found.transactions.iter().filter(mine).filter_map(|one| request(one, place, &mut slots));
            singles.extend(waiting);
            let height = height(slots.rows());
            rows.push(Row::new(name, kinds, Measure::AtOnce, height, &of.waited));
        }
        let kinds = levels::kinds(&MOVED, &MOVED_CLASSES);
        rows.push(Row::new(who, kinds, Measure::Rate, 48.0, &of.moved));
    }
    for drive in &found.drives {
        let place = rows.len();
        let mut steps = Steps::new(PHASES.len() - 1, 0);
        let (mut commands, mut slots) = (Vec::new(), Slots::default());
        for command in &drive.commands {
            let (from_ps, parts) = phases(command);
            let mut at = from_ps;
            for (kind, until_ps) in &parts {
                steps.spent(*kind, at, *until_ps);
                at = *until_ps;
            }
            commands.push((from_ps, at, parts, command));
        }
        commands.sort_by_key(|(from_ps, ..)| *from_ps);
        singles.extend(commands.into_iter().map(|(from_ps, until_ps, parts, command)| {
            let about =
                command.blocks().map_or(String::new(), |(block, blocks)| format!(", {blocks} blocks at {block}"));
            let queue = command.queue.map_or("?".to_string(), |queue| queue.to_string());
            let words = format!("{}{about}, queue {queue}, id {}", command.word(), command.entry.id);
            let lane = slots.row(from_ps, until_ps);
            Single { rows: vec![place], from_ps, until_ps, words, address: None, lane, request: None, parts }
        }));
        let name = format!("commands of {}", drive.id);
        let kinds = levels::kinds(&PHASES[..PHASES.len() - 1], &PHASE_CLASSES);
        rows.push(Row::new(name, kinds, Measure::AtOnce, height(slots.rows()), &steps));
    }
    let until_ps = rows.iter().map(|row| row.span_ps.1).max()?;
    let all = found.not_listed == 0;
    let listed = found.transactions.last().map_or(0, |one| ps(one.start_ns));
    let levels = Levels::new("Over time", (0, until_ps), rows, singles, if all { u64::MAX } else { listed });
    let figure = levels.figure("What waits, and what moves.");
    Some(Section::new("timeline", "Over time").block(Block::Figures(vec![figure], 1)))
}

/// Of a row with so many of something at once.
fn height(lanes: usize) -> f64 {
    (8.0 * lanes as f64).clamp(40.0, 168.0)
}

/// A request that was answered.
fn request(one: &Transaction, row: usize, slots: &mut Slots) -> Option<Single> {
    let (first_ns, end_ns) = one.first_ns.zip(one.end_ns)?;
    let (from_ps, until_ps) = (ps(one.start_ns), ps(end_ns.max(one.start_ns)));
    let first_ps = ps(first_ns).clamp(from_ps, until_ps);
    let words = format!("{}, {} bytes, tag {}, {}", one.kind.word(), one.bytes, one.requester.tag, one.ended.word());
    let lane = slots.row(from_ps, until_ps);
    let parts = vec![(0, first_ps), (1, until_ps)];
    Some(Single { rows: vec![row], from_ps, until_ps, words, address: Some(one.address), lane, request: None, parts })
}

/// When a command began, and its phases, one after the other: which, and until when.
fn phases(command: &Command) -> (u64, Vec<(usize, u64)>) {
    let [fetch, fetched] = command.fetch_ns;
    let span = |place: usize, before: usize, span: Option<[i64; 2]>| {
        span.into_iter().flat_map(move |[from, until]| [(before, from), (place, until)])
    };
    let from_ps = ps(command.doorbell_ns.unwrap_or(fetch));
    let ends = [(0, fetch), (1, fetched)].into_iter();
    let ends = ends.chain(span(2, 3, command.list_ns)).chain(span(4, 3, command.data_ns));
    let ends = ends.chain(command.entry_ns.map(|ns| (5, ns))).chain(command.interrupt_ns.map(|ns| (6, ns)));
    let mut at = from_ps;
    let parts = ends.filter_map(|(kind, ns)| {
        let (before, until_ps) = (at, ps(ns));
        at = at.max(until_ps);
        (until_ps > before).then_some((kind, until_ps))
    });
    (from_ps, parts.collect())
}

fn requests(found: &Capture) -> Section {
    let answered: Vec<(&RowKey, &Requests)> =
        found.agents.rows.iter().filter(|(_, row)| row.latencies.count() > 0).collect();
    let mut most: Vec<&(&RowKey, &Requests)> = answered.iter().collect();
    most.sort_by_key(|(key, row)| (std::cmp::Reverse(row.count), **key));
    let curves: Vec<Distribution> = most.iter().take(CURVES_MAX).map(|(key, row)| curve(key, row)).collect();
    let mut section = Section::new("requests", "Requests and their completions");
    if !curves.is_empty() {
        section = section.block(Block::Figures(
            vec![Figure {
                id: "latencies".into(),
                drawing: distributions::draw(&curves, "From a request to its last completion"),
                caption: "The share of requests that took no longer than a time, on a logarithmic scale.".into(),
                kind: Kind::Marks,
                data: curves.iter().map(|of| serde_json::json!({ "name": of.name, "steps_ns": of.steps })).collect(),
                behind: Behind::Elsewhere("requests-table".into()),
                width_min: 760,
            }],
            1,
        ));
    }
    let rows = found.agents.rows.iter().take(ROWS_MAX).map(|(key, row)| {
        let ended: Vec<String> = row.ended.iter().map(|(how, count)| format!("{count} {}", how.word())).collect();
        let mut cells = vec![
            Cell::words(key.requester.to_string()),
            Cell::words(key.way.word()),
            Cell::words(key.kind.word()),
            Cell::figure(key.bytes.to_string(), key.bytes),
            Cell::figure(row.count.to_string(), row.count),
            Cell::words(ended.join(", ")),
        ];
        let ns = |ns: Option<u64>| ns.map_or_else(Cell::empty, |ns| Cell::figure(span_ps(1e3 * ns as f64), ns));
        cells.push(ns(row.latency_ns.mean().map(|_| row.latency_ns.min.max(0) as u64)));
        cells.extend([0.5, 0.99].map(|share| ns(row.latencies.at_ns(share))));
        cells.push(ns(row.latency_ns.mean().map(|_| row.latency_ns.max.max(0) as u64)));
        cells
    });
    let columns = [
        ("who", "requester"),
        ("way", "way"),
        ("what", "command"),
        ("bytes", "bytes"),
        ("count", "count"),
        ("ended", "ended"),
        ("least", "least_ns"),
        ("median", "median_ns"),
        ("99 %", "p99_ns"),
        ("most", "most_ns"),
    ];
    section.block(Block::Table(Table::new(
        "requests-table",
        "Requests, and how long they took",
        &columns,
        rows.collect(),
    )))
}

fn curve(key: &RowKey, row: &Requests) -> Distribution {
    let shares = (1..=STEPS).map(|step| f64::from(step) / f64::from(STEPS));
    Distribution {
        name: format!("{} {} of {} bytes ({})", key.requester, key.kind.word(), key.bytes, key.way.word()),
        steps: shares.filter_map(|share| Some((row.latencies.at_ns(share)? as f64, share))).collect(),
    }
}

fn of_drive(number: usize, drive: &Drive) -> Section {
    let spreads: Vec<Spread> = (0..PHASES.len())
        .map(|place| {
            let mut spread = Spread::default();
            drive.commands.iter().filter_map(|command| command.phases()[place]).for_each(|ns| spread.add(ns));
            spread
        })
        .collect();
    let named = PHASES.iter().zip(&spreads).zip(PHASE_CLASSES);
    let segments = named.filter_map(|((name, spread), class)| {
        let mean = spread.mean()?;
        let tip = format!("{name} {} on average, of {} commands", span_ps(1e3 * mean), spread.count);
        Some(Segment { names: vec![name.to_string()], class: class.to_string(), amount: mean / 1e3, tip })
    });
    let all = spreads[PHASES.len() - 1].mean();
    let bar = Bar {
        name: format!("{} commands", drive.commands.len()),
        about: "mean of each phase".to_string(),
        figure: all.map_or(String::new(), |ns| span_ps(1e3 * ns)),
        segments: segments.collect(),
    };
    let title = format!("What a command of {} consists of", drive.id);
    let stacks = Stacks {
        title: title.clone(),
        description: format!("The mean phases of {} commands, one after the other.", drive.commands.len()),
        bars: vec![bar],
        most: None,
        unit: "µs".to_string(),
        legend: PHASES.iter().zip(PHASE_CLASSES).map(|(name, class)| Key::of_class(class, name)).collect(),
        row: (48.0, 28.0),
    };
    let rows = PHASES.iter().zip(&spreads).filter_map(|(name, spread)| {
        let mean = spread.mean()?;
        let times = [spread.min as f64, mean, spread.max as f64].map(|ns| Cell::figure(span_ps(1e3 * ns), ns));
        Some(
            [Cell::words(*name), Cell::figure(spread.count.to_string(), spread.count)]
                .into_iter()
                .chain(times)
                .collect(),
        )
    });
    let columns =
        [("phase", "phase"), ("commands", "commands"), ("least", "least_ns"), ("mean", "mean_ns"), ("most", "most_ns")];
    let id = |what: &str| format!("drive-{number}-{what}");
    let figure = Figure {
        id: id("phases"),
        drawing: stacks::draw(&stacks),
        caption: String::new(),
        kind: Kind::Marks,
        data: PHASES.iter().zip(&spreads).map(|(name, of)| serde_json::json!([name, of.mean()])).collect(),
        behind: Behind::Table(Table::new(&id("phases-table"), "Phases of its commands", &columns, rows.collect())),
        width_min: 760,
    };
    let section = Section::new(&slug(&id("commands")), &format!("NVMe drive {} ({})", drive.id, drive.way.word()));
    section.block(Block::Figures(vec![figure], 1)).block(Block::Table(commands(&id("commands-table"), drive)))
}

fn commands(id: &str, drive: &Drive) -> Table {
    let rows = drive.commands.iter().take(COMMANDS_MAX).map(|command| {
        let (block, blocks) =
            command.blocks().map_or((None, None), |(block, blocks)| (Some(block), Some(u64::from(blocks))));
        let number = |number: Option<u64>| number.map_or_else(Cell::empty, |of| Cell::figure(of.to_string(), of));
        let mut cells = vec![Cell::words(command.queue.map_or("?".to_string(), |queue| queue.to_string()))];
        cells.extend([Cell::figure(command.entry.id.to_string(), command.entry.id), Cell::words(command.word())]);
        cells.extend([number(block), number(blocks)]);
        let time = |ns: Option<i64>| ns.map_or_else(Cell::empty, |ns| Cell::figure(digits(ns as f64 / 1e3), ns));
        cells.extend(command.phases().map(time));
        cells
    });
    let phases: Vec<(String, String)> =
        PHASES.iter().map(|name| (format!("{name}, µs"), format!("{}_ns", name.replace(' ', "_")))).collect();
    let first = [("queue", "queue"), ("id", "id"), ("command", "command"), ("block", "block"), ("blocks", "blocks")];
    let columns: Vec<(&str, &str)> =
        first.into_iter().chain(phases.iter().map(|(name, raw)| (name.as_str(), raw.as_str()))).collect();
    let caption = format!("The first {} of {} commands", drive.commands.len().min(COMMANDS_MAX), drive.commands.len());
    Table::new(id, &caption, &columns, rows.collect())
}

fn kinds(found: &Capture) -> Section {
    let rows = found.packets.kinds.iter().take(ROWS_MAX).map(|((way, kind, bytes), count)| {
        vec![
            Cell::words(way.word()),
            Cell::words(kind.word()),
            Cell::figure(bytes.to_string(), bytes),
            Cell::figure(count.to_string(), count),
        ]
    });
    let columns = [("way", "way"), ("packet", "packet"), ("bytes", "bytes"), ("count", "count")];
    let table = Table::new("packets", "Packets by kind and size", &columns, rows.collect());
    Section::new("kinds", "Packets").block(Block::Table(table))
}

/// Numbers of a part's file that are decided by it.
fn decided(found: &Capture) -> Option<Section> {
    let devices = fields::decided(found);
    let rows = devices.iter().flat_map(|device| {
        device.fields.iter().map(|field| {
            vec![
                Cell::words(device.id.to_string()),
                Cell::words(field.table),
                Cell::words(field.key),
                Cell::words(field.value.clone()),
                Cell::words(field.measured.clone()),
            ]
        })
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let columns =
        [("device", "device"), ("table", "table"), ("key", "key"), ("value", "value"), ("measured", "measured")];
    let words = "What a device was seen doing is what was set; it may be able to do more.";
    (!rows.is_empty()).then(|| {
        let table = Table::new("decided-table", "Fields of a part's file that this decides", &columns, rows);
        Section::new("decided", "For a part's file").words(words).block(Block::Table(table))
    })
}
