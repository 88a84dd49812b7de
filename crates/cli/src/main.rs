//! The `hopscope` command: a face without logic. One file a command, under `commands/`.

mod answer;
mod commands;
mod inputs;
mod interrupts;
mod listing;
mod measured;
mod outputs;
mod panics;
mod probed;
mod processor;
mod progress;
mod report;
mod tables;
mod words;
mod written;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};

/// Hopscope simulates I/O paths: what a workload achieves on a machine, and where the rest went.
#[derive(Parser)]
#[command(name = "hopscope", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
}

const EXAMPLES: &str = "\
Examples:
  hopscope systems
  hopscope run piix4e-one-disk --rw=randread --bs=64k --iodepth=2 --runtime=5 --time_based
  hopscope check my-disk.toml my-machine.toml my-jobs.fio

Exit codes: 0 done, 1 what was asked to hold does not, 2 wrong input, 70 a defect of hopscope itself, 130 interrupted.";

fn main() -> ExitCode {
    panics::end_the_program();
    let words = words::arrange(&Cli::command(), std::env::args_os().collect());
    let parsed = Cli::command().try_get_matches_from(words).and_then(|matches| Cli::from_arg_matches(&matches));
    let code = match parsed {
        Ok(cli) => answer::print(cli.command.run()),
        Err(error) => answer::usage(&error),
    };
    ExitCode::from(code)
}
