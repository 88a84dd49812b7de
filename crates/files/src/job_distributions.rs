//! Values of fio's options that share something out: sizes of requests, zones of a device, laws of addresses.

use hopscope_parts::workload::Zone;

use crate::job_values::{Refusal, at_least_one, bytes, percent, refusal};

/// Sizes of a split, and zones: as many as fio takes.
const MOST_SIZES: usize = 64;
const MOST_ZONES: usize = 256;
/// Zipf's theta, at most: beyond it the first block gets practically all requests.
const THETA_MAX: f64 = 10.0;

/// Where requests in random order go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Anywhere, evenly.
    Random,
    /// Zipf's law with this theta.
    Zipf(f64),
    /// Pareto's self-similar law: a share h of the blocks gets 1 - h of the requests.
    Pareto(f64),
    /// A bell around a block, shifted evenly by this percentage.
    Normal(f64),
    /// Zone by zone.
    Zoned,
}

/// A law of addresses, and the zones of one that has some.
pub(crate) fn law(option: &str, value: &str) -> Result<(Distribution, [Vec<Zone>; 2]), Refusal> {
    Ok((distribution(option, value)?, zones_of(option, value)?))
}

/// A law, as in `zipf:1.2`. fio's defaults are those of its source (1.1, 0.2 and 0).
fn distribution(option: &str, value: &str) -> Result<Distribution, Refusal> {
    let (name, rest) = value.split_once(':').map_or((value, None), |(name, rest)| (name.trim(), Some(rest.trim())));
    let number = |default: f64, what: &str| match rest {
        None => Ok(default),
        Some(text) if text.contains(':') => Err(refusal(option, "with a centre is not modelled", what)),
        Some(text) => text.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(|| {
            let problem = format!("has `{text}` where a number is due");
            refusal(option, &problem, what)
        }),
    };
    match name {
        "random" if rest.is_none() => Ok(Distribution::Random),
        "zipf" => {
            let what = "expected a theta above 0, at most 10 and not 1, as in zipf:1.2";
            match number(1.1, what)? {
                theta if theta > 0.0 && theta <= THETA_MAX && theta != 1.0 => Ok(Distribution::Zipf(theta)),
                theta => Err(refusal(option, &format!("has a theta of {theta}, which is out of range"), what)),
            }
        }
        "pareto" => {
            let what = "expected a share between 0 and 1, as in pareto:0.2";
            match number(0.2, what)? {
                h if h > 0.0 && h < 1.0 => Ok(Distribution::Pareto(h)),
                h => Err(refusal(option, &format!("has a share of {h}, which is out of range"), what)),
            }
        }
        "normal" => {
            let what = "expected a percentage from 0 to 100, as in normal:10";
            match number(0.0, what)? {
                deviation if (0.0..=100.0).contains(&deviation) => Ok(Distribution::Normal(deviation)),
                other => Err(refusal(option, &format!("has a deviation of {other}, which is out of range"), what)),
            }
        }
        "zoned" if rest.is_some() => Ok(Distribution::Zoned),
        "zoned" => Err(refusal(option, "has no zones", "expected requests/size of each, as in zoned:60/10:40/90")),
        "zoned_abs" => {
            Err(refusal(option, "with zones in bytes is not modelled", "expected zoned:, with percentages of the size"))
        }
        _ => {
            let problem = format!("is not `{name}`");
            Err(refusal(option, &problem, "expected random, zipf, pareto, normal or zoned"))
        }
    }
}

/// The zones of a law that has some, for reads and for writes; none otherwise.
fn zones_of(option: &str, value: &str) -> Result<[Vec<Zone>; 2], Refusal> {
    match value.split_once(':') {
        Some((name, rest)) if name.trim() == "zoned" => sides(option, rest, |text| {
            let mut zones = Vec::new();
            for zone in text.split(':') {
                let Some((requests, size)) = zone.split_once('/') else {
                    let problem = format!("has a zone `{}` without a size", zone.trim());
                    return Err(refusal(
                        option,
                        &problem,
                        "expected requests/size in percent, as in zoned:60/10:40/90",
                    ));
                };
                let (requests, size) = (percent(option, requests.trim())?, percent(option, size.trim())?);
                zones.push(Zone { requests_percent: requests, size_percent: size });
            }
            not_too_many(option, zones.len(), MOST_ZONES)?;
            whole(option, "requests", zones.iter().map(|zone| zone.requests_percent))?;
            whole(option, "sizes", zones.iter().map(|zone| zone.size_percent))?;
            match zones.iter().find(|zone| zone.size_percent == 0 && zone.requests_percent > 0) {
                Some(zone) => {
                    let problem = format!("sends {} % of the requests to a zone without a size", zone.requests_percent);
                    Err(refusal(option, &problem, "expected a size of at least 1"))
                }
                None => Ok(zones),
            }
        }),
        _ => Ok([Vec::new(), Vec::new()]),
    }
}

/// Sizes with their percentages, as in `4k/10:64k/90`, for reads and for writes. What has no percentage shares what is
/// left.
pub(crate) fn split(option: &str, value: &str) -> Result<[Vec<(u64, u32)>; 2], Refusal> {
    sides(option, value, |text| {
        let mut sizes: Vec<(u64, Option<u32>)> = Vec::new();
        for entry in text.split(':') {
            let (size, share) = entry.split_once('/').map_or((entry, ""), |(size, share)| (size, share.trim()));
            let share = if share.is_empty() { None } else { Some(percent(option, share)?) };
            sizes.push((at_least_one(option, bytes(option, size.trim())?)?, share));
        }
        not_too_many(option, sizes.len(), MOST_SIZES)?;
        let given: u32 = sizes.iter().filter_map(|size| size.1).sum();
        let open = sizes.iter().filter(|size| size.1.is_none()).count() as u32;
        if open > 0 && given <= 100 {
            let left = 100 - given;
            let mut shares = (0..open).map(|index| left / open + u32::from(index >= open - left % open));
            return Ok(sizes
                .iter()
                .map(|(size, share)| (*size, share.or_else(|| shares.next()).unwrap_or(0)))
                .collect());
        }
        whole(option, "percentages", sizes.iter().filter_map(|size| size.1))?;
        Ok(sizes.iter().map(|(size, share)| (*size, share.unwrap_or(0))).collect())
    })
}

/// One percentage, or one for reads and one for writes.
pub(crate) fn percentages(option: &str, value: &str) -> Result<[u32; 2], Refusal> {
    sides(option, value, |text| percent(option, text))
}

/// What is said once is for both directions; a third one would be for trims.
fn sides<T: Clone>(option: &str, value: &str, read: impl Fn(&str) -> Result<T, Refusal>) -> Result<[T; 2], Refusal> {
    let sides = value.split(',').map(|text| read(text.trim())).collect::<Result<Vec<T>, Refusal>>()?;
    match &sides[..] {
        [both] => Ok([both.clone(), both.clone()]),
        [reads, writes] | [reads, writes, _] => Ok([reads.clone(), writes.clone()]),
        _ => Err(refusal(option, "has too many directions", "expected one value, or reads,writes")),
    }
}

fn whole(option: &str, what: &str, shares: impl Iterator<Item = u32>) -> Result<(), Refusal> {
    match shares.sum() {
        100 => Ok(()),
        sum => Err(refusal(option, &format!("has {what} that add up to {sum} %"), "expected 100 %")),
    }
}

fn not_too_many(option: &str, count: usize, most: usize) -> Result<(), Refusal> {
    if count > most {
        return Err(refusal(option, &format!("has {count} entries"), &format!("expected at most {most}")));
    }
    Ok(())
}
