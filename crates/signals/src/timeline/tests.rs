//! Files that are written, read again by their wire format.

use super::pftrace::{Note, Place, Slice, TimelineFile, Unit};
use super::slots::Slots;

#[path = "../../../questions/tests/all/perfetto.rs"]
mod perfetto;

use perfetto::{Timeline, Value};

fn written(fill: impl FnOnce(&mut TimelineFile<&mut Vec<u8>>) -> std::io::Result<()>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut file = TimelineFile::new(&mut bytes).unwrap();
    fill(&mut file).unwrap();
    file.finish().unwrap();
    bytes
}

#[test]
fn tracks_slices_notes_and_counters_are_read_as_they_were_said() {
    let bytes = written(|file| {
        let part = file.track(Place { parent: None, name: "drive", rank: 0 })?;
        let lane = file.track(Place { parent: Some(part), name: "drive.bus", rank: 0 })?;
        let fill = file.counter(Place { parent: Some(part), name: "fill", rank: 0 }, Unit::Bytes)?;
        let used = file.counter(Place { parent: Some(part), name: "used", rank: 0 }, Unit::Percent)?;
        let name = "data".repeat(40);
        let notes = [("address", Note::Address(u64::MAX)), ("who", Note::Text("thread")), ("bytes", Note::Number(0))];
        let slice = Slice { name: &name, category: "payload", flows: &[7], notes: &notes, ..Slice::default() };
        file.begin(lane, 1_000_000, &slice)?;
        file.slice(lane, (1_000_400, 1_999_999), &Slice { name: "wait", flows_end: &[7], ..Slice::default() })?;
        file.end(lane, (1_000_000, 3_000_000), &[("end", Note::Number(300))])?;
        file.instant(lane, 2_500_000, &Slice { name: "command", ..Slice::default() })?;
        file.count(fill, 0, u64::MAX)?;
        file.share(used, 5_000, 12.5)
    });
    let read = Timeline::read(&bytes);
    let paths: Vec<String> = read.tracks.keys().map(|track| read.path(*track)).collect();
    assert_eq!(paths, ["drive", "drive/drive.bus", "drive/fill", "drive/used"]);
    let [outer, inner] = &read.slices[..] else { panic!("{:?}", read.slices) };
    assert_eq!(
        (outer.name.len(), outer.category.as_str(), outer.from_ns, outer.until_ns),
        (160, "payload", 1_000, 3_000)
    );
    assert_eq!(outer.number("address"), Some(u64::MAX));
    assert_eq!((outer.text("who"), outer.number("bytes"), outer.number("end")), ("thread", Some(0), Some(300)));
    assert!(!outer.notes.contains_key("picoseconds"), "whole nanoseconds speak for themselves");
    assert_eq!((inner.name.as_str(), inner.ps, inner.depth, inner.within), ("wait", 999_599, 1, Some(0)));
    assert_eq!(inner.notes.get("picoseconds"), Some(&Value::Number(999_599)));
    assert_eq!((read.instants[0].name.as_str(), read.instants[0].from_ns), ("command", 2_500));
    assert_eq!(read.counts, [(3, 0, u64::MAX as f64), (4, 5, 12.5)]);
}

#[test]
fn a_text_is_written_once() {
    let one_more = |times: u64| {
        written(|file| {
            let track = file.track(Place { parent: None, name: "lane", rank: 0 })?;
            (0..times).try_for_each(|number| {
                let at = (1_000_000 + number * 2_000, 1_000_000 + number * 2_000 + 1_000);
                file.slice(track, at, &Slice { name: "a name of forty letters, said many times", ..Slice::default() })
            })
        })
        .len()
    };
    let each = (one_more(1_001) - one_more(1)) / 1_000;
    assert!(each < 40, "{each} bytes a slice");
}

#[test]
#[should_panic(expected = "an end without a slice")]
fn the_reader_sees_what_does_not_nest() {
    Timeline::read(&written(|file| {
        let track = file.track(Place { parent: None, name: "lane", rank: 0 })?;
        file.begin(track, 5_000, &Slice { name: "later", ..Slice::default() })?;
        file.end(track, (1_000, 4_000), &[])?;
        file.end(track, (5_000, 6_000), &[])
    }));
}

#[test]
#[should_panic(expected = "flows without an end: [9]")]
fn the_reader_sees_a_flow_without_an_end() {
    Timeline::read(&written(|file| {
        let track = file.track(Place { parent: None, name: "lane", rank: 0 })?;
        file.slice(track, (0, 1_000), &Slice { name: "one", flows: &[9], ..Slice::default() })
    }));
}

#[test]
fn spans_that_overlap_get_rows_of_their_own_and_no_more_than_overlap_at_once() {
    let mut state = 5u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for _ in 0..2_000 {
        let from = draw(100_000);
        spans.push((from, from + 1 + draw(400)));
    }
    spans.sort_by_key(|span| span.1);
    let mut slots = Slots::default();
    let mut rows: Vec<Vec<(u64, u64)>> = Vec::new();
    for &span in &spans {
        let row = slots.row(span.0, span.1);
        rows.resize_with(rows.len().max(row + 1), Vec::new);
        assert!(rows[row].last().is_none_or(|last| last.1 <= span.0), "{span:?} in row {row}");
        rows[row].push(span);
    }
    let at_once = spans.iter().map(|(at, _)| spans.iter().filter(|(from, until)| from <= at && at < until).count());
    assert_eq!(Some(rows.len()), at_once.max());
}
