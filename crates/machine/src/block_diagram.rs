//! A machine as a block diagram: each part below what it is plugged into, parts that are alike as one.
//!
//! ```text
//!   root                   depth 0
//!   └─ link* (9)           depth 1
//!      ├─ drive* (8)       depth 2
//!      └─ gpu              depth 2
//! ```
//!
//! Processors come first.
//!
//! Not shown: what is software (drivers, operating systems, volumes), and whatever a part is plugged into besides the
//! first.

use hopscope_parts::bus::pcie::{Training, speed};

use crate::blueprint::Part;
use crate::hops::{common, starred};

/// Roles whose parts are no hardware.
const SOFTWARE: [&str; 3] = ["driver", "system", "volume"];

/// A part, or parts that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its name; of several with a star for each number that differs.
    pub name: String,
    /// What it is.
    pub title: String,
    /// Its parts, by name.
    pub parts: Vec<String>,
    /// How many blocks are above it.
    pub depth: usize,
    /// The block that it is plugged into, by its place among all; always before it.
    pub above: Option<usize>,
}

/// The blocks of a machine, each behind the one above it.
pub fn blocks(parts: &[Part]) -> Vec<Block> {
    let hardware: Vec<&Part> =
        parts.iter().filter(|part| !SOFTWARE.contains(&part.uses.split('/').next().unwrap_or(""))).collect();
    let is_hardware = |name: &str| hardware.iter().any(|part| part.name == name);
    let above = |part: &Part| part.plugs.iter().map(|(above, _)| above.clone()).find(|above| is_hardware(above));
    let mut blocks = Vec::new();
    let mut roots: Vec<&Part> = hardware.iter().filter(|part| above(part).is_none()).copied().collect();
    roots.sort_by_key(|part| !part.uses.starts_with("cpu/"));
    below(roots, None, &hardware, &above, &mut blocks);
    blocks
}

/// What the links of a block trained to, and where both of their ends could do more, what; nothing where it is no link.
pub fn trained(block: &Block, links: &[(String, Training)]) -> Option<String> {
    let mut speeds: Vec<String> = Vec::new();
    for (_, training) in links.iter().filter(|(link, _)| block.parts.contains(link)) {
        let more = if training.is_low() { format!(" of {}", speed(training.both_ends())) } else { String::new() };
        let said = format!("{}{more}", speed(training.trained));
        if !speeds.contains(&said) {
            speeds.push(said);
        }
    }
    (!speeds.is_empty()).then(|| speeds.join(" and "))
}

/// Blocks of these parts, each with what is below it.
fn below(
    parts: Vec<&Part>,
    above: Option<usize>,
    all: &[&Part],
    above_of: &dyn Fn(&Part) -> Option<String>,
    blocks: &mut Vec<Block>,
) {
    let mut groups: Vec<Vec<&Part>> = Vec::new();
    for part in parts {
        let is_like = |known: &&Part| known.uses == part.uses && starred(&known.name) == starred(&part.name);
        match groups.iter_mut().find(|group| is_like(&group[0])) {
            Some(group) => group.push(part),
            None => groups.push(vec![part]),
        }
    }
    for group in groups {
        let names: Vec<&str> = group.iter().map(|part| &part.name[..]).collect();
        let place = blocks.len();
        blocks.push(Block {
            name: common(&names),
            title: group[0].title.clone(),
            parts: names.iter().map(|name| name.to_string()).collect(),
            depth: above.map_or(0, |above| blocks[above].depth + 1),
            above,
        });
        let is_below = |part: &&&Part| above_of(part).is_some_and(|above| names.contains(&&above[..]));
        below(all.iter().filter(is_below).copied().collect(), Some(place), all, above_of, blocks);
    }
}
