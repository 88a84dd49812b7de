//! Hops: lanes that are alike, as one. What a simulated change makes faster is a hop.
//!
//! Lanes are alike where their names differ in nothing but numbers and their parts have the same data: the channels of a
//! drive, the drives of a server. A hop of several lanes is named with a star for each number: `drive*.channel*`.

use std::collections::BTreeSet;

use hopscope_files::problem::Problem;
use hopscope_kernel::{Pace, Sim};
use hopscope_observe::account::Names;
use hopscope_parts::nearest::did_you_mean;

use crate::blueprint::Part;

/// Lanes that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Its name: that of its lane, or with a star for each number that differs.
    pub name: String,
    /// The part, or the parts that are alike.
    pub part: String,
    /// Its lanes, by number.
    pub lanes: Vec<u16>,
}

/// The hops of a machine that was built in `sim`, in the order of their first lanes.
pub fn hops(parts: &[Part], sim: &Sim) -> Vec<Hop> {
    let names: Vec<String> = sim.lanes().into_iter().map(|(name, _)| name).collect();
    let mut hops: Vec<(&str, Hop)> = Vec::new();
    for (number, name) in names.iter().enumerate() {
        let part = name.split('.').next().unwrap_or(name);
        let uses = parts.iter().find(|known| known.name == part).map_or("", |part| &part.uses);
        let starred = starred(name);
        match hops.iter_mut().find(|(of, hop)| (*of, &hop.name) == (uses, &starred)) {
            Some((_, hop)) => hop.lanes.push(number as u16),
            None => hops.push((uses, Hop { name: starred, part: part.to_string(), lanes: vec![number as u16] })),
        }
    }
    let named = |index: usize| {
        let (_, hop) = &hops[index];
        let lanes: Vec<&str> = hop.lanes.iter().map(|lane| names[usize::from(*lane)].as_str()).collect();
        let name = common(&lanes);
        let part = name.split('.').next().unwrap_or(&name).to_string();
        Hop { name, part, lanes: hop.lanes.clone() }
    };
    (0..hops.len()).map(named).collect()
}

/// Which lanes stand under the name of which hop.
pub fn names(parts: &[Part], sim: &Sim) -> Names {
    let lanes = sim.lanes();
    let of = |hop: &Hop| -> Vec<(String, String)> {
        hop.lanes.iter().map(|lane| (lanes[usize::from(*lane)].0.clone(), hop.name.clone())).collect()
    };
    Names::new(hops(parts, sim).iter().flat_map(of))
}

/// What a hop can carry.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// The hop.
    pub hop: String,
    /// The part, or the parts that are alike.
    pub part: String,
    /// Its lanes.
    pub lanes: usize,
    /// Bytes per second of all of them, at the fastest that each can be.
    pub bytes_per_second: f64,
}

/// What those hops can carry of a machine that was built in `sim` that have a rate of their own.
pub fn capacities(parts: &[Part], sim: &Sim) -> Vec<Capacity> {
    let rates = sim.rates();
    let fastest = |lane: &u16| {
        let each = rates[usize::from(*lane)].iter().map(|rate| rate.bytes as f64 / rate.per.as_seconds_f64());
        each.reduce(f64::max)
    };
    let carries = |Hop { name, part, lanes }: Hop| {
        let of_each: Option<Vec<f64>> = lanes.iter().map(fastest).collect();
        Some(Capacity { hop: name, part, lanes: lanes.len(), bytes_per_second: of_each?.iter().sum() })
    };
    hops(parts, sim).into_iter().filter_map(carries).collect()
}

/// The hop that a name stands for: a hop, or one of its lanes by itself.
pub fn find(name: &str, parts: &[Part], sim: &Sim) -> Result<Hop, Problem> {
    let hops = hops(parts, sim);
    if let Some(hop) = hops.iter().find(|hop| hop.name == name) {
        return Ok(hop.clone());
    }
    if let Some(number) = sim.lanes().iter().position(|(lane, _)| lane == name) {
        let part = name.split('.').next().unwrap_or(name).to_string();
        return Ok(Hop { name: name.to_string(), part, lanes: vec![number as u16] });
    }
    let names: Vec<&str> = hops.iter().map(|hop| hop.name.as_str()).collect();
    let help = did_you_mean(name, &names);
    Err(Problem::nowhere(format!("there is no hop `{name}`")).help(help))
}

/// The hop that a text begins with, and what follows its name after a dot: nothing where it is the whole text.
pub fn find_first<'a>(text: &'a str, parts: &[Part], sim: &Sim) -> Result<(Hop, &'a str), Problem> {
    let ends = text.rmatch_indices('.').map(|(end, _)| end);
    for end in [text.len()].into_iter().chain(ends) {
        if let Ok(hop) = find(&text[..end], parts, sim) {
            return Ok((hop, text[end..].trim_start_matches('.')));
        }
    }
    let name = text.rsplit_once('.').map_or(text, |(name, _)| name);
    Err(find(name, parts, sim).err().unwrap_or_else(|| Problem::nowhere(format!("there is no hop `{name}`"))))
}

/// Reads a pace: `2`, `1.05` or `21/20`.
pub fn pace(text: &str) -> Option<Pace> {
    let (times, over) = match text.split_once('/') {
        Some((times, over)) => (times.trim().parse().ok()?, over.trim().parse().ok()?),
        None => match text.trim().split_once('.') {
            Some((whole, part))
                if (1..=6).contains(&part.len()) && part.bytes().all(|digit| digit.is_ascii_digit()) =>
            {
                let over = 10u32.pow(part.len() as u32);
                let whole: u32 = whole.parse().ok()?;
                (whole.checked_mul(over)?.checked_add(part.parse().ok()?)?, over)
            }
            _ => (text.trim().parse().ok()?, 1),
        },
    };
    Pace::new(times, over).filter(|pace| (0.001..=1000.0).contains(&pace.as_f64()))
}

/// The name with a star for every number. Names that are alike have it in common.
pub fn starred(name: &str) -> String {
    let mut starred = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '0'..='9' if starred.ends_with('*') => {}
            '0'..='9' => starred.push('*'),
            c => starred.push(c),
        }
    }
    starred
}

/// What several names that differ only in numbers have in common, with a star for each number that differs.
pub(crate) fn common(names: &[&str]) -> String {
    let pieces: Vec<Vec<&str>> = names.iter().map(|name| pieces(name)).collect();
    (0..pieces[0].len())
        .map(|at| {
            let first = pieces[0][at];
            if pieces.iter().all(|pieces| pieces[at] == first) { first } else { "*" }
        })
        .collect()
}

/// Several names that differ only in numbers, as one: `drive0..7`, `link0..2,4..7`.
pub fn together(names: &[&str]) -> String {
    let pieces: Vec<Vec<&str>> = names.iter().map(|name| pieces(name)).collect();
    let Some(first) = pieces.first() else { return String::new() };
    (0..first.len()).map(|at| ranges(&pieces.iter().map(|pieces| pieces[at]).collect::<Vec<_>>())).collect()
}

/// The numbers at one place of several names, those that follow each other as a range; words are the same in all.
fn ranges(pieces: &[&str]) -> String {
    let numbers: Option<BTreeSet<u64>> = pieces.iter().map(|piece| piece.parse().ok()).collect();
    let Some(numbers) = numbers.filter(|_| pieces.iter().any(|piece| piece != &pieces[0])) else {
        return pieces[0].to_string();
    };
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let word = |(first, last): &(u64, u64)| if first == last { first.to_string() } else { format!("{first}..{last}") };
    ranges.iter().map(word).collect::<Vec<_>>().join(",")
}

/// A name cut into numbers and what is between them.
fn pieces(name: &str) -> Vec<&str> {
    let digit = |c: char| c.is_ascii_digit();
    let mut pieces = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| digit(c) != digit(first)).unwrap_or(rest.len());
        pieces.push(&rest[..end]);
        rest = &rest[end..];
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_a_star_only_where_its_lanes_differ() {
        assert_eq!(common(&["drive0.channel0", "drive0.channel1"]), "drive0.channel*");
        assert_eq!(common(&["drive0.channel0", "drive10.channel1"]), "drive*.channel*");
        assert_eq!(starred("drive10.channel1.die0"), "drive*.channel*.die*");
    }

    #[test]
    fn names_that_differ_in_numbers_are_written_together() {
        assert_eq!(together(&["drive"]), "drive");
        assert_eq!(together(&["drive7"]), "drive7");
        assert_eq!(together(&["drive9", "drive10", "drive11"]), "drive9..11");
        assert_eq!(together(&["link4", "link0", "link1", "link2", "link5"]), "link0..2,4..5");
        assert_eq!(together(&["scsi0.id0", "scsi1.id0", "scsi0.id1", "scsi1.id1"]), "scsi0..1.id0..1");
        assert_eq!(together(&["pci2.slot0", "pci2.slot3"]), "pci2.slot0,3");
        // Longer than any number.
        assert_eq!(together(&["a99999999999999999999", "a99999999999999999999"]), "a99999999999999999999");
        assert_eq!(together(&[]), "");
    }

    #[test]
    fn a_pace_is_a_number_or_a_fraction() {
        assert_eq!(pace("2"), Pace::new(2, 1));
        assert_eq!(pace("1.05"), Pace::new(105, 100));
        assert_eq!(pace("21/20"), Pace::new(21, 20));
        for wrong in ["", "0", "-1", "1/0", "x", "1e3", "1.", "5000", "0.0001", "1.0000001", "99999999999"] {
            assert_eq!(pace(wrong), None, "{wrong}");
        }
    }
}
