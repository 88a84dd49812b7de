//! Requests one by one, and what each hop was at, over time.

use std::collections::BTreeMap;

use hopscope_questions::passage::{Passage, Phase, Request, USES};

use crate::charts::levels::{Levels, Measure, Row, Single, kinds};
use crate::latency::Hues;
use crate::page::{Block, Section};

/// How each of [`USES`] is drawn; of the last one a hop only says that it was held.
const CLASSES: [&str; 4] = ["payload", "width", "protocol", "waiting"];
const HELD: usize = 3;
/// Height of the rows of a hop, of one request among those in flight, and of all of them, at least and at most.
const HOP: f64 = 34.0;
const REQUEST: f64 = 10.0;
const REQUESTS: (f64, f64) = (60.0, 240.0);

/// A leg that takes less than one part in so many of its request is not drawn by itself.
const LEGS: u64 = 128;

/// The section.
pub fn section(passage: &Passage, hues: &Hues) -> Section {
    let words = "Requests from their issue to their end, each where it was, and below them what every hop was at. From far \
                 away these are shares of the time, from close by single requests and phases: whatever was for the same \
                 request is lit with it.";
    let caption = "A request is in the colours of the hops that worked for it, hatched while it waited for one.";
    let figure = levels(passage, hues).figure(caption);
    Section::new("requests", "Requests, one by one").words(words).block(Block::Figures(vec![figure], 1))
}

fn levels(passage: &Passage, hues: &Hues) -> Levels {
    let most = passage.requests.iter().map(|request| request.row + 1).max().unwrap_or(1) as f64;
    let height = (REQUEST * most).clamp(REQUESTS.0, REQUESTS.1);
    let of_requests = legs(passage, hues);
    let over_time = &passage.requests_over_time;
    let mut rows = vec![
        Row::new("Requests in flight".into(), of_requests, Measure::AtOnce, height, over_time)
            .listed_until(passage.requests_until.as_ps()),
    ];
    // Hops that did nothing in the window have no row.
    let mut places: Vec<Option<usize>> = Vec::new();
    for hop in &passage.hops {
        // What is only held while its holder waits (a lock, a slot) did no work.
        let at_work = hop.uses.sums().iter().any(|sums| sums[..HELD].iter().any(|sum| *sum > 0));
        places.push(at_work.then_some(rows.len()));
        if at_work {
            let measure = if hop.lanes > 1 { Measure::AtOnce } else { Measure::Share };
            let name = if hop.lanes > 1 { format!("{} ({} lanes)", hop.hop, hop.lanes) } else { hop.hop.clone() };
            let row = Row::new(name, kinds(&USES, &CLASSES), measure, HOP, &hop.uses);
            rows.push(row.listed_until(passage.phases_until.as_ps()));
        }
    }
    let requests = passage.requests.iter().map(|request| of_request(passage, request));
    let phases = passage.phases.iter().filter_map(|phase| Some(of_phase(places[phase.hop]?, phase)));
    let singles = requests.chain(phases).collect();
    let window = (passage.from.as_ps(), passage.until.as_ps());
    Levels::new("Requests and hops", window, rows, singles, window.1)
}

/// What a request may be at: work at each hop, then waits for each.
fn legs(passage: &Passage, hues: &Hues) -> Vec<(String, String)> {
    let hops = &passage.hops_of_requests;
    let work = hops.iter().map(|hop| (hop.clone(), hues.class(hop, false)));
    let waits = hops.iter().map(|hop| (format!("waits for {hop}"), hues.class(hop, true)));
    work.chain(waits).collect()
}

fn of_request(passage: &Passage, request: &Request) -> Single {
    let hops = &passage.hops_of_requests;
    let kind = |hop: &str, waits: bool| {
        let place = hops.iter().position(|known| known == hop).unwrap_or(hops.len() - 1);
        if waits { hops.len() + place } else { place }
    };
    let legs = request.legs.iter().map(|leg| (kind(&leg.hop, leg.waits), leg.until.as_ps()));
    Single {
        rows: vec![0],
        from_ps: request.issued.as_ps(),
        until_ps: request.ended.as_ps(),
        words: format!("{}, {} bytes", request.direction, request.bytes),
        address: None,
        lane: request.row,
        request: Some(request.number),
        parts: shortened(request.issued.as_ps(), request.ended.as_ps(), legs),
    }
}

/// Legs by kind, each until when. Those that are too short to be drawn are added up with their neighbours, kind by kind:
/// a request of many bursts goes to and fro between hops.
fn shortened(from_ps: u64, until_ps: u64, legs: impl Iterator<Item = (usize, u64)>) -> Vec<(usize, u64)> {
    let least_ps = (until_ps - from_ps) / LEGS;
    let mut parts: Vec<(usize, u64)> = Vec::new();
    let mut put = |kind: usize, until_ps: u64| match parts.last_mut().filter(|(before, _)| *before == kind) {
        Some((_, end)) => *end = until_ps,
        None => parts.push((kind, until_ps)),
    };
    let mut short: BTreeMap<usize, u64> = BTreeMap::new();
    let (mut at_ps, mut short_from_ps) = (from_ps, from_ps);
    for (kind, end_ps) in legs.chain([(usize::MAX, u64::MAX)]) {
        let length_ps = end_ps - at_ps;
        if length_ps >= least_ps || at_ps - short_from_ps >= least_ps {
            for (kind, length_ps) in std::mem::take(&mut short) {
                short_from_ps += length_ps;
                put(kind, short_from_ps);
            }
        }
        if kind == usize::MAX {
            break;
        }
        if length_ps >= least_ps {
            put(kind, end_ps);
            short_from_ps = end_ps;
        } else {
            *short.entry(kind).or_default() += length_ps;
        }
        at_ps = end_ps;
    }
    parts
}

fn of_phase(row: usize, phase: &Phase) -> Single {
    let (from_ps, until_ps) = (phase.from.as_ps(), phase.until.as_ps());
    Single {
        rows: vec![row],
        from_ps,
        until_ps,
        words: phase.name.to_string(),
        address: None,
        lane: phase.row,
        request: phase.request,
        parts: vec![(phase.used, until_ps)],
    }
}
