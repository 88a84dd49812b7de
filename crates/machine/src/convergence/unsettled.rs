//! Why a mean is not known, in words.

use hopscope_kernel::{Time, Unit};

/// Why the mean of a run is not known as well as was asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Unsettled {
    /// Requests that ended, and how many had to.
    TooFew(u64, u64),
    /// Something was planned to happen to the machine so long after its start, and what came then was too little.
    Planned(Time),
    /// How long it was at rest, and how long it had to be for the pauses of its jobs.
    TooShort(Time, Time),
    /// Something filled, emptied or moved.
    Level {
        /// In words, as the subject of a sentence.
        name: String,
        /// What it counts.
        unit: Unit,
        /// At the begin of the last half of the run.
        from: f64,
        /// At its end.
        to: f64,
        /// It empties, and does so for longer than the run may take.
        lasts: Option<Time>,
    },
    /// The rate changed by this share of the mean over the last half of the run.
    Rate(f64),
    /// Half-width of its interval over the mean.
    Wide(f64),
}

impl Unsettled {
    /// As a sentence without its end.
    pub fn words(&self) -> String {
        match self {
            Unsettled::TooFew(ended, needed) => format!("only {ended} requests ended, and {needed} are needed"),
            Unsettled::Planned(at) => {
                let at = at.as_seconds_f64();
                format!("something happens to the machine after {at:.3} s, and too little ended behind that")
            }
            Unsettled::TooShort(window, needed) => {
                let [window, needed] = [window, needed].map(|time| time.as_seconds_f64());
                format!("it was at rest for {window:.3} s, and {needed:.3} s are needed for the pauses of its jobs")
            }
            Unsettled::Level { name, unit, from, to, lasts } => {
                let (from, to) = match unit {
                    Unit::Items => (format!("{from:.0}"), format!("{to:.0}")),
                    Unit::Bytes => (megabytes(*from), megabytes(*to)),
                };
                let lasts =
                    lasts.map(|time| format!("; at that pace it lasts for {:.1} s more", time.as_seconds_f64()));
                format!("{name} went from {from} to {to}{}", lasts.unwrap_or_default())
            }
            Unsettled::Rate(0.0) => "the rate came and went more slowly than the run could show".to_string(),
            Unsettled::Rate(change) => {
                format!("the rate changed by {:+.1} %", change * 100.0)
            }
            Unsettled::Wide(share) => format!("the interval is still ±{:.2} %", share * 100.0),
        }
    }
}

fn megabytes(bytes: f64) -> String {
    format!("{:.1} MB", bytes / 1e6)
}
