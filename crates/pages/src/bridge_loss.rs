//! A picture of Figure 1, drawn to scale from a run: where the bandwidth of a 64-byte write cycle goes.
//!
//! ```text
//!   PCI   |a wait data|d| idle |a wait data|        idle        |a wait data|
//!   cable             |3|words            |1|words       |      bubble      |words
//! ```

use std::fmt::Write;

use hopscope_files::job_file;
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_kernel::{Class, Time};
use hopscope_machine::blueprint::Blueprint;
use hopscope_observe::Interval;
use hopscope_questions::probes::{Trace, dma_write_cycle};
use hopscope_studies::Study;

/// The study whose figures stand beside.
const STUDY: &str = "piix4e";
/// The machine, and what it does: writes of one block, one at a time.
const SYSTEM: &str = "piix4e-one-disk";
const JOB: [&str; 5] = ["--rw=write", "--bs=64k", "--size=64k", "--iodepth=1", "--name=disk"];
/// Simulated time of the run: a few requests of 64 KB.
const SPAN: Time = Time::ms(20);
/// Bytes of a cycle: the bridge's whole buffer.
const CYCLE_BYTES: f64 = 64.0;

/// Pixels, all of them.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 492.0;
const LEFT: f64 = 108.0;
const RIGHT: f64 = 24.0;
const PCI_TOP: f64 = 136.0;
const CABLE_TOP: f64 = 246.0;
const LANE: f64 = 46.0;
const ACCOUNT_TOP: f64 = 392.0;
const ACCOUNT: f64 = 36.0;

/// One cycle of a trace, in clocks from its first FRAME#.
struct Cycle {
    clock: Time,
    /// From this FRAME# to the next cycle's.
    length: f64,
    /// First FRAME# to data end, twice in the cycle and once in the next.
    fetches: [Fetch; 3],
    /// The phases of PCI from the first FRAME# to the end of the next cycle's first fetch.
    pci: Vec<Block>,
    /// First half, second half, first half of the next cycle.
    words: [Block; 3],
}

struct Fetch {
    start: f64,
    data_start: f64,
    data_end: f64,
}

#[derive(Clone)]
struct Block {
    name: &'static str,
    start: f64,
    end: f64,
}

impl Block {
    fn length(&self) -> f64 {
        self.end - self.start
    }
}

/// The picture, as SVG. Drawn from a run on shipped data, which a test holds to be right.
pub fn bridge_loss() -> String {
    let library = Library::new(None).expect("the shipped files can be read");
    draw(&observe(&library), published(&library))
}

/// What the report says of a 64-byte cycle of a write: its clocks, its time and that of the bubble in it, ns.
fn published(library: &Library) -> [f64; 3] {
    let study = Study::shipped().into_iter().find(|study| study.id() == STUDY).expect("the study ships");
    let Ok(opened) = study.open(library, &mut Sources::default()) else { panic!("a shipped study is right") };
    [("write-cycle", ("row", "0")), ("timeline", ("order", "12")), ("timeline", ("order", "11"))].map(|(table, row)| {
        let Ok(cells) = opened.cells(table, &[row]) else { panic!("a shipped study runs") };
        cells.first().and_then(|cell| cell.published).expect("a published figure")
    })
}

fn observe(library: &Library) -> Cycle {
    let mut sources = Sources::default();
    let text = library.open_system(SYSTEM).expect("the system ships");
    let file = sources.add(text.name, text.text);
    let machine = Blueprint::read(library, &mut sources, file).expect("a shipped system is right");
    let jobs = job_file::read_options(&mut sources, &JOB).expect("a job is right").jobs;
    let Ok(trace) = Trace::of(&machine, &jobs, SPAN, true) else { panic!("the shipped machine runs the job") };
    let clock = trace.clock("pci").expect("a bus has a clock");
    let pci = trace.lane("pci");
    let (start, _) = dma_write_cycle(&pci).expect("a write of 64 KB has 64-byte cycles");
    // A fetch has four phases: an address, the wait for memory, data, and how it ends.
    let from = pci.partition_point(|phase| phase.at < start);
    let clocks = |at: Time| (at.as_ps() as f64 - start.as_ps() as f64) / clock.as_ps() as f64;
    let block = |i: &Interval| Block { name: i.phase.name, start: clocks(i.at), end: clocks(i.end()) };
    let fetch = |first: usize| {
        let data = &pci[first + 2];
        Fetch { start: clocks(pci[first].at), data_start: clocks(data.at), data_end: clocks(data.end()) }
    };
    let cable = trace.lane("cable");
    let moves_bytes = |i: &&Interval| matches!(i.phase.class, Class::Payload | Class::Through);
    let words = cable.iter().filter(moves_bytes).filter(|i| i.at > start).map(block);
    let words: Vec<Block> = words.take(3).collect();
    let fetches = [fetch(from), fetch(from + 4), fetch(from + 8)];
    let (length, words) = (fetches[2].start, words.try_into().ok().expect("words cross the cable in every cycle"));
    Cycle { clock, length, fetches, pci: pci[from..from + 11].iter().map(block).collect(), words }
}

fn draw(cycle: &Cycle, published: [f64; 3]) -> String {
    let Cycle { clock, length, fetches, pci, words } = cycle;
    let ns = |clocks: f64| clocks * clock.as_ns_f64();
    let mb_per_s = |bytes: f64, clocks: f64| bytes / ns(clocks) * 1e3;
    let [first, second, after] = words;
    let sent = first.length() + second.length();
    let pause = second.start - first.end;
    let bubble = Block { name: "bubble", start: second.end, end: after.start };
    let delivered = mb_per_s(CYCLE_BYTES, *length);
    let capacity = mb_per_s(CYCLE_BYTES, sent);
    let lost = |clocks: f64| capacity * clocks / length;
    let until = fetches[2].data_end + 5.0;

    let mut svg = Svg { out: String::new(), scale: (WIDTH - LEFT - RIGHT) / until };
    svg.head(&format!(
        "Two lanes over {length:.0} PCI clocks ({:.0} ns), to scale. PCI fetches 32 bytes twice: 1 clock of address, {:.0} of \
         waiting for memory, {:.0} of data. The IDE cable sends them in two halves of {:.0} clocks, and then has nothing to \
         send for {:.0} clocks ({:.0} ns), until the first bytes of the next fetch have arrived. So {delivered:.1} of its \
         {capacity:.1} MB/s are used.",
        ns(*length),
        fetches[0].data_start - 1.0,
        fetches[0].data_end - fetches[0].data_start,
        first.length(),
        bubble.length(),
        ns(bubble.length()),
    ));
    svg.text("heading", 24.0, 38.0, "One 64-byte write cycle in the PIIX4E");
    let subtitle = format!(
        "64 bytes in {length:.0} PCI clocks, {:.0} ns: {delivered:.1} MB/s, where the cable could carry {capacity:.1} MB/s",
        ns(*length)
    );
    svg.text("sub", 24.0, 62.0, &subtitle);

    svg.legend(&[("payload", "the user's bytes"), ("protocol", "protocol"), ("loss", "lost")]);
    svg.bracket(0.0, *length, 86.0, &format!("one cycle: {length:.0} clocks"));
    svg.lane("PCI", "32 bits", PCI_TOP);
    svg.lane("IDE cable", "Ultra DMA 2", CABLE_TOP);

    let mut idle_since = 0.0;
    for block in pci.iter().filter(|block| block.name != "turnaround") {
        svg.idle(idle_since, block.start, length);
        let (class, short) = match block.name {
            "data" => ("payload", "data"),
            "wait for memory" => ("protocol", "wait"),
            "target disconnect" => ("protocol", "disconnect"),
            _ => ("protocol", "address"),
        };
        svg.block(class, short, block, PCI_TOP, *length);
        idle_since = block.end;
    }
    for half in words {
        svg.block("payload", "words", &Block { end: half.end.min(until), ..half.clone() }, CABLE_TOP, *length);
    }
    // The bubble before the first word belongs to the cycle before.
    svg.rect(
        "loss next",
        &Block { name: "bubble", start: 0.0, end: first.start },
        CABLE_TOP,
        LANE,
        "end of the bubble before",
    );
    svg.text_at("small middle", first.start / 2.0, CABLE_TOP + 28.0, "bubble before");
    svg.rect("loss", &Block { name: "pause", start: first.end, end: second.start }, CABLE_TOP, LANE, "pause");
    svg.below(first.end + pause / 2.0, &format!("pause {pause:.0}"));
    svg.rect("loss", &bubble, CABLE_TOP, LANE, "bubble");
    let label = format!("bubble {:.0}", bubble.length());
    svg.text_at("in middle strong", bubble.start + bubble.length() / 2.0, CABLE_TOP + 20.0, &label);
    let label = format!("{:.0} ns without a word", ns(bubble.length()));
    svg.text_at("in middle", bubble.start + bubble.length() / 2.0, CABLE_TOP + 37.0, &label);

    let (down, up) = ((PCI_TOP + LANE, CABLE_TOP), (CABLE_TOP, PCI_TOP + LANE));
    let starts = format!("words start {:.0} clocks on", first.start - fetches[0].data_end);
    svg.arrow(fetches[0].data_end, first.start, down, &["32 bytes are there:", &starts]);
    svg.arrow(fetches[1].data_end, second.start, down, &["the other 32 are there:", "the words go on"]);
    let last_strobe = second.end - first.length() / 16.0;
    svg.arrow(last_strobe, *length, up, &["buffer empty:", "asks for 64 more"]);
    svg.arrow(fetches[2].data_end, after.start, down, &[]);

    svg.axis(*length, CABLE_TOP + LANE + 26.0);

    let heading = format!("Where the cable's {capacity:.1} MB/s go, on the same scale");
    svg.text("strong", LEFT, ACCOUNT_TOP - 14.0, &heading);
    let mut at = 0.0;
    let mut share = |svg: &mut Svg, class: &str, clocks: f64, what: &str| {
        let block = Block { name: "", start: at, end: at + clocks };
        svg.rect(class, &block, ACCOUNT_TOP, ACCOUNT, what);
        at = block.end;
        block.start + clocks / 2.0
    };
    let middle = share(&mut svg, "payload", sent, "words");
    svg.text_at(
        "in middle strong",
        middle,
        ACCOUNT_TOP + 23.0,
        &format!("words {sent:.0} clocks: {delivered:.1} MB/s"),
    );
    share(&mut svg, "loss", pause, "pause between the halves");
    let parts = [
        (length - bubble.start, "clocks until the bus is granted"),
        (1.0, "of address"),
        (fetches[2].data_start - length - 1.0, "until memory answers"),
        (fetches[2].data_end - fetches[2].data_start, "for 32 bytes on PCI"),
        (after.start - fetches[2].data_end, "to the first strobe"),
    ];
    for (clocks, what) in parts {
        let middle = share(&mut svg, "loss", clocks, what);
        if clocks > 2.0 {
            svg.text_at("in middle", middle, ACCOUNT_TOP + 23.0, &format!("{clocks:.0}"));
        }
    }
    let right = bubble.length() + pause + sent + 1.2;
    svg.text_at(
        "loss-word strong",
        right,
        ACCOUNT_TOP + 15.0,
        &format!("lost: {:.1} MB/s", lost(bubble.length() + pause)),
    );
    svg.text_at(
        "small",
        right,
        ACCOUNT_TOP + 32.0,
        &format!("bubble {:.1}, pause {:.1}", lost(bubble.length()), lost(pause)),
    );
    let sum: Vec<String> = parts.iter().map(|(clocks, what)| format!("{clocks:.0} {what}")).collect();
    svg.text("small", LEFT, ACCOUNT_TOP + 58.0, &format!("The bubble: {},", sum[..3].join(", ")));
    let [clocks, cycle_ns, bubble_ns] = published;
    let observed = format!("The report observed {clocks} clocks, {cycle_ns} ns and a bubble of about {bubble_ns} ns.");
    svg.text("small", LEFT, ACCOUNT_TOP + 77.0, &format!("{}. {observed}", sum[3..].join(", ")));
    svg.out += "</svg>\n";
    svg.out
}

/// Writes SVG; `x` in clocks where a name ends in `_at`, else in pixels.
struct Svg {
    out: String,
    scale: f64,
}

const STYLE: &str = "
  .page { fill: #ffffff; stroke: #d0d7de; }
  text { font: 14px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: #1f2328; }
  .heading { font-size: 20px; font-weight: 600; }
  .sub { font-size: 15px; fill: #59636e; }
  .strong { font-weight: 600; }
  .small { font-size: 13px; fill: #59636e; }
  .middle { text-anchor: middle; }
  .end { text-anchor: end; }
  .payload { fill: #9ec9f0; stroke: #1f6fb2; }
  .protocol { fill: #f3d9a4; stroke: #a8761a; }
  .loss { fill: #f6c6c2; stroke: #b8342a; }
  .loss-word { fill: #b8342a; }
  .idle { fill: none; stroke: #b6bec7; stroke-dasharray: 3 3; }
  .in { font-size: 13px; fill: #10151b; }
  .line { fill: none; stroke: #7d8590; }
  .arrow { fill: none; stroke: #59636e; stroke-width: 1.5; marker-end: url(#tip); }
  .tip { fill: #59636e; }
  .next { opacity: 0.55; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; stroke: #30363d; }
    text { fill: #e6edf3; }
    .sub, .small { fill: #9198a1; }
    .payload { fill: #1d4f7c; stroke: #6cb4f5; }
    .protocol { fill: #5c4413; stroke: #d9a441; }
    .loss { fill: #6e221c; stroke: #f0837a; }
    .loss-word { fill: #f0837a; }
    .idle { stroke: #484f58; }
    .in { fill: #f3f6f9; }
    .arrow { stroke: #9198a1; }
    .tip { fill: #9198a1; }
  }
";

impl Svg {
    fn head(&mut self, description: &str) {
        self.line(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             role=\"img\" aria-labelledby=\"title description\">"
        ));
        self.line(format_args!("<title id=\"title\">Where the bandwidth of a disk write goes in the PIIX4E</title>"));
        self.line(format_args!("<desc id=\"description\">{description}</desc>"));
        self.line(format_args!("<style>{STYLE}</style>"));
        self.line(format_args!(
            "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
             orient=\"auto-start-reverse\"><path class=\"tip\" d=\"M0 0 L8 4 L0 8 z\"/></marker></defs>"
        ));
        let (width, height) = (WIDTH - 2.0, HEIGHT - 2.0);
        self.line(format_args!(
            "<rect class=\"page\" x=\"1\" y=\"1\" width=\"{width}\" height=\"{height}\" rx=\"10\"/>"
        ));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.out, "{line}");
    }

    fn x(&self, at: f64) -> f64 {
        LEFT + at * self.scale
    }

    fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        self.line(format_args!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"));
    }

    fn text_at(&mut self, class: &str, at: f64, y: f64, text: &str) {
        self.text(class, self.x(at), y, text);
    }

    fn rect(&mut self, class: &str, block: &Block, top: f64, height: f64, what: &str) {
        let (x, width, clocks) = (self.x(block.start), block.length() * self.scale, block.length());
        self.line(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\">\
             <title>{what}, {clocks:.0} clocks</title></rect>"
        ));
    }

    /// A phase with its name and its clocks: inside where there is room, above where there is not.
    fn block(&mut self, class: &str, name: &str, block: &Block, top: f64, cycle: f64) {
        let next = if block.start >= cycle { " next" } else { "" };
        self.rect(&format!("{class}{next}"), block, top, LANE, name);
        let (middle, clocks) = (block.start + block.length() / 2.0, block.length());
        if clocks > 5.0 {
            self.text_at("in middle", middle, top + 20.0, name);
            self.text_at("in middle", middle, top + 37.0, &format!("{clocks:.0}"));
        } else if !name.is_empty() && block.start < cycle {
            let x = self.x(middle);
            self.line(format_args!("<path class=\"line\" d=\"M{x:.1} {:.1} v-8\"/>", top - 1.0));
            let (class, x) = if block.start == 0.0 { ("small", x - 3.0) } else { ("small middle", x) };
            self.text(class, x, top - 13.0, &format!("{name} {clocks:.0}"));
        }
    }

    fn idle(&mut self, from: f64, to: f64, cycle: &f64) {
        if to - from > 0.5 && from < *cycle {
            let block = Block { name: "idle", start: from, end: to };
            self.rect("idle", &block, PCI_TOP, LANE, "idle");
            self.text_at("small middle", from + block.length() / 2.0, PCI_TOP + 20.0, "idle");
            self.text_at(
                "small middle",
                from + block.length() / 2.0,
                PCI_TOP + 37.0,
                &format!("{:.0}", block.length()),
            );
        }
    }

    fn lane(&mut self, name: &str, kind: &str, top: f64) {
        self.text("end strong", LEFT - 10.0, top + 21.0, name);
        self.text("end small", LEFT - 10.0, top + 39.0, kind);
    }

    /// What the colours mean, at the right of the heading.
    fn legend(&mut self, entries: &[(&str, &str)]) {
        let width = |words: &str| 7.6 * words.chars().count() as f64 + 42.0;
        let mut x = WIDTH - RIGHT + 18.0 - entries.iter().map(|(_, words)| width(words)).sum::<f64>();
        for (class, words) in entries {
            self.line(format_args!("<rect class=\"{class}\" x=\"{x:.1}\" y=\"25.0\" width=\"13\" height=\"13\"/>"));
            self.text("small", x + 20.0, 36.5, words);
            x += width(words);
        }
    }

    /// A name under the cable's lane, for what is too narrow to hold it.
    fn below(&mut self, at: f64, words: &str) {
        let x = self.x(at);
        self.line(format_args!("<path class=\"line\" d=\"M{x:.1} {:.1} v7\"/>", CABLE_TOP + LANE + 1.0));
        self.text("small middle", x, CABLE_TOP + LANE + 20.0, words);
    }

    fn bracket(&mut self, from: f64, to: f64, y: f64, text: &str) {
        let (from, to) = (self.x(from), self.x(to));
        self.line(format_args!(
            "<path class=\"line\" d=\"M{from:.1} {:.1} V{y:.1} H{to:.1} V{:.1}\"/>",
            y + 7.0,
            y + 7.0
        ));
        self.text("small middle", (from + to) / 2.0, y + 17.0, text);
    }

    fn arrow(&mut self, from: f64, to: f64, (top, bottom): (f64, f64), words: &[&str]) {
        let (x1, x2) = (self.x(from), self.x(to));
        let inwards = if bottom > top { 2.0 } else { -2.0 };
        let (y1, y2) = (top + inwards, bottom - inwards);
        self.line(format_args!("<path class=\"arrow\" d=\"M{x1:.1} {y1:.1} L{x2:.1} {y2:.1}\"/>"));
        let middle = (top + bottom) / 2.0;
        for (line, words) in words.iter().enumerate() {
            self.text("small", x1.max(x2) + 8.0, middle - 4.0 + 17.0 * line as f64, words);
        }
    }

    fn axis(&mut self, length: f64, y: f64) {
        let (from, to) = (self.x(0.0), self.x(length));
        self.line(format_args!("<path class=\"line\" d=\"M{from:.1} {y:.1} H{to:.1}\"/>"));
        let mut at = 0.0;
        while at <= length {
            let x = self.x(at);
            self.line(format_args!("<path class=\"line\" d=\"M{x:.1} {y:.1} v5\"/>"));
            self.text("small middle", x, y + 19.0, &format!("{at:.0}"));
            at += 10.0;
        }
        self.text("small", to + 12.0, y + 19.0, "PCI clocks");
    }
}
