//! Read requests on the wires of a PCI Express link, the lanes `link.up` and `link.down`.

use hopscope_kernel::Label;
use hopscope_observe::Interval;
use hopscope_parts::protocols::pcie::{DATA, HEADER};

use super::{Figure, Probe, Trace};

pub(super) const PROBES: [Probe; 1] = [Probe::traced(
    "reads_under_way",
    "",
    "most reads sent on `link.up` whose completion is not down `link.down` yet, where each has one completion",
    under_way,
)];

fn under_way(trace: &Trace) -> Figure {
    let of = |lane: &str, label: &'static Label| -> Result<Vec<Interval>, String> {
        Ok(trace.used(lane)?.into_iter().filter(|phase| phase.phase == label).collect())
    };
    let (requests, answers) = (of("link.up", &HEADER)?, of("link.down", &DATA)?);
    let flight = trace.time("link.flight")?;
    let under_way = |(index, sent): (usize, &Interval)| {
        (index + 1).saturating_sub(answers.partition_point(|answer| answer.end() + flight <= sent.at))
    };
    let most = requests.iter().enumerate().map(under_way).max();
    most.filter(|_| !answers.is_empty()).map(|most| most as f64).ok_or_else(|| "the link has no reads".to_string())
}
