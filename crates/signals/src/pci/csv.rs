//! The transactions of a decoded capture, as a CSV file.

use super::pins::Pins;

/// The transactions, a line each.
pub fn csv(pins: &Pins) -> String {
    let mut out =
        "start_ns,initiator,command,address,bytes,data_phases,wait_clocks,idle_before_clocks,ended_by\n".to_string();
    for one in &pins.decoder.transactions {
        let address = one.address.map_or(String::new(), |address| format!("{address:#010x}"));
        let (start, who) = (one.start_ps as f64 / 1e3, pins.initiator(one.initiator).unwrap_or("-"));
        let (command, ended_by) = (one.command.word(), one.ended_by.word());
        out += &format!(
            "{start},{who},{command},{address},{},{},{},{},{ended_by}\n",
            one.bytes, one.data_phases, one.wait_clocks, one.idle_before_clocks
        );
    }
    out
}
