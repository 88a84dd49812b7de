//! The list of register accesses of an IDE driver, as its file has it.

use hopscope_kernel::Time;

use crate::parameters::{Parameters, SpecError};
use crate::protocols::pci::Command;

/// Which register a step names, relative to what the channel decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Fixed,
    CommandBlock,
    BusMaster,
}

/// What a step writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Constant(u32),
    DescriptorTable,
    SelectDrive,
    SectorCount,
    DriveAndLbaTop,
    LbaLow,
    LbaMid,
    LbaHigh,
    Command,
    Start,
}

const WRITTEN: [(&str, Written); 9] = [
    ("descriptor-table", Written::DescriptorTable),
    ("select-drive", Written::SelectDrive),
    ("sector-count", Written::SectorCount),
    ("drive-and-lba-27-24", Written::DriveAndLbaTop),
    ("lba-7-0", Written::LbaLow),
    ("lba-15-8", Written::LbaMid),
    ("lba-23-16", Written::LbaHigh),
    ("command", Written::Command),
    ("start", Written::Start),
];

const CYCLES: [(&str, Command); 3] = [
    ("interrupt-acknowledge", Command::InterruptAcknowledge),
    ("io-read", Command::IoRead),
    ("io-write", Command::IoWrite),
];

/// One register access.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) gap: Time,
    pub(super) command: Command,
    pub(super) base: Base,
    pub(super) offset: u32,
    pub(super) bytes: u32,
    pub(super) written: Written,
}

/// Pulls a list.
pub(super) fn read_steps(rows: Vec<Parameters>) -> Result<Vec<Step>, SpecError> {
    rows.into_iter().map(|mut row| read_step(&mut row)).collect()
}

fn read_step(row: &mut Parameters) -> Result<Step, SpecError> {
    let gap = row.time("gap")?;
    let cycle = row.text("cycle")?;
    let Some((_, command)) = CYCLES.iter().find(|(name, _)| *name == cycle) else {
        let names: Vec<&str> = CYCLES.iter().map(|c| c.0).collect();
        return Err(row.error(
            "cycle",
            format!("`{cycle}` is no cycle of a driver"),
            format!("expected {}", names.join(", ")),
        ));
    };
    let mut step =
        Step { gap, command: *command, base: Base::Fixed, offset: 0, bytes: 1, written: Written::Constant(0) };
    if *command == Command::InterruptAcknowledge {
        return Ok(step);
    }
    let register = row.text("register")?;
    let (base, offset) = register.split_once('+').unwrap_or(("", &register));
    let digits = offset.trim().strip_prefix("0x").unwrap_or("");
    let parsed = u32::from_str_radix(digits, 16).ok().filter(|offset| *offset <= 0xFFFF);
    let base = match base.trim() {
        "" => Some(Base::Fixed),
        "command-block" => Some(Base::CommandBlock),
        "bus-master" => Some(Base::BusMaster),
        _ => None,
    };
    let (Some(base), Some(offset)) = (base, parsed) else {
        let help = "expected \"0xA0\", \"command-block + 0x7\" or \"bus-master + 0x2\"";
        return Err(row.error("register", format!("`{register}` is no register"), help));
    };
    (step.base, step.offset, step.bytes) = (base, offset, row.bytes("bytes")? as u32);
    if *command == Command::IoWrite {
        let value = row.text("value")?;
        let constant = value.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let named = WRITTEN.iter().find(|(name, _)| *name == value).map(|(_, written)| *written);
        let Some(written) = constant.map(Written::Constant).or(named) else {
            let names: Vec<&str> = WRITTEN.iter().map(|w| w.0).collect();
            let help = format!("expected \"0x20\" or one of {}", names.join(", "));
            return Err(row.error("value", format!("`{value}` is nothing this driver writes"), help));
        };
        step.written = written;
    }
    // The description is for the reader of the file.
    let _ = row.text("what")?;
    Ok(step)
}
