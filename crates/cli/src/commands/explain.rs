//! `hopscope explain`: where did the rest go, and what limits it?

use std::path::PathBuf;

use hopscope_files::job_file::end_of;
use hopscope_machine::run::Options;
use hopscope_pages::explain::{Named, of_explanation};
use hopscope_questions::explanation::{Beside, Explanation, Listening};

use crate::answer::{Answer, Refusal};
use crate::inputs::{self, Work};
use crate::outputs::Outputs;
use crate::panics::doing;
use crate::progress::Explaining;
use crate::report;

const EXAMPLES: &str = "\
Examples:
  hopscope explain piix4e-one-disk --rw=write --bs=64k --size=64k --time_based --runtime=2
  hopscope explain piix4e-two-disks-two-channels piix4e-single-block-read-two-disks
  hopscope explain piix4e-one-disk --rw=write --bs=64k --runtime=2 --html where.html
  hopscope explain my-machine.toml my-jobs.fio --json

With what was measured beside it:
  fio my-jobs.fio --output-format=json --output=result.json
  hopscope explain my-machine.toml my-jobs.fio --measured result.json
  hopscope explain my-machine.toml result.json --measured result.json

--json then has \"measured\": every figure as measured, simulated, unexplained and
unexplained_share (of what was measured), of all jobs and in `jobs`; `ceilings` of every hop;
`sits_at` or `nearest_above`, and `exceeded`; `warnings` where what was measured is not what is
simulated.";

/// Account for every lost megabyte per second, and say what limits
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    work: Work,
    /// fio's own result of the same jobs (--output-format=json), to be put beside the simulation
    #[arg(long, value_name = "FIO.json")]
    measured: Option<PathBuf>,
    /// One JSON object: every hop with its losses in picoseconds, the profile, the latencies and their stages
    #[arg(long)]
    json: bool,
    /// The account of every hop, and every stage of the latencies
    #[arg(long)]
    hops: bool,
    /// Stop when the 95 % interval of the throughput is narrower than this either way, such as 0.5%;
    /// without it jobs stop when the rest of their runtime says nothing new
    #[arg(long, value_name = "SHARE", value_parser = inputs::share)]
    until: Option<f64>,
    /// Decides every random choice
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    outputs: Outputs,
}

impl Args {
    /// Runs the job and accounts for it.
    pub fn run(self) -> Result<Answer, Refusal> {
        doing(format!("reading {}", self.work.system()));
        let inputs = self.work.inputs(self.measured.as_deref());
        self.outputs.spare(&inputs)?;
        let (read, mut sources) = self.work.read()?;
        let setting = read.setting();
        let measured = self.measured.as_deref().map(|path| Beside::read(&mut sources, path, &setting.jobs));
        let beside = match measured.transpose() {
            Ok(beside) => beside,
            Err(problems) => return Err(Refusal::Input(problems, sources)),
        };
        doing(format!("explaining {} with seed {}", self.work.system(), self.seed));
        // What was measured was measured over the whole runtime.
        let not_longer_than_needed = beside.is_none();
        let options = Options { seed: self.seed, until: self.until, not_longer_than_needed, ..Options::default() };
        let (system, job) = (self.work.system(), &self.work.job());
        let explaining = Explaining::of(end_of(&setting.jobs), system, "trials of hops and numbers".to_string());
        let listening = Listening { watcher: &|from| explaining.watcher(from), news: &|news| explaining.hear(news) };
        let explanation = Explanation::of(&setting, options, beside.as_ref(), listening);
        drop(explaining);
        let explanation = match explanation {
            Ok(explanation) => explanation,
            Err(failure) => return Err(Refusal::of_run(failure, sources)),
        };
        doing("writing the answer");
        let answer = if self.json {
            Answer::json(&explanation.json(&setting.blueprint, (system, job)))
        } else {
            Answer::text(report::explained(&setting.blueprint, &explanation, &read.jobs.said(), self.hops))
        };
        if !self.outputs.wanted() {
            return Ok(answer);
        }
        doing("following requests one by one");
        let measured = self.measured.as_deref().map(|path| format!(" --measured {}", path.display()));
        let command = format!("hopscope explain {system} {job}{}", measured.unwrap_or_default());
        match of_explanation(&Named { system, job, setting: &setting }, options, &explanation, &command) {
            Ok(page) => Ok(self.outputs.write(answer, &inputs, || page)),
            Err(failure) => Ok(answer.but(&Refusal::of_run(failure, sources))),
        }
    }
}
