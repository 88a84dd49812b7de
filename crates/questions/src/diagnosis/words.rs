//! The headline and its sentences.

use super::{Diagnosis, GAIN_MIN, Headline, HopGain, Together};
use crate::trials::Gain;

/// A hop is full from this share of the time on, and near that from the other.
const FULL: f64 = 0.85;
const NEAR: f64 = 0.6;
/// What limits next gains at least this.
const NEXT_MIN: f64 = 0.01;

/// Which of the four.
pub(super) fn headline(profile: &[HopGain], together: &[Together], without_thinking: Option<&Gain>) -> Headline {
    let Some(first) = profile.first() else { return Headline::Workload };
    let busy = |name: &String| profile.iter().find(|hop| hop.hop == *name).map_or(0.0, |hop| hop.busy);
    let lead = first.doubled.throughput.mean;
    if without_thinking.is_some_and(|gain| gain.throughput.mean > lead.max(GAIN_MIN)) {
        return Headline::Workload;
    }
    let fullest = profile.iter().map(|hop| hop.busy).fold(0.0, f64::max);
    match together.first() {
        Some(pair) if pair.doubled.throughput.mean > lead && pair.hops.iter().any(|hop| busy(hop) >= FULL) => {
            Headline::Capacity
        }
        _ if first.busy >= FULL => Headline::Capacity,
        _ if fullest < NEAR => Headline::Latency,
        _ => Headline::Mixed,
    }
}

fn share(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Why, in a sentence that begins with what limits.
pub(super) fn why(diagnosis: &Diagnosis) -> String {
    let Some(first) = diagnosis.leading() else { return "Nothing is at work.".to_string() };
    let lead = first.doubled.throughput;
    let gains = format!("twice as fast it gives {}", lead.words());
    let fullest = diagnosis.profile.iter().max_by(|a, b| a.busy.total_cmp(&b.busy)).unwrap_or(first);
    let longest = diagnosis.longest.as_ref().map_or(String::new(), |(hop, phase, of)| {
        format!(" The longest stage of a request is `{phase}` at {hop}, {} of its latency.", share(*of))
    });
    match diagnosis.headline {
        Headline::Workload => {
            let gain = diagnosis.without_thinking.unwrap_or(Gain::NONE).throughput;
            format!(
                "Limited by the workload: without its think time it would get {}; of the hops {} gains most, {gains}.",
                gain.words(),
                first.hop
            )
        }
        Headline::Capacity => match diagnosis.together.first() {
            Some(pair) if pair.doubled.throughput.mean > lead.mean.max(GAIN_MIN) => format!(
                "Limited by the capacity of {} together: none of them helps by itself, all of them twice as fast give {}.",
                pair.hops.join(" and "),
                pair.doubled.throughput.words()
            ),
            _ => format!(
                "Limited by the capacity of {}: it is at work {} of the time, and {gains}.",
                first.hop,
                share(first.busy)
            ),
        },
        Headline::Latency => format!(
            "Limited by latency: no hop is near its capacity (the fullest, {}, works {} of the time). {} counts most: \
             {gains}.{longest}",
            fullest.hop,
            share(fullest.busy),
            first.hop
        ),
        Headline::Mixed if lead.is_a_gain() => format!(
            "Limited by {} most, {gains}; the fullest hop is {}, at work {} of the time.",
            first.hop,
            fullest.hop,
            share(fullest.busy)
        ),
        Headline::Mixed => {
            let pair = diagnosis.together.first();
            let pairs = pair.map_or(String::new(), |pair| {
                format!(", and of pairs {} gain most, {}", pair.hops.join(" and "), pair.doubled.throughput.words())
            });
            format!(
                "No hop limits by itself: of {} tried at twice their pace {} gains most, {}{pairs}.{longest}",
                diagnosis.profile.len(),
                first.hop,
                lead.words()
            )
        }
    }
}

/// What limits next.
pub(super) fn then(diagnosis: &Diagnosis) -> String {
    match &diagnosis.next {
        Some((hop, gain)) if gain.throughput.is_a_gain() && gain.throughput.mean >= NEXT_MIN => {
            format!("Once that is faster, {hop} limits next: {} at twice its pace then.", gain.throughput.words())
        }
        Some(_) => "Once that is faster, no hop gains as much as 1 % by itself.".to_string(),
        None => String::new(),
    }
}
