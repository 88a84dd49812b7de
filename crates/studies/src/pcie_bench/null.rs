//! The null model: bytes on the wire are counted, and nothing else limits. It is how the study itself models the link.

use hopscope_machine::quantity;
use hopscope_parts::parameters::Value;

use super::ID;
use super::cells::{self, Row};
use crate::report::{Alternative, Cell};
use crate::study_file;

/// 8 GT/s on 8 lanes, 128b/130b.
const RAW_BITS_PER_SECOND: f64 = 8e9 * 8.0 * 128.0 / 130.0;
/// Of a request with a 64-bit address, framing, sequence number and LCRC included.
const REQUEST_BYTES: u64 = 24;
/// Of a completion with data.
const COMPLETION_BYTES: u64 = 20;
/// Below it, transfers of the adapter are smaller than a packet may be.
const SMALL_BELOW_BYTES: u64 = 256;

/// The link's raw rate, one direction.
pub(super) fn raw_gb_per_s() -> f64 {
    RAW_BITS_PER_SECOND / 1e9
}

/// Gb/s, of one direction.
fn bandwidth(row: &Row, data_link_share: f64) -> f64 {
    let Row { size_bytes: size, mps_bytes, mrrs_bytes, .. } = row;
    let packets = size.div_ceil(*mps_bytes);
    let (writes, completions) = (size + REQUEST_BYTES * packets, size + COMPLETION_BYTES * packets);
    let requests = REQUEST_BYTES * size.div_ceil(*mrrs_bytes);
    let wire = match row.op.as_str() {
        "write" => writes,
        "read" => completions.max(requests),
        _ => completions.max(writes + requests),
    };
    raw_gb_per_s() * (1.0 - data_link_share) * *size as f64 / wire as f64
}

/// The null model and ours, below 256 bytes and from there on.
pub(super) fn beside(cells: &[Cell]) -> Vec<Alternative> {
    let number = &study_file::read(ID).numbers["data_link_share"];
    let Ok(Value::Share(ppm)) = quantity::parse(&number.value) else {
        panic!("studies/{ID}/study.toml: data_link_share is a share, not {}", number.value)
    };
    let share = ppm as f64 / 1e6;
    let rows: Vec<Row> = cells::all().into_iter().filter(Row::is_bandwidth).collect();
    let mut alternatives = Vec::new();
    for (id, small, sizes) in [("below-256", true, "below 256 bytes"), ("from-256", false, "from 256 bytes on")] {
        let beside = rows.iter().zip(cells).filter(|(row, _)| (row.size_bytes < SMALL_BELOW_BYTES) == small);
        let counted = |(row, cell): (&Row, &Cell)| {
            Cell::new(cell.key.clone(), cell.published, bandwidth(row, share), cell.basis, 0.0)
        };
        let what = format!(
            "null model, {sizes}: headers of 24 and 20 bytes, packets of 256, requests of 512, {} for data link layer \
             packets; the slower direction decides",
            number.value
        );
        alternatives.push(Alternative::of(&format!("null-model-{id}"), what, beside.clone().map(counted).collect()));
        let ours = beside.map(|(_, cell)| cell.clone()).collect();
        alternatives.push(Alternative::of(&format!("beside-{id}"), format!("this model, {sizes}"), ours));
    }
    alternatives
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_as_the_study_counts_them() {
        let rows = cells::all();
        let of = |op: &str, size| rows.iter().find(|r| r.op == op && r.size_bytes == size).map(|r| bandwidth(r, 0.0));
        let raw = raw_gb_per_s();
        assert!((raw - 63.015).abs() < 0.001);
        assert_eq!(of("write", 64), Some(raw * 64.0 / 88.0));
        assert_eq!(of("read", 16), Some(raw * 16.0 / 36.0));
        assert_eq!(of("read-and-write", 2_048), Some(raw * 2_048.0 / (2_048.0 + 8.0 * 24.0 + 4.0 * 24.0)));
    }
}
