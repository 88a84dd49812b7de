//! `hopscope trace`: show me what happens, in a window of time.

use std::io::BufWriter;
use std::path::PathBuf;

use hopscope_files::problem::Problem;
use hopscope_files::quantity;
use hopscope_kernel::Time;
use hopscope_machine::trace::sought::{self, Sought};
use hopscope_machine::trace::{self, Drawn, Format, Out, Traced, Untraced, Window};
use serde_json::json;

use crate::answer::{Answer, Refusal};
use crate::inputs::Work;
use crate::panics::doing;
use crate::tables::bold;
use crate::written::{self, cannot};

const EXAMPLES: &str = "\
Examples:
  hopscope trace piix4e-one-disk --rw=write --bs=64k -o writes.vcd
  hopscope trace piix4e-one-disk --rw=read --bs=64k --from 3ms --for 50us -o reads.vcd
  hopscope analyze writes.vcd
  hopscope trace raid-megaraid-64-66 --rw=read --bs=64k --from 9ms --for 100ms -o long.fst
  hopscope trace nvme-server --rw=randread --bs=4k --iodepth=32 --from 1ms --for 1ms -o reads.pftrace
  hopscope trace nvme-desktop --rw=randread --bs=4k --iodepth=8 --from 1ms --for 1ms -o reads.pcap
  hopscope trace nvme-server --rw=read --bs=128k --link uplink -o uplink.pcap
  hopscope trace piix4e-one-disk --rw=write --bs=64k --request 3 -o third.pftrace
  hopscope trace piix4e-one-disk --rw=read --bs=64k --around cable.pause --for 50us -o pause.vcd

FILE.vcd: each segment of PCI and PCI-X, clock by clock, and each IDE cable, edge by edge, with the
bytes of a pattern for data, and what every other hop is doing, in words. CLK rises with each
period; signals change with the edge and are sampled by the next one. GTKWave and Surfer open it.
FILE.fst has the same wires in the format of GTKWave, in a twentieth of the size, without the words.

FILE.pcap: packets of PCI Express, on the link above each device, framed as `hopscope analyze --help`
says, with stamps in nanoseconds. tcpdump and Wireshark open it as UDP.

FILE.pftrace: requests with what they spend their time in, the phases of every lane with flows from
the requests that they are for, waits, owed delays, and counters of what is at work and what fills.
ui.perfetto.dev opens the file.";

/// More is not drawn.
const LONGEST: Time = Time::ms(10_000);

/// Draw a window of time: wires as a waveform, or requests and hops as a timeline.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    work: Work,
    /// A waveform (FILE.vcd, FILE.fst), packets (FILE.pcap) or a timeline (FILE.pftrace)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Where the window begins, in simulated time
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = time)]
    from: Time,
    /// How long it is
    #[arg(long = "for", value_name = "TIME", default_value = "10ms", value_parser = time)]
    span: Time,
    /// The window is that of the N-th request, from its issue to its end, with a tenth more at both ends
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["from", "span", "around"])]
    request: Option<u32>,
    /// The window is around the first time, from --from on, that something happens at a hop: words of a
    /// phase, a wait, a delay or a mark, as in cable.pause
    #[arg(long, value_name = "HOP.EVENT")]
    around: Option<String>,
    /// Packets of this link alone, whatever it ends in; of a switch's uplink, for one
    #[arg(long, value_name = "NAME")]
    link: Option<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
    /// Decides every random choice
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

fn time(text: &str) -> Result<Time, String> {
    let time = match quantity::parse(text) {
        Ok(hopscope_parts::parameters::Value::Time(time)) => time,
        _ => return Err("expected a time, as in 50us".to_string()),
    };
    if time > LONGEST { Err("expected 10 s at most".to_string()) } else { Ok(time) }
}

/// Why nothing was written.
enum Failed {
    File(String),
    Run(Untraced),
}

impl From<String> for Failed {
    fn from(why: String) -> Failed {
        Failed::File(why)
    }
}

impl Args {
    /// Runs and draws.
    pub fn run(self) -> Result<Answer, Refusal> {
        let format = Format::of(&self.output)?;
        if self.span == Time::ZERO {
            return Err(Problem::nowhere("a window of no time").help("--for 50us").into());
        }
        let inputs = self.work.inputs(None);
        let (read, sources) = self.work.read()?;
        if let Some(link) = &self.link {
            format.has_link(&read.blueprint, link)?;
        }
        doing(format!("tracing {} with seed {}", self.work.system(), self.seed));
        let sought = match (self.request, &self.around) {
            (Some(number), _) => Some(Sought::Request(number)),
            (None, Some(name)) => Some(Sought::Event { name, from: self.from, span: self.span }),
            (None, None) => None,
        };
        let window = match sought {
            Some(sought) => sought::window(&read.blueprint, &read.jobs.jobs, sought, (self.seed, LONGEST)),
            None => Ok(Window { from: self.from, span: self.span }),
        };
        let window = match window {
            Ok(window) => window,
            Err(failure) => return Err(Refusal::of_run(failure, sources)),
        };
        let written = written::streamed(&self.output, &inputs, |file| {
            let out = BufWriter::with_capacity(1 << 20, file);
            let drawing = (format, Box::new(out) as Box<dyn Out>);
            let traced =
                trace::trace(&read.blueprint, &read.jobs.jobs, (window, self.seed), drawing, self.link.as_deref());
            let traced = traced.map_err(Failed::Run)?;
            if traced.drawn.is_empty() {
                let what = if format == Format::Pcap { "no packets" } else { "nothing" };
                Err(Failed::File(format!("{what} in that window")))
            } else {
                Ok(traced)
            }
        });
        let traced = match written {
            Ok(traced) => traced,
            Err(Failed::File(why)) => return Err(Problem::nowhere(why).into()),
            Err(Failed::Run(Untraced::File(error))) => {
                return Err(Problem::nowhere(cannot(&self.output, &error)).into());
            }
            Err(Failed::Run(Untraced::Run(failure))) => return Err(Refusal::of_run(failure, sources)),
        };
        Ok(if self.json {
            Answer::json(&self.report(window, &traced))
        } else {
            Answer::text(self.words(format, window, &traced))
        })
    }

    fn report(&self, window: Window, traced: &Traced) -> serde_json::Value {
        let drawn = traced.drawn.iter().map(|of| json!({ "name": of.name, of.what: of.count }));
        json!({
            "file": self.output.display().to_string(),
            "from_ns": window.from.as_ns_f64(),
            "for_ns": window.span.as_ns_f64(),
            "drawn": drawn.collect::<Vec<_>>(),
        })
    }

    fn words(&self, format: Format, window: Window, traced: &Traced) -> String {
        let mut lines = vec![bold(&format!("{}: {} from {} on", self.output.display(), window.span, window.from))];
        let (states, buses): (Vec<&Drawn>, Vec<&Drawn>) = traced.drawn.iter().partition(|of| of.what == "states");
        lines.extend(buses.iter().map(|of| format!("  {}  {} {}", of.name, of.count, of.what)));
        let seen = states.iter().filter(|of| of.count > 0).count();
        if seen > 0 {
            lines.push(format!("  {seen} other hops  {} states", states.iter().map(|of| of.count).sum::<u64>()));
        }
        lines.push(match format {
            Format::Vcd | Format::Fst | Format::Pcap => {
                format!("Read it again: hopscope analyze {}", self.output.display())
            }
            Format::Timeline => "Open it with ui.perfetto.dev".to_string(),
        });
        lines.join("\n") + "\n"
    }
}
