//! `hopscope explain`: where did the rest go, and what limits it?

use std::path::{Path, PathBuf};

use hopscope_files::fio_result::{self, Measured};
use hopscope_files::problem::{Problems, Sources};
use hopscope_files::text_file;
use hopscope_machine::run::Options;
use hopscope_pages::explain::{Subject, came_by, page};
use hopscope_questions::diagnosis::diagnose;
use hopscope_questions::explain::{self, EXTENT};
use hopscope_questions::explain_json;
use hopscope_questions::measured;
use hopscope_questions::measured::json as measured_json;
use hopscope_questions::trials::Setting;

use super::run::end;
use crate::answer::{Answer, Refusal};
use crate::inputs::{self, Work};
use crate::outputs::Outputs;
use crate::panics::doing;
use crate::progress::{Progress, Steps};
use crate::report::{self, Texts};

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
    /// Stop when the 95 % interval of the throughput is narrower than this either way, such as 0.5%
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
        let jobs = &read.jobs.jobs;
        let result = match self.measured.as_deref().map(|path| result(&mut sources, path)).transpose() {
            Ok(result) => result,
            Err(problems) => return Err(Refusal::Input(problems, sources)),
        };
        let pairing = match result.as_ref().map(|result| measured::pair(result, jobs)).transpose() {
            Ok(pairing) => pairing,
            Err(problems) => return Err(Refusal::Input(problems, sources)),
        };
        doing(format!("explaining {} with seed {}", self.work.system(), self.seed));
        let options = Options { seed: self.seed, until: self.until, ..Options::default() };
        let progress = Progress::of(end(&read.jobs));
        let watcher = progress.as_ref().map(Progress::watcher);
        let explained = explain::explain(&read.blueprint, jobs, options, EXTENT, watcher);
        drop(progress);
        let explained = match explained {
            Ok(explained) => explained,
            Err(failure) => return Err(Refusal::of_run(failure, sources)),
        };
        doing(format!("trying the hops of {}", self.work.system()));
        let setting = Setting { blueprint: read.blueprint.clone(), jobs: jobs.clone() };
        let steps = Steps::new();
        let trying = |done, of| steps.at(done, of, "trials of hops and numbers");
        let diagnosis = diagnose(&setting, self.seed, &explained, &trying);
        drop(steps);
        let diagnosis = match diagnosis {
            Ok(diagnosis) => diagnosis,
            Err(failure) => return Err(Refusal::of_run(failure, sources)),
        };
        doing("writing the answer");
        let file = self.measured.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
        let compared = result.zip(pairing).map(|(result, p)| measured::compare(&file, &result, &p, jobs, &explained));
        let answer = if self.json {
            let mut report = explain_json::report(&read.blueprint, &explained, diagnosis.as_ref());
            report["system"] = self.work.system().into();
            report["job"] = self.work.job().into();
            if let Some(compared) = &compared {
                report["measured"] = measured_json::report(compared);
            }
            Answer::json(&report)
        } else {
            let texts = Texts { compared: compared.as_ref(), said: &read.jobs.said(), hops: self.hops };
            Answer::text(report::explained(&read.blueprint, &explained, diagnosis.as_ref(), &texts))
        };
        let passage = if self.outputs.wanted() {
            doing("following requests one by one");
            match came_by(&read.blueprint, jobs, options, &explained) {
                Ok(passage) => passage,
                Err(failure) => return Ok(answer.but(&Refusal::of_run(failure, sources))),
            }
        } else {
            None
        };
        Ok(self.outputs.write(answer, &inputs, || {
            let (system, job) = (self.work.system(), self.work.job());
            let subject = Subject {
                system,
                job: &job,
                blueprint: &read.blueprint,
                explained: &explained,
                diagnosis: diagnosis.as_ref(),
                measured: compared.as_ref(),
                passage: passage.as_ref(),
            };
            let measured = if file.is_empty() { String::new() } else { format!(" --measured {file}") };
            page(&subject, &format!("hopscope explain {system} {job}{measured}"))
        }))
    }
}

/// Reads what was measured.
fn result(sources: &mut Sources, path: &Path) -> Result<Measured, Problems> {
    let text = text_file::read_result(path)?;
    let file = sources.add(path.display().to_string(), text);
    fio_result::read(sources, file)
}
