//! Columns of shipped studies that say what formulas cannot are what arithmetic gives.

use std::collections::BTreeMap;
use std::path::Path;

type Row = BTreeMap<String, String>;

fn rows(file: &str) -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies").join(file);
    let mut reader = csv::Reader::from_path(path).unwrap();
    reader.deserialize().map(|row| row.unwrap()).collect()
}

fn number(row: &Row, column: &str) -> u64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column}: {row:?}"))
}

const LINE_BYTES: u64 = 64;
const WINDOW_BYTES: u64 = 8 << 10;
const SANDY_BRIDGE: &str = "Xeon E5-2630 (Sandy Bridge)";

#[test]
fn transfers_of_pcie_bench_are_cut_as_the_link_is_set() {
    let rows = rows("pcie-bench/pcie_bench.csv");
    assert_eq!(rows.len(), 252);
    for row in &rows {
        let size = number(row, "size_bytes");
        let line_bytes = size.next_multiple_of(LINE_BYTES);
        assert_eq!(number(row, "span_bytes"), (WINDOW_BYTES / line_bytes).max(1) * size, "{row:?}");
        if row["metric"] != "bandwidth" {
            continue;
        }
        assert_eq!(number(row, "packets"), size.div_ceil(number(row, "mps_bytes")), "{row:?}");
        assert_eq!(number(row, "requests"), size.div_ceil(number(row, "mrrs_bytes")), "{row:?}");
        assert_eq!(number(row, "line_bytes"), line_bytes, "{row:?}");
        assert_eq!(row["sizes"] == "below 256 bytes", size < 256, "{row:?}");
        assert_eq!(number(row, "ways"), if row["op"] == "read-and-write" { 2 } else { 1 }, "{row:?}");
    }
}

#[test]
fn sizes_on_either_side_are_the_fitted_ones_of_the_same_direction() {
    let rows = rows("pcie-bench/pcie_bench.csv");
    let bandwidths = || rows.iter().filter(|row| row["metric"] == "bandwidth");
    for row in bandwidths() {
        let fitted = bandwidths().filter(|f| f["basis"] == "fitted" && f["op"] == row["op"]);
        let fitted: Vec<u64> = fitted.map(|row| number(row, "size_bytes")).collect();
        assert_eq!(fitted.len(), 4, "{row:?}");
        let [line, low, high] = ["line_bytes", "low_bytes", "high_bytes"].map(|column| number(row, column));
        assert!(fitted.contains(&low) && fitted.contains(&high) && low != high, "{row:?}");
        let between = fitted.iter().filter(|size| (line + 1..high).contains(*size) || (low + 1..line).contains(*size));
        assert_eq!((line <= high, between.count()), (true, 0), "{row:?}");
    }
}

#[test]
fn all_that_is_fitted_of_pcie_bench_is_of_one_host_and_the_other_only_repeats_it() {
    let rows = rows("pcie-bench/pcie_bench.csv");
    assert!(rows.iter().filter(|row| row["basis"] == "fitted").all(|row| row["host"] == SANDY_BRIDGE));
    let bandwidths = |own: bool| {
        let of = move |row: &&Row| row["metric"] == "bandwidth" && (row["host"] == SANDY_BRIDGE) == own;
        rows.iter().filter(of)
    };
    let apart = bandwidths(false).map(|row| {
        let same = bandwidths(true).find(|other| other["op"] == row["op"] && other["size_bytes"] == row["size_bytes"]);
        let value = |row: &Row| row["value"].parse::<f64>().unwrap();
        (value(row) / value(same.expect("the same transfer")) - 1.0).abs()
    });
    let apart: Vec<f64> = apart.collect();
    assert_eq!(apart.len(), 120);
    let mean = apart.iter().sum::<f64>() / apart.len() as f64;
    assert!((0.0025..0.0027).contains(&mean), "{mean}");
}

#[test]
fn hosts_of_a_chip_set_are_compared_with_one_that_is_fitted_on_a_bus_of_133_mhz() {
    let rows = rows("myrinet/hosts.csv");
    let writes = || rows.iter().filter(|row| row["op"] == "write");
    let most = writes().map(|row| number(row, "mb_per_s")).max();
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/myrinet/study.toml");
    let study = std::fs::read_to_string(study).unwrap();
    let named = |row: &Row| {
        ['"', '\''].iter().any(|q| study.contains(&format!("cells.fastest = {{ host = {q}{}{q}", row["host"])))
    };
    let fastest: Vec<u64> = writes().filter(|row| named(row)).map(|row| number(row, "mb_per_s")).collect();
    assert_eq!(fastest, Vec::from_iter(most));
    for row in &rows {
        let clock_ns = if row["slot_clock_mhz"] == "133" { "7.5" } else { "10" };
        assert_eq!(row["bus_clock_ns"], clock_ns, "{row:?}");
        assert_eq!(row["like"].is_empty(), row["basis"] != "seen", "{row:?}");
        if row["basis"] == "seen" {
            let like = |other: &&Row| other["host"] == row["like"] && other["slot_clock_mhz"] == "133";
            assert!(rows.iter().filter(like).all(|like| like["basis"] == "fitted"), "{row:?}");
        }
    }
}

#[test]
fn sums_of_the_bus_trace_are_sums() {
    let cycle = rows("piix4e/write_cycle.csv");
    let clocks = |whole: bool| -> u64 {
        cycle.iter().filter(|row| (row["row"] == "0") == whole).map(|row| number(row, "pci_cycles")).sum()
    };
    assert_eq!(clocks(true), clocks(false));
    let events = rows("piix4e/timeline.csv");
    let stated = |order: &str| {
        let row = events.iter().find(|row| row["order"] == order).unwrap();
        number(row, "stated_duration_ns")
    };
    assert_eq!(stated("13"), stated("9") + stated("10"));
}
