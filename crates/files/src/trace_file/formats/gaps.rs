//! Which requests the gaps of a validation trace lie between: there are two dialects, and nothing in a line says which.
//!
//! Told by the platter. Between two requests of a track that both had to wait for it lies a whole number of turns, and
//! what the two are apart on the track. With the gap that lies between them these angles agree, for the right time of a
//! turn and the right number of sectors a track; with another gap they are spread evenly. So both readings are tried at
//! all turns and tracks that drives have.
//!
//! A host that issues by its clock's ticks makes intervals agree, too, but those of requests that are far apart as well:
//! what these agree by does not count.

use std::f64::consts::TAU;

use super::validation;
use crate::trace_file::fields::Fields;

/// What a gap of a validation trace lies between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// The end of the request before, and this one: drives of 1996 and later.
    SinceLast,
    /// The end of this request, and the next one: DiskSim's own reading.
    UntilNext,
}

impl Gaps {
    /// Both.
    pub const ALL: [Gaps; 2] = [Gaps::SinceLast, Gaps::UntilNext];

    /// As on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Gaps::SinceLast => "since-last",
            Gaps::UntilNext => "until-next",
        }
    }

    /// The reading that is named; what was expected, where none is.
    pub fn named(word: &str) -> Result<Gaps, String> {
        let found = Gaps::ALL.into_iter().find(|gaps| gaps.word() == word);
        found.ok_or_else(|| format!("expected {}", Gaps::ALL.map(Gaps::word).join(" or ")))
    }
}

/// How it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The platter's turns agree with this reading, and not with the other.
    Platter,
    /// Whoever replays it said so.
    Asked,
    /// The trace does not tell.
    Nothing,
}

impl Told {
    /// As in a report.
    pub fn word(self) -> &'static str {
        match self {
            Told::Platter => "platter",
            Told::Asked => "asked",
            Told::Nothing => "nothing",
        }
    }
}

/// Sectors between requests that count as on one track, at most; and between those that cannot be.
const NEAR: i64 = 64;
const FAR: i64 = 20_000;
/// No buffer answers so slowly, but for long requests, us.
const OF_THE_MEDIA_US: f64 = 3_000.0;
/// Pairs that are looked at, and that are needed, at least.
const PAIRS_MAX: usize = 400;
const PAIRS_MIN: usize = 24;
/// Times of a turn, us: 15,000 to 3,530 rpm. Neighbours are near enough for a dozen turns between two requests.
const TURN_US: (f64, f64) = (4_000.0, 17_000.0);
const TURN_STEP: f64 = 1.005;
/// Sectors of a track.
const TRACK: (f64, f64) = (30.0, 1_000.0);
const TRACK_STEP: f64 = 1.03;
/// One reading has to agree by so much more than the other.
const MARGIN: f64 = 0.25;

/// Two requests, one after the other.
struct Pair {
    /// From the end of the first to the end of the second, sectors.
    apart: f64,
    /// From completion to completion, us, in both readings.
    interval_us: [f64; 2],
}

/// Which reading the beginning of a trace agrees with.
pub fn of(sample: &[u8]) -> Option<Gaps> {
    let (near, far) = pairs(sample);
    if near.len() < PAIRS_MIN {
        return None;
    }
    let [since, until] = [0, 1].map(|reading| agreement(&near, &far, reading));
    // As much as the best of so many trials agrees by chance.
    let trials = (TURN_US.1 / TURN_US.0).ln() / TURN_STEP.ln() * (TRACK.1 / TRACK.0).ln() / TRACK_STEP.ln();
    let by_chance = (trials.ln() / near.len() as f64).sqrt();
    let tells = |one: f64, other: f64| one > 1.2 * by_chance && one > other + MARGIN;
    let readings = [(since, until, Gaps::SinceLast), (until, since, Gaps::UntilNext)];
    readings.into_iter().find(|(one, other, _)| tells(*one, *other)).map(|(_, _, gaps)| gaps)
}

fn pairs(sample: &[u8]) -> (Vec<Pair>, Vec<Pair>) {
    let (mut near, mut far) = (Vec::new(), Vec::new());
    let requests =
        sample.split(|byte| *byte == b'\n').filter_map(|line| validation::read(&Fields::by_blanks(line)).ok());
    let mut last = None;
    for request in requests {
        let us = |time: hopscope_kernel::Time| time.as_ns_f64() / 1e3;
        let first = (request.offset_bytes / 512) as i64;
        let end = first + i64::from(request.bytes / 512);
        let (response_us, gap_us) = (request.response.map_or(0.0, us), us(request.at));
        if let Some((first_before, end_before, response_before_us, gap_before_us)) =
            last.replace((first, end, response_us, gap_us))
        {
            let apart = end - end_before;
            // A read of what follows may have been read ahead.
            let ahead = !request.writes && first >= first_before;
            let of_the_media = response_us > OF_THE_MEDIA_US && response_before_us > OF_THE_MEDIA_US;
            let pair = Pair { apart: apart as f64, interval_us: [gap_us + response_us, gap_before_us + response_us] };
            if of_the_media && apart.abs() <= NEAR && !ahead && near.len() < PAIRS_MAX {
                near.push(pair);
            } else if of_the_media && apart.abs() > FAR && far.len() < PAIRS_MAX {
                far.push(pair);
            }
        }
    }
    (near, far)
}

/// How far the angles of near pairs agree at the best, 0 to 1, less those of far pairs at the same turn.
fn agreement(near: &[Pair], far: &[Pair], reading: usize) -> f64 {
    let steps = |(least, most): (f64, f64), step: f64| {
        std::iter::successors(Some(least), move |at| Some(at * step)).take_while(move |at| *at <= most)
    };
    let angles = |pairs: &[Pair], turn_us: f64| -> Vec<(f64, f64)> {
        pairs.iter().map(|pair| (TAU * pair.interval_us[reading] / turn_us).sin_cos()).collect()
    };
    let tracks: Vec<Vec<(f64, f64)>> = steps(TRACK, TRACK_STEP)
        .map(|track| near.iter().map(|pair| (TAU * pair.apart / track).sin_cos()).collect())
        .collect();
    let mut best = 0.0f64;
    for turn_us in steps(TURN_US, TURN_STEP) {
        let turned = angles(near, turn_us);
        let length = |(sine, cosine): (f64, f64), count: usize| sine.hypot(cosine) / count.max(1) as f64;
        let sum = |a: (f64, f64), b: (f64, f64)| (a.0 + b.0, a.1 + b.1);
        let ticks = length(angles(far, turn_us).into_iter().fold((0.0, 0.0), sum), far.len());
        for track in &tracks {
            let differences = turned.iter().zip(track).map(|(a, b)| (a.0 * b.1 - a.1 * b.0, a.1 * b.1 + a.0 * b.0));
            best = best.max(length(differences.fold((0.0, 0.0), sum), near.len()) - ticks);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A drive of 7,200 rpm and 120 sectors a track writes what is asked of it at once, to and fro on a few tracks: a
    /// line a request, with the gap in one of the two readings. A tick of the host's clock of 10 ms ends each gap.
    fn trace(gaps: Gaps, ticks: bool) -> String {
        const TURN_US: u64 = 8_340;
        let mut random = 7u64;
        let mut draw = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        let (mut now, mut requests) = (0u64, Vec::new());
        let mut lba = 0;
        for n in 0..600 {
            lba = if n % 3 == 0 { draw(20_000) * 120 } else { lba / 120 * 120 + draw(50) };
            let sectors = 1 + draw(16);
            let idle = 2_000 + draw(60_000);
            let issued = if ticks { (now + idle).next_multiple_of(10_000) } else { now + idle };
            // Tracks far apart begin at angles of their own.
            let angle = ((lba + sectors) * TURN_US / 120 + lba / 120 * 5_417) % TURN_US;
            let moved = issued + 3_500 + if n % 3 == 0 { draw(8_000) } else { 0 };
            let ends = moved + (angle + TURN_US - moved % TURN_US) % TURN_US;
            requests.push((lba, sectors, issued - now, ends - issued));
            now = ends;
        }
        let gap = |n: usize| match gaps {
            Gaps::SinceLast => requests[n].2,
            Gaps::UntilNext => requests.get(n + 1).map_or(0, |next| next.2),
        };
        let line = |(n, request): (usize, &(u64, u64, u64, u64))| {
            format!("W Miss {} {} {}.0 {}.0\n", request.0, request.1, request.3, gap(n))
        };
        requests.iter().enumerate().map(line).collect()
    }

    #[test]
    fn the_platter_tells_which_requests_a_gap_lies_between() {
        for gaps in Gaps::ALL {
            for ticks in [false, true] {
                assert_eq!(of(trace(gaps, ticks).as_bytes()), Some(gaps), "{gaps:?} with ticks {ticks}");
            }
        }
    }

    #[test]
    fn a_trace_that_says_nothing_of_the_platter_tells_nothing() {
        let cut: String = trace(Gaps::UntilNext, false).lines().take(20).map(|line| format!("{line}\n")).collect();
        assert_eq!(of(cut.as_bytes()), None, "too few");
        let even: String =
            (0..600).map(|n| format!("W Hit {} 8 4000.0 {}.0\n", n * 8, 900 + n * 7_919 % 20_011)).collect();
        assert_eq!(of(even.as_bytes()), None, "responses of a buffer");
        assert_eq!(of(b"not a trace\n"), None);
    }
}
