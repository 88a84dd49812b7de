//! A waveform, as an answer: a report, an object, and files.

use std::cell::Cell;
use std::rc::Rc;

use hopscope_files::harmless::harmless;
use hopscope_pages::waveform::{Subject, page};
use hopscope_signals::pci::csv::csv;
use hopscope_signals::waveform::{Asked, follow};

use super::source::Source;
use super::unreadable::{refused, unreadable, warn};
use super::{Args, drawn, ide, note, pci};
use crate::answer::{Answer, Refusal};
use crate::progress::Bytes;
use crate::written::{self, Inputs};

impl Args {
    /// Reads it to its end, or as far as it goes, and says what it shows.
    pub(super) fn waveform(&self, name: &str, source: Source<'_>, inputs: &Inputs) -> Result<Answer, Refusal> {
        let read = Rc::new(Cell::new(0));
        let opened = source.open(&read).map_err(|broken| unreadable(name, &broken))?;
        let line = Bytes::of(std::fs::metadata(&self.capture).ok().map(|data| data.len()));
        let news = |transactions: Option<u64>| {
            line.at(read.get(), &transactions.map_or(String::new(), |count| format!("{count} transactions")));
        };
        let asked = Asked {
            maps: &self.map,
            scope: self.scope.as_deref(),
            listed_max: self.limit,
            needs_bus: self.csv.is_some(),
            over_time: self.html.is_some(),
        };
        let found = follow(opened, &asked, news).map_err(|why| refused(name, &why))?;
        drop(line);
        let cut = found.cut();
        let mut answer = match (&found.bus, self.json) {
            (_, true) => Answer::json(&found.json()),
            (Some(bus), false) => Answer::text(pci::report(name, bus, cut.as_deref()) + &ide::report(&found)),
            (None, false) => Answer::text(ide::report(&found).trim_start().to_string()),
        };
        warn(&mut answer, name, cut.as_deref(), found.has_unit);
        let subject = Subject { name, found: &found };
        let shown = || page(&subject, &self.command()).html();
        note(&mut answer, self.html.as_ref().map(|path| written::file(path, &shown(), inputs)));
        let listed = self.csv.as_ref().zip(found.bus.as_ref());
        note(&mut answer, listed.map(|(path, bus)| written::file(path, &csv(&bus.pins), inputs)));
        note(&mut answer, self.pftrace.as_ref().map(|path| drawn(path, inputs, |out| found.draw(out))));
        answer.complaints = harmless(&answer.complaints);
        Ok(answer)
    }
}
