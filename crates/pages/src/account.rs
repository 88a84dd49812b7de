//! The loss account in figures: every lane at a glance, lane by lane, over time.

use hopscope_kernel::Time;
use hopscope_observe::account::{Account, Entry, LaneAccount, Use};
use hopscope_observe::lives::Latency;
use serde_json::{Value, json};

use crate::charts::stacks::Segment;
use crate::charts::utilisation::{self, Strip};
use crate::charts::waterfall::{self, Step, Waterfall};
use crate::drawing::Key;
use crate::latency;
use crate::page::{Behind, Figure, Kind};
use crate::table::{Cell, Table};
use crate::wording::{digits, percent, rate, share, slug, span, span_ps};

/// Classes, in the order in which a bar shows them.
const CLASSES: [Use; 5] = [Use::Payload, Use::WidthUnused, Use::Protocol, Use::Waiting, Use::Nothing];
/// What is below this share gets no bar of its own; its table has it.
const OWN_BAR: f64 = 0.005;
/// Bars of its own that a class gets at most.
const BARS_MAX: usize = 7;

/// The style of a class.
pub fn style(class: Use) -> &'static str {
    match class {
        Use::Payload => "payload",
        Use::WidthUnused => "width",
        Use::Protocol => "protocol",
        Use::Waiting => "waiting",
        Use::Nothing => "nothing",
    }
}

/// What an entry is, and where and why.
fn words(entry: &Entry) -> (String, String) {
    let Entry { class, cause, lane, phase, .. } = entry;
    let name = if phase.is_empty() { cause } else { phase };
    let about = match class {
        Use::Payload => "bytes of the user".to_string(),
        Use::WidthUnused => "slower than the lane can".to_string(),
        Use::Protocol => "the lane's own protocol".to_string(),
        Use::Waiting | Use::Nothing if cause.is_empty() => format!("waits for {lane}"),
        Use::Waiting | Use::Nothing if phase.is_empty() => class.word().to_string(),
        Use::Waiting => format!("{cause}: {lane}"),
        Use::Nothing => format!("{cause}; meanwhile {lane}"),
    };
    (name.clone(), about)
}

fn whole(entries: &[Entry]) -> Time {
    entries.iter().fold(Time::ZERO, |sum, entry| sum + entry.time)
}

/// One entry for programs.
fn entry_json(entry: &Entry) -> Value {
    json!({
        "class": entry.class.word(), "cause": entry.cause, "part": entry.part, "lane": entry.lane,
        "phase": entry.phase, "ps": entry.time.as_ps(),
    })
}

/// Every entry in a row.
fn entry_table(id: &str, caption: &str, entries: &[Entry], capacity: Option<f64>) -> Table {
    let all = whole(entries);
    let rows = entries.iter().map(|entry| {
        let of = share(entry.time, all);
        let (name, _) = words(entry);
        let mut row = vec![
            Cell::words(name),
            Cell::words(entry.lane.clone()),
            Cell::words(entry.class.word()),
            Cell::words(entry.cause.clone()),
            Cell::figure(span(entry.time), entry.time.as_ps()),
            Cell::figure(format!("{:.2} %", 100.0 * of), of),
        ];
        row.extend(capacity.map(|capacity| Cell::figure(digits(capacity * of / 1e6), capacity * of)));
        row
    });
    let mut columns = vec![
        ("what", "phase"),
        ("at", "lane"),
        ("class", "class"),
        ("why", "cause"),
        ("time", "time_ps"),
        ("share", "share"),
    ];
    if capacity.is_some() {
        columns.push(("MB/s", "bytes_per_s"));
    }
    Table::new(id, caption, &columns, rows.collect())
}

/// Time of each class, for programs.
pub fn times(lane: &LaneAccount) -> Value {
    CLASSES.into_iter().map(|class| (class.word().to_string(), json!(lane.time_in(class).as_ps()))).collect()
}

/// What a lane was at, of a hundred parts.
pub fn shares(lane: &LaneAccount) -> Vec<Segment> {
    let all = whole(&lane.entries);
    let segment = |class: Use| {
        let time = lane.time_in(class);
        let of = share(time, all);
        (time > Time::ZERO).then(|| Segment {
            names: vec![format!("{} {}", class.word(), percent(of)), percent(of)],
            class: style(class).to_string(),
            amount: 100.0 * of,
            tip: format!("{}, {} of the time", class.word(), percent(of)),
        })
    };
    CLASSES.into_iter().filter_map(segment).collect()
}

/// What the classes are called that there are.
pub fn legend(account: &Account) -> Vec<Key> {
    waterfall::legend(|class| {
        CLASSES
            .into_iter()
            .any(|of| style(of) == class && account.lanes.iter().any(|lane| lane.time_in(of) > Time::ZERO))
    })
}

/// Every hop in a row.
pub fn hops_table((id, caption): (&str, &str), account: &Account, latency: Option<&Latency>) -> Table {
    let rows = account.lanes.iter().map(|lane| {
        let all = whole(&lane.entries);
        let mut row = vec![Cell::words(lane.lane.clone())];
        for class in CLASSES {
            let of = share(lane.time_in(class), all);
            row.push(Cell::figure(percent(of), of));
        }
        let figure = |rate: Option<f64>| match rate {
            Some(bytes_per_s) => Cell::figure(digits(bytes_per_s / 1e6), bytes_per_s),
            None => Cell::empty(),
        };
        row.push(figure(lane.capacity.as_ref().map(|capacity| capacity.bytes_per_second)));
        row.push(figure(lane.delivered()));
        row.extend(latency::awaited(latency, &lane.lane).map(|of| Cell::figure(percent(of), of)));
        row
    });
    let mut columns = vec![
        ("hop", "lane"),
        ("payload", "payload_share"),
        ("width not used", "width_not_used_share"),
        ("protocol", "protocol_share"),
        ("waiting", "waiting_share"),
        ("nothing to do", "nothing_to_do_share"),
        ("can carry, MB/s", "capacity_bytes_per_s"),
        ("delivered, MB/s", "delivered_bytes_per_s"),
    ];
    if latency.is_some() {
        columns.push(("requests wait for it", "awaited_share"));
    }
    Table::new(id, caption, &columns, rows.collect())
}

/// One lane, from what it can carry to what arrived.
pub fn lane(account: &Account, lane: &LaneAccount) -> Figure {
    let all = account.span();
    let capacity = lane.capacity.as_ref();
    // Amounts in MB/s or GB/s where the lane has a capacity, else in percent of the time.
    let (of_unit, unit) = match capacity.map(|capacity| capacity.bytes_per_second) {
        Some(rate) if rate >= 1e10 => (1e9, "GB/s"),
        Some(_) => (1e6, "MB/s"),
        None => (1.0, "% of time"),
    };
    let scale = capacity.map_or(100.0, |capacity| capacity.bytes_per_second / of_unit);
    let figures = |sign: &str, time: Time| {
        let of = share(time, all);
        match capacity {
            Some(_) => (format!("{sign}{} {unit}", digits(scale * of)), format!("{:.2} %", 100.0 * of)),
            None => (format!("{:.2} %", 100.0 * of), span(time)),
        }
    };
    let step = |name: String, about: String, class: &'static str, time: Time, sign: &str| {
        let (figure, share_text) = figures(sign, time);
        Step { name, about, class, amount: scale * share(time, all), figure, share: share_text }
    };
    let mut steps = Vec::new();
    for class in CLASSES.into_iter().rev().filter(|class| *class != Use::Payload) {
        let of: Vec<&Entry> = lane.entries.iter().filter(|entry| entry.class == class).collect();
        let (own, small) = split(&of, all);
        for entry in own {
            let (name, about) = words(entry);
            steps.push(step(name, about, style(class), entry.time, "\u{2212}"));
        }
        if let [only] = small[..] {
            let (name, about) = words(only);
            steps.push(step(name, about, style(class), only.time, "\u{2212}"));
        } else if !small.is_empty() {
            let time = small.iter().fold(Time::ZERO, |sum, entry| sum + entry.time);
            let name = format!("{} smaller ones", small.len());
            steps.push(step(name, format!("{}; see the table", class.word()), style(class), time, "\u{2212}"));
        }
    }
    let payload = lane.time_in(Use::Payload);
    let phases: Vec<&str> = lane.entries.iter().filter(|e| e.class == Use::Payload).map(|e| e.phase.as_str()).collect();
    let name = if capacity.is_some() { "delivered" } else { "bytes of the user" };
    let left = (payload > Time::ZERO).then(|| step(name.into(), phases.join(", "), "payload", payload, ""));
    let first = match capacity {
        Some(capacity) => {
            Step { share: "100 %".into(), ..step("can carry".into(), capacity.how.clone(), "whole", all, "") }
        }
        None => step("all the time".into(), "it has no rate of its own".into(), "whole", all, ""),
    };
    let title = match (capacity, lane.delivered()) {
        (Some(capacity), Some(got)) => {
            format!("{}: {} of {}", lane.lane, rate(got), rate(capacity.bytes_per_second))
        }
        _ => format!("{}: busy {}", lane.lane, percent(lane.busy_share())),
    };
    let mut largest: Vec<&Step> = steps.iter().collect();
    largest.sort_by(|a, b| b.amount.total_cmp(&a.amount));
    let named: Vec<String> =
        largest.iter().take(3).map(|s| format!("{} ({}): {}, {}", s.name, s.about, s.figure, s.share)).collect();
    let description = format!("{title}. The largest losses: {}.", named.join("; "));
    let drawing = waterfall::draw(&Waterfall { title, description, whole: first, steps, left, unit });
    let id = format!("hop-{}", slug(&lane.lane));
    let caption = format!("{}: everything it did", lane.lane);
    let bytes_per_s = capacity.map(|capacity| capacity.bytes_per_second);
    Figure {
        behind: Behind::Table(entry_table(&format!("{id}-table"), &caption, &lane.entries, bytes_per_s)),
        id,
        drawing,
        caption: String::new(),
        kind: Kind::Marks,
        data: json!({
            "lane": lane.lane,
            "capacity_bytes_per_s": bytes_per_s,
            "delivered_bytes_per_s": lane.delivered(),
            "entries": lane.entries.iter().map(entry_json).collect::<Vec<_>>(),
        }),
        width_min: 340,
    }
}

/// Those that get a bar of their own, and the others; the largest first.
fn split<'a>(entries: &[&'a Entry], all: Time) -> (Vec<&'a Entry>, Vec<&'a Entry>) {
    let mut sorted = entries.to_vec();
    sorted.sort_by_key(|entry| std::cmp::Reverse(entry.time));
    let own = sorted.iter().take(BARS_MAX).filter(|entry| share(entry.time, all) >= OWN_BAR).count();
    let small = sorted.split_off(own);
    (sorted, small)
}

/// How busy every lane was, over time.
pub fn utilisation(account: &Account) -> Figure {
    let (from, until) = (account.from.as_ps() as f64, account.until.as_ps() as f64);
    let strips: Vec<Strip> = account
        .lanes
        .iter()
        .map(|lane| Strip {
            name: lane.lane.clone(),
            about: String::new(),
            shares: account.busy_over_time(lane),
            mean: lane.busy_share(),
        })
        .collect();
    let rows = account.lanes.iter().zip(&strips).flat_map(|(lane, strip)| {
        strip.shares.iter().enumerate().map(move |(index, share)| {
            let begin = account.slice(index, strip.shares.len()).0.as_ps() as f64;
            vec![
                Cell::words(lane.lane.clone()),
                Cell::figure(span_ps(begin), begin),
                Cell::figure(percent(*share), share),
            ]
        })
    });
    let columns = [("hop", "lane"), ("from", "from_ps"), ("busy", "busy_share")];
    let table = Table::new("busy-table", "Busy share of every slice of the window", &columns, rows.collect());
    let data =
        account.lanes.iter().zip(&strips).map(|(lane, strip)| json!({ "lane": lane.lane, "busy": strip.shares }));
    Figure {
        id: "busy".into(),
        drawing: utilisation::draw(&strips, (from, until), "How busy every hop was, over time"),
        caption: "Payload and protocol, of each slice of the window; a strip is full height at 100 %.".into(),
        kind: Kind::Marks,
        data: json!({ "from_ps": account.from.as_ps(), "until_ps": account.until.as_ps(),
                      "hops": data.collect::<Vec<_>>() }),
        behind: Behind::Table(table),
        width_min: 760,
    }
}
