//! The commands. Another one is a file beside this one, its `mod`, and its line in `commands!`.

mod analyze;
mod check;
mod compare;
mod completions;
mod explain;
mod fit;
mod import;
mod man;
mod new;
mod parts;
mod replay;
mod reproduce;
mod run;
mod schema;
mod studies;
mod systems;
mod trace;
mod whatif;

use crate::answer::{Answer, Refusal};

macro_rules! commands {
    ($($name:ident => $module:ident,)*) => {
        /// What hopscope does.
        #[derive(clap::Subcommand)]
        pub enum Command {
            $(#[allow(missing_docs)] $name($module::Args),)*
        }

        impl Command {
            /// Does it.
            pub fn run(self) -> Result<Answer, Refusal> {
                match self {
                    $(Command::$name(args) => args.run(),)*
                }
            }
        }
    };
}

commands! {
    Run => run,
    Explain => explain,
    Whatif => whatif,
    Compare => compare,
    Replay => replay,
    Trace => trace,
    Analyze => analyze,
    Parts => parts,
    Systems => systems,
    Check => check,
    New => new,
    Reproduce => reproduce,
    Studies => studies,
    Fit => fit,
    Import => import,
    Schema => schema,
    Completions => completions,
    Man => man,
}
