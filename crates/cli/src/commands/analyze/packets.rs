//! PCI Express packets, as an answer: a report, an object, and files.

use std::collections::BTreeMap;
use std::io::Read;

use hopscope_files::harmless::harmless;
use hopscope_files::problem::Problem;
use hopscope_pages::packets::{Subject, page};
use hopscope_signals::pcie::agents::{Agent, Spread, Traffic};
use hopscope_signals::pcie::capture::{self, Capture};
use hopscope_signals::pcie::fields;
use hopscope_signals::pcie::latencies::Latencies;
use hopscope_signals::pcie::listed;
use hopscope_signals::pcie::nvme::{Drive, PHASES};
use hopscope_signals::pcie::timeline;

use super::{Args, HELP, drawn, note};
use crate::answer::{Answer, BAD_INPUT, Refusal};
use crate::panics::doing;
use crate::tables::{bold, close_table, size, span, wrapped};
use crate::written::{self, Inputs};

/// Rows of a table that are shown.
const SHOWN: usize = 40;
/// Commands of a drive that are shown.
const COMMANDS: usize = 20;
/// Sizes and ranges that are named in a line.
const NAMED: usize = 4;

impl Args {
    /// Reads them to their end, or as far as they go, and says what they show.
    pub(super) fn packets(&self, name: &str, input: impl Read, inputs: &Inputs) -> Result<Answer, Refusal> {
        let found = match capture::analyze(input, self.limit) {
            Ok(found) => found,
            Err(error) => return Err(Problem::nowhere(format!("`{name}`: {error}")).help(HELP).into()),
        };
        doing("writing the answer");
        let mut answer = match self.json {
            true => Answer::json(&listed::json(&found)),
            false => Answer::text(report(name, &found)),
        };
        if let Some(stopped) = &found.stopped {
            let read = found.packets.frames;
            answer.complaints += &format!("warning: `{name}`: {stopped}; {read} frames before that were read\n");
            answer.code = BAD_INPUT;
        }
        let shown = || {
            let data = listed::in_short(&found);
            page(Subject { name, found: &found, data }, &self.command()).html()
        };
        note(&mut answer, self.html.as_ref().map(|path| written::file(path, &shown(), inputs)));
        note(&mut answer, self.csv.as_ref().map(|path| written::file(path, &listed::csv(&found), inputs)));
        let draw = |out| timeline::draw(&found, out);
        note(&mut answer, self.pftrace.as_ref().map(|path| drawn(path, inputs, draw)));
        answer.complaints = harmless(&answer.complaints);
        Ok(answer)
    }
}

/// The report of a capture.
fn report(name: &str, found: &Capture) -> String {
    let packets = &found.packets;
    let head = format!("{name}: {} in {}", counted(packets.packets, "packet"), span(packets.span_ns as f64));
    let mut out = format!("{}\n{}", bold(&head), notes(found));
    if packets.packets == 0 {
        return out;
    }
    let kinds = packets.kinds.iter().map(|((way, kind, bytes), count)| {
        vec![way.word().to_string(), kind.word().to_string(), size((*bytes).into()), count.to_string()]
    });
    out += &limited("\n", &["way", "packet", "size", "count"], kinds.collect());
    out += &requests(found);
    for ((way, id), agent) in found.agents.agents.iter().take(SHOWN) {
        out += &wrapped(&format!("\n{id} ({}): {}", way.word(), does(agent)), "");
    }
    for (way, boundary) in &found.agents.boundaries {
        let cut = match boundary.cuts {
            0 => "no read was split".to_string(),
            cuts => format!("{cuts} of them leave more to come, and end at multiples of {}", size(boundary.multiple)),
        };
        let (count, payload) = (counted(boundary.completions, "completion"), size(boundary.payload_max));
        out += &wrapped(&format!("Completions ({}): {count} of {payload} at most; {cut}.", way.word()), "");
    }
    for ((kind, bytes), became) in &found.passages {
        for (sizes, count) in became.iter().take(NAMED) {
            let (command, whole) = (kind.word(), size((*bytes).into()));
            let taken = runs(&sizes.iter().map(|&bytes| u64::from(bytes)).collect::<Vec<_>>());
            out +=
                &wrapped(&format!("{command} of {whole}, given: taken as {taken} ({})", counted(*count, "time")), "");
        }
    }
    found.drives.iter().for_each(|drive| out += &drive_report(drive));
    if found.drives.is_empty() {
        out += "\nNo command of an NVMe drive is in this capture.\n";
    }
    out + &decided(found)
}

/// What keeps the figures from being all of it.
fn notes(found: &Capture) -> String {
    let (packets, strays) = (&found.packets, &found.strays);
    let others: u64 = packets.others.values().sum();
    let kinds: Vec<&str> = packets.others.keys().copied().collect();
    let quoted: Vec<String> = packets.quoted.iter().map(|(frame, why)| format!("frame {frame}, {why}")).collect();
    let notes = [
        (others, format!("frames hold something else ({})", kinds.join(", "))),
        (packets.unreadable, format!("frames cannot be read: {}", quoted.join("; "))),
        (packets.cut, "packets have data that the capture has cut".to_string()),
        (packets.poisoned, "packets are poisoned".to_string()),
        (packets.missing, "numbers of the adapter are missing: lost, or of several adapters".to_string()),
        (packets.late, "packets come later than one with a higher number".to_string()),
        (strays.completions, "completions have no request in the capture".to_string()),
        (
            strays.tags_used_again,
            "requests were captured before all completions of the same tag's last one".to_string(),
        ),
        (strays.not_followed, "requests were not followed: too many were open".to_string()),
        (found.not_listed, "transactions are added up, and not listed".to_string()),
        (strays.data_left_out.into(), "limit of kept data was reached: less is recognised".to_string()),
    ];
    let said = notes.iter().filter(|(count, _)| *count > 0);
    said.map(|(count, what)| wrapped(&format!("{count} {what}"), "  ")).collect()
}

fn requests(found: &Capture) -> String {
    let rows = found.agents.rows.iter().map(|(key, row)| {
        let ended: Vec<String> = row.ended.iter().map(|(how, count)| format!("{count} {}", how.word())).collect();
        let commonest = row.splits.iter().max_by_key(|(_, count)| **count);
        let split = commonest.map_or(String::new(), |(sizes, _)| {
            let more = if row.splits.len() > 1 { " …" } else { "" };
            runs(&sizes.iter().map(|&bytes| u64::from(bytes)).collect::<Vec<_>>()) + more
        });
        let mut cells = vec![key.requester.to_string(), key.way.word().to_string(), key.kind.word().to_string()];
        cells.extend([size(key.bytes.into()), row.count.to_string(), ended.join(", "), split]);
        cells.push(latency(&row.latency_ns));
        cells.push(quantiles(&row.latencies));
        cells
    });
    let header = ["who", "way", "what", "size", "count", "ended", "answered by", "latency min/mean/max", "half/99 %"];
    limited("\n", &header, rows.collect())
}

fn latency(spread: &Spread) -> String {
    let Some(mean) = spread.mean() else { return String::new() };
    [spread.min as f64, mean, spread.max as f64].map(span).join(" / ")
}

fn quantiles(latencies: &Latencies) -> String {
    let times = [0.5, 0.99].iter().filter_map(|share| latencies.at_ns(*share));
    times.map(|ns| span(ns as f64)).collect::<Vec<_>>().join(" / ")
}

/// A table of so many rows at most.
fn limited(before: &str, header: &[&str], rows: Vec<Vec<String>>) -> String {
    let left = rows.len().saturating_sub(SHOWN);
    let table = close_table(header, rows.into_iter().take(SHOWN));
    let rest = if left > 0 { format!("… and {left} more\n") } else { String::new() };
    format!("{before}{table}{rest}")
}

fn does(agent: &Agent) -> String {
    let mut said = Vec::new();
    if agent.reads.count > 0 {
        said.push(traffic(&agent.reads, "read"));
    }
    if agent.writes.count > 0 {
        said.push(traffic(&agent.writes, "write"));
    }
    if agent.in_flight_max > 0 {
        let (most, tags) = (agent.in_flight_max, counted(agent.tags.len() as u64, "tag"));
        said.push(format!("{most} at once at most ({}), {tags}", counted(agent.at_most_times, "time")));
    }
    format!("{}.", said.join("; "))
}

fn traffic(traffic: &Traffic, what: &str) -> String {
    let (least, most) = (size(traffic.size.min.max(0) as u64), size(traffic.size.max.max(0) as u64));
    let each = if least == most { most } else { format!("{least} to {most}") };
    let extents = traffic.extents.iter().take(NAMED).map(|(start, end)| format!("{start:#x} to {:#x}", end - 1));
    let more = if traffic.extents.len() > NAMED { ", …" } else { "" };
    let (count, all) = (counted(traffic.count, what), size(traffic.bytes));
    format!("{count} of {each}, {all}, at {}{more}", extents.collect::<Vec<_>>().join(", "))
}

fn drive_report(drive: &Drive) -> String {
    let mut out = format!("\n{}\n", bold(&format!("NVMe drive {} ({})", drive.id, drive.way.word())));
    for (number, queue) in drive.queues.iter().take(SHOWN) {
        let name = number.map_or("queue of unknown number".to_string(), |number| format!("queue {number}"));
        let range = |what: &str, range: Option<[u64; 2]>| {
            range.map_or(String::new(), |[first, behind]| format!("; {what} at {first:#x} to {:#x}", behind - 1))
        };
        let (submission, completion) = (range("submission", queue.submission), range("completion", queue.completion));
        out += &wrapped(&format!("{name}: {}{submission}{completion}", counted(queue.commands, "command")), "  ");
    }
    for (address, (is_tail, queue, count)) in drive.doorbells.iter().take(SHOWN) {
        let register = if *is_tail { "submission tail" } else { "completion head" };
        out += &wrapped(
            &format!("doorbell {address:#x}: {register} of queue {queue}, {}", counted(*count, "write")),
            "  ",
        );
    }
    for (address, count) in drive.interrupts.iter().take(SHOWN) {
        out += &format!("  interrupt {address:#x}: {}\n", counted(*count, "write"));
    }
    let fetches: BTreeMap<u32, u64> =
        drive.fetches.iter().map(|(&commands, &count)| (commands as u32 * 64, count)).collect();
    for (what, sizes) in [
        ("fetches", &fetches),
        ("page lists", &drive.lists),
        ("reads of data", &drive.data_reads),
        ("writes of data", &drive.data_writes),
    ] {
        if !sizes.is_empty() {
            let named =
                sizes.iter().rev().take(NAMED).map(|(&bytes, count)| format!("{count} x {}", size(bytes.into())));
            let more = if sizes.len() > NAMED { ", …" } else { "" };
            out += &wrapped(&format!("{what}: {}{more}", named.collect::<Vec<_>>().join(", ")), "  ");
        }
    }
    if drive.unexplained > 0 {
        out += &format!("  {} of it belong to none of these\n", counted(drive.unexplained, "request"));
    }
    out + &commands(drive) + &phases(drive)
}

fn commands(drive: &Drive) -> String {
    let time = |ns: Option<i64>| ns.map_or("-".to_string(), |ns| span(ns as f64).replace(' ', ""));
    let rows = drive.commands.iter().take(COMMANDS).map(|command| {
        let (block, blocks) = match command.blocks() {
            Some((block, blocks)) => (block.to_string(), blocks.to_string()),
            None => ("-".to_string(), "-".to_string()),
        };
        let queue = command.queue.map_or("?".to_string(), |queue| queue.to_string());
        let mut cells = vec![queue, command.entry.id.to_string(), command.word().to_string(), block, blocks];
        cells.extend(command.phases().map(time));
        cells
    });
    let header: Vec<&str> = ["queue", "id", "command", "block", "blocks"].into_iter().chain(PHASES).collect();
    let table = close_table(&header, rows);
    let left = drive.commands.len().saturating_sub(COMMANDS);
    let rest = if left > 0 { format!("… and {}\n", counted(left as u64, "more command")) } else { String::new() };
    format!("\n{table}{rest}")
}

fn phases(drive: &Drive) -> String {
    let rows = PHASES.iter().enumerate().filter_map(|(place, name)| {
        let mut spread = Spread::default();
        drive.commands.iter().filter_map(|command| command.phases()[place]).for_each(|ns| spread.add(ns));
        (spread.count > 0).then(|| vec![name.to_string(), spread.count.to_string(), latency(&spread)])
    });
    format!("\n{}", close_table(&["phase", "commands", "min/mean/max"], rows))
}

/// Lines for a part's file.
fn decided(found: &Capture) -> String {
    let mut out = String::new();
    for device in fields::decided(found).iter().filter(|device| !device.fields.is_empty()) {
        let kind = if device.is_drive { "drive" } else { "device" };
        out += &format!("\nFields of a {kind}'s part file that this decides for {}:\n", device.id);
        let mut table = "";
        for field in &device.fields {
            if field.table != table {
                table = field.table;
                out += &format!("[{table}]\n");
            }
            out += &format!("{}\n", field.line());
        }
    }
    out
}

/// Equal sizes that follow each other, counted.
fn runs(sizes: &[u64]) -> String {
    let mut said: Vec<String> = sizes
        .chunk_by(|one, next| one == next)
        .map(|run| if run.len() == 1 { size(run[0]) } else { format!("{} x {}", run.len(), size(run[0])) })
        .collect();
    if said.len() > NAMED {
        said.truncate(NAMED);
        said.push("…".to_string());
    }
    said.join(" + ")
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
