//! A machine as a map: with the account of a run, or at rest.

use hopscope_kernel::Time;
use hopscope_machine::block_diagram::{self, Block};
use hopscope_machine::blueprint::{Blueprint, Part, choices_of, numbers_of};
use hopscope_observe::account::{Account, LaneAccount, Use};
use hopscope_observe::lives::Latency;
use hopscope_questions::diagnosis::named;
use hopscope_questions::explain::Explained;
use serde_json::json;

use crate::account;
use crate::charts::map::{self, Lane, Map};
use crate::charts::stacks::Segment;
use crate::drawing::Key;
use crate::latency;
use crate::page::{Behind, Figure, Kind};
use crate::table::{Cell, Table};
use crate::wording::{percent, rate, slug};

/// Lanes that are alike and drawn one by one, at most.
const ONE_BY_ONE: usize = 32;

/// Every hop of an account where it is wired, those that limit and parts that are `changed` marked.
pub fn figure(
    blueprint: &Blueprint,
    (account, latency): (&Account, Option<&Latency>),
    limiting: &[String],
    changed: &dyn Fn(&str) -> Option<&'static str>,
) -> Figure {
    let shown = account.lanes.iter().map(|of| Shown {
        part: &of.part,
        carries: of.capacity.as_ref().map(|of| of.bytes_per_second),
        delivers: of.capacity.as_ref().and(of.delivered()),
        moves: of.time_in(Use::Payload) > Time::ZERO,
        lane: lane(of, limiting, latency),
    });
    let blocks = blocks(blueprint, &shown.collect::<Vec<_>>(), changed);
    let figures: Vec<_> = account
        .lanes
        .iter()
        .map(|of| {
            json!({
                "lane": of.lane, "time_ps": account::times(of), "busy_share": of.busy_share(), "delivered_bytes_per_s": of.delivered(),
                "capacity_bytes_per_s": of.capacity.as_ref().map(|capacity| capacity.bytes_per_second),
                "awaited_share": latency::awaited(latency, &of.lane),
            })
        })
        .collect();
    let title = "The machine, and what its hops did".to_string();
    let limited = match limiting {
        [] => String::new(),
        [hop] => format!(" {hop} limits."),
        hops => format!(" {} limit together.", named(hops)),
    };
    let description = format!("{} blocks with {} lanes.{limited}", blocks.len(), account.lanes.len());
    Figure {
        id: "map".to_string(),
        drawing: map::draw(&Map { title, description, blocks, legend: account::legend(account) }),
        caption:
            "Each block below what it is plugged into; lines are as wide as what they can carry, and filled as far as \
             they did. Hatched before a bar: how much of their time requests wait for the hop. At the right: what \
             arrived, or how busy a hop was."
                .to_string(),
        kind: Kind::Marks,
        data: json!(figures),
        behind: Behind::Table(account::hops_table(("hops-table", "Every hop"), account, latency)),
        width_min: 390,
    }
}

/// The lanes that a hop stands for, one by one, the busiest first; nothing where it is one lane.
pub fn each(explained: &Explained, hop: &str) -> Option<Figure> {
    let latency = explained.latency.as_ref();
    let Account { from, until, lanes, requests, .. } = &explained.account;
    let mut lanes: Vec<&LaneAccount> = lanes.iter().filter(|lane| explained.names.of(&lane.lane) == hop).collect();
    let all = lanes.len();
    if all < 2 {
        return None;
    }
    lanes.sort_by(|a, b| b.busy_share().total_cmp(&a.busy_share()).then(a.lane.cmp(&b.lane)));
    let lanes = lanes.into_iter().take(ONE_BY_ONE).cloned().collect();
    let account = Account { from: *from, until: *until, lanes, path: Vec::new(), requests: *requests };
    let one = |of: &LaneAccount| Lane { name: of.lane.clone(), hop: None, ..lane(of, &[], latency) };
    let about = match all {
        all if all > ONE_BY_ONE => format!("the busiest {ONE_BY_ONE} of {all}"),
        all => format!("all {all}, the busiest first"),
    };
    let title = format!("{hop}, one by one");
    let description = format!("What each of its lanes did: {about}.");
    let block = map::Block { about, ..map::Block::alone(hop, account.lanes.iter().map(one).collect()) };
    let figures = account.lanes.iter().map(|of| json!({ "lane": of.lane, "busy_share": of.busy_share() }));
    let id = format!("each-{}", slug(hop));
    let table = account::hops_table((&format!("{id}-table"), &title), &account, latency);
    Some(Figure {
        drawing: map::draw(&Map { title, description, blocks: vec![block], legend: Vec::new() }),
        caption: String::new(),
        kind: Kind::Marks,
        data: figures.collect(),
        behind: Behind::Table(table),
        width_min: 390,
        id,
    })
}

/// Where accounts of hops are on the page of a map.
pub const LEADS: &str = " A hop leads to its account.";

/// How a part of one machine differs from that of the same name in another, which may not have it.
pub fn difference(
    part: &str,
    of: &Blueprint,
    other: &Blueprint,
    missing: Option<&'static str>,
) -> Option<&'static str> {
    let named = |known: &&Part| known.name == part;
    let (one, two) = (of.parts().iter().find(named), other.parts().iter().find(named));
    let Some((one, two)) = one.zip(two) else { return missing };
    let written = |part: &Part| -> Vec<(String, String)> {
        let all = numbers_of(&part.parameters).into_iter().chain(choices_of(&part.parameters));
        all.map(|(name, entry)| (name, entry.written.clone())).collect()
    };
    (one.uses != two.uses || written(one) != written(two)).then_some("changed")
}

/// A lane, and where it is.
struct Shown<'a> {
    part: &'a str,
    carries: Option<f64>,
    delivers: Option<f64>,
    moves: bool,
    lane: Lane,
}

/// The blocks of a machine with these lanes; parts that are `changed` are marked.
fn blocks(blueprint: &Blueprint, lanes: &[Shown], changed: &dyn Fn(&str) -> Option<&'static str>) -> Vec<map::Block> {
    let diagram = block_diagram::blocks(blueprint.parts());
    let of_block = |block: &Block, part: &str| block.name == part || block.parts.iter().any(|known| known == part);
    let links = blueprint.links();
    let most = |of: &[&Shown], rate: fn(&Shown) -> Option<f64>| of.iter().filter_map(|of| rate(of)).reduce(f64::max);
    let mut blocks: Vec<map::Block> = Vec::new();
    for block in &diagram {
        let of: Vec<&Shown> = lanes.iter().filter(|of| of_block(block, of.part)).collect();
        blocks.push(map::Block {
            name: block.name.clone(),
            about: match block_diagram::trained(block, &links) {
                Some(speeds) => format!("{}, {speeds}", block.title),
                None => block.title.clone(),
            },
            count: block.parts.len(),
            above: block.above,
            carries: most(&of, |of| of.carries),
            delivers: most(&of, |of| of.delivers),
            moves: of.iter().any(|of| of.moves),
            limits: of.iter().any(|of| of.lane.limits),
            lanes: of.iter().map(|of| of.lane.clone()).collect(),
            change: block.parts.iter().find_map(|part| changed(part)),
        });
    }
    // What is no part of the wiring has no place in it.
    let wired = |of: &&Shown| diagram.iter().any(|block| of_block(block, of.part));
    for of in lanes.iter().filter(|of| !wired(of)) {
        blocks.push(map::Block::alone(of.part, vec![of.lane.clone()]));
    }
    blocks
}

/// A machine at rest: what each hop can carry, on one scale; those that limit it marked.
pub fn at_rest(blueprint: &Blueprint, limiting: &[String]) -> Figure {
    let hops = blueprint.capacities();
    let most = hops.iter().map(|hop| hop.bytes_per_second).fold(1.0, f64::max);
    let shown = hops.iter().map(|of| {
        let words = rate(of.bytes_per_second);
        let segment = Segment {
            names: vec![words.clone()],
            class: "payload".to_string(),
            amount: 100.0 * of.bytes_per_second / most,
            tip: words.clone(),
        };
        Shown {
            part: &of.part,
            carries: Some(of.bytes_per_second),
            delivers: None,
            moves: false,
            lane: Lane {
                name: of.hop.split_once('.').map_or("", |(_, name)| name).to_string(),
                hop: Some(slug(&of.hop)),
                awaited: 0.0,
                segments: vec![segment],
                tip: format!("{} can carry {words}", of.hop),
                figure: words,
                limits: limiting.contains(&of.hop),
            },
        }
    });
    let mut blocks = blocks(blueprint, &shown.collect::<Vec<_>>(), &|_| None);
    // What limits may have no rate of its own.
    let limits = |part: &str| limiting.iter().any(|hop| hop.split('.').next() == Some(part));
    blocks.iter_mut().for_each(|block| block.limits |= limits(&block.name));
    let said: Vec<String> = hops.iter().map(|of| format!("{} {}", of.hop, rate(of.bytes_per_second))).collect();
    let rows = hops.iter().map(|of| {
        let of_lanes = Cell::figure(of.lanes.to_string(), of.lanes);
        vec![Cell::words(of.hop.clone()), of_lanes, Cell::figure(rate(of.bytes_per_second), of.bytes_per_second)]
    });
    let columns = [("hop", "hop"), ("lanes", "lanes"), ("can carry", "capacity_bytes_per_s")];
    let figures = hops.iter().map(|of| json!({ "hop": of.hop, "capacity_bytes_per_s": of.bytes_per_second }));
    let description = format!("{} blocks. Their hops can carry: {}.", blocks.len(), said.join(", "));
    let title = "The machine, and what its hops can carry".to_string();
    let legend = vec![Key::of_class("payload", "what a hop can carry, of the most that one can")];
    Figure {
        id: "map".to_string(),
        drawing: map::draw(&Map { title, description, blocks, legend }),
        caption: "Each block below what it is plugged into; lines are as wide as what they can carry.".to_string(),
        kind: Kind::Marks,
        data: figures.collect(),
        behind: Behind::Table(Table::new("hops-table", "What hops can carry", &columns, rows.collect())),
        width_min: 390,
    }
}

fn lane(of: &LaneAccount, limiting: &[String], latency: Option<&Latency>) -> Lane {
    let figure = match (of.delivered(), &of.capacity) {
        (Some(got), Some(_)) => rate(got),
        _ => percent(of.busy_share()),
    };
    let (name, segments) = (of.lane.split_once('.').map_or("", |(_, name)| name), account::shares(of));
    let said: Vec<&str> = segments.iter().map(|segment| &segment.tip[..]).collect();
    let carries = of.capacity.as_ref().map_or(String::new(), |of| format!(" of {}", rate(of.bytes_per_second)));
    let awaited = latency::awaited(latency, &of.lane).unwrap_or(0.0);
    let waits = match awaited > 0.0 {
        true => format!("; requests wait for it {} of their time", percent(awaited)),
        false => String::new(),
    };
    Lane {
        name: name.to_string(),
        hop: Some(slug(&of.lane)),
        tip: format!("{}: {figure}{carries}; {}{waits}", of.lane, said.join("; ")),
        segments,
        awaited,
        figure,
        limits: limiting.contains(&of.lane),
    }
}
