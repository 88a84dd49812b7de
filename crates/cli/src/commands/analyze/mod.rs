//! `hopscope analyze`: what happens in this capture?

mod histogram;
mod ide;
mod packets;
mod pci;
mod source;
mod unreadable;
mod waveform;

use std::fs::File;
use std::io::{self, BufWriter, Cursor, Read};
use std::path::{Path, PathBuf};

use hopscope_files::problem::Problem;
use hopscope_signals::pcie::capture::LISTED;
use hopscope_signals::recording::{Kind, TELLING_BYTES};
use hopscope_signals::waves::capture as waves;

use crate::answer::{Answer, BAD_INPUT, Refusal};
use crate::panics::doing;
use crate::written::{self, Inputs};

use self::source::Source;

const EXAMPLES: &str = "\
Examples:
  hopscope trace piix4e-one-disk --rw=write --bs=64k --for 2ms -o writes.vcd
  hopscope analyze writes.vcd
  hopscope analyze board.vcd --map frame=top.u1.FRAMEn --map clk=top.clk33 --json
  hopscope analyze drive.pcap --csv transactions.csv
  hopscope analyze drive.pcap --html drive.html
  hopscope analyze drive.pcap --pftrace requests.pftrace

A waveform (a value change dump, or an FST file) of a bus of PCI or PCI-X: FRAME#, IRDY#, TRDY#,
DEVSEL#, STOP#, AD, C/BE# and CLK are needed, in any case, with #, _n or n behind the name, as a
vector or bit by bit; PAR, REQ64#, ACK64# and GNT# are used where they are. IDE cables are found by DD, DIOR-, DIOW- and
DMACK- (or CS- and DA) in a scope, alone or beside a PCI bus: then the delays between cause and
effect on both are measured.

A pcap file (of either byte order, with stamps in microseconds or nanoseconds) of PCI Express
packets, each in a UDP packet to a port from 0x3000 to 0x3fff, behind a sequence number (16 bits)
and a clock (32 bits) of the adapter: as NetTLP's adapter sends and takes them. `taken` is what the
adapter took off PCI Express, `given` what a program gave it to send; the adapter counts and stamps
only what it takes. A drive is known by what it does: it fetches entries of 64 bytes that are
commands, and writes entries of 16 bytes that complete them. Lines for a part's file say by which
observation. A payload or a read request that was seen is what was set; a device may be able to do
more.";

/// Decode a capture of a bus: every transaction, and where the time went.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A waveform (FILE.vcd, FILE.fst) or a pcap file; - for what comes on standard input
    capture: String,
    /// Where a pin of a waveform is that goes by another name (repeatable)
    #[arg(long, value_name = "PIN=SIGNAL", value_parser = map)]
    map: Vec<(String, String)>,
    /// Which PCI bus of a waveform, where there are several
    #[arg(long)]
    scope: Option<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
    /// One page: all of it over time to zoom in, with figures and tables; one file, for any browser
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// The transactions, as a CSV file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// What happened, as a timeline that ui.perfetto.dev opens
    #[arg(long, value_name = "FILE")]
    pftrace: Option<PathBuf>,
    /// So many transactions at most are listed, and judged for drives and for what repeats; all are added up
    #[arg(long, value_name = "N", default_value_t = LISTED)]
    limit: usize,
}

impl Args {
    /// Reads, adds up, reports.
    pub fn run(self) -> Result<Answer, Refusal> {
        let inputs = Inputs::of([&self.capture]);
        for path in self.html.iter().chain(&self.csv).chain(&self.pftrace) {
            inputs.refuses(path).map_err(Problem::nowhere)?;
        }
        let name = if self.capture == "-" { "standard input" } else { &self.capture };
        let refused = |what: String| Refusal::from(Problem::nowhere(format!("`{name}`: {what}")).help(HELP));
        let mut input = open(&self.capture)?;
        let mut first = Vec::new();
        let read = input.by_ref().take(TELLING_BYTES).read_to_end(&mut first);
        read.map_err(|error| refused(format!("cannot be read: {error}")))?;
        doing("reading a capture");
        let kind = Kind::of(&first).map_err(|what| refused(what.to_string()))?;
        let begun = Cursor::new(first).chain(input);
        match kind {
            Kind::Packets => self.packets(name, begun, &inputs),
            Kind::Waveform(waves::Kind::Vcd) => self.waveform(name, Source::text(begun), &inputs),
            Kind::Waveform(waves::Kind::Fst) if self.capture == "-" => Err(refused(NOT_FROM_A_PIPE.to_string())),
            Kind::Waveform(waves::Kind::Fst) => {
                let file = File::open(&self.capture);
                let file = file.map_err(|error| refused(format!("cannot be read: {error}")))?;
                self.waveform(name, Source::file(file), &inputs)
            }
        }
    }

    /// How the page can be made again.
    fn command(&self) -> String {
        let mut command = format!("hopscope analyze {}", self.capture);
        self.map.iter().for_each(|(pin, signal)| command += &format!(" --map {pin}={signal}"));
        self.scope.iter().for_each(|scope| command += &format!(" --scope {scope}"));
        command
    }
}

const NOT_FROM_A_PIPE: &str = "an FST file is read here and there, so it cannot come from a pipe: name the file";

/// Says what became of a file: nothing where it was written, or not asked for.
fn note(answer: &mut Answer, written: Option<Result<(), String>>) {
    if let Some(Err(why)) = written {
        answer.complaints += &format!("error: {why}\n");
        answer.code = BAD_INPUT;
    }
}

/// Writes a timeline; why, where it cannot be written.
fn drawn(path: &Path, inputs: &Inputs, draw: impl FnOnce(BufWriter<File>) -> io::Result<()>) -> Result<(), String> {
    written::streamed(path, inputs, |file| draw(BufWriter::new(file)).map_err(|error| written::cannot(path, &error)))
}

const HELP: &str = "it is a waveform of a PCI bus, or a pcap file of PCI Express packets: `hopscope analyze --help`";

fn map(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(pin, signal)| !pin.is_empty() && !signal.is_empty());
    pair.map(|(pin, signal)| (pin.to_string(), signal.to_string()))
        .ok_or_else(|| "expected PIN=SIGNAL, as in frame=top.u1.FRAMEn".to_string())
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
