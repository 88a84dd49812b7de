//! What a comparison says, in sentences.

use hopscope_files::quantity::digits;

use super::{Ceiling, Comparison, Matched, TOLERANCE, Warning};

impl Comparison {
    /// Where the measurement sits, and what the model does not explain.
    pub fn verdict(&self) -> Vec<String> {
        let Some(got) = self.throughput.measured else {
            return vec!["The result says of no transfer how fast it was.".to_string()];
        };
        // Of lanes that are alike, the first speaks for the others.
        let exceeded: Vec<&Ceiling> = self.exceeded.iter().map(|index| &self.ceilings[*index]).collect();
        let is_first = |at: usize| exceeded[..at].iter().all(|other| other.hop != exceeded[at].hop);
        let first = (0..exceeded.len()).filter(|at| is_first(*at));
        let mut lines: Vec<String> = first.map(|at| exceeds(got, exceeded[at])).collect();
        if let Some((hop, limit)) = self.nearest.and_then(|index| self.ceilings.get(index)).zip(self.limit()) {
            let (lane, tolerance) = (&hop.hop, percent(TOLERANCE));
            let (got_words, limit_words) = (rate(got), rate(limit));
            let above = match limit / got {
                times if times >= 2.0 => format!("{} times as much", digits(times)),
                times => format!("{} above", percent(times - 1.0)),
            };
            if self.sits_there {
                let what = format!("sit at the ceiling of {lane}, {limit_words} (within {tolerance}).");
                lines.push(format!("The measured {got_words} {what}"));
            } else if got <= 0.0 {
                lines.push(format!("Nothing was measured; the lowest ceiling is that of {lane}, {limit_words}."));
            } else if self.exceeded.is_empty() {
                lines.push(format!(
                    "The measured {got_words} sit at no hop's ceiling (within {tolerance}); the nearest above is that of \
                     {lane}, {limit_words}, {above}. If the model is right, hops wait for each other there."
                ));
            }
        }
        lines.push(match (self.throughput.unexplained(), self.throughput.unexplained_share()) {
            (Some(0.0), _) => "Unexplained: nothing. Measured and simulated are the same.".to_string(),
            (Some(rest), Some(share)) => {
                let (rest_words, share) = (rate(rest.abs()), percent(share.abs()));
                let (sign, what) = if rest < 0.0 { ("-", "more") } else { ("+", "less") };
                let why = match &self.causes()[..] {
                    [] => ", and nothing in the model says why".to_string(),
                    [one] => format!("; {one} may explain it"),
                    [rest @ .., last] => format!("; {} and {last} may explain it", rest.join(", ")),
                };
                format!(
                    "Unexplained: {sign}{rest_words}, {sign}{share} of what was measured. The simulation gives \
                     {what}{why}."
                )
            }
            _ => "Unexplained: all of it. Only one of measured and simulated moved anything.".to_string(),
        });
        lines
    }

    /// What makes the measurement another one than the simulation, in a few words each.
    pub fn causes(&self) -> Vec<&'static str> {
        let mut causes: Vec<&str> = Vec::new();
        for cause in self.warnings.iter().filter_map(|warning| warning.cause) {
            if !causes.contains(&cause) {
                causes.push(cause);
            }
        }
        causes
    }

    /// What stands before everything else: why the measurement is not what is simulated, and what had no effect in it.
    pub fn caveats(&self) -> Vec<String> {
        let lines = self.warnings.iter().filter(|warning| warning.stands_first).map(|warning| match warning.cause {
            Some(_) => format!("Not comparable as it is: {}.", warning.words()),
            None => format!("{}.", warning.words()),
        });
        lines.collect()
    }

    /// How jobs were found, where that needs saying.
    pub fn pairing(&self) -> Option<&'static str> {
        match self.matched {
            Matched::Name => None,
            Matched::Order => Some("Names of jobs differ: they are compared in their order."),
            Matched::Group => {
                Some("The result reports all jobs as one group: it is compared with all of them together.")
            }
        }
    }

    /// The ceiling of the nearest hop.
    fn limit(&self) -> Option<f64> {
        self.ceilings.get(self.nearest?)?.lowest()
    }
}

impl Warning {
    /// As one sentence without a full stop.
    pub fn words(&self) -> String {
        let Warning { option, measured, simulated, why, jobs, .. } = self;
        let option = if option.is_empty() || measured.starts_with(option.as_str()) {
            String::new()
        } else {
            format!("{option} ")
        };
        let simulated = if simulated.is_empty() { String::new() } else { format!(", {simulated} simulated") };
        let jobs = match &jobs[..] {
            [] | [_] => String::new(),
            several => format!(" ({} jobs)", several.len()),
        };
        format!("{option}{measured} measured{simulated}{jobs}: {why}")
    }
}

fn exceeds(got: f64, hop: &Ceiling) -> String {
    let (lane, got_words) = (&hop.hop, rate(got));
    match (hop.capacity.filter(|capacity| got > *capacity), hop.at_this_size) {
        (Some(capacity), _) => format!(
            "The measured {got_words} are more than {lane} can carry at all, {}: the system described is not the one that \
             was measured.",
            rate(capacity)
        ),
        (None, Some(limit)) => format!(
            "The measured {got_words} are more than {lane} could carry of this workload, {}: the system described is not \
             the one that was measured, or this hop does less for a request than the model says.",
            rate(limit)
        ),
        (None, None) => String::new(),
    }
}

fn rate(bytes_per_second: f64) -> String {
    format!("{} MB/s", digits(bytes_per_second / 1e6))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
