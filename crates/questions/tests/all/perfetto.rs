//! Reads Perfetto's traces: any message by its wire format alone, and of these the tracks, slices, counters and flows as
//! Perfetto's own reader makes them of packets. It shares nothing with what writes them.

use std::collections::BTreeMap;

/// What a field holds.
#[derive(Clone, Debug)]
pub enum Field<'a> {
    Number(u64),
    Fixed(u64),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    fn number(&self) -> u64 {
        match self {
            Field::Number(value) | Field::Fixed(value) => *value,
            Field::Bytes(_) => panic!("a number was expected"),
        }
    }

    fn bytes(&self) -> &'a [u8] {
        let Field::Bytes(bytes) = self else { panic!("bytes were expected") };
        bytes
    }

    fn text(&self) -> String {
        String::from_utf8(self.bytes().to_vec()).expect("UTF-8")
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0u64;
    for shift in (0..).step_by(7) {
        let (first, rest) = bytes.split_first().expect("a whole varint");
        *bytes = rest;
        assert!(shift < 70, "a varint of ten bytes at most");
        value |= u64::from(first & 0x7F).checked_shl(shift).unwrap_or(0);
        if first & 0x80 == 0 {
            break;
        }
    }
    value
}

/// The fields of a message, in order.
pub fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let field = match tag & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (value, rest) = bytes.split_at(8);
                bytes = rest;
                Field::Fixed(u64::from_le_bytes(value.try_into().expect("eight bytes")))
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                assert!(length <= bytes.len(), "a field of {length} bytes where {} are left", bytes.len());
                let (value, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(value)
            }
            other => panic!("wire type {other}"),
        };
        fields.push((tag >> 3, field));
    }
    fields
}

fn find<'a>(message: &[(u64, Field<'a>)], number: u64) -> Option<Field<'a>> {
    message.iter().find(|(known, _)| *known == number).map(|(_, field)| field.clone())
}

#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub name: String,
    pub parent: Option<u64>,
    pub counts: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Number(u64),
    Text(String),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    pub track: u64,
    pub name: String,
    pub category: String,
    pub from_ns: u64,
    pub until_ns: u64,
    /// Its length, exactly.
    pub ps: u64,
    pub depth: usize,
    pub flows: Vec<u64>,
    pub flows_end: Vec<u64>,
    pub notes: BTreeMap<String, Value>,
    /// How deep, and of which slice of the list it is a part.
    pub within: Option<usize>,
}

impl Seen {
    pub fn number(&self, note: &str) -> Option<u64> {
        match self.notes.get(note) {
            Some(Value::Number(value)) => Some(*value),
            _ => None,
        }
    }

    pub fn text(&self, note: &str) -> &str {
        match self.notes.get(note) {
            Some(Value::Text(value)) => value,
            _ => "",
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Timeline {
    pub tracks: BTreeMap<u64, Line>,
    pub slices: Vec<Seen>,
    pub instants: Vec<Seen>,
    /// Track, time and value, in order of time.
    pub counts: Vec<(u64, u64, f64)>,
}

/// Texts by field and number.
type Texts = BTreeMap<(u64, u64), String>;

struct Event {
    at_ns: u64,
    kind: u64,
    value: Option<f64>,
    seen: Seen,
}

fn event(at_ns: u64, message: &[(u64, Field)], texts: &Texts) -> Event {
    let said = |field: u64, number: u64| texts.get(&(field, number)).expect("a text that was said before").clone();
    let mut event = Event { at_ns, kind: 0, value: None, seen: Seen { from_ns: at_ns, ..Seen::default() } };
    for (number, field) in message {
        match number {
            9 => event.kind = field.number(),
            11 => event.seen.track = field.number(),
            10 => event.seen.name = said(2, field.number()),
            3 => event.seen.category = said(1, field.number()),
            30 => event.value = Some(field.number() as f64),
            44 => event.value = Some(f64::from_bits(field.number())),
            47 => event.seen.flows.push(field.number()),
            48 => event.seen.flows_end.push(field.number()),
            4 => {
                let note = fields(field.bytes());
                let name = said(3, find(&note, 1).expect("a note has a name").number());
                let number = find(&note, 3).or_else(|| find(&note, 7)).map(|value| Value::Number(value.number()));
                let text = find(&note, 17).map(|value| Value::Text(said(29, value.number())));
                event.seen.notes.insert(name, number.or(text).expect("a note has a value"));
            }
            other => panic!("field {other} of an event"),
        }
    }
    event
}

impl Timeline {
    /// Reads a file. Panics where its events do not nest, or where a flow that begins does not end.
    pub fn read(bytes: &[u8]) -> Timeline {
        let (mut timeline, mut texts, mut events) = (Timeline::default(), Texts::new(), Vec::new());
        for (number, packet) in fields(bytes) {
            assert_eq!(number, 1, "a trace has packets only");
            let packet = fields(packet.bytes());
            assert_eq!(find(&packet, 10).expect("a sequence").number(), 1);
            for (table, entry) in find(&packet, 12).iter().flat_map(|field| fields(field.bytes())) {
                let entry = fields(entry.bytes());
                let number = find(&entry, 1).expect("an entry has a number").number();
                let text = find(&entry, 2).expect("an entry has a text").text();
                assert!(texts.insert((table, number), text).is_none(), "a number is given once");
            }
            if let Some(track) = find(&packet, 60) {
                let track = fields(track.bytes());
                let line = Line {
                    name: find(&track, 2).expect("a track has a name").text(),
                    parent: find(&track, 5).map(|parent| parent.number()),
                    counts: find(&track, 8).is_some(),
                };
                assert!(line.parent.is_none_or(|parent| timeline.tracks.contains_key(&parent)));
                let uuid = find(&track, 1).expect("a track has a number").number();
                assert!(timeline.tracks.insert(uuid, line).is_none(), "a track is described once");
            }
            if let Some(message) = find(&packet, 11) {
                assert_eq!(find(&packet, 13).map(|flags| flags.number()), Some(2), "numbers of texts count");
                let at_ns = find(&packet, 8).expect("an event has a time").number();
                events.push(event(at_ns, &fields(message.bytes()), &texts));
            }
        }
        // As Perfetto does it: by time, and otherwise as they come.
        events.sort_by_key(|event| event.at_ns);
        timeline.follow(events);
        timeline
    }

    fn follow(&mut self, events: Vec<Event>) {
        let mut open: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        let mut flows: BTreeMap<u64, bool> = BTreeMap::new();
        for Event { at_ns, kind, value, mut seen } in events {
            let line = self.tracks.get(&seen.track).expect("a track that is described");
            assert_eq!(line.counts, kind == 4, "{line:?}");
            for flow in &seen.flows {
                assert_ne!(flows.insert(*flow, true), Some(false), "flow {flow} goes on after its end");
            }
            for flow in &seen.flows_end {
                assert_eq!(flows.insert(*flow, false), Some(true), "flow {flow} ends and has not begun");
            }
            let within = open.entry(seen.track).or_default();
            match kind {
                1 => {
                    (seen.depth, seen.within) = (within.len(), within.last().copied());
                    within.push(self.slices.len());
                    self.slices.push(seen);
                }
                2 => {
                    let slice = within.pop().unwrap_or_else(|| panic!("an end without a slice on {line:?} at {at_ns}"));
                    let slice = &mut self.slices[slice];
                    slice.notes.extend(seen.notes);
                    slice.until_ns = at_ns;
                    let shown = (at_ns - slice.from_ns) * 1_000;
                    slice.ps = slice.number("picoseconds").unwrap_or(shown);
                    assert!(slice.ps.abs_diff(shown) < 1_000, "{slice:?}");
                }
                3 => self.instants.push(seen),
                4 => self.counts.push((seen.track, at_ns, value.expect("a counter has a value"))),
                other => panic!("an event of type {other}"),
            }
        }
        assert!(open.values().all(Vec::is_empty), "every slice ends");
        let endless: Vec<&u64> = flows.iter().filter(|(_, goes_on)| **goes_on).map(|(flow, _)| flow).collect();
        assert!(endless.is_empty(), "flows without an end: {endless:?}");
    }

    /// A track's names, from the outermost on.
    pub fn path(&self, track: u64) -> String {
        let line = &self.tracks[&track];
        match line.parent {
            Some(parent) => self.path(parent) + "/" + &line.name,
            None => line.name.clone(),
        }
    }
}
