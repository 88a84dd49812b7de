//! What a block takes on its way from the drive: the slowest of drive, buses and controllers, as DiskSim has it.

use super::Files;
use super::language::{Block, Item, Part};
use crate::problem::Problem;

/// Parts above a drive that data pass, and what each calls the time of a block.
const ON_THE_WAY: [(&str, &[&str]); 3] = [
    ("disksim_bus", &["Read block transfer time", "Write block transfer time"]),
    ("disksim_ctlr", &["Bulk sector transfer time"]),
    ("disksim_disk", &["Bulk sector transfer time"]),
];
const BULK: &str = "Bulk sector transfer time";

/// The time of a block, picoseconds, and the file that has it; zero where none has one.
pub(super) struct BlockTime {
    pub(super) ps: i128,
    pub(super) file: String,
}

pub(super) fn block_time(
    files: &Files,
    specification: &Block,
    name_of: &dyn Fn(&Block) -> String,
    notes: &mut Vec<String>,
) -> Result<BlockTime, Problem> {
    let field = specification.field(BULK)?;
    let mut slowest = BlockTime { ps: field.scaled(9)?, file: name_of(specification) };
    for block in above(files, specification) {
        let keys = ON_THE_WAY.iter().find(|(kind, _)| *kind == block.kind).map_or(&[][..], |(_, keys)| keys);
        let times: Vec<i128> =
            keys.iter().filter_map(|key| block.find(key)).map(|field| field.scaled(9)).collect::<Result<_, _>>()?;
        let Some(&most) = times.iter().max() else { continue };
        if times.iter().any(|time| *time != most) {
            notes.push(format!("reads and writes take different times on `{}`: the longer one is used", block.name));
        }
        if most > slowest.ps {
            slowest = BlockTime { ps: most, file: name_of(block) };
        }
    }
    Ok(slowest)
}

/// Buses and controllers between the host and the drive: by the topology, and all there are where there is none.
fn above<'a>(files: &'a Files, specification: &Block) -> Vec<&'a Block> {
    let blocks = || files.blocks().filter(|block| ON_THE_WAY[..2].iter().any(|(kind, _)| *kind == block.kind));
    let block_of = |instance: &str| {
        files.system.iter().find_map(|item| match item {
            Item::Instances { names, of } => names.iter().any(|name| name == instance).then_some(of.as_str()),
            _ => None,
        })
    };
    let path = files.system.iter().find_map(|item| match item {
        Item::Topology(root) => path_to(root, &|part| block_of(&part.name) == Some(specification.name.as_str())),
        _ => None,
    });
    match path {
        Some(path) => {
            let names: Vec<&str> = path.iter().filter_map(|part| block_of(&part.name)).collect();
            blocks().filter(|block| names.contains(&block.name.as_str())).collect()
        }
        None => blocks().collect(),
    }
}

/// The parts from the root to the first one that is looked for.
fn path_to<'a>(part: &'a Part, wanted: &dyn Fn(&Part) -> bool) -> Option<Vec<&'a Part>> {
    if wanted(part) {
        return Some(vec![part]);
    }
    let mut path = part.below.iter().find_map(|below| path_to(below, wanted))?;
    path.push(part);
    Some(path)
}
