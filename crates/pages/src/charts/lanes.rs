//! What lanes did, to scale along time. The page's script lays the same elements out again when the reader zooms.

use hopscope_kernel::{Class, Time};
use hopscope_studies::pictures::{Timeline, TimelineLane};
use serde_json::{Value, json};

use crate::axis::Scale;
use crate::drawing::{Drawing, Key};
use crate::table::{Cell, Table};
use crate::wording::{digits, width_px};

const WIDTH: f64 = 1080.0;
const TOP: f64 = 4.0;
/// Name of a lane, and labels of what is too narrow for them.
const NAME: f64 = 22.0;
const ABOVE: f64 = 18.0;
const LANE: f64 = 48.0;
/// Named spans under a lane.
const SPANS: f64 = 30.0;
const GAP: f64 = 16.0;
const AXES: f64 = 62.0;

/// A stretch of a lane in one phase, or idle; times from the begin of the focus.
struct Piece {
    name: &'static str,
    class: &'static str,
    from_ps: i64,
    until_ps: i64,
}

/// Where a lane lies.
struct Rows {
    lane: f64,
    spans: f64,
}

fn rows(timeline: &Timeline) -> (Vec<Rows>, f64) {
    let mut y = TOP;
    let mut rows = Vec::new();
    for lane in &timeline.lanes {
        y += NAME + ABOVE;
        rows.push(Rows { lane: y, spans: y + LANE });
        y += LANE + if lane.spans.is_empty() { 0.0 } else { SPANS } + GAP;
    }
    (rows, y)
}

/// Times are told from the begin of the focus, so that they are small.
fn since(timeline: &Timeline, at: Time) -> i64 {
    at.as_ps() as i64 - timeline.focus.0.as_ps() as i64
}

fn pieces(timeline: &Timeline, lane: &TimelineLane) -> Vec<Piece> {
    let (from, until) = (since(timeline, timeline.from), since(timeline, timeline.until));
    let mut pieces = Vec::new();
    let mut done = from;
    let idle = |pieces: &mut Vec<Piece>, from_ps: i64, until_ps: i64| {
        if until_ps > from_ps {
            pieces.push(Piece { name: "idle", class: "idle", from_ps, until_ps });
        }
    };
    for phase in &lane.phases {
        let (from_ps, until_ps) = (since(timeline, phase.at), since(timeline, phase.end()));
        idle(&mut pieces, done, from_ps);
        let class = class_of(phase.phase.class);
        pieces.push(Piece { name: phase.phase.name, class, from_ps, until_ps });
        done = done.max(until_ps);
    }
    idle(&mut pieces, done, until);
    pieces
}

fn class_of(class: Class) -> &'static str {
    match class {
        Class::Payload => "payload",
        Class::Through => "width",
        Class::Protocol | Class::Mark => "protocol",
        Class::Reason | Class::Queued => "waiting",
        Class::Workload => "nothing",
    }
}

fn ns(ps: i64) -> String {
    digits(ps as f64 / 1e3)
}

fn clocks(timeline: &Timeline, ps: i64) -> f64 {
    ps as f64 / timeline.clock.0.as_ps().max(1) as f64
}

/// As whole clocks where it is one, to the rounding of the clock's period.
fn in_clocks(timeline: &Timeline, ps: i64) -> String {
    let clocks = clocks(timeline, ps);
    let whole = clocks.round();
    let figure = if (clocks - whole).abs() < 0.005 { format!("{whole:.0}") } else { format!("{clocks:.2}") };
    let name = &timeline.clock.1;
    let name = if figure == "1" { name.strip_suffix('s').unwrap_or(name) } else { name };
    format!("{figure} {name}")
}

/// The drawing, with the focus in view.
pub fn draw(timeline: &Timeline) -> Drawing {
    let (rows, lanes_end) = rows(timeline);
    let height = lanes_end + AXES;
    let view = (since(timeline, timeline.focus.0) as f64, since(timeline, timeline.focus.1) as f64);
    let x = Scale::new(view, (0.0, WIDTH));
    let mut drawing = Drawing::new(WIDTH, height, &timeline.title, &describe(timeline));
    let classes = [
        ("payload", "bytes of the user"),
        ("width", "bytes of the user, at the pace of another lane"),
        ("protocol", "the lane's own protocol"),
        ("waiting", "held, waiting"),
        ("nothing", "nothing to do"),
        ("idle", "idle"),
    ];
    let seen: Vec<&str> = timeline.lanes.iter().flat_map(|l| pieces(timeline, l)).map(|piece| piece.class).collect();
    let shown = classes.iter().filter(|(class, _)| seen.contains(class));
    drawing.legend = shown.map(|(class, words)| Key::of_class(class, words)).collect();
    if timeline.lanes.iter().flat_map(|lane| &lane.spans).any(|span| span.lost) {
        let mut swatch = Drawing::new(30.0, 16.0, "", "");
        swatch.group("class=\"span lost\"", |d| d.path("leader", "M3 5V11H27V5"));
        drawing.legend.push(Key { swatch: swatch.body().to_string(), words: "what the publication calls lost".into() });
    }
    for (lane, rows) in timeline.lanes.iter().zip(&rows) {
        let name = format!("{}, {}", lane.name, lane.kind);
        drawing.text("strong", (0.0, rows.lane - ABOVE - 7.0), &name);
        drawing.group("class=\"lane\"", |drawing| {
            let mut labelled_to = f64::MIN;
            for piece in pieces(timeline, lane) {
                block(drawing, timeline, &lane.name, &piece, &x, rows.lane, &mut labelled_to);
            }
        });
        for span in &lane.spans {
            let (from, until) = (since(timeline, span.from), since(timeline, span.until));
            let words = format!("{}, {} ns", span.name, ns(until - from));
            named(&mut drawing, &x, (from, until), &words, if span.lost { " lost" } else { "" }, rows.spans);
        }
    }
    axes(&mut drawing, timeline, &x, lanes_end);
    drawing
}

/// A phase with its name and its length: inside where there is room, its name above where there is not.
fn block(
    drawing: &mut Drawing,
    timeline: &Timeline,
    lane: &str,
    piece: &Piece,
    x: &Scale,
    y: f64,
    labelled_to: &mut f64,
) {
    let Piece { name, class, from_ps, until_ps } = piece;
    let length = until_ps - from_ps;
    let tip = format!(
        "{lane}: {name}, {} ns ({}), from {} to {} ns",
        ns(length),
        in_clocks(timeline, length),
        ns(*from_ps),
        ns(*until_ps)
    );
    let data = [("from", from_ps.to_string()), ("until", until_ps.to_string())];
    let (left, right) = (x.at(*from_ps as f64).max(-2.0), x.at(*until_ps as f64).min(WIDTH + 2.0));
    let (width, middle) = (right - left, (left + right) / 2.0);
    let seen = right > 0.0 && left < WIDTH;
    let short = format!("{} ns", ns(length));
    let room = |text: &str| seen && width_px(text, 12.5) < width - 4.0;
    let half = width_px(name, 12.0) / 2.0;
    let centre = middle.clamp(half, (WIDTH - half).max(half));
    let above = seen && !room(name) && *class != "idle" && centre - half > *labelled_to;
    let hide = |shown: bool| if shown { "" } else { " gone" };
    drawing.mark(&format!("block{}", hide(seen)), &data, &tip, |drawing| {
        drawing.class_rect(class, [left, y, width, LANE]);
        let ink = if *class == "idle" { "small" } else { "in" };
        drawing.text(&format!("{ink} middle name{}", hide(room(name))), (middle, y + 20.0), name);
        drawing.text(&format!("{ink} middle length{}", hide(room(&short))), (middle, y + 38.0), &short);
        if *class != "idle" {
            drawing.group(
                &format!("class=\"above{}\" transform=\"translate({middle:.2} {y:.2})\"", hide(above)),
                |d| {
                    d.path("leader", "M0 -1V-6");
                    d.text("small middle", (centre - middle, -9.0), name);
                },
            );
        }
    });
    if above {
        *labelled_to = centre + half + 6.0;
    }
}

/// A span that the publication has a name for, under its lane.
fn named(drawing: &mut Drawing, x: &Scale, (from, until): (i64, i64), words: &str, lost: &str, y: f64) {
    let (left, right) = (x.at(from as f64), x.at(until as f64));
    let data = format!("class=\"span{lost}\" data-from=\"{from}\" data-until=\"{until}\"");
    drawing.group(&data, |drawing| {
        drawing.path("leader", &format!("M{left:.2} {:.2}V{:.2}H{right:.2}V{:.2}", y + 3.0, y + 9.0, y + 3.0));
        let half = width_px(words, 12.0) / 2.0;
        let middle = ((left + right) / 2.0).clamp(half, (WIDTH - half).max(half));
        drawing.text("small middle", (middle, y + 23.0), words);
    });
}

/// The time in nanoseconds, and in clocks below it.
fn axes(drawing: &mut Drawing, timeline: &Timeline, x: &Scale, y: f64) {
    let (from, until) = (since(timeline, timeline.focus.0) as f64, since(timeline, timeline.focus.1) as f64);
    let units = [(1e3, "ns", y), (timeline.clock.0.as_ps() as f64, timeline.clock.1.as_str(), y + 30.0)];
    for (unit_ps, name, y) in units {
        let data = format!("class=\"time-axis\" data-unit=\"{unit_ps}\" data-y=\"{y}\"");
        let scale = Scale::new((from / unit_ps, until / unit_ps), (0.0, WIDTH));
        drawing.line("axis", (0.0, y), (WIDTH, y));
        drawing.group(&data, |drawing| {
            for value in scale.ticks(8) {
                let at = x.at(value * unit_ps);
                drawing.line("axis", (at, y), (at, y + 5.0));
                let words = crate::wording::tick(value);
                let class = if at < 8.0 { "tick" } else { "tick middle" };
                if at < WIDTH - width_px(name, 12.0) - 30.0 {
                    drawing.text(class, (at, y + 18.0), &words);
                }
            }
        });
        drawing.text("small end axis-name", (WIDTH, y + 18.0), name);
    }
}

fn describe(timeline: &Timeline) -> String {
    let (begin, end) = (since(timeline, timeline.focus.0), since(timeline, timeline.focus.1));
    let mut words = format!("{} Shown are {} ns.", timeline.about, ns(end - begin));
    for lane in &timeline.lanes {
        for span in &lane.spans {
            let length = since(timeline, span.until) - since(timeline, span.from);
            let clocks = in_clocks(timeline, length);
            words += &format!(" {}: {}, {} ns ({clocks}).", lane.name, span.name, ns(length));
        }
    }
    words
}

/// The same for programs; times in picoseconds from the begin of the focus.
pub fn data(timeline: &Timeline) -> Value {
    let lane = |lane: &TimelineLane| {
        let phase =
            |p: &Piece| json!({ "phase": p.name, "class": p.class, "from_ps": p.from_ps, "until_ps": p.until_ps });
        let span = |s: &hopscope_studies::pictures::NamedSpan| {
            let (from, until) = (since(timeline, s.from), since(timeline, s.until));
            json!({ "name": s.name, "from_ps": from, "until_ps": until })
        };
        json!({
            "lane": lane.name,
            "phases": pieces(timeline, lane).iter().map(phase).collect::<Vec<_>>(),
            "spans": lane.spans.iter().map(span).collect::<Vec<_>>(),
        })
    };
    json!({
        "from_ps": since(timeline, timeline.from),
        "until_ps": since(timeline, timeline.until),
        "focus": "One cycle",
        "focus_ps": [since(timeline, timeline.focus.0), since(timeline, timeline.focus.1)],
        "clock_ps": timeline.clock.0.as_ps(),
        "lanes": timeline.lanes.iter().map(lane).collect::<Vec<_>>(),
    })
}

/// A row for each phase in the focus; for programs, of all that there is.
pub fn table(timeline: &Timeline) -> Table {
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    let (begin, end) = (since(timeline, timeline.focus.0), since(timeline, timeline.focus.1));
    for lane in &timeline.lanes {
        for piece in pieces(timeline, lane) {
            let length = piece.until_ps - piece.from_ps;
            let clocks = clocks(timeline, length);
            let row = vec![
                Cell::words(lane.name.clone()),
                Cell::words(piece.name),
                Cell::words(piece.class),
                Cell::figure(ns(piece.from_ps), piece.from_ps as f64 / 1e3),
                Cell::figure(ns(length), length as f64 / 1e3),
                Cell::figure(digits(clocks), clocks),
            ];
            if piece.until_ps > begin && piece.from_ps < end {
                rows.push(row.clone());
            }
            all.push(row);
        }
    }
    let clocks = format!("in {}", timeline.clock.1);
    let columns = [
        ("lane", "lane"),
        ("phase", "phase"),
        ("class", "class"),
        ("begin, ns", "begin_ns"),
        ("length, ns", "length_ns"),
        (clocks.as_str(), "length_clocks"),
    ];
    let id = format!("{}-phases", timeline.id);
    let csv = Table::new(&id, "", &columns, all).csv;
    Table { csv, ..Table::new(&id, "Every phase of the stretch that is shown first", &columns, rows) }
}
