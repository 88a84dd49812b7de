//! `hopscope completions`: let the shell complete commands and options.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::Cli;
use crate::answer::{Answer, Refusal};

const EXAMPLES: &str = "\
Examples:
  hopscope completions bash > ~/.local/share/bash-completion/completions/hopscope
  hopscope completions fish > ~/.config/fish/completions/hopscope.fish
  hopscope completions zsh > \"${fpath[1]}/_hopscope\"";

/// Print a script by which a shell completes commands and options
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The shell
    shell: Shell,
}

impl Args {
    /// Prints the script.
    pub fn run(self) -> Result<Answer, Refusal> {
        let mut cli = Cli::command();
        let name = cli.get_name().to_string();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut cli, name, &mut script);
        Ok(Answer::text(String::from_utf8_lossy(&script).into_owned()))
    }
}
