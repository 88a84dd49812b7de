//! What requests cost the processors, for a person.

use hopscope_files::quantity::digits;
use hopscope_machine::processor_cost::ProcessorCost;

use crate::tables::span;

/// A line, and one for each layer.
pub fn lines(cost: &ProcessorCost) -> Vec<String> {
    let (count, mhz) = (cost.processors.count, digits(cost.clock_hz() / 1e6));
    let processors = if count == 1 { "processor".to_string() } else { format!("{count} processors") };
    let busy = digits(100.0 * cost.utilisation());
    let Some(request) = cost.ps_per_request(cost.busy()) else {
        return vec![format!("{processors} of {mhz} MHz: {busy} % at work")];
    };
    let mut lines = vec![format!("{processors} of {mhz} MHz: {busy} % at work, {} a request", span(request / 1e3))];
    for (layer, time) in &cost.layers {
        let clocks = digits(cost.clocks_per_request(*time).unwrap_or_default());
        let byte = cost.clocks_per_byte(*time).map_or(String::new(), |clocks| format!(", {} a byte", digits(clocks)));
        lines.push(format!("  {:<16} {clocks} clocks a request{byte}", layer.name()));
    }
    lines
}
