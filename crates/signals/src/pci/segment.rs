//! All of a segment, as changes of its wires.

use hopscope_kernel::{Label, Time};

use super::draw::Course;
use super::{Clock, parity};
use crate::waves::changes::{Changes, Level, Wire};
use hopscope_parts::protocols::pci::{Command, unpacked};

/// A wire that is low where it is asserted.
fn low(asserted: bool) -> Level {
    Level::Driven(u64::from(!asserted))
}

const RELEASED: Level = Level::Driven(1);

/// REQ# and GNT# of an initiator, and INTA# of one that is no bridge above.
struct Agent {
    request: Wire,
    grant: Wire,
    interrupt: Option<Wire>,
}

struct Wires {
    clk: Wire,
    rst: Wire,
    frame: Wire,
    irdy: Wire,
    trdy: Wire,
    devsel: Wire,
    stop: Wire,
    ad: Wire,
    cbe: Wire,
    par: Wire,
    req64: Option<(Wire, Wire)>,
}

/// Draws a segment.
pub struct Segment {
    clock: Time,
    seed: u64,
    wires: Wires,
    agents: Vec<Agent>,
    /// CLK has been drawn until then.
    clocked_until: Time,
    open: Option<(Course, usize)>,
    /// When whoever is granted next asked for the bus, by initiator.
    asked: Vec<Option<Time>>,
    from: Time,
}

impl Segment {
    /// A segment in the scope `name`, whose initiators have these names, the bridge above first. CLK begins with the first edge at or after
    /// `from`.
    pub fn new(
        changes: &mut Changes,
        name: &str,
        (clock, width_bytes): (Time, u32),
        initiators: &[String],
        (from, seed): (Time, u64),
    ) -> Segment {
        let scope = [name];
        let mut wire = |name: &str, bits, at_rest| changes.declare(&scope, name, bits, at_rest);
        let bits = width_bytes * 8;
        let wires = Wires {
            clk: wire("CLK", 1, Level::Driven(0)),
            rst: wire("RST#", 1, RELEASED),
            frame: wire("FRAME#", 1, RELEASED),
            irdy: wire("IRDY#", 1, RELEASED),
            trdy: wire("TRDY#", 1, RELEASED),
            devsel: wire("DEVSEL#", 1, RELEASED),
            stop: wire("STOP#", 1, RELEASED),
            ad: wire("AD", bits, Level::Floating),
            cbe: wire("C/BE#", width_bytes, Level::Floating),
            par: wire("PAR", 1, Level::Floating),
            req64: (width_bytes > 4).then(|| (wire("REQ64#", 1, RELEASED), wire("ACK64#", 1, RELEASED))),
        };
        let agents = initiators.iter().enumerate().map(|(place, of)| {
            if place > 0 {
                // Nothing is configured during a run: it stays low.
                wire(&format!("IDSEL_{of}"), 1, Level::Driven(0));
            }
            Agent {
                request: wire(&format!("REQ#_{of}"), 1, RELEASED),
                grant: wire(&format!("GNT#_{of}"), 1, RELEASED),
                interrupt: (place > 0).then(|| wire(&format!("INTA#_{of}"), 1, RELEASED)),
            }
        });
        let agents: Vec<Agent> = agents.collect();
        let asked = agents.iter().map(|_| None).collect();
        let first = from.edge(clock);
        changes.set(first.as_ps(), wires.rst, RELEASED);
        Segment { clock, seed, wires, agents, clocked_until: first, open: None, asked, from: first }
    }

    /// An initiator asked for the bus at `since`, and has it now.
    pub fn granted(&mut self, initiator: usize, since: Time) {
        self.asked[initiator] = Some(since);
    }

    /// INTA# of an initiator is asserted or negated; it follows no clock (2.2.6).
    pub fn interrupts(&self, changes: &mut Changes, initiator: usize, at: Time, asserted: bool) {
        if let Some(wire) = self.agents[initiator].interrupt {
            changes.set(at.max(self.from).as_ps(), wire, low(asserted));
        }
    }

    /// FRAME# is asserted.
    pub fn begins(
        &mut self,
        changes: &mut Changes,
        (start, initiator): (Time, usize),
        (command, value): (Command, u64),
    ) {
        self.draw(changes);
        let (address, wanted, width_bytes) = unpacked(value);
        let course = Course {
            start,
            command,
            address,
            wanted,
            width_bytes,
            phases: Vec::new(),
            initiator: initiator as u8,
            written: None,
        };
        self.open = Some((course, initiator));
    }

    /// What the I/O write under way writes.
    pub fn written(&mut self, value: u32) {
        if let Some((course, _)) = &mut self.open {
            course.written = Some(value);
        }
    }

    /// The bus was in a phase.
    pub fn phase(&mut self, label: &'static Label, at: Time, span: Time) {
        let Some((course, _)) = &mut self.open else { return };
        let clocks = span / self.clock;
        if at >= course.start && clocks > 0 {
            course.phases.push((label, clocks));
        }
    }

    /// Nothing will be said any more of what was before.
    pub fn settled(&self) -> Option<Time> {
        // GNT# of the next one may come a clock before its FRAME#.
        self.open.as_ref().map(|(course, _)| course.start.saturating_sub(self.clock * 2))
    }

    /// Draws what is under way, and CLK, until `until`.
    pub fn finish(&mut self, changes: &mut Changes, until: Time) {
        self.draw(changes);
        self.run_clock(changes, until);
    }

    /// CLK until then: each period begins with a rising edge.
    pub fn run_clock(&mut self, changes: &mut Changes, until: Time) {
        let half = self.clock.as_ps() / 2;
        while self.clocked_until < until {
            let at = self.clocked_until.as_ps();
            changes.set(at, self.wires.clk, Level::Driven(1));
            changes.set(at + half, self.wires.clk, Level::Driven(0));
            self.clocked_until += self.clock;
        }
    }

    fn draw(&mut self, changes: &mut Changes) {
        let Some((course, initiator)) = self.open.take() else { return };
        let clocks = course.clocks(self.seed);
        if clocks.is_empty() {
            return;
        }
        let start = course.start;
        let period = self.clock.as_ps();
        // GNT# holds at the edge with which FRAME# is asserted; who is parked has it without asking.
        let Agent { request, grant, .. } = &self.agents[initiator];
        let granted = start.saturating_sub(self.clock).as_ps();
        if let Some(since) = self.asked[initiator].take() {
            let asked = since.edge(self.clock).as_ps().min(granted);
            changes.set(asked.max(self.from.as_ps()), *request, low(true));
            changes.set(start.as_ps(), *request, RELEASED);
        }
        changes.set(granted.max(self.from.as_ps()), *grant, low(true));
        changes.set(start.as_ps(), *grant, RELEASED);
        let mut par = None;
        for (index, clock) in clocks.iter().enumerate() {
            let at = start.as_ps() + period * index as u64;
            self.show(changes, at, clock, par);
            let driven = if course.speaks_pci_x() { 2 } else { 1 };
            let shown = !course.command.reads() || clock.trdy || index < driven;
            par = clock.ad.zip(clock.cbe).filter(|_| shown).map(|(ad, cbe)| parity(ad, cbe));
        }
        let end = start.as_ps() + period * clocks.len() as u64;
        self.show(changes, end, &Clock::default(), par);
        changes.set(end + period, self.wires.par, Level::Floating);
    }

    fn show(&self, changes: &mut Changes, at: u64, clock: &Clock, par: Option<bool>) {
        let wires = &self.wires;
        let driven = |value: Option<u64>| value.map_or(Level::Floating, Level::Driven);
        changes.set(at, wires.frame, low(clock.frame));
        changes.set(at, wires.irdy, low(clock.irdy));
        changes.set(at, wires.trdy, low(clock.trdy));
        changes.set(at, wires.devsel, low(clock.devsel));
        changes.set(at, wires.stop, low(clock.stop));
        changes.set(at, wires.ad, driven(clock.ad));
        changes.set(at, wires.cbe, driven(clock.cbe.map(u64::from)));
        changes.set(at, wires.par, driven(par.map(u64::from)));
        if let Some((req64, ack64)) = wires.req64 {
            changes.set(at, req64, low(clock.req64));
            changes.set(at, ack64, low(clock.ack64));
        }
    }
}
