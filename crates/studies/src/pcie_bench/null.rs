//! The null models. One counts bytes on the wire, and nothing else limits: it is how the study itself models the link. The
//! other draws lines through the fitted cells.

use hopscope_files::quantity;
use hopscope_parts::parameters::Value;

use super::cells::{self, FITTED_BYTES, LINE_BYTES, Row};
use super::{ID, SANDY_BRIDGE};
use crate::report::{Alternative, Cell, CellBasis};
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

/// Gb/s: a transfer takes as long as its whole lines, and those as long as lie between the fitted sizes of the same
/// direction on the fitted host. Below the smallest of them it is as long as that.
fn between_fitted(rows: &[Row], row: &Row) -> f64 {
    let bytes = row.size_bytes.next_multiple_of(LINE_BYTES);
    let time = |size: u64| {
        let known = rows.iter().find(|known| known.is(SANDY_BRIDGE, &row.op, size) && known.is_bandwidth());
        known.map_or(f64::NAN, |known| size as f64 / known.value)
    };
    let above = FITTED_BYTES.into_iter().position(|size| size >= bytes).unwrap_or(FITTED_BYTES.len() - 1);
    let high = FITTED_BYTES[above];
    let low = FITTED_BYTES[above.saturating_sub(1)];
    let share = if high == low { 0.0 } else { (high - bytes) as f64 / (high - low) as f64 };
    row.size_bytes as f64 / (share * time(low) + (1.0 - share) * time(high))
}

/// Both, below 256 bytes and from there on, with ours beside them, on cells that are neither fitted nor repeat others.
pub(super) fn beside(cells: &[Cell]) -> Vec<Alternative> {
    let number = &study_file::read(ID).numbers["data_link_share"];
    let Ok(Value::Share(ppm)) = quantity::parse(&number.value) else {
        panic!("studies/{ID}/study.toml: data_link_share is a share, not {}", number.value)
    };
    let data_link_share = ppm as f64 / 1e6;
    let rows: Vec<Row> = cells::all().into_iter().filter(Row::is_bandwidth).collect();
    let mut alternatives = Vec::new();
    for (id, small, sizes) in [("below-256", true, "below 256 bytes"), ("from-256", false, "from 256 bytes on")] {
        let beside = || {
            let free = |cell: &Cell| cell.repeats.is_none() && cell.basis != CellBasis::Fitted;
            let pairs = rows.iter().zip(cells).filter(move |(_, cell)| free(cell));
            pairs.filter(|(row, _)| (row.size_bytes < SMALL_BELOW_BYTES) == small)
        };
        let guessed = |rule: &dyn Fn(&Row) -> f64| -> Vec<Cell> {
            let one =
                |(row, cell): (&Row, &Cell)| Cell::new(cell.key.clone(), cell.published, rule(row), cell.basis, 0.0);
            beside().map(one).collect()
        };
        let ours: Vec<Cell> = beside().map(|(_, cell)| cell.clone()).collect();
        let rule = format!(
            "{sizes}: headers of 24 and 20 bytes, packets of 256, requests of 512, {} for data link layer packets; the \
             slower direction decides",
            number.value
        );
        let counted = guessed(&|row| bandwidth(row, data_link_share));
        alternatives.push(Alternative::null_model(&format!("null-model-{id}"), &rule, counted, &ours));
        let rule = format!(
            "{sizes}: whole lines, and as long as lies between the times of the fitted sizes of the same direction"
        );
        let between = guessed(&|row| between_fitted(&rows, row));
        alternatives.push(Alternative::null_model(&format!("null-model-between-{id}"), &rule, between, &ours));
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

    #[test]
    fn fitted_sizes_are_met_by_what_lies_between_them() {
        let rows: Vec<Row> = cells::all().into_iter().filter(Row::is_bandwidth).collect();
        let of = |size| rows.iter().find(|row| row.is(SANDY_BRIDGE, "write", size)).expect("a published size");
        for size in FITTED_BYTES {
            assert!((between_fitted(&rows, of(size)) / of(size).value - 1.0).abs() < 1e-9, "{size}");
        }
        // Half of a line takes as long as all of it; 65 bytes take two lines.
        assert!((between_fitted(&rows, of(32)) / of(64).value - 0.5).abs() < 1e-9);
        let times = [64, 256].map(|size| size as f64 / of(size).value);
        let two_lines = times[0] + (times[1] - times[0]) / 3.0;
        assert!((65.0 / between_fitted(&rows, of(65)) / two_lines - 1.0).abs() < 1e-9);
    }
}
