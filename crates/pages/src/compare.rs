//! The page of things side by side: which is better, and why?

use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::price::digits_per_dollar;
use hopscope_observe::account::Use;
use hopscope_questions::compare::{Aligned, Column, Comparison, Group, Limit, Stage, StageChange, aligned, json};
use hopscope_questions::explain::Explained;
use serde_json::{Value, json};

use crate::account::style;
use crate::charts::bars::{self, Changes, Effect};
use crate::charts::stacks::{self, Bar, Segment, Stacks};
use crate::charts::waterfall;
use crate::map;
use crate::page::{Behind, Block, Chapter, Figure, Kind, Page, Section, Tile};
use crate::table::{Cell, Table, Tone};
use crate::wording::{digits, percent, rate, signed_percent, slug, span_ps};

/// Stages with bars of their own, at most, and the share of the longest latency that each has at least.
const SHOWN_MAX: usize = 12;
const OWN_BAR: f64 = 0.005;

/// A machine that was simulated.
pub struct Machine<'a> {
    /// What it is made of.
    pub blueprint: &'a Blueprint,
    /// What it did.
    pub explained: &'a Explained,
}

/// The page: a chapter a group. Of the first columns there are the `machines`; of saved results there are none.
pub fn page(comparison: &Comparison, machines: &[Machine], command: &str) -> Page {
    let report = json::report(comparison);
    let chapter = |(index, group): (usize, &Group)| {
        let data = if index == 0 { report.clone() } else { report["groups"][index].clone() };
        let maps = maps(comparison, group, machines);
        chapter(comparison, (index, group), maps, data)
    };
    let names: Vec<&str> = match comparison.groups.first() {
        Some(group) => comparison.of(group).map(|column| &column.name[..]).collect(),
        None => Vec::new(),
    };
    Page {
        title: format!("Side by side: {}", names.join(", ")),
        command: command.to_string(),
        chapters: comparison.groups.iter().enumerate().map(chapter).collect(),
    }
}

fn chapter(comparison: &Comparison, (index, group): (usize, &Group), maps: Option<Section>, data: Value) -> Chapter {
    let columns: Vec<&Column> = comparison.of(group).collect();
    let mut sections: Vec<Section> = maps.into_iter().collect();
    sections.push(figures_section(&columns));
    sections.extend(stages_section(&columns));
    let about = |column: &&Column| {
        let words = [&column.machine, &column.system, &column.job];
        let said: Vec<&str> = words.into_iter().flatten().map(String::as_str).collect();
        if said.is_empty() { column.name.clone() } else { format!("{}: {}", column.name, said.join(", ")) }
    };
    let id = if comparison.groups.len() == 1 { "compare".to_string() } else { format!("compare-{}", index + 1) };
    Chapter {
        id: slug(&id),
        title: group.job.clone().unwrap_or_else(|| "Side by side".to_string()),
        source: columns.iter().map(about).collect::<Vec<_>>().join("; "),
        answer: comparison.verdict(group),
        tiles: tiles(&columns),
        sections,
        data,
        csvs: Vec::new(),
    }
}

/// The machines of a group, each with what is not as in the first of them.
fn maps(comparison: &Comparison, group: &Group, machines: &[Machine]) -> Option<Section> {
    let there: Vec<(usize, &Machine)> =
        group.columns.iter().filter_map(|column| Some((*column, machines.get(*column)?))).collect();
    let (_, first) = there.first()?;
    let figure = |(number, (column, machine)): (usize, &(usize, &Machine))| {
        let column = &comparison.columns[*column];
        let limit = column.limit.as_ref().filter(|limit| limit.kind != "workload");
        let limiting = limit.map_or(&[][..], |limit| &limit.hops);
        let changed = |part: &str| map::difference(part, machine.blueprint, first.blueprint, None);
        let (account, latency) = (machine.explained.alike(), machine.explained.latency_alike());
        let map = map::figure(machine.blueprint, (&account, latency.as_ref()), limiting, &changed);
        map.named(&format!("column-{}", number + 1), &column.name)
    };
    let figures = there.iter().enumerate().map(figure).collect();
    let words = "Each with what its hops did, and what limits. Parts that the first one has too, with other \
                 numbers, are marked.";
    Some(Section::new("glance", "The machines at a glance").words(words).block(Block::Figures(figures, 2)))
}

/// The throughput of each, that of the fastest as it should be.
fn tiles(columns: &[&Column]) -> Vec<Tile> {
    let most = columns.iter().filter_map(|column| column.throughput_bytes_per_s).fold(0.0, f64::max);
    let tile = |column: &&Column| {
        let got = column.throughput_bytes_per_s;
        let latency = column.latency_mean_ns.map(|ns| format!("mean latency {}", span_ps(1e3 * ns)));
        Tile {
            name: column.name.clone(),
            figure: got.map_or("nothing".to_string(), rate),
            about: latency.unwrap_or_default(),
            tone: if got == Some(most) { Tone::Good } else { Tone::Plain },
        }
    };
    columns.iter().map(tile).collect()
}

fn figures_section(columns: &[&Column]) -> Section {
    let words = "What each gets, and what limits it: the hop that gains most at twice its pace, or hops that gain more \
                 together. Changes are against the first.";
    let section = Section::new("figures", "Figures").words(words);
    section.block(Block::Figures(vec![rates(columns)], 1)).block(Block::Table(table(columns)))
}

/// A bar for what each gets.
fn rates(columns: &[&Column]) -> Figure {
    let bar = |column: &&Column| {
        let got = column.throughput_bytes_per_s.unwrap_or(0.0);
        let wide = column.interval.map_or(String::new(), |wide| format!(" ±{}", percent(wide)));
        Bar {
            name: column.name.clone(),
            about: column.limit.as_ref().map_or(String::new(), |limit| format!("limit: {}", limit.what())),
            figure: rate(got),
            segments: vec![Segment {
                names: Vec::new(),
                class: style(Use::Payload).to_string(),
                amount: got / 1e6,
                tip: format!("{}{wide}", rate(got)),
            }],
        }
    };
    let said: Vec<String> =
        columns.iter().map(|of| format!("{} {}", of.name, rate(of.throughput_bytes_per_s.unwrap_or(0.0)))).collect();
    let drawing = stacks::draw(&Stacks {
        title: "What each gets".into(),
        description: format!("Throughput: {}.", said.join(", ")),
        bars: columns.iter().map(bar).collect(),
        most: None,
        unit: "MB/s".into(),
        legend: waterfall::legend(|class| class == style(Use::Payload)),
        row: (46.0, 28.0),
    });
    let data = columns.iter().map(
        |of| json!({ "name": of.name, "throughput_bytes_per_s": of.throughput_bytes_per_s, "interval": of.interval }),
    );
    Figure {
        id: "rates".into(),
        drawing,
        caption: String::new(),
        kind: Kind::Marks,
        data: data.collect(),
        behind: Behind::Elsewhere("side-by-side".into()),
        width_min: 760,
    }
}

/// A row for each column: figures that none has are left away.
fn table(columns: &[&Column]) -> Table {
    let mut heads = vec![("", "name")];
    let mut cells: Vec<Vec<Cell>> = columns.iter().map(|column| vec![Cell::words(column.name.clone())]).collect();
    let mut add = |head: (&'static str, &'static str), of: &dyn Fn(&Column) -> Option<Cell>| {
        let found: Vec<Option<Cell>> = columns.iter().map(|column| of(column)).collect();
        if found.iter().any(Option::is_some) {
            heads.push(head);
            for (row, cell) in cells.iter_mut().zip(found) {
                row.push(cell.unwrap_or_else(Cell::empty));
            }
        }
    };
    let first = columns.first().copied();
    let against = |column: &Column, of: fn(&Column) -> Option<f64>| {
        let was = first.filter(|first| !std::ptr::eq(*first, column)).and_then(of).filter(|was| *was > 0.0);
        was.zip(of(column)).map_or(String::new(), |(was, is)| signed_percent(is / was - 1.0))
    };
    let figure = |of: fn(&Column) -> Option<f64>, words: fn(f64) -> String| {
        move |column: &Column| of(column).map(|value| Cell::figure(words(value), value).note(against(column, of)))
    };
    let span = |ns: f64| span_ps(1e3 * ns);
    add(("throughput", "throughput_bytes_per_s"), &figure(|of| of.throughput_bytes_per_s, rate));
    add(("interval", "interval"), &|of| of.interval.map(|wide| Cell::figure(format!("±{}", percent(wide)), wide)));
    add(("IOPS", "iops"), &figure(|of| of.iops, digits));
    add(("mean latency", "latency_mean_ns"), &figure(|of| of.latency_mean_ns, span));
    add(("99th percentile", "latency_p99_ns"), &figure(|of| of.latency_p99_ns, span));
    let gain = |limit: &Limit| format!("{} {}", signed_percent(limit.gain), limit.tried());
    add(("limited by", "limited_by"), &|of| of.limit.as_ref().map(|of| Cell::words(of.what()).note(gain(of))));
    add(("then by", "then_by"), &|of| Some(Cell::words(of.limit.as_ref()?.next.clone()?)));
    let busy = |of: &Column| of.processor.as_ref()?.utilisation;
    add(("processor", "processor_busy"), &|of| busy(of).map(|share| Cell::figure(percent(share), share)));
    let cost = |of: &Column| of.processor.as_ref()?.ps_per_request;
    add(("of it, a request", "processor_ps_per_request"), &|of| cost(of).map(|ps| Cell::figure(span_ps(ps), ps)));
    let dollars = |total: f64| Cell::figure(format!("${total:.0}"), total);
    add(("price", "price_usd"), &|of| of.price_usd?.total.map(dollars));
    let a_dollar = |value: f64| Cell::figure(digits_per_dollar(value), value);
    add(("MB/s a dollar", "mb_per_s_per_usd"), &|of| of.price_usd?.mb_per_s_per_usd.map(a_dollar));
    add(("IOPS a dollar", "iops_per_usd"), &|of| of.price_usd?.iops_per_usd.map(a_dollar));
    Table::new("side-by-side", "Side by side", &heads, cells)
}

/// Where a request's time goes, and which stage changed most; nothing where nobody says.
fn stages_section(columns: &[&Column]) -> Option<Section> {
    let first = columns.iter().find(|column| !column.stages.is_empty())?;
    let words = "The life of each request, from issue to completion, stage by stage: service, and waits for others. The \
                 same stage stands in the same place of each bar.";
    let section = Section::new("stages", "Where a request's time goes").words(words);
    let mut section = section.block(Block::Figures(vec![lives(columns)], 1));
    let others = columns.iter().filter(|column| !column.stages.is_empty() && !std::ptr::eq(**column, *first));
    let changes: Vec<Figure> = others.enumerate().filter_map(|(index, column)| changes(index, column, first)).collect();
    if !changes.is_empty() {
        section = section.block(Block::Figures(changes, 1));
    }
    Some(section)
}

fn class(stage: &Stage) -> &'static str {
    style(if stage.is_wait { Use::Waiting } else { Use::Protocol })
}

/// A bar for each column, divided by stages.
fn lives(columns: &[&Column]) -> Figure {
    let shown: Vec<&Column> = columns.iter().copied().filter(|column| !column.stages.is_empty()).collect();
    let stages = aligned(&shown);
    let mean = |index: usize| stages.iter().map(|of| of.each_ns[index]).sum::<f64>();
    let longest = (0..shown.len()).map(mean).fold(0.0, f64::max);
    let (unit_ns, unit) = if longest >= 2e6 { (1e6, "ms") } else { (1e3, "µs") };
    let bar = |(index, column): (usize, &&Column)| {
        let (mut segments, mut small) = (Vec::new(), 0.0);
        for Aligned { stage, each_ns } in &stages {
            let ns = each_ns[index];
            if ns < OWN_BAR * longest {
                small += ns;
                continue;
            }
            let words = stage.words();
            segments.push(Segment {
                tip: format!("{words}, {} ({})", span_ps(1e3 * ns), percent(ns / mean(index))),
                names: vec![words, stage.what.clone()],
                class: class(stage).to_string(),
                amount: ns / unit_ns,
            });
        }
        if small > 0.0 {
            segments.push(Segment {
                names: vec!["smaller ones".into()],
                class: "idle".into(),
                amount: small / unit_ns,
                tip: format!("smaller ones, {}; see the table", span_ps(1e3 * small)),
            });
        }
        Bar { name: column.name.clone(), about: String::new(), figure: span_ps(1e3 * mean(index)), segments }
    };
    let said: Vec<String> =
        shown.iter().enumerate().map(|(index, of)| format!("{} {}", of.name, span_ps(1e3 * mean(index)))).collect();
    let drawing = stacks::draw(&Stacks {
        title: "Where a request's time goes".into(),
        description: format!("Mean latency: {}.", said.join(", ")),
        bars: shown.iter().enumerate().map(bar).collect(),
        most: None,
        unit: format!("mean latency, {unit}"),
        legend: waterfall::legend(|of| stages.iter().any(|aligned| class(&aligned.stage) == of)),
        row: (58.0, 36.0),
    });
    let cell = |ns: &f64| if *ns > 0.0 { Cell::figure(span_ps(1e3 * ns), ns) } else { Cell::figure("\u{2013}", 0) };
    let rows = stages
        .iter()
        .map(|of| std::iter::once(Cell::words(of.stage.words())).chain(of.each_ns.iter().map(cell)).collect());
    let heads: Vec<(String, String)> =
        shown.iter().enumerate().map(|(index, of)| (of.name.clone(), format!("mean_ns_{}", index + 1))).collect();
    let heads: Vec<(&str, &str)> =
        std::iter::once(("stage", "stage")).chain(heads.iter().map(|(name, id)| (&name[..], &id[..]))).collect();
    let data = shown.iter().map(|of| json!({ "name": of.name, "stages": of.stages }));
    Figure {
        id: "lives".into(),
        drawing,
        caption: "What no machine does at two hops is the same stage, whatever the hops are called.".into(),
        kind: Kind::Marks,
        data: data.collect(),
        behind: Behind::Table(Table::new("stages-table", "Every stage, mean of all requests", &heads, rows.collect())),
        width_min: 760,
    }
}

/// What changed most of a column against the first; nothing where nothing did.
fn changes(index: usize, column: &Column, first: &Column) -> Option<Figure> {
    let all = column.against(first).stages;
    let largest = all.first().map_or(0.0, |change| change.longer_ns().abs());
    let shown: Vec<_> =
        all.iter().take(SHOWN_MAX).filter(|change| change.longer_ns().abs() > OWN_BAR * largest).collect();
    let (unit_ns, unit) = if largest >= 2e6 { (1e6, "ms") } else { (1e3, "µs") };
    let signed = |ns: f64| format!("{}{}", if ns < 0.0 { "\u{2212}" } else { "+" }, span_ps(1e3 * ns.abs()));
    let change = |of: &&StageChange| bars::Change {
        name: of.stage.words(),
        about: format!("{} against {}", span_ps(1e3 * of.stage.mean_ns), span_ps(1e3 * of.against_ns)),
        effects: vec![Effect {
            amount: of.longer_ns() / unit_ns,
            half_width: 0.0,
            tip: format!("{} against {}", span_ps(1e3 * of.stage.mean_ns), span_ps(1e3 * of.against_ns)),
        }],
        figure: signed(of.longer_ns()),
    };
    let most = shown.first()?;
    let title = format!("{} against {}: what changed most", column.name, first.name);
    let drawing = bars::draw(&Changes {
        description: format!("The largest change is {}, {}.", most.stage.words(), signed(most.longer_ns())),
        title: title.clone(),
        changes: shown.iter().map(change).collect(),
        unit: format!("change of the mean time of a request, {unit}"),
        tick: crate::wording::tick,
        more_is_better: false,
        meaning: ["shorter".into(), "longer".into()],
    });
    let rows = all.iter().map(|of| {
        let figure = |ns: f64| Cell::figure(span_ps(1e3 * ns), ns);
        let longer = Cell::figure(signed(of.longer_ns()), of.longer_ns());
        vec![Cell::words(of.stage.words()), figure(of.stage.mean_ns), figure(of.against_ns), longer]
    });
    let heads = [("stage", "stage"), ("is", "mean_ns"), ("against", "against_ns"), ("change", "longer_ns")];
    let id = format!("changes-{}", index + 1);
    let data = all.iter().map(|of| json!({ "stage": of.stage.words(), "longer_ns": of.longer_ns() }));
    Some(Figure {
        behind: Behind::Table(Table::new(&format!("{id}-table"), &title, &heads, rows.collect())),
        id,
        drawing,
        caption: String::new(),
        kind: Kind::Marks,
        data: data.collect(),
        width_min: 760,
    })
}
