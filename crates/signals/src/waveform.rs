//! A waveform, followed to its end: the PCI bus and the IDE cables in it, and what they add up to.
//!
//! Whatever shows a waveform to somebody begins here. It opens no file and prints nothing: it is given a reader, and
//! tells how far it is.

use std::io::{self, BufRead, Read, Seek, Write};

use serde_json::{Value, json};

use crate::ide::pins::Pins as Cable;
use crate::ide::summary::Summary as CableSummary;
use crate::ide::together::{Delay, Measured, delays};
use crate::ide::{json as cable_json, timeline as cable_timeline};
use crate::pci::pattern::{Pattern, pattern};
use crate::pci::pins::{Missing, Pins};
use crate::pci::summary::Summary;
use crate::pci::{Transaction, json as bus_json, timeline as bus_timeline};
use crate::timeline::pftrace::TimelineFile;
use crate::waves::capture::Capture;
use crate::waves::read::{Broken, Next, Signal};

/// So many changes are followed from one word of how far it is to the next.
const NEWS_EVERY: u64 = 1 << 20;
/// Tracks of a timeline before those of cables: a bus, and initiators.
const RANK: u32 = 1_000;

/// What is looked for in a waveform, and what is kept of it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Where pins are that go by other names: the pin, and its signal.
    pub maps: &'a [(String, String)],
    /// Which PCI bus, of several.
    pub scope: Option<&'a str>,
    /// So many of each kind are listed at most; all are added up.
    pub listed_max: usize,
    /// Whether it is of no use without a PCI bus. Otherwise cables alone will do, where nobody says how to find a bus.
    pub needs_bus: bool,
    /// Whether what it adds up to is kept over time, too.
    pub over_time: bool,
}

/// Why there is nothing to say of a waveform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is broken before anything happens.
    Unreadable(Broken),
    /// Pins of a bus are missing among these signals.
    Incomplete(Box<Missing>, Vec<Signal>),
    /// It has cables alone, and a bus was needed.
    NoBus,
    /// The bus's clock never rises twice.
    NoClock,
}

/// A PCI bus, followed to the end.
pub struct Bus {
    /// Its pins, with the transactions that are listed.
    pub pins: Pins,
    /// What all of them add up to.
    pub summary: Summary,
    /// What repeats.
    pub repeats: Option<Pattern>,
}

/// What a waveform has shown.
pub struct Waveform {
    /// The PCI bus in it; nothing where there are cables alone.
    pub bus: Option<Bus>,
    /// The cables in it, in order of their scopes.
    pub cables: Vec<Cable>,
    /// Where it is broken, which ends what is known of it.
    pub broken: Option<Broken>,
    /// Whether it says what its unit of time is; otherwise a nanosecond is taken.
    pub has_unit: bool,
}

/// Follows a waveform to its end, or to where it is broken. `news` is told now and then how many transactions there are
/// by now; nothing where there is no bus.
///
/// # Errors
/// Where there is nothing to say of it.
pub fn follow<T: BufRead, F: Read + Seek>(
    (mut reader, signals): (Capture<T, F>, Vec<Signal>),
    asked: &Asked<'_>,
    news: impl FnMut(Option<u64>),
) -> Result<Waveform, Refused> {
    let has_unit = reader.has_unit();
    let cables = Cable::find_all(&signals);
    let pins = match Pins::find(&signals, asked.maps, asked.scope) {
        Ok(pins) => Some(pins),
        Err(_) if !cables.is_empty() && asked.maps.is_empty() && asked.scope.is_none() => None,
        Err(missing) => return Err(Refused::Incomplete(Box::new(missing), signals)),
    };
    if pins.is_none() && asked.needs_bus {
        return Err(Refused::NoBus);
    }
    reader.only(&pins.iter().flat_map(Pins::codes).chain(cables.iter().flat_map(Cable::codes)).collect());
    let mut followers = Followers { pins, cables };
    followers.keep(asked);
    let broken = followers.follow_all(reader, news)?;
    let Followers { pins, cables } = followers;
    Ok(Waveform { bus: pins.map(Bus::of).transpose()?, cables, broken, has_unit })
}

impl Bus {
    /// What was followed to the end adds up to this.
    fn of(pins: Pins) -> Result<Bus, Refused> {
        let (_, sum_ps, count) = pins.period_ps;
        if count == 0 {
            return Err(Refused::NoClock);
        }
        let summary = Summary::of(&pins.decoder, sum_ps as f64 / count as f64);
        let repeats = pattern(&pins.decoder.transactions);
        Ok(Bus { pins, summary, repeats })
    }
}

impl Waveform {
    /// Where it is broken, in words.
    pub fn cut(&self) -> Option<String> {
        self.broken.as_ref().map(|broken| format!("{}: {}; what was read until then follows", broken.at, broken.what))
    }

    /// What is measured between a cable and the bus.
    pub fn delays(&self, cable: &Cable) -> Vec<(Delay, Measured)> {
        let of_bus = |bus: &Bus| bus.summary.clock_ps.round() as u64;
        let transactions: &[Transaction] = self.bus.as_ref().map_or(&[], |bus| &bus.pins.decoder.transactions);
        delays(&cable.decoder.bursts, transactions, self.bus.as_ref().map_or(0, of_bus))
    }

    /// All of it, for programs.
    pub fn json(&self) -> Value {
        let bus = |bus: &Bus, cut: Option<&str>| bus_json::report(&bus.pins, &bus.summary, bus.repeats.as_ref(), cut);
        self.object(bus, cable_json::cable)
    }

    /// All but transactions, register accesses and bursts one by one.
    pub fn in_short(&self) -> Value {
        let bus = |bus: &Bus, cut: Option<&str>| bus_json::in_short(&bus.pins, &bus.summary, bus.repeats.as_ref(), cut);
        self.object(bus, cable_json::in_short)
    }

    fn object(
        &self,
        bus: impl Fn(&Bus, Option<&str>) -> Value,
        cable: impl Fn(&Cable, &CableSummary, &[(Delay, Measured)]) -> Value,
    ) -> Value {
        let cut = self.cut();
        let mut all = self.bus.as_ref().map_or_else(|| json!({}), |of| bus(of, cut.as_deref()));
        let cables = self.cables.iter().map(|of| cable(of, &CableSummary::of(&of.decoder), &self.delays(of)));
        all["cables"] = cables.collect();
        all
    }

    /// What happened, as a timeline for Perfetto.
    pub fn draw(&self, out: impl Write) -> io::Result<()> {
        let mut file = TimelineFile::new(out)?;
        self.bus.iter().try_for_each(|bus| bus_timeline::draw(&bus.pins, &mut file))?;
        (RANK..).zip(&self.cables).try_for_each(|(rank, cable)| cable_timeline::draw(cable, &mut file, rank))?;
        file.finish()
    }
}

/// Who follows a waveform.
struct Followers {
    pins: Option<Pins>,
    cables: Vec<Cable>,
}

impl Followers {
    /// How much is kept.
    fn keep(&mut self, asked: &Asked<'_>) {
        self.pins.iter_mut().for_each(|pins| pins.list(asked.listed_max));
        self.cables.iter_mut().for_each(|cable| cable.decoder.listed_max = Some(asked.listed_max));
        if asked.over_time {
            self.pins.iter_mut().for_each(Pins::watch);
            self.cables.iter_mut().for_each(|cable| cable.decoder.watch());
        }
    }

    /// Follows it to its end; says what is wrong with it then, unless nothing was there before.
    fn follow_all(
        &mut self,
        reader: impl Iterator<Item = Result<Next, Broken>>,
        mut news: impl FnMut(Option<u64>),
    ) -> Result<Option<Broken>, Refused> {
        let (mut seen, mut broken) = (0u64, None);
        for next in reader {
            match next {
                Ok(next) => self.follow(next),
                Err(why) => {
                    broken = Some(why);
                    break;
                }
            }
            seen += 1;
            if seen.is_multiple_of(NEWS_EVERY) {
                news(self.pins.as_ref().map(|pins| pins.decoder.count()));
            }
        }
        let is_empty = self.pins.as_ref().map_or(seen == 0, |pins| pins.decoder.clocks == 0);
        if let Some(why) = broken.take_if(|_| is_empty) {
            return Err(Refused::Unreadable(why));
        }
        self.pins.iter_mut().for_each(Pins::finish);
        self.cables.iter_mut().for_each(Cable::finish);
        Ok(broken)
    }

    #[inline]
    fn follow(&mut self, next: Next) {
        if let Some(pins) = &mut self.pins {
            pins.follow(next);
        }
        self.cables.iter_mut().for_each(|cable| cable.follow(next));
    }
}
