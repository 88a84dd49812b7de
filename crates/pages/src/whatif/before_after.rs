//! The page of given changes: before and after.

use hopscope_observe::Account;
use hopscope_questions::whatif::{Comparison, Performance, Side, json};

use super::{SHOWN_MIN, also, limit_words, limiting, page, performance_tiles, tile};
use crate::account;
use crate::explain::numbers;
use crate::latency;
use crate::map;
use crate::page::{Block, Figure, Page, Section};
use crate::table::{Cell, Table, Tone};
use crate::wording::{rate, signed_percent, span_ps};

/// The page of given changes: before and after.
pub fn comparison((system, job): (&str, &str), compared: &Comparison, command: &str) -> Page {
    let (before, after) = (&compared.before, &compared.after);
    let accounts = [before, after].map(|side| side.explained.alike());
    let sides = [("before", "Before", &accounts[0]), ("after", "After", &accounts[1])];
    let both = |draw: &dyn Fn(&Account) -> Option<Figure>| -> Vec<Figure> {
        let figure = |(id, words, account): &(&str, &str, &Account)| Some(draw(account)?.named(id, words));
        sides.iter().filter_map(figure).collect()
    };
    let glance = "The machine before, and after. What differs is marked.";
    let maps =
        [(before, after), (after, before)].into_iter().zip(&sides).map(|((side, other), (id, words, account))| {
            let missing = if id == &"after" { "new" } else { "gone" };
            let changed =
                |part: &str| map::difference(part, &side.setting.blueprint, &other.setting.blueprint, Some(missing));
            let latency = side.explained.latency_alike();
            let mut map = map::figure(
                &side.setting.blueprint,
                (account, latency.as_ref()),
                limiting(side.limit.as_ref()),
                &changed,
            )
            .named(id, words);
            map.caption += map::LEADS;
            map
        });
    let maps = Block::Figures(maps.collect(), 2);
    let mut sections = vec![Section::new("glance", "The machine at a glance").words(glance).block(maps)];
    sections.push(Section::new("both", "Before and after").block(Block::Table(sides_table(compared))));
    let mut hops = Section::new("losses", "Where the rest went, hop by hop");
    for name in lane_names(accounts.each_ref()) {
        let figures = both(&|account| {
            let lane = account.lanes.iter().find(|lane| lane.lane == name)?;
            Some(account::lane(account, lane))
        });
        let limits = [before, after].iter().any(|side| limiting(side.limit.as_ref()).contains(&name));
        hops = hops.block(Block::Folded { title: name.clone(), figures, open: limits });
    }
    sections.push(hops);
    let latency = |(side, (id, words, _)): (&Side, &(&str, &str, &Account))| {
        Some(latency::figure(&side.explained.latency_alike()?).named(id, words))
    };
    let latencies: Vec<Figure> = [before, after].into_iter().zip(&sides).filter_map(latency).collect();
    if !latencies.is_empty() {
        sections.push(Section::new("latencies", "Latency").block(Block::Figures(latencies, 1)));
    }
    sections.push(numbers(&after.setting.blueprint));
    let gain = after.performance.throughput_bytes_per_s / before.performance.throughput_bytes_per_s - 1.0;
    let mut answer = vec![format!(
        "{}: {} instead of {}.",
        signed_percent(gain),
        rate(after.performance.throughput_bytes_per_s),
        rate(before.performance.throughput_bytes_per_s)
    )];
    answer.push(format!("Changed: {}.", compared.changes.join("; ")));
    answer.push(format!(
        "It was limited by {}; then by {}.",
        limit_words(before.limit.as_ref()),
        limit_words(after.limit.as_ref())
    ));
    let tone = if gain > SHOWN_MIN { Tone::Good } else { Tone::Plain };
    let mut tiles = performance_tiles("Before", &before.performance);
    tiles.extend(performance_tiles("After", &after.performance));
    tiles.push(tile("Gain", signed_percent(gain), "of the throughput".into(), tone));
    let title = format!("{system}, before and after a change");
    let data = json::comparison(system, compared);
    page((title, command), (system, job, &before.setting.blueprint), (answer, tiles, sections), data)
}

/// The names of the lanes of both accounts, in the order of the first; those that have a rate of their own come before.
fn lane_names(accounts: [&Account; 2]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let lanes = || accounts.iter().flat_map(|account| &account.lanes);
    let rated = |rated: bool| lanes().filter(move |lane| lane.capacity.is_some() == rated);
    for lane in rated(true).chain(rated(false)) {
        if !names.contains(&lane.lane) {
            names.push(lane.lane.clone());
        }
    }
    names
}

fn sides_table(compared: &Comparison) -> Table {
    let (before, after) = (&compared.before.performance, &compared.after.performance);
    let relative = |of: fn(&Performance) -> f64| {
        let change = of(after) / of(before) - 1.0;
        Cell::figure(signed_percent(change), change)
    };
    let limit = |side: &Side| Cell::words(limit_words(side.limit.as_ref()));
    let rows = vec![
        vec![
            Cell::words("throughput"),
            Cell::figure(rate(before.throughput_bytes_per_s), before.throughput_bytes_per_s),
            Cell::figure(rate(after.throughput_bytes_per_s), after.throughput_bytes_per_s),
            relative(|got| got.throughput_bytes_per_s),
        ],
        vec![
            Cell::words("mean latency"),
            Cell::figure(span_ps(1e3 * before.latency_mean_ns), before.latency_mean_ns),
            Cell::figure(span_ps(1e3 * after.latency_mean_ns), after.latency_mean_ns),
            relative(|got| got.latency_mean_ns),
        ],
        vec![
            Cell::words("transfers"),
            Cell::figure(before.transfers.to_string(), before.transfers),
            Cell::figure(after.transfers.to_string(), after.transfers),
            Cell::empty(),
        ],
        vec![Cell::words("limited by"), limit(&compared.before), limit(&compared.after), Cell::empty()],
    ];
    let columns = [("", "what"), ("before", "before"), ("after", "after"), ("change", "change")];
    let also = Some(also(&compared.also_on)).filter(|also| !also.is_empty());
    let caption = compared.changes.iter().cloned().chain(also).collect::<Vec<_>>().join("; ");
    Table::new("sides", &caption, &columns, rows)
}
