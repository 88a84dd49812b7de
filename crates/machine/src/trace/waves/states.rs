//! What a lane that has no wires of its own is doing, as words: a disk's arm, a processor, the phases of a SCSI bus.

use hopscope_kernel::{Label, Record, Time};
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

    fn is_in(&self, changes: &mut Changes, phase: &Label, at: Time, end: Time) {
        if end > self.from {
            changes.set(at.as_ps(), self.wire, Level::Word(phase.name));
            changes.set(end.as_ps(), self.wire, IDLE);
        }
    }
}

impl Wired for DrawnStates {
    fn record(&mut self, changes: &mut Changes, record: &Record, _: &[String]) {
        match *record {
            Record::Left { at, .. } => {
                changes.forget(at.as_ps(), self.wire);
                changes.set(at.as_ps(), self.wire, IDLE);
                self.until = at;
            }
            Record::Planned { label, at, span, .. } => {
                self.is_in(changes, label, at, at + span);
                self.until = self.until.max(at + span);
            }
            Record::Phase { label, at, span, .. } => {
                self.phases += u64::from(at + span > self.from);
                if self.until < at + span {
                    // Said when it was over.
                    self.is_in(changes, label, at, at + span);
                }
            }
            _ => {}
        }
    }

    fn drawn(&self) -> Vec<Drawn> {
        vec![Drawn { name: self.name.clone(), count: self.phases, what: "states" }]
    }
}
