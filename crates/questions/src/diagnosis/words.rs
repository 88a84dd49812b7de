//! The headline and its sentences.

use super::{Diagnosis, GAIN_MIN, Headline, HopGain, Limiting, named};
use crate::trials::Gain;

/// A hop is full from this share of the time on, and near that from the other.
const FULL: f64 = 0.85;
const NEAR: f64 = 0.6;
/// What limits next gains at least this.
const NEXT_MIN: f64 = 0.01;

/// Which of the four, where some hops limit by trials.
pub(super) fn headline(profile: &[HopGain], limiting: Option<&Limiting>, without_thinking: Option<&Gain>) -> Headline {
    let busy = |name: &String| profile.iter().find(|hop| hop.hop == *name).map_or(0.0, |hop| hop.busy);
    let gained = limiting.map_or(0.0, |limiting| limiting.doubled.throughput.mean);
    if profile.is_empty() || without_thinking.is_some_and(|gain| gain.throughput.mean > gained.max(GAIN_MIN)) {
        return Headline::Workload;
    }
    let fullest = profile.iter().map(|hop| hop.busy).fold(0.0, f64::max);
    match limiting {
        Some(limiting) if limiting.hops.iter().any(|hop| busy(hop) >= FULL) => Headline::Capacity,
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
    let gain = first.doubled.throughput.words();
    let gains = format!("twice as fast it gives {gain}");
    let limiting = diagnosis.limiting();
    let limits = limiting.as_ref().is_some_and(|limiting| !limiting.hops.is_empty());
    let several = limiting.filter(|limiting| limiting.hops.len() > 1);
    let several = several.map(|all| (named(&all.hops), all.doubled.throughput.words()));
    let fullest = diagnosis.profile.iter().max_by(|a, b| a.busy.total_cmp(&b.busy)).unwrap_or(first);
    let longest = diagnosis.longest.as_ref().map_or(String::new(), |(hop, phase, of)| {
        format!(" The longest stage of a request is `{phase}` at {hop}, {} of its latency.", share(*of))
    });
    match (diagnosis.headline, several) {
        (Headline::Workload, _) => {
            let without = diagnosis.without_thinking.unwrap_or(Gain::NONE).throughput.words();
            format!(
                "Limited by the workload: without its think time it would get {without}; of the hops {} gains most, \
                 {gains}.",
                first.hop
            )
        }
        (Headline::Capacity, Some((hops, more))) => format!(
            "Limited by the capacity of {hops} together: none of them helps by itself, all of them twice as fast give \
             {more}."
        ),
        (Headline::Capacity, None) => format!(
            "Limited by the capacity of {}: it is at work {} of the time, and {gains}.",
            first.hop,
            share(first.busy)
        ),
        (Headline::Latency, several) => {
            let together = several.map_or(String::new(), |(hops, more)| {
                format!(" Together {hops} count more: all of them twice as fast give {more}.")
            });
            format!(
                "Limited by latency: no hop is near its capacity (the fullest, {}, works {} of the time). {} counts \
                 most: {gains}.{together}{longest}",
                fullest.hop,
                share(fullest.busy),
                first.hop
            )
        }
        (Headline::Mixed, Some((hops, more))) => format!(
            "Limited by {hops} together: all of them twice as fast give {more}, while of single hops {} gains most, \
             {gain}; the fullest hop is {}, at work {} of the time.{longest}",
            first.hop,
            fullest.hop,
            share(fullest.busy)
        ),
        (Headline::Mixed, None) if limits => format!(
            "Limited by {} most, {gains}; the fullest hop is {}, at work {} of the time.",
            first.hop,
            fullest.hop,
            share(fullest.busy)
        ),
        (Headline::Mixed, None) => format!(
            "No hop limits by itself, nor with another: of {} tried at twice their pace {} gains most, {gain}.{longest}",
            diagnosis.profile.len(),
            first.hop
        ),
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
