//! IDE cables in a waveform, as a report: beside a PCI bus or alone.

use std::cell::Cell;
use std::io::{self, Write};
use std::rc::Rc;

use hopscope_files::harmless::harmless;
use hopscope_files::problem::Problem;
use hopscope_files::quantity::digits;
use hopscope_signals::ide::pins::Pins;
use hopscope_signals::ide::summary::Summary;
use hopscope_signals::ide::together::{Delay, Measured, delays};
use hopscope_signals::ide::{direction, json, timeline};
use hopscope_signals::pci::Transaction;
use hopscope_signals::timeline::pftrace::TimelineFile;
use hopscope_signals::waves::read::{IdCode, Next, Signal};
use serde_json::{Value, json};

use super::pci::{Asked, indented, page_written, percent};
use super::source::{Reading, follow_all};
use super::unreadable::{unreadable, until_then, warn};
use super::{drawn, note};
use crate::answer::{Answer, Refusal};
use crate::tables::{bold, close_table, rate};

/// All cables of a capture.
pub struct Cables(Vec<Pins>);

/// Tracks before those of cables: a bus, and initiators.
const RANK: u32 = 1_000;

/// Transactions on PCI in the same capture, and its clock, picoseconds.
type Beside<'a> = (&'a [Transaction], u64);

impl Cables {
    /// Those among the signals.
    pub fn find(signals: &[Signal]) -> Cables {
        Cables(Pins::find_all(signals))
    }

    /// So many of each kind are listed at most.
    pub fn list(&mut self, limit: usize) {
        self.0.iter_mut().for_each(|pins| pins.decoder.listed_max = Some(limit));
    }

    /// What it adds up to is kept over time, too.
    pub fn watch(&mut self) {
        self.0.iter_mut().for_each(|pins| pins.decoder.watch());
    }

    /// Draws them, behind a bus and its initiators.
    pub fn draw(&self, file: &mut TimelineFile<impl Write>) -> io::Result<()> {
        (0..).zip(&self.0).try_for_each(|(number, pins)| timeline::draw(pins, file, RANK + number))
    }

    /// All of them.
    pub fn all(&self) -> &[Pins] {
        &self.0
    }

    /// Whether there is one.
    pub fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// The signals that they look at.
    pub fn codes(&self) -> impl Iterator<Item = IdCode> {
        self.0.iter().flat_map(Pins::codes)
    }

    /// What comes next in the capture.
    pub fn follow(&mut self, next: Next) {
        self.0.iter_mut().for_each(|pins| pins.follow(next));
    }

    /// The capture has ended.
    pub fn finish(&mut self) {
        self.0.iter_mut().for_each(Pins::finish);
    }

    /// Every cable as an object.
    pub fn json(&self, beside: Beside<'_>) -> Value {
        let cable = |pins: &Pins| json::cable(pins, &Summary::of(&pins.decoder), &measured(pins, beside));
        self.0.iter().map(cable).collect()
    }

    /// Every cable in words.
    pub fn report(&self, beside: Beside<'_>) -> String {
        let cables = self.0.iter().map(|pins| of_cable(pins, beside).join("\n") + "\n");
        cables.map(|report| format!("\n{report}")).collect()
    }
}

fn measured(pins: &Pins, (transactions, clock_ps): Beside<'_>) -> Vec<(Delay, Measured)> {
    delays(&pins.decoder.bursts, transactions, clock_ps)
}

/// A capture of cables without a PCI bus.
pub fn analyze_alone(
    name: &str,
    (mut reader, read, length): (Reading<'_>, Rc<Cell<u64>>, Option<u64>),
    mut cables: Cables,
    asked: &Asked<'_>,
) -> Result<Answer, Refusal> {
    if asked.csv.is_some() {
        let problem = Problem::nowhere(format!("{name}: --csv lists transactions, and there is no PCI bus in it"));
        return Err(problem.help("--json has every register access and every burst").into());
    }
    let has_unit = reader.has_unit();
    reader.only(&cables.codes().collect());
    cables.list(asked.limit);
    if asked.html.is_some() {
        cables.watch();
    }
    let (seen, cut) = follow_all(reader, (&read, length), &mut cables, Cables::follow, |_| String::new());
    if let Some(broken) = cut.as_ref().filter(|_| seen == 0) {
        return Err(unreadable(name, broken).into());
    }
    cables.finish();
    let mut answer = match asked.as_json {
        true => Answer::json(&json!({ "cables": cables.json((&[], 0)) })),
        false => Answer::text(cables.report((&[], 0)).trim_start().to_string()),
    };
    let cut = cut.map(|broken| until_then(&broken));
    warn(&mut answer, name, cut.as_deref(), has_unit);
    note(&mut answer, asked.html.map(|path| page_written(path, (name, cut.as_deref()), None, &cables, asked)));
    let draw = |path| {
        drawn(path, asked.inputs, |out| {
            let mut file = TimelineFile::new(out)?;
            cables.draw(&mut file)?;
            file.finish()
        })
    };
    note(&mut answer, asked.pftrace.map(draw));
    answer.complaints = harmless(&answer.complaints);
    Ok(answer)
}

fn ns(ps: u64) -> String {
    digits(ps as f64 / 1e3)
}

fn of_cable(pins: &Pins, beside: Beside<'_>) -> Vec<String> {
    let summary = Summary::of(&pins.decoder);
    let accesses: u64 = summary.registers.values().map(|(count, _)| count).sum();
    let bursts: u64 = summary.bursts.values().map(|of| of.bursts).sum();
    let mut lines = vec![bold(&format!(
        "IDE cable {}: {accesses} register accesses, {bursts} bursts, {} interrupts",
        pins.scope, summary.interrupts.0
    ))];
    if !pins.without.is_empty() {
        lines.push(format!("Not in the capture: {}.", pins.without.join(", ")));
    }
    if !summary.bursts.is_empty() {
        lines.push(String::new());
        let header = ["words by", "", "bursts", "bytes", "rate", "word, ns", "around", "paused", "wrong CRC"];
        let rows = summary.bursts.iter().map(|((protocol, reads), of)| {
            vec![
                protocol.word().to_string(),
                direction(*reads).to_string(),
                of.bursts.to_string(),
                of.bytes.to_string(),
                rate(of.bytes as f64 / (of.held_ps.max(1) as f64 / 1e12)),
                of.word_ps.map_or("-".to_string(), ns),
                percent(of.around_ps, of.held_ps),
                percent(of.pauses.1, of.held_ps),
                of.wrong_crc.to_string(),
            ]
        });
        lines.extend(indented(&close_table(&header, rows)));
    }
    if !summary.registers.is_empty() {
        lines.push(String::new());
        let header = ["register", "", "count", "strobe, ns"];
        let rows = summary.registers.iter().map(|((register, writes), (count, spent))| {
            let way = if *writes { "written" } else { "read" };
            vec![register.to_string(), way.to_string(), count.to_string(), ns(spent / count)]
        });
        lines.extend(indented(&close_table(&header, rows)));
    }
    let delays = measured(pins, beside);
    if !delays.is_empty() {
        lines.push(String::new());
        lines.push("Delays between cause and effect, ns".to_string());
        let header = ["", "count", "least", "median", "longest"];
        let rows = delays.iter().map(|(delay, of)| {
            let spans = [of.least_ps, of.median_ps, of.longest_ps].map(ns);
            [vec![delay.word().to_string(), of.count.to_string()], spans.to_vec()].concat()
        });
        lines.extend(indented(&close_table(&header, rows)));
    }
    lines
}
