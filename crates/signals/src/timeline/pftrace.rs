//! Writes Perfetto's traces: a file is one message, `Trace`, whose only field is repeated: 1, `TracePacket`.
//!
//! Fields are those of Perfetto's public descriptions in `protos/perfetto/trace/`: `trace_packet.proto` (P),
//! `track_event/track_descriptor.proto` (T), `track_event/counter_descriptor.proto` (C),
//! `track_event/track_event.proto` (E), `track_event/debug_annotation.proto` (D) and
//! `interned_data/interned_data.proto` (I).
//!
//! Perfetto counts whole nanoseconds. Instants are rounded down, so that what touches goes on touching; a slice that
//! is not as long as its two instants say has its length in picoseconds as a note, [`EXACT`].

use std::collections::HashMap;
use std::io::{self, Write};

use super::message::Message;

/// The note that says how long a slice is, where that is no whole number of nanoseconds.
pub const EXACT: &str = "picoseconds";

/// The only sequence of packets in a file (P 10); zero is nobody's.
const SEQUENCE: u64 = 1;
/// P 13: what was interned before does not count.
const CLEARED: u64 = 1;
/// P 13: what was interned before is needed.
const NEEDED: u64 = 2;

/// A track, by number. Zero is nobody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Track(u64);

/// Where a track is to be.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The track that it is below of.
    pub parent: Option<Track>,
    /// Its name.
    pub name: &'a str,
    /// Its place among those below the same one: lower ones first.
    pub rank: u32,
}

/// What a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Pieces of something.
    Count,
    /// Bytes.
    Bytes,
    /// Hundredths.
    Percent,
}

/// What is said of a slice besides its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Note<'a> {
    /// A number.
    Number(u64),
    /// An address: shown in hexadecimal.
    Address(u64),
    /// A text. It is kept once however often it is said: only for texts of which there are few.
    Text(&'a str),
}

/// A slice, or an instant.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slice<'a> {
    /// Its name: by it the viewer chooses the colour.
    pub name: &'a str,
    /// Its category, by which slices may be told apart.
    pub category: &'a str,
    /// Flows that begin here or come by.
    pub flows: &'a [u64],
    /// Flows that end here.
    pub flows_end: &'a [u64],
    /// Notes, by name.
    pub notes: &'a [(&'a str, Note<'a>)],
}

/// Texts that have been given numbers, each table with its field (I).
#[derive(Default)]
struct Interned {
    known: HashMap<String, u64>,
    last: u64,
}

impl Interned {
    /// The number of a text; it is entered as an entry of `field` where it is new.
    fn number(&mut self, text: &str, field: u64, new: &mut Message) -> u64 {
        if let Some(number) = self.known.get(text) {
            return *number;
        }
        self.last += 1;
        let number = self.last;
        self.known.insert(text.to_string(), number);
        new.message(field, |entry| {
            // All entries have 1, iid, and 2, name or str.
            entry.number(1, number);
            entry.text(2, text.as_bytes());
        });
        number
    }
}

/// Numbers of texts, and those that are new since the last packet.
#[derive(Default)]
struct Texts {
    /// I 1, event_categories.
    categories: Interned,
    /// I 2, event_names.
    names: Interned,
    /// I 3, debug_annotation_names.
    notes: Interned,
    /// I 29, debug_annotation_string_values.
    values: Interned,
    new: Message,
}

/// A file that is being written. An event is written when it is said; they may be said in any order of time, but those
/// of one track that have the same instant in the order in which they are to be read.
pub struct TimelineFile<W: Write> {
    out: W,
    texts: Texts,
    event: Message,
    packet: Message,
    tracks: u64,
}

impl<W: Write> TimelineFile<W> {
    /// Begins a file.
    pub fn new(out: W) -> io::Result<TimelineFile<W>> {
        let (texts, event, packet) = (Texts::default(), Message::default(), Message::default());
        let mut file = TimelineFile { out, texts, event, packet, tracks: 0 };
        file.packet.number(10, SEQUENCE);
        file.packet.number(13, CLEARED);
        // P 87: first_packet_on_sequence.
        file.packet.number(87, 1);
        file.write()?;
        Ok(file)
    }

    /// A track for slices, or one that only has others below it.
    pub fn track(&mut self, place: Place) -> io::Result<Track> {
        self.described(place, |_| {})
    }

    /// A track of a counter.
    pub fn counter(&mut self, place: Place, unit: Unit) -> io::Result<Track> {
        self.described(place, |track| {
            // T 8: counter.
            track.message(8, |counter| match unit {
                // C 3: unit, UNIT_COUNT or UNIT_SIZE_BYTES. C 6: unit_name.
                Unit::Count => counter.number(3, 2),
                Unit::Bytes => counter.number(3, 3),
                Unit::Percent => counter.text(6, b"%"),
            });
        })
    }

    fn described(&mut self, place: Place, more: impl FnOnce(&mut Message)) -> io::Result<Track> {
        self.tracks += 1;
        let track = Track(self.tracks);
        self.packet.number(10, SEQUENCE);
        // P 60: track_descriptor.
        self.packet.message(60, |message| {
            // T 1: uuid; 5: parent_uuid; 2: name; 11: child_ordering, EXPLICIT; 12: sibling_order_rank;
            // 15: sibling_merge_behavior, NONE.
            message.number(1, track.0);
            if let Some(Track(parent)) = place.parent {
                message.number(5, parent);
            }
            message.text(2, place.name.as_bytes());
            message.number(11, 3);
            message.number(12, u64::from(place.rank & i32::MAX as u32));
            message.number(15, 2);
            more(message);
        });
        self.write()?;
        Ok(track)
    }

    /// A slice begins. Slices of a track may lie within each other, and may not overlap otherwise.
    pub fn begin(&mut self, track: Track, at_ps: u64, slice: &Slice) -> io::Result<()> {
        // E 9: TYPE_SLICE_BEGIN.
        self.event(track, at_ps, 1, |event, texts| say(event, texts, slice))
    }

    /// The last slice that began on this track, and has not ended, ends; it had begun at `began_ps`.
    pub fn end(&mut self, track: Track, (began_ps, at_ps): (u64, u64), notes: &[(&str, Note)]) -> io::Result<()> {
        let length = at_ps.saturating_sub(began_ps);
        let shown = (at_ps / 1_000 - began_ps / 1_000) * 1_000;
        // E 9: TYPE_SLICE_END.
        self.event(track, at_ps, 2, |event, texts| {
            if length != shown {
                note(event, texts, EXACT, Note::Number(length));
            }
            notes.iter().for_each(|(name, value)| note(event, texts, name, *value));
        })
    }

    /// A slice that has ended.
    pub fn slice(&mut self, track: Track, (from_ps, until_ps): (u64, u64), slice: &Slice) -> io::Result<()> {
        self.begin(track, from_ps, slice)?;
        self.end(track, (from_ps, until_ps), &[])
    }

    /// Something that takes no time.
    pub fn instant(&mut self, track: Track, at_ps: u64, slice: &Slice) -> io::Result<()> {
        // E 9: TYPE_INSTANT.
        self.event(track, at_ps, 3, |event, texts| say(event, texts, slice))
    }

    /// From `at_ps` on a counter has this value.
    pub fn count(&mut self, counter: Track, at_ps: u64, value: u64) -> io::Result<()> {
        // E 9: TYPE_COUNTER; 30: counter_value.
        self.event(counter, at_ps, 4, |event, _| event.number(30, value))
    }

    /// The same, with a fraction.
    pub fn share(&mut self, counter: Track, at_ps: u64, value: f64) -> io::Result<()> {
        // E 44: double_counter_value.
        self.event(counter, at_ps, 4, |event, _| event.fraction(44, value))
    }

    fn event(
        &mut self,
        track: Track,
        at_ps: u64,
        kind: u64,
        fill: impl FnOnce(&mut Message, &mut Texts),
    ) -> io::Result<()> {
        // E 9: type; 11: track_uuid.
        self.event.clear();
        self.event.number(9, kind);
        self.event.number(11, track.0);
        fill(&mut self.event, &mut self.texts);
        // P 8: timestamp, ns; 10: trusted_packet_sequence_id; 13: sequence_flags; 12: interned_data; 11: track_event.
        self.packet.number(8, at_ps / 1_000);
        self.packet.number(10, SEQUENCE);
        self.packet.number(13, NEEDED);
        if !self.texts.new.bytes().is_empty() {
            self.packet.text(12, self.texts.new.bytes());
            self.texts.new.clear();
        }
        self.packet.text(11, self.event.bytes());
        self.write()
    }

    /// Writes the packet, which begins anew.
    fn write(&mut self) -> io::Result<()> {
        self.event.clear();
        self.event.text(1, self.packet.bytes());
        self.packet.clear();
        self.out.write_all(self.event.bytes())
    }

    /// Ends the file.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Name, category, flows and notes.
fn say(event: &mut Message, texts: &mut Texts, slice: &Slice) {
    // E 10: name_iid; 3: category_iids; 47: flow_ids; 48: terminating_flow_ids.
    let name = texts.names.number(slice.name, 2, &mut texts.new);
    event.number(10, name);
    if !slice.category.is_empty() {
        let category = texts.categories.number(slice.category, 1, &mut texts.new);
        event.number(3, category);
    }
    slice.flows.iter().for_each(|flow| event.fixed(47, *flow));
    slice.flows_end.iter().for_each(|flow| event.fixed(48, *flow));
    slice.notes.iter().for_each(|(name, value)| note(event, texts, name, *value));
}

fn note(event: &mut Message, texts: &mut Texts, name: &str, value: Note) {
    let name = texts.notes.number(name, 3, &mut texts.new);
    let value = match value {
        // D 3: uint_value; 7: pointer_value; 17: string_value_iid.
        Note::Number(value) => (3, value),
        Note::Address(value) => (7, value),
        Note::Text(text) => (17, texts.values.number(text, 29, &mut texts.new)),
    };
    // E 4: debug_annotations. D 1: name_iid.
    event.message(4, |message| {
        message.number(1, name);
        message.number(value.0, value.1);
    });
}
