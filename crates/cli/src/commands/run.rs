//! `hopscope run`: what will this workload get on this machine?

use std::time::{Duration, Instant};

use hopscope_files::job_file::{self, Job, JobFile};
use hopscope_files::quantity::digits;
use hopscope_kernel::Time;
use hopscope_machine::convergence::UNTIL;
use hopscope_machine::fio_json::{self, Figures};
use hopscope_machine::run::{self, JobOutcome, Options, Outcome, Stage, Stop};
use hopscope_observe::JobTransfers;
use hopscope_pages::explain::{Named, of_outcome};
use hopscope_questions::probes;

use crate::answer::{Answer, INTERRUPTED, Refusal};
use crate::inputs::{self, Work};
use crate::interrupts;
use crate::outputs::Outputs;
use crate::panics::doing;
use crate::probed;
use crate::processor;
use crate::progress::Progress;
use crate::tables::{bold, rate, size, span};

const EXAMPLES: &str = "\
Examples:
  hopscope run piix4e-one-disk --rw=randread --bs=64k --iodepth=2 --runtime=5 --time_based
  hopscope run piix4e-one-disk --rw=read --bs=64k --until 0.5% --set pci.clock=66MHz
  hopscope run piix4e-one-disk --rw=randrw --rwmixread=70 --bssplit=4k/80:64k/20 --thinktime=5ms --runtime=5
  hopscope run my-machine.toml my-jobs.fio --json
  hopscope run nvme-desktop --rw=randread --bs=4k --iodepth=32 --html what.html
  hopscope run my-machine.toml result-of-fio.json
  hopscope run piix4e-one-disk piix4e-single-block-write --probe write_cycle --probe write_cycle_rate

fio's options that a job may have: bs, bssplit, cpus_allowed, cpus_allowed_policy, filename, iodepth,
name, new_group, norandommap, numjobs, offset, percentage_random, ramp_time, random_distribution,
randseed, runtime, rw, rwmixread, rwmixwrite, size, startdelay, stonewall, thinktime, thinktime_blocks,
thinktime_blocks_type, time_based. Of ioengine it matters whether it is synchronous, and hipri has the
driver poll. What changes nothing here is accepted and listed; what would change the answer and is not
modelled is an error.";

/// So many events take about a second, or more. (What is said depends on no clock.)
const LONG: u64 = 5_000_000;

/// Run a job on a machine: what does this workload get?
#[derive(clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\nProbes: {}.", probes::names().join(", ")))]
pub struct Args {
    #[command(flatten)]
    work: Work,
    /// One JSON object in the shape of fio's own output
    #[arg(long)]
    json: bool,
    /// Decides every random choice
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Stop when everything has come to rest and the 95 % interval of the throughput is narrower than this either way.
    /// Where the job has neither runtime nor size: 0.5%, or 1% where that takes long
    #[arg(long, value_name = "SHARE", value_parser = inputs::share)]
    until: Option<f64>,
    /// Simulate regular bursts one by one (slower, the same results)
    #[arg(long)]
    no_trains: bool,
    /// Read this off the run, too, made once more and traced from its first request on, for 100 ms at most: clocks of a
    /// bus cycle and the like (repeatable; names are below)
    #[arg(long, value_name = "NAME")]
    probe: Vec<String>,
    /// Say what the run took on this computer, too
    #[arg(long)]
    timing: bool,
    #[command(flatten)]
    outputs: Outputs,
}

impl Args {
    /// Runs the job.
    pub fn run(self) -> Result<Answer, Refusal> {
        doing(format!("reading {}", self.work.system()));
        let inputs = self.work.inputs(None);
        self.outputs.spare(&inputs)?;
        let asked = probes::named(&self.probe)?;
        let (read, sources) = self.work.read()?;
        if (self.outputs.wanted() || !asked.is_empty())
            && let Err(problem) = run::at_once(&read.jobs.jobs)
        {
            return Err(Refusal::Input(problem.into(), sources));
        }
        doing(format!("running {} with seed {}", self.work.system(), self.seed));
        let interrupted = Some(interrupts::noticed());
        let (seed, trains, until) = (self.seed, !self.no_trains, self.until);
        let options = Options { seed, trains, until, interrupted, ..Options::default() };
        let progress = Progress::of(job_file::end_of(&read.jobs.jobs));
        let watcher = progress.as_ref().map(Progress::watcher);
        let started = Instant::now();
        let outcome = match run::run(&read.blueprint, &read.jobs.jobs, options, watcher) {
            Ok(outcome) => outcome,
            Err(failure) => return Err(Refusal::of_run(failure, sources)),
        };
        let wall = self.timing.then(|| started.elapsed());
        drop(progress);
        doing("tracing it");
        let wanted = if outcome.stop == Stop::Interrupted { &[] } else { &asked[..] };
        let (figures, lacking) = match probes::read_off(&read, !self.no_trains, wanted) {
            Ok(figures) => (figures, None),
            Err(failure) => (Vec::new(), Some(failure)),
        };
        doing("writing the answer");
        let price = read.blueprint.price();
        let answer = if self.json {
            let (jobs, outcome, price) = (&read.jobs, &outcome, price.as_ref());
            let mut report = fio_json::report(&fio_json::Run { jobs, outcome, seed: self.seed, wall, price });
            if !figures.is_empty() {
                report["hopscope"]["probes"] = probes::json(&figures);
            }
            Answer::json(&report)
        } else {
            let got = Figures::of_all(&outcome.jobs).map_or((0.0, 0.0), |all| (all.bytes_per_second, all.iops));
            let prices = price.map_or(Vec::new(), |price| price.words(got.0, got.1));
            let read_off = if figures.is_empty() { String::new() } else { probed::text(&figures) };
            Answer::text(report(&read.jobs, &outcome, self.seed, wall, prices) + &read_off)
        };
        if let Some(failure) = lacking {
            return Ok(answer.but(&Refusal::of_run(failure, sources)));
        }
        if outcome.stop == Stop::Interrupted {
            let missing =
                if self.outputs.wanted() { "error: the run was interrupted: no page of it was made\n" } else { "" };
            return Ok(Answer { code: INTERRUPTED, complaints: answer.complaints + missing, ..answer });
        }
        if !self.outputs.wanted() {
            return Ok(answer);
        }
        doing("accounting for it");
        let (system, job) = (self.work.system(), &self.work.job());
        let named = Named { system, job, setting: &read.setting() };
        match of_outcome(&named, options, outcome, &format!("hopscope run {system} {job}")) {
            Ok(page) => Ok(self.outputs.write(answer, &inputs, || page)),
            Err(failure) => Ok(answer.but(&Refusal::of_run(failure, sources))),
        }
    }
}

fn report(jobs: &JobFile, outcome: &Outcome, seed: u64, wall: Option<Duration>, prices: Vec<String>) -> String {
    let mut lines = Vec::new();
    if outcome.stop == Stop::Interrupted {
        let end = seconds(outcome.simulated);
        lines.push(bold(&format!("Partial: interrupted after {end} s simulated. What is known so far:")));
        lines.push(String::new());
    }
    if let ([_, _, ..], [_]) = (&outcome.jobs[..], &outcome.stages[..]) {
        let (bytes, iops) = Figures::of_all(&outcome.jobs).map_or((0.0, 0.0), |all| (all.bytes_per_second, all.iops));
        lines.push(bold(&format!("all {} jobs: {}, {} IOPS", outcome.jobs.len(), rate(bytes), digits(iops))));
        lines.push(String::new());
    }
    for (asked, job) in jobs.jobs.iter().zip(&outcome.jobs) {
        lines.extend(job_lines(asked, job, outcome));
        lines.push(String::new());
    }
    if let Some(cost) = &outcome.processor {
        lines.extend(processor::lines(cost));
    }
    if let [stage] = &outcome.stages[..] {
        lines.push(interval(stage));
    } else {
        for (number, stage) in outcome.stages.iter().enumerate() {
            let (from, end) = (seconds(stage.start), seconds(stage.end));
            lines.push(format!("Stage {}, from {from} s to {end} s: {}.", number + 1, why(stage.stop)));
            lines.push(format!("  {}", interval(stage)));
        }
    }
    let (end, why) = (seconds(outcome.simulated), why(outcome.stop));
    lines.push(format!("The run ended after {end} s simulated (seed {seed}): {why}."));
    lines.extend(outcome.stages.iter().filter_map(|stage| advice(stage, outcome.counts.events)));
    lines.extend(prices);
    lines.extend(jobs.said());
    if let Some(wall) = wall {
        let counts = outcome.counts;
        lines.push(format!(
            "It took {} here: {} events, {} grants, {} trains ({} cut) of {} bursts.",
            span(wall.as_nanos() as f64),
            counts.events,
            counts.grants,
            counts.trains,
            counts.trains_cut,
            counts.bursts_in_trains
        ));
    }
    lines.join("\n") + "\n"
}

fn job_lines(asked: &Job, job: &JobOutcome, outcome: &Outcome) -> Vec<String> {
    let range = |(min, max): (u64, u64)| {
        if min == max { size(min) } else { format!("{} to {}", size(min), size(max)) }
    };
    let sizes = range((asked.block_bytes_min, asked.block_bytes_max));
    let order = if job.rw.is_random() { "random" } else { "sequential" };
    let kind = match (job.rw.sides(), asked.write_blocks) {
        ([true, true], None) => format!("{order} reads ({} %) and writes of {sizes}", asked.reads_percent),
        ([true, true], Some(writes)) => {
            let share = asked.reads_percent;
            format!("{order} reads ({share} %) of {sizes} and writes of {}", range(writes))
        }
        ([true, false], _) => format!("{order} reads of {sizes}"),
        _ => format!("{order} writes of {sizes}"),
    };
    let what = format!("  {kind} at depth {} on {}", job.iodepth, job.target);
    let (Some(figures), Some(got)) = (Figures::of(job), job.got.as_ref()) else {
        let time = if outcome.measured > Time::ZERO { "in the measured time" } else { "before the ramp was over" };
        return vec![bold(&format!("{}: no transfer ended {time}", job.name)), what];
    };
    let throughput = |figures: &Figures| format!("{}, {} IOPS", rate(figures.bytes_per_second), digits(figures.iops));
    let mut lines = vec![bold(&format!("{}: {}", job.name, throughput(&figures))), what];
    let sides = ["reads", "writes"].into_iter().enumerate();
    let both: Vec<(&str, Figures, &JobTransfers)> = sides
        .filter_map(|(side, word)| Some((word, Figures::of_side(job, side)?, job.sides[side].as_ref()?)))
        .collect();
    if let [_, _] = both[..] {
        for (word, figures, got) in both {
            lines.push(format!("  {word} {}", throughput(&figures)));
            lines.push(format!("    {}", latency(got)));
        }
    } else {
        lines.push(format!("  {}", latency(got)));
    }
    let (total, count) = (size(figures.bytes), figures.count);
    lines.push(format!("  total {total} in {count} transfers over {} s", seconds(figures.span)));
    lines
}

fn latency(got: &JobTransfers) -> String {
    let ns = &got.latency_ns;
    let at = |quantile| span(ns.value_at_quantile(quantile) as f64);
    format!("latency mean {}, p50 {}, p99 {}, max {}", span(ns.mean()), at(0.5), at(0.99), at(1.0))
}

fn why(stop: Stop) -> &'static str {
    match stop {
        Stop::Finished => "its jobs were done",
        Stop::Runtime => "its runtime was over",
        Stop::Converged => "its mean was known as well as asked for",
        Stop::Drifting => "its mean was known as well as asked for, for now",
        Stop::Emptying => "everything had come to rest but what empties",
        Stop::Limit => "its jobs go on, and that is the limit",
        Stop::Interrupted => "it was interrupted",
    }
}

fn seconds(time: Time) -> String {
    format!("{:.3}", time.as_seconds_f64())
}

fn interval(stage: &Stage) -> String {
    let known = stage.rate;
    let warm_up = match known.warm_up.saturating_sub(stage.from) {
        Time::ZERO => String::new(),
        time => format!(" (the first {} s left away as warm-up)", seconds(time)),
    };
    if known.relative_half_width.is_finite() {
        let percent = digits(known.relative_half_width * 100.0);
        format!("95 % interval: ±{percent} %{warm_up}")
    } else {
        format!("95 % interval: none, from too few transfers, or ones that still changed{warm_up}")
    }
}

/// What to know of how a stage ended, besides.
fn advice(stage: &Stage, events: u64) -> Option<String> {
    if let Some(unsettled) = &stage.unsettled {
        let what = if stage.stop == Stop::Drifting { "But" } else { "It did not converge:" };
        return Some(format!("{what} {}.", unsettled.words()));
    }
    let (took, needed) = (stage.end - stage.start, stage.settled? - stage.start);
    let saved = stage.stop == Stop::Runtime && events >= LONG && needed.as_ps() <= took.as_ps() / 2;
    let half_width = UNTIL * 100.0;
    saved.then(|| {
        format!("Its mean was known to {half_width} % after {} s: --until {half_width}% ends there.", seconds(needed))
    })
}
