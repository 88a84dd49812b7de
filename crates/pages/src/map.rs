//! The machine of an account as a map.

use hopscope_machine::block_diagram::{self, Block};
use hopscope_machine::blueprint::Blueprint;
use hopscope_observe::account::{Account, LaneAccount};
use serde_json::json;

use crate::account;
use crate::charts::map::{self, Lane, Map};
use crate::page::{Behind, Figure, Kind};
use crate::wording::{percent, rate, slug};

/// Every hop of an account where it is wired, the limiting one and parts that are `changed` marked.
pub fn figure(
    blueprint: &Blueprint,
    account: &Account,
    limiting: Option<&str>,
    changed: &dyn Fn(&str) -> Option<&'static str>,
) -> Figure {
    let diagram = block_diagram::blocks(blueprint.parts());
    let of_block = |block: &Block, part: &str| block.name == part || block.parts.iter().any(|known| known == part);
    let links = blueprint.links();
    let mut blocks: Vec<map::Block> = Vec::new();
    for block in &diagram {
        let lanes: Vec<&LaneAccount> = account.lanes.iter().filter(|of| of_block(block, &of.part)).collect();
        let limits = lanes.iter().any(|of| Some(&of.lane[..]) == limiting);
        let carries = lanes.iter().filter_map(|of| of.capacity.as_ref()).map(|of| of.bytes_per_second);
        blocks.push(map::Block {
            name: block.name.clone(),
            about: match block_diagram::trained(block, &links) {
                Some(speeds) => format!("{}, {speeds}", block.title),
                None => block.title.clone(),
            },
            count: block.parts.len(),
            above: block.above,
            carries: carries.reduce(f64::max),
            delivers: lanes.iter().filter(|of| of.capacity.is_some()).filter_map(|of| of.delivered()).reduce(f64::max),
            lanes: lanes.iter().map(|of| lane(of, limiting)).collect(),
            limits,
            change: block.parts.iter().find_map(|part| changed(part)),
        });
    }
    // What is no part of the wiring has no place in it.
    let wired = |of: &&LaneAccount| diagram.iter().any(|block| of_block(block, &of.part));
    for of in account.lanes.iter().filter(|of| !wired(of)) {
        blocks.push(map::Block {
            name: of.lane.clone(),
            about: String::new(),
            count: 1,
            above: None,
            carries: None,
            delivers: None,
            lanes: vec![lane(of, limiting)],
            limits: Some(&of.lane[..]) == limiting,
            change: None,
        });
    }
    let figures: Vec<_> = account
        .lanes
        .iter()
        .map(|of| {
            json!({
                "lane": of.lane, "time_ps": account::times(of), "busy_share": of.busy_share(), "delivered_bytes_per_s": of.delivered(),
                "capacity_bytes_per_s": of.capacity.as_ref().map(|capacity| capacity.bytes_per_second),
            })
        })
        .collect();
    let title = "The machine, and what its hops did".to_string();
    let limited = limiting.map_or(String::new(), |hop| format!(" {hop} limits."));
    let description = format!("{} blocks with {} lanes.{limited}", blocks.len(), account.lanes.len());
    Figure {
        id: "map".to_string(),
        drawing: map::draw(&Map { title, description, blocks, legend: account::legend(account) }),
        caption:
            "Each block below what it is plugged into; lines are as wide as what they can carry, and filled as far as \
             they did. At the right: what arrived, or how busy a hop was. A hop leads to its account."
                .to_string(),
        kind: Kind::Marks,
        data: json!(figures),
        behind: Behind::Table(account::hops_table(account)),
        width_min: 390,
    }
}

fn lane(of: &LaneAccount, limiting: Option<&str>) -> Lane {
    let figure = match (of.delivered(), &of.capacity) {
        (Some(got), Some(_)) => rate(got),
        _ => percent(of.busy_share()),
    };
    let (name, segments) = (of.lane.split_once('.').map_or("", |(_, name)| name), account::shares(of));
    let said: Vec<&str> = segments.iter().map(|segment| &segment.tip[..]).collect();
    let carries = of.capacity.as_ref().map_or(String::new(), |of| format!(" of {}", rate(of.bytes_per_second)));
    let tip = format!("{}: {figure}{carries}; {}", of.lane, said.join("; "));
    Lane { name: name.to_string(), hop: slug(&of.lane), segments, figure, tip, limits: Some(&of.lane[..]) == limiting }
}
