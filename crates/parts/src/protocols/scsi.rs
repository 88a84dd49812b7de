//! SCSI on a parallel bus: phases, commands, and what a bus asks of a drive. SCSI-2 (X3.131-1994); SPI-2 to SPI-4.

use hopscope_kernel::{Errand, Label};

/// Waiting for BUS FREE and the arbitration won.
pub static BUS_BUSY: Label = Label::reason("SCSI bus busy");
/// BSY and an id on the data lines; the highest one wins (SPI-2, 10.1).
pub static ARBITRATION: Label = Label::protocol("arbitration");
/// The initiator calls a target.
pub static SELECTION: Label = Label::protocol("selection");
/// A target calls its initiator.
pub static RESELECTION: Label = Label::protocol("reselection");
/// IDENTIFY and queue tag, to the target.
pub static MESSAGE_OUT: Label = Label::protocol("message out");
/// IDENTIFY and queue tag, SAVE DATA POINTER and DISCONNECT, or COMMAND COMPLETE, to the initiator.
pub static MESSAGE_IN: Label = Label::protocol("message in");
/// The command descriptor block.
pub static COMMAND: Label = Label::protocol("command");
/// Data to the initiator from the target of that id. Each agrees on a period of its own with the initiator.
pub static DATA_IN: [Label; IDS_MAX] = [const { Label::payload("data in") }; IDS_MAX];
/// Data to the target of that id.
pub static DATA_OUT: [Label; IDS_MAX] = [const { Label::payload("data out") }; IDS_MAX];
/// The status byte.
pub static STATUS: Label = Label::protocol("status");
/// A connected target asks for nothing: it has no data, or no room.
pub static NO_REQ: Label = Label::reason("no REQ from the drive");
/// The initiator does not acknowledge, since its FIFO is full.
pub static FIFO_FULL: Label = Label::reason("FIFO of the adapter full");
/// The initiator does not acknowledge, since its FIFO is empty.
pub static FIFO_EMPTY: Label = Label::reason("FIFO of the adapter empty");
/// As many commands of a drive are under way as it or its adapter has tags.
pub static NO_TAG: Label = Label::reason("no tag of the drive free");
/// A command is under way and nothing is there for its initiator.
pub static DRIVE_AT_WORK: Label = Label::reason("drive at work");
/// Status and COMMAND COMPLETE of a command that its initiator waits for.
pub static ENDING: Label = Label::protocol("status and command complete");

/// Bytes of a logical block.
pub const BLOCK_BYTES: u32 = 512;
/// READ(10) and WRITE(10) have a transfer length of 16 bits.
pub const BLOCKS_MAX: u32 = 65_535;
/// A queue tag is a byte (SCSI-2, 6.6.17).
pub const TAGS_MAX: u32 = 256;
/// Ids on a bus of 16 bits.
pub const IDS_MAX: usize = 16;

/// Who is better in arbitration, 0 the best: 7 to 0, then 15 to 8 (SPI-2, 10.1).
pub fn priority(id: usize) -> u8 {
    if id < 8 { 7 - id as u8 } else { 23 - id.min(15) as u8 }
}

/// READ(10) or WRITE(10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// To the drive.
    pub writes: bool,
    /// First block.
    pub lba: u64,
    /// How many blocks of 512 bytes.
    pub blocks: u32,
    /// Which of the drive's commands under way it is.
    pub tag: u16,
    /// For whom it is.
    pub errand: Errand,
}

/// A drive, as its bus sees it.
pub trait Target {
    /// The command descriptor block has arrived.
    fn command(&self, command: Command);
    /// How many blocks of 512 bytes it has.
    fn blocks(&self) -> u64;
    /// Commands under way that it takes, at most.
    fn queue_depth(&self) -> u32;
    /// Bytes a second that it moves over its bus, at most.
    fn rate(&self) -> u64;
    /// Whether it keeps the bus after the command, because its data are there. Asked before [`Target::command`]; it
    /// then comes back with a reselection, which costs nothing, and until then
    /// nobody else has the bus. It must not come back for another command before: it would wait for itself.
    fn stays_connected(&self, _command: &Command) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_win_from_7_to_0_and_then_from_15_to_8() {
        let mut ids: Vec<usize> = (0..IDS_MAX).collect();
        ids.sort_by_key(|&id| priority(id));
        assert_eq!(ids, [7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8]);
    }
}
