//! What the report shows in pictures: the rate over the length of a burst, every slot, both directions.

use hopscope_machine::run::Failure;

use super::cells;
use crate::Wish;
use crate::pictures::{Axis, Chart, Panel, Pictures};

/// A chart of as many slots as can be told apart, three times.
pub fn pictures(_: &Wish) -> Result<Pictures, Failure> {
    let hosts: Vec<String> = cells::all().into_iter().map(|row| row.host).collect();
    let charts = hosts.chunks(cells::GROUP).enumerate().map(|(number, hosts)| bursts(number + 1, hosts));
    Ok(Pictures { charts: charts.collect(), timelines: Vec::new() })
}

fn bursts(number: usize, hosts: &[String]) -> Chart {
    let panel = |mark: &str, title: &str, direction: &str| Panel {
        mark: mark.into(),
        title: title.into(),
        keys: vec![("group".into(), number.to_string()), ("direction".into(), direction.into())],
    };
    let short = |host: &String| host.split('/').next().unwrap_or(host).trim().to_string();
    Chart {
        id: format!("bursts-{number}"),
        title: format!("Rate by length of a burst, {number}"),
        about: format!(
            "Chained DMA blocks of that length. What is drawn as published is the paper's limit of the bus, {} or {} \
             MB/s: what is missing below it is protocol, and the host's delay.",
            cells::limit(133),
            cells::limit(100)
        ),
        table: "bursts".into(),
        along: Axis { key: "burst_bytes".into(), title: "length of a burst, bytes".into(), unit: "B".into() },
        shows: "rate".into(),
        curves_by: "slot".into(),
        curves: hosts.iter().map(|host| (host.clone(), short(host))).collect(),
        panels: vec![panel("(a)", "reads", "read"), panel("(b)", "writes", "write")],
        accuracy: None,
        limit: true,
    }
}
