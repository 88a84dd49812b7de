//! What a lane that has no wires of its own is doing, as words: a disk's arm, a processor, the phases of a SCSI bus.

use hopscope_kernel::{Kind, Record, Time};
use hopscope_signals::waves::changes::{Changes, Level, WORDS, Wire};

use super::{Drawn, Wired};

const IDLE: Level = Level::Word("idle");

/// A lane whose phases are drawn.
pub struct DrawnStates {
    name: String,
    wire: Wire,
    from: Time,
    /// As far as phases have been planned.
    until: Time,
    phases: u64,
}

impl DrawnStates {
    /// A lane: `drive.channel.die` is the signal `die` in the scope `channel` of the scope `drive`, and `cpu` is `state`
    /// in the scope `cpu`.
    pub fn new(changes: &mut Changes, name: &str, from: Time) -> DrawnStates {
        let (part, of) = name.rsplit_once('.').unwrap_or((name, "state"));
        let scope: Vec<&str> = part.split('.').collect();
        let wire = changes.declare(&scope, of, WORDS, IDLE);
        DrawnStates { name: name.to_string(), wire, from, until: Time::ZERO, phases: 0 }
    }

    fn is_in(&self, changes: &mut Changes, record: &Record) {
        let end = record.at + record.span;
        if end > self.from {
            changes.set(record.at.as_ps(), self.wire, Level::Word(record.label.name));
            changes.set(end.as_ps(), self.wire, IDLE);
        }
    }
}

impl Wired for DrawnStates {
    fn record(&mut self, changes: &mut Changes, record: &Record, _: &[String]) {
        match record.kind {
            Kind::Planned if record.span == Time::ZERO => {
                changes.forget(record.at.as_ps(), self.wire);
                changes.set(record.at.as_ps(), self.wire, IDLE);
                self.until = record.at;
            }
            Kind::Planned => {
                self.is_in(changes, record);
                self.until = self.until.max(record.at + record.span);
            }
            Kind::Phase => {
                let end = record.at + record.span;
                self.phases += u64::from(end > self.from);
                if self.until < end {
                    // Said when it was over.
                    self.is_in(changes, record);
                }
            }
            _ => {}
        }
    }

    fn drawn(&self) -> Vec<Drawn> {
        vec![Drawn { name: self.name.clone(), count: self.phases, what: "states" }]
    }
}
