//! What a timeline shows of a run, read again by the wire format of its file: what was recorded of the same run.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::LazyLock;

use hopscope_kernel::{Class, Kind, Observer, Record, Sim, Span, Time, expand};
use hopscope_machine::trace::{self, Format, Window};
use hopscope_signals::pcie::capture;
use rayon::prelude::*;

use crate::buffer::Buffer;
use crate::perfetto::{Seen, Timeline};
use crate::trace::{blueprint, jobs, observed};

/// Machines of all kinds, with depths.
const RUNS: [(&str, &str); 9] = [
    ("piix4e-one-disk", "rw=write bs=64k"),
    ("piix4e-two-disks-two-channels", "rw=write bs=16k iodepth=4"),
    ("raid-megaraid-64-66", "rw=randwrite bs=16k iodepth=32"),
    ("win2000-atlas-10k", "rw=write bs=64k iodepth=2"),
    ("win2000-cifs", "rw=read bs=16k"),
    ("nvme-server", "rw=randread bs=4k iodepth=32"),
    ("nvme-server", "rw=write bs=256k iodepth=8"),
    ("sata-ssd", "rw=read bs=128k iodepth=32"),
    ("nvme-chipset", "rw=randread bs=4k iodepth=4 thinktime=20us"),
];

fn window(system: &str) -> Window {
    match system {
        "nvme-server" => Window { from: Time::us(900), span: Time::us(700) },
        _ => Window { from: Time::us(9_000), span: Time::us(2_999) },
    }
}

pub fn drawn(system: &str, job: &str, window: Window) -> Vec<u8> {
    let out = Buffer::default();
    let (machine, to) = (blueprint(system), (Format::Timeline, Box::new(out.clone()) as _));
    trace::trace(&machine, &jobs(job), (window, 1), to, None).expect("a timeline");
    out.written()
}

/// All that was recorded, burst by burst, with the names of lanes and processes.
#[derive(Default)]
pub struct Recorded {
    pub lanes: Vec<(String, Option<Time>)>,
    processes: Vec<String>,
    pub spans: Vec<Span>,
    /// Begin, end and bytes.
    pub transfers: Vec<(Time, Time, u32)>,
}

impl Recorded {
    /// The lane that a span concerns, or its process where it concerns none.
    fn place(&self, span: &Span) -> &str {
        let lane = span.lane().map(|lane| &self.lanes[usize::from(lane)].0);
        lane.unwrap_or(&self.processes[usize::from(span.who)])
    }
}

struct Recorder(Sim, Rc<RefCell<Recorded>>);

impl Observer for Recorder {
    fn records(&mut self, batch: &[Record]) {
        let recorded = &mut *self.1.borrow_mut();
        if recorded.lanes.is_empty() {
            (recorded.lanes, recorded.processes) = (self.0.lanes(), self.0.processes());
        }
        recorded.transfers.extend(batch.iter().filter_map(|record| match *record {
            Record::Transfer { at, span, bytes, .. } => Some((at, at + span, bytes)),
            _ => None,
        }));
        let Recorded { lanes, spans, .. } = recorded;
        expand(batch, |lane| lanes[usize::from(lane)].1, |span| spans.push(span));
    }

    /// A cable says its words at once to those who draw, and to others when it knows how long they went on.
    fn wants_signals(&self) -> bool {
        true
    }
}

/// The same run without a window: nothing is drawn, and nobody looks how much is where.
pub fn recorded(system: &str, job: &str, window: Window) -> Recorded {
    let recorded = Rc::new(RefCell::new(Recorded::default()));
    observed(&blueprint(system), job, (window, false), |sim| Recorder(sim, recorded.clone()));
    recorded.take()
}

/// A run as its timeline shows it, and as it was recorded.
struct Run {
    system: &'static str,
    job: &'static str,
    timeline: Timeline,
    recorded: Recorded,
}

/// Those runs; once.
fn runs() -> &'static [Run] {
    static SEEN: LazyLock<Vec<Run>> = LazyLock::new(|| {
        let one = |(system, job): (&'static str, &'static str)| {
            let window = window(system);
            let timeline = Timeline::read(&drawn(system, job, window));
            Run { system, job, timeline, recorded: recorded(system, job, window) }
        };
        RUNS.into_par_iter().map(one).collect()
    });
    &SEEN
}

fn within(window: Window, at: Time, end: Time) -> u64 {
    end.min(window.end()).saturating_sub(at.max(window.from)).as_ps()
}

/// Where a slice is drawn, in the words of the records: lane or process, and what of it.
fn place(timeline: &Timeline, slice: &Seen) -> (String, &'static str) {
    let line = &timeline.tracks[&slice.track];
    let above = line.parent.map_or("", |parent| &timeline.tracks[&parent].name);
    let row = line.name.rsplit_once(" (").map_or(&line.name[..], |(name, _)| name);
    match row {
        "waiting" => (above.to_string(), "waiting"),
        "owed" => (above.to_string(), "owed"),
        _ => match row.strip_suffix(" waits") {
            Some(process) => (process.to_string(), "process"),
            None => (line.name.clone(), "phase"),
        },
    }
}

fn is_of_request(timeline: &Timeline, slice: &Seen) -> bool {
    timeline.path(slice.track).starts_with("requests of ")
}

#[test]
fn every_track_has_what_was_recorded_of_its_hop_to_the_picosecond() {
    for Run { system, job, timeline, recorded } in runs() {
        let window = window(system);
        let mut sums: BTreeMap<(String, &str, String), u64> = BTreeMap::new();
        for slice in timeline.slices.iter().filter(|slice| !is_of_request(timeline, slice)) {
            let (from, until) = (window.from.as_ps() / 1_000, window.end().as_ps().div_ceil(1_000));
            assert!(slice.from_ns >= from && slice.until_ns <= until, "{system}: {slice:?} is beyond the window");
            assert_eq!(slice.depth, 0, "{system}: a lane is in one phase at a time, {slice:?}");
            let (of, what) = place(timeline, slice);
            *sums.entry((of, what, slice.name.clone())).or_default() += slice.ps;
        }
        let mut expected: BTreeMap<(String, &str, String), u64> = BTreeMap::new();
        for span in &recorded.spans {
            let ps = within(window, span.at, span.at + span.span);
            let what = match span.kind {
                Kind::Phase(_) => "phase",
                Kind::Delay(_) => "owed",
                Kind::LaneWait(_) => "waiting",
                Kind::QueueWait(_) => "process",
            };
            if ps > 0 {
                let of = recorded.place(span).to_string();
                *expected.entry((of, what, span.label.name.to_string())).or_default() += ps;
            }
        }
        assert!(expected.len() > 10, "{system}: {expected:?}");
        assert_eq!(sums, expected, "{system}, {job}");
    }
}

#[test]
fn a_counter_is_the_share_of_its_steps_that_its_lane_was_at_work() {
    for Run { system, timeline, recorded, .. } in runs() {
        let window = window(system);
        let mut work = vec![0; recorded.lanes.len()];
        for span in &recorded.spans {
            let works = matches!(span.label.class, Class::Payload | Class::Through | Class::Protocol);
            if let Some(lane) = span.phase_of().filter(|_| works) {
                work[usize::from(lane)] += within(window, span.at, span.at + span.span);
            }
        }
        let mut lanes = 0;
        for ((lane, _), &at_work) in recorded.lanes.iter().zip(&work) {
            let counter = timeline.tracks.iter().find(|(_, line)| {
                line.name == "at work" && line.parent.is_some_and(|parent| timeline.tracks[&parent].name == *lane)
            });
            let Some((counter, line)) = counter else {
                assert_eq!(at_work, 0, "{system}: {lane} has no counter");
                continue;
            };
            assert!(line.counts);
            let counted: Vec<(u64, f64)> =
                timeline.counts.iter().filter(|c| c.0 == *counter).map(|c| (c.1, c.2)).collect();
            assert!(counted.iter().all(|(_, share)| (0.0..=100.0).contains(share)), "{system}: {lane}: {counted:?}");
            let ends = counted.iter().skip(1).map(|(at, _)| at * 1_000).chain([window.end().as_ps()]);
            let drawn: f64 =
                counted.iter().zip(ends).map(|((at, share), end)| share / 100.0 * (end - at * 1_000) as f64).sum();
            assert!(
                (drawn - at_work as f64).abs() < 1.0 + at_work as f64 * 1e-9,
                "{system}: {lane}: {drawn} of {at_work}"
            );
            lanes += 1;
        }
        assert!(lanes >= 4, "{system}: {lanes} lanes at work");
    }
}

#[test]
fn requests_are_those_that_were_transferred_and_their_stretches_add_up() {
    for Run { system, job, timeline, recorded } in runs() {
        let window = window(system);
        let depth: usize =
            job.split("iodepth=").nth(1).map_or(1, |rest| rest.split(' ').next().unwrap().parse().unwrap());
        let requests: Vec<usize> =
            (0..timeline.slices.len()).filter(|n| timeline.slices[*n].category == "request").collect();
        let slots = timeline.tracks.values().filter(|line| line.name.starts_with("slot ")).count();
        assert!((1..=depth).contains(&slots), "{system}: {slots} tracks of requests, {depth} in flight");
        let ended = |slice: &Seen| slice.number("bytes").is_some();
        let mut drawn: Vec<(u64, u64)> = requests
            .iter()
            .map(|n| &timeline.slices[*n])
            .filter(|slice| ended(slice))
            .map(|slice| (slice.ps, slice.number("bytes").unwrap()))
            .collect();
        let mut expected: Vec<(u64, u64)> = recorded
            .transfers
            .iter()
            .map(|(at, end, bytes)| (within(window, *at, *end), u64::from(*bytes)))
            .filter(|(ps, _)| *ps > 0)
            .collect();
        drawn.sort_unstable();
        expected.sort_unstable();
        assert!(!drawn.is_empty(), "{system}: no request ends in the window");
        assert_eq!(drawn, expected, "{system}, {job}");
        let mut stretches: BTreeMap<usize, Vec<&Seen>> = BTreeMap::new();
        for slice in &timeline.slices {
            slice.within.into_iter().for_each(|number| stretches.entry(number).or_default().push(slice));
        }
        for &number in &requests {
            let request = &timeline.slices[number];
            assert!(["read", "write"].contains(&request.name.as_str()) && request.number("offset").is_some());
            let of = stretches.remove(&number).unwrap_or_default();
            if ended(request) {
                let mut at = request.from_ns;
                for stretch in &of {
                    assert_eq!(stretch.from_ns, at, "{system}: {stretch:?} of {request:?}");
                    at = stretch.until_ns;
                }
                assert_eq!(of.iter().map(|stretch| stretch.ps).sum::<u64>(), request.ps, "{system}: {request:?}");
            }
        }
        let counter = timeline.tracks.iter().find(|(_, line)| line.name == "in flight").expect("a counter").0;
        let counted: Vec<(u64, f64)> = timeline.counts.iter().filter(|c| c.0 == *counter).map(|c| (c.1, c.2)).collect();
        assert!(counted.iter().all(|(_, count)| (0.0..=depth as f64).contains(count)), "{system}: {counted:?}");
        let ends = counted.iter().skip(1).map(|(at, _)| *at).chain([window.end().as_ps() / 1_000]);
        let in_flight: f64 = counted.iter().zip(ends).map(|((at, count), end)| count * (end - at) as f64).sum();
        let shown: u64 = requests.iter().map(|n| timeline.slices[*n].until_ns - timeline.slices[*n].from_ns).sum();
        assert_eq!(in_flight, shown as f64, "{system}");
    }
}

#[test]
fn what_a_request_spent_its_time_in_was_recorded_of_that_hop() {
    for Run { system, timeline, recorded, .. } in runs() {
        let mut known: BTreeMap<(&str, &str), Vec<(u64, u64)>> = BTreeMap::new();
        for span in &recorded.spans {
            let place = recorded.place(span);
            let stretch = (span.at.as_ps() / 1_000, (span.at + span.span).as_ps() / 1_000);
            known.entry((place, span.label.name)).or_default().push(stretch);
        }
        known.values_mut().for_each(|spans| spans.sort_unstable());
        let mut stretches = 0;
        for slice in timeline.slices.iter().filter(|slice| slice.within.is_some() && slice.name != "in line") {
            let spans = known.get(&(slice.text("at"), &slice.name));
            let spans = spans.unwrap_or_else(|| panic!("{system}: nothing like {slice:?} was recorded"));
            let begun = spans.partition_point(|span| span.0 <= slice.from_ns);
            assert!(spans[..begun].iter().rev().any(|span| slice.until_ns <= span.1), "{system}: {slice:?}");
            stretches += 1;
        }
        assert!(stretches > 10, "{system}: {stretches} stretches");
    }
}

#[test]
fn a_flow_goes_from_its_request_by_what_was_done_for_it_to_its_end() {
    for Run { system, timeline, .. } in runs() {
        let mut by: BTreeMap<u64, Vec<&Seen>> = BTreeMap::new();
        for slice in &timeline.slices {
            slice.flows.iter().for_each(|flow| by.entry(*flow).or_default().push(slice));
        }
        let mut hops = 0;
        for (flow, slices) in &by {
            let requests: Vec<&&Seen> = slices.iter().filter(|slice| slice.category == "request").collect();
            let [request] = requests[..] else { panic!("{system}: flow {flow} is of {requests:?}") };
            assert_eq!((slices[0], request.number("request")), (*request, Some(*flow)), "{system}: it begins there");
            let end = timeline.instants.iter().find(|instant| instant.flows_end == [*flow]);
            let end = end.unwrap_or_else(|| panic!("{system}: flow {flow} has no end"));
            assert_eq!((end.track, end.from_ns), (request.track, request.until_ns), "{system}: flow {flow}");
            for slice in slices.iter().filter(|slice| slice.category != "request") {
                assert!(slice.from_ns <= request.until_ns, "{system}: {slice:?} is after {request:?}");
                assert!(slice.number("request").is_none_or(|of| of == *flow), "{system}: {slice:?}");
                assert_eq!(place(timeline, slice).1, "phase", "{system}: flows come by lanes");
                hops += 1;
            }
        }
        assert!(hops >= 4, "{system}: flows come by {hops} phases");
        // Of whatever is done for a request that is drawn its flow comes by the first phase.
        let request = |slice: &Seen| slice.number("request").filter(|of| by.contains_key(of));
        let mut first: BTreeMap<(u64, u64), &Seen> = BTreeMap::new();
        for slice in timeline.slices.iter().filter(|s| !is_of_request(timeline, s) && place(timeline, s).1 == "phase") {
            if let Some(of) = request(slice).filter(|of| by[of][0].from_ns <= slice.from_ns) {
                first.entry((slice.track, of)).or_insert(slice);
            }
        }
        let without: Vec<&&Seen> =
            first.iter().filter(|((_, of), slice)| !slice.flows.contains(of)).map(|(_, slice)| slice).collect();
        assert!(without.is_empty(), "{system}: of {} no flow comes by {without:?}", first.len());
    }
}

#[test]
fn the_same_seed_has_the_same_bytes() {
    let (system, job) = RUNS[5];
    assert!(drawn(system, job, window(system)) == drawn(system, job, window(system)));
}

/// Packets of the timeline against those of the packet file, which is made of the same run by other code.
#[test]
fn packets_are_named_as_the_packet_file_has_them() {
    let (system, job) = ("nvme-desktop", "rw=randread bs=4k iodepth=4");
    let window = Window { from: Time::us(700), span: Time::us(300) };
    let written = |format: Format| {
        let out = Buffer::default();
        trace::trace(&blueprint(system), &jobs(job), (window, 1), (format, Box::new(out.clone())), None)
            .expect("a trace");
        out.written()
    };
    let capture = capture::analyze(&written(Format::Pcap)[..], usize::MAX).expect("a capture");
    let mut expected: BTreeMap<(String, u64), u64> = BTreeMap::new();
    for ((_, kind, bytes), count) in &capture.packets.kinds {
        *expected.entry((kind.word().to_string(), u64::from(*bytes))).or_default() += count;
    }
    let mut found: BTreeMap<(String, u64), u64> = BTreeMap::new();
    for one in Timeline::read(&written(Format::Timeline)).instants.iter().filter(|one| one.category == "wires") {
        *found.entry((one.name.clone(), one.number("bytes").expect("bytes"))).or_default() += 1;
    }
    assert_eq!(found, expected);
}
