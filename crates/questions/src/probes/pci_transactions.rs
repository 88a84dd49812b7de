//! Transactions on the lane `pci`, put together from its phases.

use hopscope_kernel::{Label, Time};
use hopscope_observe::Interval;
use hopscope_parts::protocols::pci::{
    ADDRESS, DISCONNECT, MASTER_ABORT, RESPONSE, RETRY, SPECIAL, TURNAROUND, WAIT_STATE,
};

use super::{Figure, Trace};

/// The lane.
pub(super) const PCI: &str = "pci";

/// One transaction: when it was, and for how long it was at what.
#[derive(Clone, Copy, Default)]
pub(super) struct Transaction {
    pub(super) start: Time,
    pub(super) address: Time,
    pub(super) wait: Time,
    pub(super) data: Time,
    pub(super) data_end: Time,
    pub(super) disconnect: Time,
    pub(super) end: Time,
    /// The phase in which it moved what it moved; none where it moved nothing.
    pub(super) carries: Option<&'static Label>,
    pub(super) retried: bool,
    pub(super) who: u16,
}

/// All of them: each begins with an address.
pub(super) fn transactions(pci: &[Interval]) -> Vec<Transaction> {
    let mut list: Vec<Transaction> = Vec::new();
    for phase in pci {
        let (start, address, end, who) = (phase.at, phase.span, phase.end(), phase.who);
        if *phase.phase == ADDRESS {
            list.push(Transaction { start, address, end, who, ..Transaction::default() });
            continue;
        }
        let Some(last) = list.last_mut() else { continue };
        match phase.phase {
            // The idle clock after a transaction belongs to nobody: it counts as idle.
            label if *label == TURNAROUND => continue,
            // A target on PCI says what it waits for.
            label if [&RESPONSE, &WAIT_STATE].contains(&label) || label.name.starts_with("wait for ") => {
                last.wait += phase.span;
            }
            label if *label == DISCONNECT => last.disconnect += phase.span,
            label if *label == RETRY => last.retried = true,
            label if [&SPECIAL, &MASTER_ABORT].contains(&label) => {}
            label => (last.data, last.data_end, last.carries) = (phase.span, end, Some(label)),
        }
        last.end = end;
    }
    list
}

/// Those of a trace.
pub(super) fn seen(trace: &Trace) -> Result<Vec<Transaction>, String> {
    Ok(transactions(&trace.used(PCI)?))
}

/// In clocks of the bus.
pub(super) fn in_clocks(trace: &Trace, span: Time) -> Figure {
    Ok(span.as_ps() as f64 / trace.clocked(PCI)?.as_ps() as f64)
}
