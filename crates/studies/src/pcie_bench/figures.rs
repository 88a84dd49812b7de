//! What the report shows in pictures: bandwidth over the size of a transfer, both hosts, three directions.

use hopscope_machine::run::Failure;

use super::{IVY_BRIDGE, SANDY_BRIDGE};
use crate::Wish;
use crate::pictures::{Axis, Chart, Panel, Pictures};

/// One chart.
pub fn pictures(_: &Wish) -> Result<Pictures, Failure> {
    Ok(Pictures { charts: vec![bandwidth()], timelines: Vec::new() })
}

fn bandwidth() -> Chart {
    let panel = |mark: &str, title: &str, op: &str| Panel {
        mark: mark.into(),
        title: title.into(),
        keys: vec![("op".into(), op.into())],
    };
    let hosts = [(IVY_BRIDGE, "Ivy Bridge"), (SANDY_BRIDGE, "Sandy Bridge")];
    Chart {
        id: "bandwidth".into(),
        title: "Bandwidth by size of a transfer".into(),
        about: "DMA of the adapter, with the simulated bandwidth over what was published. Saw teeth are lines and \
                packets that a byte more begins."
            .into(),
        table: "bandwidth".into(),
        along: Axis { key: "size_bytes".into(), title: "size of a transfer, bytes".into(), unit: "B".into() },
        shows: "bandwidth".into(),
        curves_by: "host".into(),
        curves: hosts.map(|(host, name)| (host.to_string(), name.to_string())).into(),
        panels: vec![
            panel("(a)", "reads", "read"),
            panel("(b)", "writes", "write"),
            panel("(c)", "both at once", "read-and-write"),
        ],
        accuracy: None,
        limit: false,
    }
}
