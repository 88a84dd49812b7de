//! `hopscope analyze`: what happens in this capture?

mod pci;

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use hopscope_machine::problem::Problem;

use crate::answer::{Answer, Refusal};
use crate::panics::doing;

const EXAMPLES: &str = "\
Examples:
  hopscope trace piix4e-one-disk --rw=write --bs=64k --for 2ms -o writes.vcd
  hopscope analyze writes.vcd
  hopscope analyze board.vcd --map frame=top.u1.FRAMEn --map clk=top.clk33 --json

A value change dump of a conventional PCI bus. FRAME#, IRDY#, TRDY#, DEVSEL#, STOP#, AD, C/BE# and
CLK are needed, in any case, with #, _n or n behind the name, as a vector or bit by bit; PAR,
REQ64#, ACK64# and GNT# are used where they are.";

/// Decode a capture of a bus: every transaction, and where the clocks went.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The capture: FILE.vcd
    capture: PathBuf,
    /// Where a pin is that goes by another name (repeatable)
    #[arg(long, value_name = "PIN=SIGNAL", value_parser = map)]
    map: Vec<(String, String)>,
    /// One JSON object, with every transaction
    #[arg(long)]
    json: bool,
}

fn map(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(pin, signal)| !pin.is_empty() && !signal.is_empty());
    pair.map(|(pin, signal)| (pin.to_string(), signal.to_string()))
        .ok_or_else(|| "expected PIN=SIGNAL, as in frame=top.u1.FRAMEn".to_string())
}

impl Args {
    /// Reads and decodes.
    pub fn run(self) -> Result<Answer, Refusal> {
        let name = self.capture.display().to_string();
        doing(format!("reading {name}"));
        let file = File::open(&self.capture)
            .map_err(|error| Problem::nowhere(format!("cannot read `{name}`: {}", error.kind())))?;
        if file.metadata().is_ok_and(|data| data.is_dir()) {
            return Err(Problem::nowhere(format!("cannot read `{name}`: it is a folder")).into());
        }
        let length = file.metadata().ok().map(|data| data.len());
        pci::analyze(&name, BufReader::with_capacity(1 << 20, file), length, &self.map, self.json)
    }
}
