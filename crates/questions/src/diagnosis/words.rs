//! The headline and its sentences.

use super::{Diagnosis, GAIN_MIN, Headline, HopGain, Limiting, named};
use crate::trials::{Gain, Shift};

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

/// Why, in a sentence that begins with what limits, and what of it is chance.
pub(super) fn why(diagnosis: &Diagnosis) -> String {
    let rhythm = diagnosis.another_rhythm.map_or(String::new(), |gain| {
        let gives = Shift { mean: gain, half_width: 0.0 }.words();
        format!(
            " By chance its requests fall into one of several rhythms: in another one that was found it gives {gives}, \
             and what a change gains is known no better than that."
        )
    });
    limits(diagnosis) + &rhythm
}

fn limits(diagnosis: &Diagnosis) -> String {
    let Some(first) = diagnosis.leading() else { return "Nothing is at work.".to_string() };
    let gain = first.doubled.throughput.words();
    let gains = format!("twice as fast it gives {gain}");
    let limiting = diagnosis.limiting();
    let limits = limiting.as_ref().is_some_and(|limiting| !limiting.hops.is_empty());
    // It gains something, but trials do not say that for sure.
    let by_chance = !limits && first.doubled.throughput.mean > GAIN_MIN;
    let unsure = if by_chance { " That may be chance: trials as long as these differ as much." } else { "" };
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
                 most: {gains}.{unsure}{together}{longest}",
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
        (Headline::Mixed, None) if by_chance => format!(
            "No trial shows for sure what limits: of {} hops tried at twice their pace {} gains most, {gain}, and trials \
             as long as these differ as much by chance; the fullest hop is {}, at work {} of the time.{longest}",
            diagnosis.profile.len(),
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
        Some((hop, gain)) if gain.throughput.mean >= NEXT_MIN => format!(
            "What limits once that is faster is not known for sure: {hop} gains most then, {}.",
            gain.throughput.words()
        ),
        Some(_) => "Once that is faster, no hop gains as much as 1 % by itself.".to_string(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use hopscope_kernel::Time;

    use super::super::Rests;
    use super::*;
    use crate::trials::Effort;

    /// Of one hop that works this much, and gains so much at twice its pace, give or take.
    fn diagnosed(busy: f64, mean: f64, half_width: f64) -> Diagnosis {
        let throughput = Shift { mean, half_width };
        let doubled = Gain { throughput, ..Gain::NONE };
        let hop = HopGain { part: "disk".into(), hop: "disk.arm".into(), doubled, share: Gain::NONE, busy };
        let mut diagnosis = Diagnosis {
            headline: Headline::Mixed,
            profile: vec![hop],
            without_thinking: None,
            together: Vec::new(),
            longest: None,
            next: None,
            remedies: Vec::new(),
            another_rhythm: None,
            rests: Rests { numbers: 1, assumed: 0, moves: None, study: None },
            why: String::new(),
            then: String::new(),
            effort: Effort { ramp: Time::ZERO, runtime: Time::ZERO, seeds: vec![1] },
        };
        diagnosis.headline = headline(&diagnosis.profile, diagnosis.limiting().as_ref(), None);
        diagnosis
    }

    #[test]
    fn what_chance_may_have_done_is_not_said_for_sure() {
        for (busy, sure) in [(0.95, Headline::Capacity), (0.7, Headline::Mixed), (0.3, Headline::Latency)] {
            let by_chance = diagnosed(busy, 0.79, 1.26);
            assert!(why(&by_chance).contains(" chance") && !why(&by_chance).contains("capacity of"), "{busy}");
            assert!(by_chance.limiting().is_some_and(|limiting| limiting.hops.is_empty()), "{busy}");
            let for_sure = diagnosed(busy, 0.79, 0.78);
            assert!(for_sure.headline == sure && !why(&for_sure).contains(" chance"), "{busy}");
        }
    }

    #[test]
    fn what_another_rhythm_gives_is_said_behind_what_limits() {
        let one = diagnosed(0.95, 0.79, 0.1);
        assert!(!why(&one).contains("rhythm"));
        let several = Diagnosis { another_rhythm: Some(-0.321), ..one.clone() };
        let said = why(&several);
        let rhythm = said.strip_prefix(&why(&one)).expect("behind what limits");
        assert!(rhythm.starts_with(" By chance ") && rhythm.contains("it gives -32.1 %,"), "{rhythm}");
    }

    #[test]
    fn what_limits_next_by_chance_is_not_said_to_be_nothing() {
        let next = |mean, half_width| {
            let gain = Gain { throughput: Shift { mean, half_width }, ..Gain::NONE };
            then(&Diagnosis { next: Some(("pci".into(), gain)), ..diagnosed(0.95, 0.79, 0.1) })
        };
        assert!(next(0.4, 0.1).contains("pci limits next: +40.0 %"), "{}", next(0.4, 0.1));
        assert!(
            next(0.4, 0.5).ends_with("not known for sure: pci gains most then, +40.0 % (±50.0)."),
            "{}",
            next(0.4, 0.5)
        );
        for (mean, half_width) in [(0.005, 0.0), (0.0, 0.5), (-0.1, 0.2)] {
            assert!(next(mean, half_width).ends_with("no hop gains as much as 1 % by itself."), "{mean} ±{half_width}");
        }
    }

    /// However full a hop is: where it gains nothing, it does not limit.
    #[test]
    fn a_full_hop_that_gains_nothing_does_not_limit() {
        let diagnosis = diagnosed(1.0, 0.001, 0.0);
        assert_eq!(diagnosis.headline, Headline::Mixed);
        assert!(
            diagnosis.limiting().is_some_and(|limiting| limiting.hops.is_empty() && limiting.first.hop == "disk.arm")
        );
        assert!(why(&diagnosis).starts_with("No hop limits by itself"), "{}", why(&diagnosis));
        assert_eq!(diagnosed(1.0, 0.1, 0.0).headline, Headline::Capacity);
    }
}
