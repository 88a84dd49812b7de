//! A machine as a map: its blocks below each other as they are wired, with lines as wide as what they can carry, and in
//! each block what its lanes did.

use crate::axis::Scale;
use crate::charts::stacks::Segment;
use crate::drawing::{Drawing, Key};
use crate::wording::{bold_px, fitting};

const WIDTH: f64 = 560.0;
const TOP: f64 = 4.0;
/// From a block to the one that it is plugged into, and between two.
const STEP: f64 = 18.0;
const GAP: f64 = 8.0;
const PAD: f64 = 8.0;
const HEAD: f64 = 22.0;
const LANE: f64 = 20.0;
const BAR: f64 = 13.0;
/// Where bars of lanes lie.
const BARS: (f64, f64) = (258.0, 452.0);
/// Before a bar, at most: what requests wait for the lane, all of their time.
const AWAITED: f64 = 36.0;
/// The widest line of all, and the thinnest.
const LINE: (f64, f64) = (11.0, 1.5);
/// The thinnest line of what came.
const FLOW: f64 = 1.2;

/// A lane of a block.
#[derive(Clone, Debug)]
pub struct Lane {
    /// What it is called within its block; empty where the block has one only.
    pub name: String,
    /// Its name among hops, where it leads to an account.
    pub hop: Option<String>,
    /// What it did: parts of 100.
    pub segments: Vec<Segment>,
    /// Share of their time that requests waited for it.
    pub awaited: f64,
    /// What arrived, or how busy it was.
    pub figure: String,
    /// All about it, in a sentence.
    pub tip: String,
    /// Whether it limits.
    pub limits: bool,
}

/// A block.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its name.
    pub name: String,
    /// What it is.
    pub about: String,
    /// How many parts it stands for.
    pub count: usize,
    /// The block that it is plugged into, by its place; always before it.
    pub above: Option<usize>,
    /// Bytes per second that it can carry, where that is known.
    pub carries: Option<f64>,
    /// Bytes per second that came that way, where that is known.
    pub delivers: Option<f64>,
    /// Whether bytes of the user moved in it.
    pub moves: bool,
    /// Its lanes.
    pub lanes: Vec<Lane>,
    /// Whether it limits.
    pub limits: bool,
    /// How it differs from what it is compared with; nothing where it does not.
    pub change: Option<&'static str>,
}

impl Block {
    /// A block of these lanes that is plugged into nothing.
    pub fn alone(name: &str, lanes: Vec<Lane>) -> Block {
        Block {
            name: name.to_string(),
            about: String::new(),
            count: 1,
            above: None,
            carries: None,
            delivers: None,
            moves: false,
            limits: lanes.iter().any(|lane| lane.limits),
            lanes,
            change: None,
        }
    }
}

/// A machine.
#[derive(Clone, Debug)]
pub struct Map {
    /// What it is.
    pub title: String,
    /// For whoever does not see it.
    pub description: String,
    /// Its blocks.
    pub blocks: Vec<Block>,
    /// What the colours of lanes mean.
    pub legend: Vec<Key>,
}

fn depth(map: &Map, block: usize) -> usize {
    map.blocks[block].above.map_or(0, |above| depth(map, above) + 1)
}

fn height(block: &Block) -> f64 {
    HEAD + LANE * block.lanes.len() as f64 + if block.lanes.is_empty() { 0.0 } else { 4.0 }
}

/// The drawing.
pub fn draw(map: &Map) -> Drawing {
    let tops: Vec<f64> =
        map.blocks.iter().scan(TOP, |y, block| Some(std::mem::replace(y, *y + height(block) + GAP))).collect();
    let all = map.blocks.last().zip(tops.last()).map_or(TOP, |(block, top)| top + height(block) + GAP);
    let mut drawing = Drawing::new(WIDTH, all, &map.title, &map.description);
    drawing.legend = map.legend.clone();
    let left = |block: usize| STEP * depth(map, block) as f64 + 1.0;
    wires(&mut drawing, map, &tops, &left);
    for (number, block) in map.blocks.iter().enumerate() {
        let (x, y) = (left(number), tops[number]);
        let frame = match (block.limits, block.change) {
            (true, _) => "block limits",
            (false, Some(_)) => "block changed",
            (false, None) => "block",
        };
        drawing.rect(frame, [x, y, WIDTH - x - 1.0, height(block)]);
        let name = if block.count > 1 { format!("{} × {}", block.count, block.name) } else { block.name.clone() };
        drawing.text("strong", (x + PAD, y + 15.0), &name);
        let after = x + PAD + bold_px(&name, 13.0) + 8.0;
        let said: Vec<&str> = block.change.into_iter().chain(block.limits.then_some("limits")).collect();
        let said = said.join(", ");
        let until = WIDTH - PAD - if said.is_empty() { 0.0 } else { bold_px(&said, 12.0) + 10.0 };
        drawing.text("small", (after, y + 15.0), &fitting(&block.about, 12.0, until - after));
        if !said.is_empty() {
            drawing.text("small strong end", (WIDTH - PAD, y + 15.0), &said);
        }
        for (index, lane) in block.lanes.iter().enumerate() {
            lane_bar(&mut drawing, lane, x, y + HEAD + LANE * index as f64);
        }
    }
    drawing
}

/// From each block to those that are plugged into it.
fn wires(drawing: &mut Drawing, map: &Map, tops: &[f64], left: &dyn Fn(usize) -> f64) {
    let (carries, flows) = (ways(map), flows(map));
    let most = carries.iter().flatten().copied().fold(1.0, f64::max);
    for (number, block) in map.blocks.iter().enumerate() {
        let Some(above) = block.above else { continue };
        let spine = left(above) + STEP / 2.0;
        let middle = tops[number] + HEAD / 2.0;
        let from = tops[above] + height(&map.blocks[above]);
        let wide = carries[number].map_or(LINE.1, |rate| LINE.1.max(LINE.0 * rate / most));
        let path = format!("M{spine:.1} {from:.1}V{middle:.1}H{:.1}", left(number));
        drawing.raw(&format!("<path class=\"wire\" d=\"{path}\" stroke-width=\"{wide:.1}\"/>"));
        if flows[number] > 0.0 {
            let filled = (LINE.0 * flows[number] / most).clamp(FLOW, wide);
            drawing.raw(&format!("<path class=\"flow\" d=\"{path}\" stroke-width=\"{filled:.1}\"/>"));
        }
    }
}

/// What the way to each block can carry: what it can itself, and what those above it can; the least of these counts.
fn ways(map: &Map) -> Vec<Option<f64>> {
    let mut ways: Vec<Option<f64>> = Vec::new();
    for block in &map.blocks {
        let above = block.above.and_then(|above| ways[above]);
        let both = [block.carries, above].into_iter().flatten();
        ways.push(both.reduce(f64::min));
    }
    ways
}

/// What came by way of each block: where its own lanes do not tell, what came by way of those below it.
fn flows(map: &Map) -> Vec<f64> {
    let mut below = vec![0.0f64; map.blocks.len()];
    for (number, block) in map.blocks.iter().enumerate().rev() {
        below[number] = block.delivers.unwrap_or(below[number]);
        if let Some(above) = block.above {
            below[above] = below[above].max(below[number]);
        }
    }
    // What has no rate of its own and moved bytes got them that way.
    for (number, block) in map.blocks.iter().enumerate() {
        if below[number] == 0.0 && block.moves {
            below[number] = block.above.map_or(0.0, |above| below[above]);
        }
    }
    below
}

fn lane_bar(drawing: &mut Drawing, lane: &Lane, x: f64, y: f64) {
    let scale = Scale::new((0.0, 100.0), BARS);
    let (text_y, class) = (y + BAR - 1.0, if lane.limits { "small strong" } else { "small" });
    let hop: Vec<(&str, String)> = lane.hop.iter().map(|hop| ("hop", hop.clone())).collect();
    drawing.mark("", &hop, &lane.tip, |drawing| {
        let awaited = AWAITED * lane.awaited.clamp(0.0, 1.0);
        drawing.text(class, (x + PAD, text_y), &fitting(&lane.name, 12.0, BARS.0 - awaited - x - PAD - 6.0));
        if awaited > 0.0 {
            drawing.class_rect("waiting", [BARS.0 - awaited, y + 1.0, awaited, BAR]);
        }
        drawing.rect("frame", [BARS.0, y + 1.0, BARS.1 - BARS.0, BAR]);
        let mut at = 0.0;
        for segment in &lane.segments {
            let (from, width) = (scale.at(at), scale.length(segment.amount));
            at += segment.amount;
            drawing.class_rect(&segment.class, [from, y + 1.0, width, BAR]);
        }
        let room = WIDTH - 2.0 - (BARS.1 + 6.0);
        drawing.text(class, (BARS.1 + 6.0, text_y), &fitting(&lane.figure, 12.0, room));
        drawing.rect("hit", [x + 2.0, y - 2.0, WIDTH - x - 4.0, LANE]);
    });
}
