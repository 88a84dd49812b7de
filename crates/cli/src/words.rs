//! Options of a job stand anywhere on the command line, among those of the command itself, as `fio` users write them.
//!
//! clap knows the command's own options only. So the words are sorted before it sees them: options of the job go
//! behind `--`, into the argument `job_options`.

use std::ffi::OsString;

use clap::Command;
use hopscope_files::job_options;
use hopscope_parts::nearest::nearest;

/// Where a command takes its job's options.
pub const JOB_OPTIONS: &str = "job_options";

/// The same words, with the options of a job behind `--`.
pub fn arrange(cli: &Command, words: Vec<OsString>) -> Vec<OsString> {
    let named = words.iter().skip(1).filter_map(|word| word.to_str()).find(|word| !word.starts_with('-'));
    let Some(command) = named.and_then(|name| cli.find_subcommand(name)) else { return words };
    if !command.get_arguments().any(|argument| argument.get_id() == JOB_OPTIONS) {
        return words;
    }
    let (mut own, mut job) = (Vec::new(), Vec::new());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        match word.to_str().map(|text| kind(command, text)) {
            Some(Kind::End) => {
                job.extend(words.by_ref());
            }
            Some(Kind::JobOption) => job.push(word),
            Some(Kind::OwnWithValue) => {
                own.push(word);
                own.extend(words.next());
            }
            Some(Kind::Own) | None => own.push(word),
        }
    }
    if !job.is_empty() {
        own.push("--".into());
        own.extend(job);
    }
    own
}

enum Kind {
    /// For clap.
    Own,
    /// For clap, with the next word.
    OwnWithValue,
    /// For the reader of jobs.
    JobOption,
    /// Everything after is for the reader of jobs.
    End,
}

fn kind(command: &Command, word: &str) -> Kind {
    let Some(option) = word.strip_prefix("--") else { return Kind::Own };
    if option.is_empty() {
        return Kind::End;
    }
    let (name, has_value) = option.split_once('=').map_or((option, false), |(name, _)| (name, true));
    let own = command.get_arguments().find(|argument| argument.get_long() == Some(name));
    match own {
        Some(argument) if argument.get_action().takes_values() && !has_value => Kind::OwnWithValue,
        Some(_) => Kind::Own,
        None if name == "help" || is_slip_of_own(command, name) => Kind::Own,
        None => Kind::JobOption,
    }
}

/// Whether clap is the one to say what was meant.
fn is_slip_of_own(command: &Command, name: &str) -> bool {
    let own: Vec<&str> = command.get_arguments().filter_map(|argument| argument.get_long()).collect();
    let of_jobs = job_options::known();
    let meant = nearest(name, own.iter().chain(&of_jobs));
    meant.is_some_and(|meant| own.contains(&meant.as_str()) && !of_jobs.contains(&meant.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, ArgAction};

    fn arranged(line: &str) -> String {
        let run = Command::new("run")
            .arg(Arg::new("json").long("json").action(ArgAction::SetTrue))
            .arg(Arg::new("seed").long("seed"))
            .arg(Arg::new(JOB_OPTIONS).last(true).num_args(0..));
        let cli = Command::new("hopscope").subcommand(run).subcommand(Command::new("parts"));
        let words = line.split(' ').map(OsString::from).collect();
        arrange(&cli, words).join(" ".as_ref()).into_string().unwrap()
    }

    #[test]
    fn options_of_a_job_go_last_and_own_ones_keep_their_values() {
        assert_eq!(arranged("h run sys --rw=read --json --bs=4k"), "h run sys --json -- --rw=read --bs=4k");
        assert_eq!(arranged("h run --time_based --seed 3 sys --seed=4"), "h run --seed 3 sys --seed=4 -- --time_based");
        assert_eq!(arranged("h run sys --json -- --rw=read --json"), "h run sys --json -- --rw=read --json");
        assert_eq!(arranged("h run sys --help"), "h run sys --help");
        assert_eq!(arranged("h parts --rw=read"), "h parts --rw=read");
    }

    #[test]
    fn a_slip_of_an_own_option_is_for_clap_and_one_of_a_job_option_is_not() {
        assert_eq!(arranged("h run sys --jsn"), "h run sys --jsn");
        assert_eq!(arranged("h run sys --iodpth=3"), "h run sys -- --iodpth=3");
        assert_eq!(arranged("h run sys --no-such-thing-at-all"), "h run sys -- --no-such-thing-at-all");
    }
}
