//! What is said of a waveform that cannot be read, or not to its end, or that lacks pins.

use hopscope_files::problem::Problem;
use hopscope_signals::pci::pins::Missing;
use hopscope_signals::waveform::Refused;
use hopscope_signals::waves::read::{Broken, Place, Signal};

use crate::answer::{Answer, BAD_INPUT};

/// Signals and buses that are listed.
const LISTED: usize = 12;

/// Says that an answer is of a part of its capture, which is broken where `cut` says, and that its times are a guess.
pub fn warn(answer: &mut Answer, name: &str, cut: Option<&str>, has_unit: bool) {
    if let Some(cut) = cut {
        answer.complaints += &format!("warning: `{name}`: {cut}\n");
        answer.code = BAD_INPUT;
    }
    if !has_unit {
        let what = "no $timescale says what its unit of time is: times are as if it were 1 ns";
        answer.complaints += &format!("warning: `{name}`: {what}\n");
    }
}

/// There is nothing to say of a waveform.
pub fn refused(name: &str, why: &Refused) -> Problem {
    match why {
        Refused::Unreadable(broken) => unreadable(name, broken),
        Refused::Incomplete(missing, signals) => incomplete(name, signals, missing),
        Refused::NoBus => Problem::nowhere(format!("{name}: --csv lists transactions, and there is no PCI bus in it"))
            .help("--json has every register access and every burst"),
        Refused::NoClock => Problem::nowhere(format!("{name}: CLK never rises twice, so there is nothing to sample"))
            .help("--map clk=SIGNAL says where the clock is"),
    }
}

/// Nothing of a waveform can be read.
pub fn unreadable(name: &str, broken: &Broken) -> Problem {
    let (at, expected) = match broken.at {
        Place::Line(line) => {
            (format!("{name}:{line}"), "a value change dump, as logic analyzers and simulators write it")
        }
        Place::Byte(_) => (format!("{name}: {}", broken.at), "an FST file, as GTKWave and simulators write it"),
    };
    Problem::nowhere(format!("{at}: {}", broken.what)).help(format!("expected {expected}"))
}

/// Pins of a bus are missing.
fn incomplete(name: &str, signals: &[Signal], missing: &Missing) -> Problem {
    let mut title = format!("{name}: ");
    if missing.no_scope {
        let there = if missing.buses.is_empty() { "none".to_string() } else { missing.buses.join(", ") };
        return Problem::nowhere(title + "--scope names no bus of this capture").help(format!("buses: {there}"));
    }
    if let [first, ..] = &missing.wrong[..] {
        title += &format!("--map {first} names no pin or no signal");
    } else {
        title += &format!("no {} among the {} signals", missing.pins.join(", "), signals.len());
    }
    let found: Vec<String> = missing.found.iter().map(|(pin, path)| format!("{pin}={path}")).collect();
    let mut others: Vec<String> = signals.iter().take(LISTED).map(Signal::path).collect();
    if signals.len() > LISTED {
        others.push(format!("and {} more", signals.len() - LISTED));
    }
    let found = if found.is_empty() { "nothing".to_string() } else { found.join(", ") };
    Problem::nowhere(title)
        .help(format!("found: {found}\nsignals: {}\n--map PIN=SIGNAL says where a pin is", others.join(", ")))
}

/// The first ones of many.
pub fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(LISTED);
    let mut shown: Vec<String> = names.iter().take(LISTED).cloned().collect();
    shown.extend((more > 0).then(|| format!("and {more} more")));
    shown.join(", ")
}
