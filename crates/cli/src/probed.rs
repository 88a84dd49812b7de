//! What `--probe` reads off a run, for people.

use hopscope_files::quantity::digits;
use hopscope_questions::probes::Probe;

use crate::tables::close_table;

/// A line each.
pub fn text(figures: &[(&Probe, f64)]) -> String {
    let value = |probe: &Probe, value: f64| format!("{} {}", digits(value), probe.unit).trim_end().to_string();
    let row = |(probe, of): &(&Probe, f64)| vec![probe.name.to_string(), value(probe, *of), probe.what.to_string()];
    close_table(&["probe", "value", "what it is"], figures.iter().map(row))
}
