//! An ATA channel of a card: a cable of its own, and the engine that carries commands over it, one at a time.
//!
//! ```text
//!   begin ─▶ task file, register by register ─▶ the drive works
//!            engine: DMARQ ─▶ burst over the cable ◀─▶ FIFO ◀─▶ Exchange: next, moved ◀─▶ the card's memory
//!                    … INTRQ ─▶ status read ─▶ next: None
//! ```
//!
//! Whoever begins a command carries its data between the FIFO and the card's memory: a process of the card's firmware.
//! The engine moves them over the cable meanwhile, and pauses where its FIFO is full or empty.
//!
//! Not modelled: a second drive on the cable, commands that overlap or are queued in the drive, programmed I/O of data,
//! CRC errors, resets, sectors beyond 28 bits of address.

use std::cell::OnceCell;
use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Errand, Label, Lane, Queue, Sim, Time, Tokens};

use crate::bus::ide_cable::IdeCable;
use crate::controller::fifo::Fifo;
use crate::protocols::ide::{DRIVE_NOT_READY, READ_DMA, Register, SECTOR_BYTES, WRITE_DMA};

static NO_COMMAND: Label = Label::reason("no command for the channel");
static CHANNEL_BUSY: Label = Label::reason("another command on the channel");
static AT_WORK: Label = Label::reason("drive and channel at work");
static NO_INTERRUPT: Label = Label::reason("no interrupt from the drive");
static FIFO_FULL: Label = Label::reason("FIFO of the channel full");
static FIFO_EMPTY: Label = Label::reason("FIFO of the channel empty");
static MOVES: Label = Label::through("data between cable and FIFO");

/// ATA/ATAPI-4, 8.25: a sector count of a byte, of which 0 means 256.
pub const SECTORS_MAX: u64 = 256;
/// ATA/ATAPI-4, 6.2: addresses of 28 bits.
const ADDRESSES: u64 = 1 << 28;

/// A channel's data sheet.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Its FIFO.
    #[nested]
    fifo: Fifo,
    /// Pieces that the FIFO holds.
    #[given((fifo.bytes / fifo.piece) as usize)]
    pieces: usize,
    /// The clock by which a channel strobes.
    #[period("channel.clock")]
    clock: Time,
    /// The best Ultra DMA mode that the channel has.
    #[choice(
        "channel.transfer_mode",
        "ultra-dma-0" => 0,
        "ultra-dma-1" => 1,
        "ultra-dma-2" => 2,
        "ultra-dma-3" => 3,
        "ultra-dma-4" => 4,
        "ultra-dma-5" => 5
    )]
    mode: usize,
}

/// What the engine says to whoever has the command.
enum Step {
    /// So many bytes are in the FIFO (a read), or there is room for them (a write).
    Data(u32),
    /// The drive has interrupted, its status has been read.
    Ended,
}

/// What the engine is to do.
struct Started {
    writes: bool,
    bytes: u32,
    errand: Errand,
}

/// A channel.
pub struct AtaChannel {
    sim: Sim,
    spec: Spec,
    lane: Lane,
    cable: OnceCell<Rc<IdeCable>>,
    started: Queue<Started>,
    steps: Queue<Step>,
    /// Pieces that have left the FIFO (a read), or are in it (a write).
    moved: Tokens,
    /// Its one command.
    free: Tokens,
}

impl AtaChannel {
    /// A channel without a cable yet.
    pub fn new(sim: &Sim, name: &str, spec: Spec) -> Rc<AtaChannel> {
        let free = Tokens::full(sim, 1);
        let channel = Rc::new(AtaChannel {
            sim: sim.clone(),
            lane: sim.lane(name, None),
            cable: OnceCell::new(),
            started: Queue::new(sim, 1),
            steps: Queue::new(sim, usize::MAX),
            moved: Tokens::none(sim, spec.pieces),
            free,
            spec,
        });
        let running = channel.clone();
        sim.process(&format!("{name}.engine"), async move { running.run_engine().await });
        channel
    }

    /// Puts a cable at the channel.
    pub fn attach(&self, cable: &Rc<IdeCable>) {
        cable.limit_mode(self.spec.mode);
        let _ = self.cable.set(cable.clone());
    }

    /// The drives of its cable: number, name and sectors. To be asked when the machine is complete.
    pub fn drives(&self) -> Vec<(usize, String, u64)> {
        let drives = self.cable.get().into_iter().flat_map(|cable| cable.drives());
        drives.map(|(number, name, drive)| (number, name, drive.sectors().min(ADDRESSES))).collect()
    }

    /// The name of a drive that is set to programmed I/O.
    pub fn programmed(&self) -> Option<String> {
        let drives = self.cable.get().into_iter().flat_map(|cable| cable.drives());
        drives.into_iter().find(|(.., drive)| drive.transfer_mode().is_programmed()).map(|(_, name, _)| name)
    }

    fn there(&self) -> &Rc<IdeCable> {
        self.cable.get().expect("a channel without a cable has no drive")
    }

    /// Writes a command to a drive's task file for a request, as soon as the channel has no other.
    pub async fn begin(&self, drive: usize, writes: bool, lba: u64, sectors: u32, errand: Errand) -> Exchange<'_> {
        self.free.take(&CHANNEL_BUSY).await;
        let (cable, byte) = (self.there(), |shift: u32| (lba >> shift) as u8);
        // ATA/ATAPI-4, 7.6: bits 7 and 5 are obsolete and set; bit 6 is LBA, bit 4 the drive.
        let head = 0xE0 | (drive as u8 & 1) << 4 | (lba >> 24) as u8 & 0x0F;
        let task_file = [
            (Register::DriveHead, head),
            (Register::SectorCount, sectors as u8),
            (Register::LbaLow, byte(0)),
            (Register::LbaMid, byte(8)),
            (Register::LbaHigh, byte(16)),
            (Register::Command, if writes { WRITE_DMA } else { READ_DMA }),
        ];
        for (register, value) in task_file {
            cable.register_access(register.access(true)).await;
            let handed = if register == Register::Command { self.sim.pass_on(errand) } else { errand };
            cable.write(register, value, handed);
        }
        let errand = self.sim.pass_on(errand);
        let started = Started { writes, bytes: sectors * SECTOR_BYTES, errand };
        self.started.put_now(started);
        Exchange { channel: self }
    }

    async fn run_engine(&self) {
        loop {
            let Started { writes, bytes, errand } = self.started.take(&NO_COMMAND).await;
            self.sim.take_up(errand);
            let cable = self.there();
            // Whoever had the command before has moved its last bytes.
            while self.moved.try_take() {}
            if writes {
                self.to_drive(cable, bytes).await;
            } else {
                self.read_drive(cable, bytes).await;
            }
            cable.end_burst(!writes).await;
            cable.interrupts().take(&NO_INTERRUPT).await;
            cable.register_access(Register::Command.access(false)).await;
            self.steps.put_now(Step::Ended);
        }
    }

    /// Bytes of the next piece of what is left.
    fn piece(&self, left: u32) -> u32 {
        left.min(self.spec.fifo.piece)
    }

    /// From the cable into the FIFO, as far as the drive offers it and the FIFO has room.
    async fn read_drive(&self, cable: &IdeCable, bytes: u32) {
        let (mut left, mut room) = (bytes, self.spec.pieces);
        while left > 0 {
            let offered = cable.offers().take(&DRIVE_NOT_READY).await;
            if left == bytes {
                cable.start_burst(true, 0, self.word_in(cable)).await;
            }
            let mut coming = offered;
            while coming > 0 {
                if room == 0 {
                    self.moved.take(&FIFO_FULL).await;
                    room += 1;
                }
                while room < self.spec.pieces && self.moved.try_take() {
                    room += 1;
                }
                let piece = self.piece(coming);
                self.cross(cable, piece, self.word_in(cable)).await;
                self.steps.put_now(Step::Data(piece));
                (room, coming) = (room - 1, coming - piece);
            }
            cable.moved(offered);
            left -= offered;
        }
    }

    /// Time of a word from the drive: it strobes in Ultra DMA, the channel in multiword DMA.
    fn word_in(&self, cable: &IdeCable) -> Time {
        cable.strobed_by_drive().unwrap_or_else(|| cable.word_of(1, self.lane.paced(self.spec.clock)))
    }

    /// From the FIFO to the cable, as far as the drive takes it; the FIFO is filled ahead.
    async fn to_drive(&self, cable: &IdeCable, bytes: u32) {
        let word = cable.word_of(1, self.lane.paced(self.spec.clock));
        let (mut left, mut asked, mut taken, mut here) = (bytes, 0, 0, 0);
        while left > 0 {
            let offered = cable.offers().take(&DRIVE_NOT_READY).await;
            if left == bytes {
                for _ in 0..self.spec.pieces {
                    asked += self.ask(bytes - asked);
                }
                cable.start_burst(false, 0, word).await;
            }
            let mut going = offered;
            while going > 0 {
                if here == 0 {
                    self.moved.take(&FIFO_EMPTY).await;
                    here = self.piece(bytes - taken);
                    taken += here;
                }
                let part = here.min(going);
                self.cross(cable, part, word).await;
                (here, going) = (here - part, going - part);
                if here == 0 {
                    asked += self.ask(bytes - asked);
                }
            }
            cable.moved(offered);
            left -= offered;
        }
    }

    /// Asks for a piece of what has not been asked for; returns its bytes.
    fn ask(&self, left: u32) -> u32 {
        let piece = self.piece(left);
        if piece > 0 {
            self.steps.put_now(Step::Data(piece));
        }
        piece
    }

    /// A piece crosses the cable.
    async fn cross(&self, cable: &IdeCable, bytes: u32, word: Time) {
        let start = self.sim.now();
        self.lane.spend(&MOVES, word * u64::from(bytes / 2)).await;
        cable.words(start, self.sim.now());
    }
}

/// A command under way. Whoever has it asks for what comes next until nothing does.
pub struct Exchange<'a> {
    channel: &'a AtaChannel,
}

impl Exchange<'_> {
    /// The next bytes: that are in the FIFO (a read), or that it has room for (a write). None: the command has ended.
    pub async fn next(&mut self) -> Option<u32> {
        match self.channel.steps.take(&AT_WORK).await {
            Step::Data(bytes) => Some(bytes),
            Step::Ended => {
                self.channel.free.give();
                None
            }
        }
    }

    /// Those bytes have left the FIFO (a read), or are in it (a write).
    pub fn moved(&self) {
        self.channel.moved.give();
    }
}
