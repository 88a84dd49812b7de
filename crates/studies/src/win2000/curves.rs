//! Throughput over the size of a request and over the requests in flight: of each disk, each release of the system,
//! buffered and not, each number of drives, and the server. The report's curves are not known here: these are shown.

use std::sync::atomic::{AtomicUsize, Ordering};

use hopscope_machine::run::Failure;
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::json;

use super::bench::{Ask, KB_A_MS, once};
use super::{ID, Setup};
use crate::report::{Alternative, Cell, CellBasis};
use crate::shelf;

/// Simulated time to warm up and to measure, milliseconds: of drawn requests, and of writes that follow each other,
/// which begin when the disks' caches are full. Those get as much more a KB as elsewhere.
const RANDOM_MS: (u64, u64) = (30, 2_000);
const WRITES_MS: (u64, u64) = (300, 400);

/// Curves of one machine.
#[derive(Deserialize)]
struct Row {
    /// The figure they belong to, and its title.
    figure: String,
    about: String,
    /// As `study.toml` calls it.
    machine: String,
    /// The device; the machine's own choice where there is none.
    device: String,
    /// Whether requests pass the system's cache.
    path: String,
    rw: String,
    /// Sizes of requests, KB, and requests in flight, each with spaces between.
    sizes_kb: String,
    depths: String,
}

fn numbers(words: &str) -> impl Iterator<Item = u64> {
    words.split(' ').map(|word| word.parse().unwrap_or_else(|_| panic!("studies/{ID}/curves.csv: {word}")))
}

/// Every point of every curve: a figure each.
pub(super) fn beside(
    setup: &Setup,
    progress: &(dyn Fn(usize, usize, &str) + Sync),
) -> Result<Vec<Alternative>, Failure> {
    let rows: Vec<Row> = shelf::rows(ID, "curves.csv");
    let points = rows.iter().flat_map(|row| {
        numbers(&row.sizes_kb).flat_map(move |size_kb| numbers(&row.depths).map(move |depth| (row, size_kb, depth)))
    });
    let points: Vec<(&Row, u64, u64)> = points.collect();
    let (done, count) = (AtomicUsize::new(0), points.len());
    let cells = points.into_par_iter().with_max_len(1).map(|(row, size_kb, depth)| {
        let Row { machine, device, path, rw, .. } = row;
        let more = size_kb / KB_A_MS;
        let span_ms = match rw.as_str() {
            "write" => Some((WRITES_MS.0 + more, WRITES_MS.1 + more)),
            rw => rw.starts_with("rand").then_some(RANDOM_MS),
        };
        let direct = path == "unbuffered";
        let devices = if device.is_empty() { &[] } else { std::slice::from_ref(device) };
        let ask = Ask { rw, size_kb, depth, direct, devices, span_ms };
        let rate = once(setup, machine, &ask, 1)?.mb_per_s;
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, count, &format!("{machine}, {rw}, {size_kb} KB"));
        let key = json!({ "machine": machine, "device": device, "path": path, "rw": rw, "request_kb": size_kb, "depth": depth });
        let key = key.as_object().cloned().unwrap_or_default();
        Ok((row.figure.as_str(), Cell::new(key, None, rate, CellBasis::Seen, 0.0)))
    });
    let cells: Result<Vec<(&str, Cell)>, Failure> = cells.collect();
    let mut figures: Vec<(&str, &str, Vec<Cell>)> = Vec::new();
    for (figure, cell) in cells? {
        match figures.iter_mut().find(|(known, ..)| *known == figure) {
            Some((.., cells)) => cells.push(cell),
            None => {
                let about = rows.iter().find(|row| row.figure == figure).map_or("", |row| row.about.as_str());
                figures.push((figure, about, vec![cell]));
            }
        }
    }
    Ok(figures.into_iter().map(|(id, about, cells)| Alternative::of(id, format!("{about}, MB/s"), cells)).collect())
}
