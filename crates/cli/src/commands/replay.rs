//! `hopscope replay`: what would this recorded workload have got on this machine?

use std::time::{Duration, Instant};

use hopscope_files::problem::Problems;
use hopscope_files::quantity::digits;
use hopscope_files::trace_file::{self, Format, Gaps, Only, Told};
use hopscope_kernel::Time;
use hopscope_pages::replay as replay_page;
use hopscope_questions::replay::{self, Options, Refused, Replayed, Responses, Trace};
use hopscope_questions::work;

use crate::answer::{Answer, BAD_INPUT, Refusal};
use crate::inputs::{Data, reading};
use crate::outputs::Outputs;
use crate::panics::doing;
use crate::progress::Bytes;
use crate::tables::{bold, rate, size, span};
use crate::written::Inputs;

const EXAMPLES: &str = "\
Examples:
  hopscope replay my-requests.trace barracuda-4lp
  hopscope replay web-1.csv piix4e-one-disk --format msr --device 1 --json
  hopscope replay my-requests.trace my-machine.toml --html replay.html
  blkparse -i sda | hopscope replay - my-machine.toml

Formats, told by the first lines unless --format names one:
  disksim-validation  R|W Hit|Miss|Doub|Trip BLOCK BLOCKS RESPONSE_US GAP_US; each request follows the end of the
                      one before. Gaps lie before a request (since-last) or after it (until-next: the HP, DEC and
                      Seagate 41601 traces); the platter's turns tell which, or --gaps does
  disksim-ascii       TIME_MS DEVICE BLOCK BLOCKS FLAGS; bit 0 of the flags is a read
  spc                 ASU,LBA,BYTES,R|W,SECONDS
  msr                 TICKS,HOST,DISK,Read|Write,OFFSET,BYTES,RESPONSE_TICKS; a tick is 100 ns
  blkparse            blkparse's own output; requests are its D lines, or its Q lines where there are none
Blocks are of 512 bytes. Lines that begin with # are passed over.

Where the trace has response times, those of the simulation stand beside them. The demerit figure is the root
mean square of the horizontal distance between the two cumulative distributions.";

/// Replay a recorded trace of requests: what would it have got on this machine?
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A trace, of any size; - for what comes on standard input
    trace: String,
    /// A system file, or the name of a shipped one (`hopscope systems`)
    system: String,
    /// The trace's format, where its beginning does not tell, or its units look wrong and are right
    #[arg(long, value_name = "FORMAT", value_parser = Format::named)]
    format: Option<Format>,
    /// Which of the trace's devices are played: a number, or all, as if they were one
    #[arg(long, value_name = "N", value_parser = Only::named)]
    device: Option<Only>,
    /// What a gap lies between, where the trace does not tell: since-last or until-next
    #[arg(long, value_name = "WHICH", value_parser = Gaps::named)]
    gaps: Option<Gaps>,
    /// The part to play it on, instead of the system's default device
    #[arg(long, value_name = "PART")]
    on: Option<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
    /// Decides every random choice
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Change one number of the machine, such as pci.clock=66MHz or pci.clock=x2, or all rows of a table: disk.seek.rows[].time=x0.5 (repeatable)
    #[arg(long, value_name = "PART.KEY=VALUE")]
    set: Vec<String>,
    /// Simulate regular bursts one by one (slower, the same results)
    #[arg(long)]
    no_trains: bool,
    /// Say how long it took on this computer
    #[arg(long)]
    timing: bool,
    #[command(flatten)]
    outputs: Outputs,
    #[command(flatten)]
    data: Data,
}

impl Args {
    /// Reads, replays, reports.
    pub fn run(self) -> Result<Answer, Refusal> {
        let read = Inputs::of([&self.trace, &self.system]).with_data(self.data.folder());
        self.outputs.spare(&read)?;
        let (blueprint, mut sources) =
            reading(|sources| work::system_with(&self.data.library()?, sources, &self.system, &self.set))?;
        let (input, length) = trace_file::open(&self.trace)?;
        let name = if self.trace == "-" { "standard input" } else { &self.trace };
        let trace = Trace { name: name.to_string(), input, format: self.format, only: self.device, gaps: self.gaps };
        let options = Options {
            target: self.on.clone(),
            seed: self.seed,
            trains: !self.no_trains,
            account: self.outputs.wanted(),
        };
        let bytes = Bytes::of(length);
        doing("replaying");
        let started = Instant::now();
        let progress = Box::new(move |at, requests, now: Time| {
            bytes.at(at, &format!("{requests} requests, simulated {:.1} s", now.as_seconds_f64()));
        });
        let replayed = match replay::replay(&blueprint, trace, &options, progress) {
            Ok(replayed) => replayed,
            Err(Refused::Machine(failure)) => return Err(Refusal::of_run(failure, sources)),
            Err(Refused::Trace(problem)) => {
                let problem = problem.with_its_line(&mut sources);
                return Err(Refusal::Input(problem.into(), sources));
            }
        };
        doing("writing the answer");
        let wall = self.timing.then(|| started.elapsed());
        let mut answer = match self.json {
            true => Answer::json(&replay::report(&self.trace, &self.system, self.seed, &replayed)),
            false => Answer::text(report(name, &self.system, self.seed, &replayed, wall)),
        };
        let subject = replay_page::Subject {
            trace: name,
            system: &self.system,
            blueprint: &blueprint,
            seed: self.seed,
            replayed: &replayed,
        };
        let command = format!("hopscope replay {} {}", self.trace, self.system);
        answer = self.outputs.write(answer, &read, || replay_page::page(&subject, &command));
        if let Some(problem) = replayed.problem {
            let problem = problem.with_its_line(&mut sources);
            answer.complaints += &Problems::from(problem).render(&sources, true);
            answer.code = BAD_INPUT;
        }
        Ok(answer)
    }
}

fn report(name: &str, system: &str, seed: u64, replayed: &Replayed, wall: Option<Duration>) -> String {
    let figures = &replayed.figures;
    let (throughput, iops) = (rate(figures.bytes_per_second()), digits(figures.iops()));
    let [reads, writes] = figures.requests;
    let mut lines = vec![bold(&format!("{name}: {throughput}, {iops} IOPS"))];
    lines.push(format!("  {} on {} of {system}", replayed.format.word(), replayed.target));
    if let Some((gaps, told)) = replayed.gaps {
        let how = match told {
            Told::Platter => "so the platter's turns say",
            Told::Asked => "as asked",
            Told::Nothing => "the trace does not tell; --gaps until-next is the other reading",
        };
        let lie = match gaps {
            Gaps::SinceLast => "since the request before",
            Gaps::UntilNext => "until the next request",
        };
        lines.push(format!("  its gaps are the time {lie}: {how}"));
    }
    let (total, seconds) = (size(figures.bytes), figures.last_end.as_seconds_f64());
    lines.push(format!("  {reads} reads and {writes} writes, {total} in {seconds:.3} s simulated (seed {seed})"));
    if figures.held_back > 0 {
        let share = 100.0 * figures.held_back as f64 / figures.count() as f64;
        lines.push(format!(
            "  {} of them ({share:.1} %) waited for the ones before: the device is slower than the trace",
            figures.held_back
        ));
    }
    if replayed.without_data > 0 {
        lines.push(format!("  {} requests without data were passed over (flushes, discards)", replayed.without_data));
    }
    lines.push(String::new());
    let beside = Some(&figures.recorded).filter(|recorded| recorded.count() > 0);
    let columns = |name: &str, of: &dyn Fn(&Responses) -> f64| {
        let recorded = beside.map_or(String::new(), |recorded| format!("{:>12}", span(of(recorded))));
        format!("  {name:<14}{:>12}{recorded}", span(of(&figures.simulated))).trim_end().to_string()
    };
    let head = if beside.is_some() { "response time     simulated    recorded" } else { "response time     simulated" };
    lines.push(head.to_string());
    lines.push(columns("mean", &Responses::mean_ns));
    for (name, share) in [
        ("median", 0.5),
        ("75 %", 0.75),
        ("90 %", 0.9),
        ("95 %", 0.95),
        ("99 %", 0.99),
        ("99.9 %", 0.999),
        ("longest", 1.0),
    ] {
        lines.push(columns(name, &|responses| responses.at_ns(share) as f64));
    }
    if let Some(demerit) = figures.demerit_ns() {
        let paired = figures.paired;
        lines.push(String::new());
        lines.push(format!("Demerit figure: {} between the two distributions", span(demerit)));
        let (error, close) = (span(paired.mean_absolute_error_ns()), 100.0 * paired.close_share());
        lines.push(format!("Request by request: {error} apart in the mean, {close:.1} % within 1 ms"));
    }
    if let Some(wall) = wall {
        let per_second = figures.count() as f64 / wall.as_secs_f64();
        let took = span(wall.as_nanos() as f64);
        lines.push(format!(
            "It took {took} here: {} requests a second, {} events.",
            digits(per_second),
            replayed.events
        ));
    }
    lines.join("\n") + "\n"
}
