//! An IDE cable: two drives, one command at a time, register accesses, words of programmed I/O, bursts of multiword and
//! Ultra DMA. ATA/ATAPI-4, annexes.
//!
//! The cable is asked by the bridge that drives it; what crosses it is recorded as phases: words, pauses,
//! burst start and end. A pause that a new word ends at once is not one. Each drive has a mode of its own.
//!
//! Not modelled: signal integrity, CRC errors, termination by the device in mid-transfer, ATAPI packets, set-up and hold
//! around a burst of multiword DMA (0 and 5 to 20 ns), IORDY, by which a drive stretches a cycle.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use hopscope_declare::Spec;
use hopscope_kernel::{Errand, Label, Lane, Queue, Sim, Time, Tokens};

use crate::protocols::ide::{
    ACCESSED, Access, BURST_END, BURST_START, INITIATION, INTRQ, IdeDrive, MOVES, Moves, PAUSE, PIO, READY_AGAIN,
    Register, Strobes, TERMINATION, TransferMode, WORDS_IN, WORDS_OUT, WRITTEN, packed_times,
};

/// Timing of one Ultra DMA mode: ATA/ATAPI-4, table "Ultra DMA data burst timing".
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Mode {
    /// Typical time from one strobe edge to the next, two bytes each.
    #[time("word")]
    pub word: Time,
    /// tCYC: from one strobe to the next, at least.
    #[time("t_cyc")]
    pub word_min: Time,
    /// tENV: from DMACK# to STOP and HDMARDY#.
    #[time("t_env")]
    pub envelope: Time,
    /// tFS: to the first strobe of a burst.
    #[time("t_fs")]
    pub first_strobe: Time,
    /// tRFS: between DMARDY# and the strobes that answer it.
    #[time("t_rfs")]
    pub ready_to_final_strobe: Time,
    /// tRP: from DMARDY# negated to STOP.
    #[time("t_rp")]
    pub ready_to_pause: Time,
    /// tSS: from the last strobe to the end of the burst.
    #[time("t_ss")]
    pub strobe_to_stop: Time,
    /// tLI: one side answers the other.
    #[time("t_li")]
    pub interlock: Time,
    /// tMLI: interlock before the CRC is sent.
    #[time("t_mli")]
    pub interlock_min: Time,
    /// tACK: set-up and hold around DMACK#.
    #[time("t_ack")]
    pub acknowledge: Time,
}

/// Timing of one mode at the data port.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Cycle {
    /// t0: the shortest cycle of a word.
    #[time("cycle")]
    pub cycle: Time,
}

/// The cable's data sheet.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// One register access.
    #[time("register_access")]
    pub register_access: Time,
    /// PIO modes, from 0.
    #[rows("pio.rows")]
    pub pio: Vec<Cycle>,
    /// Multiword DMA modes, from 0.
    #[rows("multiword_dma.rows")]
    pub multiword_dma: Vec<Cycle>,
    /// Ultra DMA modes, from 0.
    #[rows("ultra_dma.rows")]
    pub modes: Vec<Mode>,
}

/// A drive and its name in the system. The drive knows the cable, so that the cable must not own it.
type NamedDrive = (String, Weak<dyn IdeDrive>);

/// A cable.
pub struct IdeCable {
    sim: Sim,
    spec: Spec,
    lane: Lane,
    drives: RefCell<[Option<NamedDrive>; 2]>,
    selected: Cell<usize>,
    /// The best mode that the controller has.
    best_mode: Cell<usize>,
    /// The register access under way: its address, and when it ends.
    register_access: Cell<Option<(u32, Time)>>,
    /// When the last Ultra DMA burst has ended, with its CRC.
    ends: Cell<Time>,
    /// Bytes that the selected drive offers to send, or to take.
    offers: Queue<u32>,
    /// INTRQ.
    interrupts: Tokens,
    /// The words that crossed without a pause, and their phase.
    words: Cell<Option<(Time, Time)>>,
    moving: Cell<&'static Label>,
}

/// Bytes of a word.
const WORD_BYTES: u64 = 2;

impl IdeCable {
    /// A cable named `name`.
    pub fn new(sim: &Sim, name: &str, spec: Spec) -> Rc<IdeCable> {
        Rc::new(IdeCable {
            sim: sim.clone(),
            spec,
            lane: sim.lane(name, None),
            drives: RefCell::new([None, None]),
            selected: Cell::new(0),
            best_mode: Cell::new(usize::MAX),
            register_access: Cell::new(None),
            ends: Cell::new(Time::ZERO),
            offers: Queue::new(sim, 1_024),
            interrupts: Tokens::none(sim, 4),
            words: Cell::new(None),
            moving: Cell::new(&WORDS_IN[0]),
        })
    }

    /// Connects a drive as drive 0 or 1.
    pub fn attach(&self, position: usize, name: &str, drive: Weak<dyn IdeDrive>) {
        self.drives.borrow_mut()[position] = Some((name.to_string(), drive));
    }

    /// The drives by position, with their names.
    pub fn drives(&self) -> Vec<(usize, String, Rc<dyn IdeDrive>)> {
        let drives = self.drives.borrow();
        let named = drives.iter().enumerate().filter_map(|(position, drive)| Some((position, drive.as_ref()?)));
        named.filter_map(|(position, (name, drive))| Some((position, name.clone(), drive.upgrade()?))).collect()
    }

    fn selected(&self) -> Option<Rc<dyn IdeDrive>> {
        self.drives.borrow()[self.selected.get()].as_ref()?.1.upgrade()
    }

    /// The controller has no better Ultra DMA mode than this: drives are set to it at most.
    pub fn limit_mode(&self, mode: usize) {
        self.best_mode.set(mode);
    }

    /// The mode that the selected drive was set to: none that controller and cable do not carry.
    pub fn transfer_mode(&self) -> TransferMode {
        match self.selected().map_or(TransferMode::Pio(0), |drive| drive.transfer_mode()) {
            TransferMode::UltraDma(mode) => {
                TransferMode::UltraDma(mode.min(self.best_mode.get()).min(self.spec.modes.len() - 1))
            }
            other => other,
        }
    }

    /// Ultra DMA timing of the selected drive, where it was set to such a mode.
    fn ultra_dma(&self) -> Option<&Mode> {
        let TransferMode::UltraDma(mode) = self.transfer_mode() else { return None };
        self.spec.modes.get(mode)
    }

    /// Time of a word that the drive strobes, where it does.
    pub fn strobed_by_drive(&self) -> Option<Time> {
        Some(self.lane.paced(self.ultra_dma()?.word))
    }

    /// tRFS of a drive that strobes: a paused one begins again that long after DMARDY#.
    pub fn ready_to_final_strobe(&self) -> Time {
        self.ultra_dma().map_or(Time::ZERO, |mode| mode.ready_to_final_strobe)
    }

    /// Time of a word that the bridge strobes with every so many clocks of `clock`, or as many as the mode needs.
    pub fn word_of(&self, clocks: u64, clock: Time) -> Time {
        let needed = match self.transfer_mode() {
            TransferMode::UltraDma(_) => {
                self.ultra_dma().map_or(0, |mode| mode.word_min.as_ps().div_ceil(clock.as_ps()))
            }
            // To the nearest clock: a bus that runs at 33.5 MHz is programmed like one of 33.
            TransferMode::Pio(mode) => nearest(self.spec.pio.get(mode), clock),
            TransferMode::MultiwordDma(mode) => nearest(self.spec.multiword_dma.get(mode), clock),
        };
        self.lane.paced(clock) * clocks.max(needed)
    }

    /// Whether the cable carries a mode; if not, which ones of its kind it carries.
    pub fn carries(&self, mode: TransferMode) -> Result<(), String> {
        let (kind, mode, modes) = match mode {
            TransferMode::Pio(mode) => ("PIO", mode, self.spec.pio.len()),
            TransferMode::MultiwordDma(mode) => ("multiword DMA", mode, self.spec.multiword_dma.len()),
            TransferMode::UltraDma(mode) => ("Ultra DMA", mode, self.spec.modes.len()),
        };
        match modes {
            _ if mode < modes => Ok(()),
            0 => Err(format!("the cable carries no {kind} modes")),
            _ => Err(format!("the cable carries {kind} modes 0 to {}", modes - 1)),
        }
    }

    /// Starts an access to the register at `address`, or goes on with the one that was started before;
    /// returns when it ends.
    pub fn access(&self, address: u32) -> Time {
        if let Some((started, end)) = self.register_access.get()
            && started == address
        {
            return end;
        }
        // A burst that has not ended keeps the registers from whoever asks.
        let end = self.sim.now().max(self.ends.get()) + self.lane.paced(self.spec.register_access);
        self.register_access.set(Some((address, end)));
        end
    }

    /// The access reaches its initiator at `end`, with the next clock of the bridge.
    pub fn accessed(&self, access: Access, end: Time) {
        self.lane.carried(&ACCESSED, access.packed());
        if let Some((_, ready)) = self.register_access.take() {
            let span = self.lane.paced(self.spec.register_access);
            self.lane.was_in_until(&PIO, ready.saturating_sub(span), end);
        }
    }

    /// A register access of an engine that waits for its end.
    pub async fn register_access(&self, access: Access) {
        self.lane.carried(&ACCESSED, access.packed());
        self.lane.spend(&PIO, self.lane.paced(self.spec.register_access)).await;
    }

    /// A register of the selected drive is written for a request.
    pub fn write(&self, register: Register, value: u8, errand: Errand) {
        self.lane.carried(&WRITTEN, u64::from(value));
        if register == Register::DriveHead {
            self.selected.set(usize::from(value >> 4 & 1));
        }
        if let Some(drive) = self.selected() {
            drive.write(register, value, errand);
        }
    }

    /// What the selected drive offers.
    pub fn offers(&self) -> &Queue<u32> {
        &self.offers
    }

    /// The drive asserts INTRQ.
    pub fn interrupt(&self) {
        self.lane.carried(&INTRQ, 1);
        self.interrupts.give();
    }

    /// INTRQ, as the interrupt controller sees it.
    pub fn interrupts(&self) -> &Tokens {
        &self.interrupts
    }

    /// So many bytes have crossed.
    pub fn moved(&self, bytes: u32) {
        if let Some(drive) = self.selected() {
            drive.moved(bytes);
        }
    }

    /// Words follow.
    pub fn moves(&self, moves: Moves) {
        let by_drive = if moves.reads { &WORDS_IN } else { &WORDS_OUT };
        let moving = &by_drive[self.selected.get()];
        self.moving.set(moving);
        self.lane.carries(moving, WORD_BYTES, moves.word);
        self.lane.carried(&MOVES, moves.packed());
        self.words.set(None);
    }

    /// Burst initiation: ATA/ATAPI-4, 9.13.1. Multiword DMA needs none: 9.12. Words follow, each in `word`, from memory
    /// at `address` or into it.
    pub async fn start_burst(&self, reads: bool, address: u32, word: Time) {
        let ultra = self.ultra_dma();
        let mode = if ultra.is_some() { Strobes::Ultra } else { Strobes::Multiword };
        self.moves(Moves { mode, reads, address, word });
        if let Some(mode) = ultra {
            let times = [mode.acknowledge, mode.envelope, Time::ZERO].map(|time| self.lane.paced(time));
            self.lane.carried(&INITIATION, packed_times(times));
            let span = mode.acknowledge + mode.envelope + mode.first_strobe;
            self.lane.spend(&BURST_START, self.lane.paced(span)).await;
        }
    }

    /// Words of programmed I/O crossed, in `count` runs of `span`: the first one from `start` on, one every `pitch`.
    pub fn programmed(&self, start: Time, span: Time, pitch: Time, count: u64) {
        self.lane.was_in_repeatedly(&[(self.moving.get(), span)], start, pitch, count);
    }

    /// The receiver has been ready again for `since`, after a pause that it wanted.
    pub fn was_ready_again(&self, since: Time) {
        self.lane.carried(&READY_AGAIN, since.as_ps());
    }

    /// Words crossed from `start` until `end`; a gap since the words before is a pause.
    pub fn words(&self, start: Time, end: Time) {
        if self.lane.is_drawn() {
            // Who draws the wires cannot wait for the end of a burst.
            if let Some(until) = self.words_ended().filter(|until| *until < start) {
                self.lane.was_in_until(&PAUSE, until, start);
            }
            self.lane.was_in_until(self.moving.get(), start, end);
            return self.words.set(Some((end, end)));
        }
        match self.words.get() {
            Some((since, until)) if until >= start => self.words.set(Some((since, end))),
            before => {
                if let Some((since, until)) = before {
                    self.lane.was_in_until(self.moving.get(), since, until);
                    self.lane.was_in_until(&PAUSE, until, start);
                }
                self.words.set(Some((start, end)));
            }
        }
    }

    /// The same for groups of two runs of words: the first group's runs, one group every `pitch`.
    pub fn words_in_groups(&self, [one, two]: [(Time, Time); 2], pitch: Time, groups: u64) {
        // The first group meets what was before, the second the first. Groups without a pause between join.
        let pause = (one.0 + pitch).saturating_sub(two.1);
        let met = if pause > Time::ZERO && !self.lane.is_drawn() { groups.min(2) } else { groups };
        for group in 0..met {
            for (start, end) in [one, two] {
                self.words(start + pitch * group, end + pitch * group);
            }
        }
        let (Some((since, until)), left @ 1..) = (self.words.get(), groups - met) else { return };
        let (words, run) = (self.moving.get(), until - since);
        let between = (&PAUSE, pause);
        let (second, within) = ((words, one.1 - one.0), (&PAUSE, two.0.saturating_sub(one.1)));
        let joined = two.0 <= one.1;
        let rest = if joined { [(words, Time::ZERO), (&PAUSE, Time::ZERO)] } else { [second, within] };
        self.lane.was_in_repeatedly(&[(words, run), between, rest[0], rest[1]], since, pitch, left);
        self.words.set(Some((since + pitch * left, until + pitch * left)));
    }

    /// When the last word crossed, if any has in this burst.
    pub fn words_ended(&self) -> Option<Time> {
        self.words.get().map(|(_, until)| until)
    }

    /// Burst termination by the host, and CRC: ATA/ATAPI-4, 9.13. A receiver pauses the sender first.
    pub async fn end_burst(&self, receiving: bool) {
        let begin = self.sim.now();
        let mut last_word = begin;
        if let Some((since, until)) = self.words.take() {
            if until > since {
                self.lane.was_in_until(self.moving.get(), since, until);
            }
            last_word = until.max(begin);
            if begin > until {
                self.lane.was_in(&PAUSE, until);
            }
        }
        let Some(mode) = self.ultra_dma() else {
            self.lane.carried(&TERMINATION, 0);
            // The last word still has its time.
            return self.sim.wait_until(last_word).await;
        };
        let stopped = if receiving { mode.ready_to_pause } else { mode.strobe_to_stop };
        let times = [stopped, mode.interlock, mode.interlock_min].map(|time| self.lane.paced(time));
        self.lane.carried(&TERMINATION, packed_times(times));
        let span = self.lane.paced(stopped + mode.interlock + mode.interlock_min + mode.acknowledge);
        self.ends.set(begin + span);
        // It begins with the last strobe, whose word still has its time.
        self.sim.wait(span).await;
        self.lane.was_in(&BURST_END, last_word.min(begin + span));
    }
}

/// Clocks of a cycle, to the nearest one.
fn nearest(mode: Option<&Cycle>, clock: Time) -> u64 {
    mode.map_or(0, |mode| (2 * mode.cycle.as_ps() + clock.as_ps()) / (2 * clock.as_ps()))
}
