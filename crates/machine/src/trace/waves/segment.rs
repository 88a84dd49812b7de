//! A segment of PCI: its initiators are known by the processes that drive them.

use std::collections::HashMap;

use hopscope_kernel::{Label, Record, Time};
use hopscope_parts::protocols::pci::{Command, INTX_ASSERTED, INTX_NEGATED, WRITTEN};
use hopscope_signals::pci::segment::Segment;
use hopscope_signals::waves::changes::Changes;

use super::{Drawn, Wired};
use crate::trace::part_of;

/// A segment that is drawn.
pub struct DrawnSegment {
    name: String,
    from: Time,
    segment: Segment,
    /// Initiators by process.
    initiators: HashMap<u16, usize>,
    agents: Vec<String>,
    transactions: u64,
}

impl DrawnSegment {
    /// A segment in a scope of its name; `agents` may be initiators.
    pub fn new(
        changes: &mut Changes,
        name: &str,
        timing: (Time, u32),
        agents: &[String],
        pattern: (Time, u64),
    ) -> DrawnSegment {
        DrawnSegment {
            name: name.to_string(),
            from: pattern.0,
            segment: Segment::new(changes, name, timing, agents, pattern),
            initiators: HashMap::new(),
            agents: agents.to_vec(),
            transactions: 0,
        }
    }

    /// Whose wires a process drives: those of the part that it is of, or of the bridge above.
    fn initiator(&mut self, process: u16, processes: &[String]) -> usize {
        let (agents, name) = (&self.agents, processes.get(usize::from(process)));
        *self.initiators.entry(process).or_insert_with(|| {
            let part = name.map_or("", |name| part_of(name));
            agents.iter().position(|agent| agent == part).unwrap_or(0)
        })
    }

    fn carried(
        &mut self,
        changes: &mut Changes,
        (who, at): (u16, Time),
        (label, value): (&'static Label, u64),
        processes: &[String],
    ) {
        if label == &WRITTEN {
            return self.segment.written(value as u32);
        }
        let Some(command) = Command::of_label(label) else { return };
        let initiator = self.initiator(who, processes);
        self.segment.begins(changes, (at, initiator), (command, value));
        self.transactions += 1;
    }
}

impl Wired for DrawnSegment {
    fn record(&mut self, changes: &mut Changes, record: &Record, processes: &[String]) {
        match *record {
            Record::LaneWait { who, at, span, .. } if at + span >= self.from => {
                let initiator = self.initiator(who, processes);
                self.segment.granted(initiator, at.max(self.from));
            }
            Record::Carried { who, label, at, .. } if [&INTX_ASSERTED, &INTX_NEGATED].contains(&label) => {
                let initiator = self.initiator(who, processes);
                self.segment.interrupts(changes, initiator, at, label == &INTX_ASSERTED);
            }
            Record::Carried { who, label, at, value, .. } if at >= self.from => {
                self.carried(changes, (who, at), (label, value), processes);
            }
            Record::Phase { label, at, span, .. } if at >= self.from => self.segment.phase(label, at, span),
            _ => {}
        }
    }

    fn settled(&self) -> Option<Time> {
        self.segment.settled()
    }

    fn run_until(&mut self, changes: &mut Changes, until: Time) {
        self.segment.run_clock(changes, until);
    }

    fn finish(&mut self, changes: &mut Changes, end: Time) {
        self.segment.finish(changes, end);
    }

    fn drawn(&self) -> Vec<Drawn> {
        vec![Drawn { name: self.name.clone(), count: self.transactions, what: "transactions" }]
    }
}
