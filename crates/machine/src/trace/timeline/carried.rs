//! What wires and links carry, in words: the marks of a lane.

use hopscope_kernel::Label;
use hopscope_parts::protocols::ide::{ACCESSED, Access};
use hopscope_parts::protocols::pci::{Command, WRITTEN, unpacked};
use hopscope_parts::protocols::pcie::{CONTENT, CONTENT_AT, Flow, PACKET, PACKET_AT, Packet};
use hopscope_signals::ide::register;
use hopscope_signals::pcie::tlp::Kind;
use hopscope_signals::timeline::pftrace::Note;

/// What something is called, and its notes.
type Said = (&'static str, Vec<(&'static str, Note<'static>)>);

/// What the marks of a lane said that belongs to one that follows.
#[derive(Default)]
pub struct Carried {
    packet_at: u64,
}

impl Carried {
    /// What a mark is called, and its notes; nothing where it only belongs to another.
    pub fn said(&mut self, label: &'static Label, value: u64) -> Option<Said> {
        let is = |known: &Label| label == known;
        if is(&PACKET_AT) {
            self.packet_at = value;
            return None;
        }
        if is(&CONTENT_AT) || is(&CONTENT) {
            return None;
        }
        let name = label.name;
        if is(&PACKET) {
            let Packet { flow, payload, bytes, tag, .. } = Packet::unpacked(value);
            let (kind, bytes) = match flow {
                Flow::Posted => (Kind::MWr, payload),
                Flow::NonPosted => (Kind::MRd, bytes),
                Flow::Completion => (Kind::CplD, payload),
            };
            let mut notes = vec![("address", Note::Address(self.packet_at)), ("bytes", Note::Number(bytes.into()))];
            // A posted packet is not answered: its tag says nothing.
            notes.extend((flow != Flow::Posted).then_some(("tag", Note::Number(tag.into()))));
            return Some((kind.word(), notes));
        }
        if is(&ACCESSED) {
            let Access { control, da, writes, .. } = Access::unpacked(value);
            let way = ("way", Note::Text(if writes { "written" } else { "read" }));
            return Some((register(control, da, writes), vec![way]));
        }
        if Command::of_label(label).is_some() {
            let (address, bytes, _) = unpacked(value);
            let notes = vec![("address", Note::Address(address.into())), ("bytes", Note::Number(bytes.into()))];
            return Some((name, notes));
        }
        let notes = if is(&WRITTEN) { vec![("value", Note::Address(value))] } else { Vec::new() };
        Some((name, notes))
    }
}
