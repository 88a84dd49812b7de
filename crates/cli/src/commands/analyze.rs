//! `hopscope analyze`: what happens in this capture?

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use hopscope_machine::harmless::harmless;
use hopscope_machine::problem::Problem;
use hopscope_signals::pcie::capture::{self, LISTED};
use hopscope_signals::pcie::pcap::is_pcap;

use crate::answer::{Answer, BAD_INPUT, Refusal};
use crate::packets;
use crate::packets_listed;
use crate::panics::doing;
use crate::written::{self, Inputs};

const EXAMPLES: &str = "\
Examples:
  hopscope analyze drive.pcap
  hopscope analyze drive.pcap --json
  hopscope analyze drive.pcap --csv transactions.csv

A capture is a pcap file (of either byte order, with stamps in microseconds or nanoseconds) of packets of PCI Express,
each in a UDP packet to a port from 0x3000 to 0x3fff, behind a sequence number (16 bits) and a clock (32 bits) of the
adapter: as NetTLP's adapter sends and takes them. `taken` is what the adapter took off PCI Express, `given` what a
program gave it to send; the adapter counts and stamps only what it takes.

A drive is known by what it does: it fetches entries of 64 bytes that are commands, and writes entries of 16 bytes that
complete them. Lines for a part's file say by which observation. A payload or a read request that was seen is what was
set; a device may be able to do more.";

/// Analyse a capture of PCI Express packets: what happens in it?
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A pcap file; - for what comes on standard input
    capture: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
    /// The transactions, as a CSV file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// So many transactions at most are listed, and judged for drives; all are added up
    #[arg(long, value_name = "N", default_value_t = LISTED)]
    limit: usize,
}

impl Args {
    /// Reads, adds up, reports.
    pub fn run(self) -> Result<Answer, Refusal> {
        let inputs = Inputs::of([&self.capture]);
        if let Some(path) = &self.csv {
            inputs.refuses(path).map_err(Problem::nowhere)?;
        }
        let name = if self.capture == "-" { "standard input" } else { &self.capture };
        let refused = |what: String| Refusal::from(Problem::nowhere(format!("`{name}`: {what}")).help(HELP));
        let mut input = open(&self.capture)?;
        let mut first = Vec::new();
        let read = input.by_ref().take(MAGIC_BYTES).read_to_end(&mut first);
        read.map_err(|error| refused(format!("cannot be read: {error}")))?;
        if !is_pcap(&first) {
            return Err(refused(no_pcap(&first)));
        }
        doing("reading a capture");
        let found = match capture::analyze(Cursor::new(first).chain(input), self.limit) {
            Ok(found) => found,
            Err(error) => return Err(refused(error.to_string())),
        };
        doing("writing the answer");
        let mut answer = match self.json {
            true => Answer::json(&packets_listed::json(&found)),
            false => Answer::text(packets::report(name, &found)),
        };
        if let Some(stopped) = &found.stopped {
            let read = found.packets.frames;
            answer.complaints += &format!("warning: `{name}`: {stopped}; {read} frames before that were read\n");
            answer.code = BAD_INPUT;
        }
        if let Some(path) = &self.csv
            && let Err(why) = written::file(path, &packets_listed::csv(&found), &inputs)
        {
            answer.complaints += &format!("error: {why}\n");
            answer.code = BAD_INPUT;
        }
        answer.complaints = harmless(&answer.complaints);
        Ok(answer)
    }
}

const MAGIC_BYTES: u64 = 4;
const HELP: &str = "a capture is a pcap file of PCI Express packets; `hopscope analyze --help` says which";

/// What a file is that is not read.
fn no_pcap(first: &[u8]) -> String {
    match first {
        [] => "the file is empty".to_string(),
        [0x0a, 0x0d, 0x0d, 0x0a] => {
            "it is a pcapng file, which is not read: `editcap -F nsecpcap` makes a pcap file of it".to_string()
        }
        [b'$', ..] => "it looks like a waveform (VCD), which is not read yet".to_string(),
        _ => "it does not begin as a pcap file does".to_string(),
    }
}

fn open(path: &str) -> Result<Box<dyn Read>, Refusal> {
    if path == "-" {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    let cannot = |what: String| Refusal::from(Problem::nowhere(format!("`{path}` {what}")).help(HELP));
    if Path::new(path).is_dir() {
        return Err(cannot("is a folder, not a capture".to_string()));
    }
    match File::open(path) {
        Ok(file) => Ok(Box::new(std::io::BufReader::with_capacity(1 << 16, file))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(cannot("is not there".to_string())),
        Err(error) => Err(cannot(format!("cannot be read: {error}"))),
    }
}
