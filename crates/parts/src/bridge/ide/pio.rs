//! Programmed I/O: the processor moves every word by an I/O access to the data port (82371AB data sheet, 9.3).
//!
//! ```text
//!   processor |gap|stalled-------------|gap|stalled-------------|gap|…
//!   PCI           |addr wait data|turn|    |addr wait data|turn|
//!   cable                        |word read ahead|         |word read ahead|
//! ```
//!
//! The first read of a sector is the demand read: it waits for its cycles on the cable. Behind each read the bridge reads
//! the next access's words ahead. A write is posted; the next one waits until the words of the one before have left.
//! An access that is not satisfied in time is retried, like any other of the processor.
//!
//! Accesses of a sector that nobody disturbs come at regular times: they are booked as a train, a car on PCI for each
//! attempt of an access.
//!
//! Not modelled: the shutdown latency of two clocks, a data port without its read-ahead and posting, a mix of widths.

use std::cell::Cell;

use hopscope_kernel::{Burst, Car, CarState, Lead, Time, led};

use super::{COMMAND_BLOCKS, Channel, DRIVE_REGISTER, IdeBridge};
use crate::bridge::host::RETRY_IDLE;
use crate::bus::ide_cable::IdeCable;
use crate::bus::pci::Phase;
use crate::cpu::Work;
use crate::protocols::ide::{self, SECTOR_BYTES, Strobes};
use crate::protocols::pci::{ARBITRATION, Answer, Command, PORT_DWORD, PORT_WORD, Ready, Transaction};

/// Offset of the data port in the command block.
pub(super) const DATA_PORT: u32 = 0;
/// Attempts of an access that a train has cars for.
const ATTEMPTS: usize = 3;

/// How the processor moves words: an instruction that repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moves {
    /// Whether words come from the drive.
    pub reads: bool,
    /// Bytes of an access: one word or two.
    pub width_bytes: u32,
    /// From the end of an access to the next one on PCI.
    pub gap: Time,
}

/// The data port of a channel.
#[derive(Default)]
pub(super) struct DataPort {
    reads: Cell<bool>,
    /// Time of an access's words on the cable.
    span: Cell<Time>,
    /// Accesses to come in this sector.
    left: Cell<u64>,
    /// When what the next access reads has come, or what the one before wrote has left. Nothing before the first.
    ready: Cell<Option<Time>>,
}

/// Accesses that nobody disturbs.
struct Regular {
    /// By attempt of an access: its request, counted from the end of the access before, and its phases.
    attempts: Vec<(Time, [Phase; 4])>,
    /// From the end of an access to that of the next one.
    pitch: Time,
}

/// Where an access is.
struct Attempt<'a> {
    burst: Burst<'a>,
    /// When it is requested, where it has not been.
    request: Time,
    /// Whether an attempt before was retried.
    retried: bool,
    /// Where it is under way and will be satisfied: how long it stays on the bus after its data.
    satisfied: Option<Time>,
}

impl IdeBridge {
    /// Moves a sector's words between the data port of a channel and the processor, which is stalled.
    pub async fn move_sector(&self, work: &Work<'_>, channel: usize, moves: Moves) {
        let channel = &self.channels[channel];
        let Some(cable) = channel.cable.borrow().clone() else { return };
        let begin = self.sim.now();
        let word = self.strobe(&cable);
        let mode = Strobes::Programmed { wide: moves.width_bytes > 2 };
        let address = COMMAND_BLOCKS[channel.number] + DATA_PORT;
        cable.moves(ide::Moves { mode, reads: moves.reads, address, word });
        let port = &channel.port;
        port.reads.set(moves.reads);
        port.span.set(word * u64::from(moves.width_bytes / 2));
        port.left.set(u64::from(SECTOR_BYTES / moves.width_bytes));
        port.ready.set(None);
        let gap = work.paced(moves.gap);
        while port.left.get() > 0 {
            match self.regular(channel, moves, gap) {
                Some(regular) => self.move_regularly(channel, &cable, moves, &regular).await,
                None => {
                    let request = self.sim.now() + gap;
                    let first = Attempt { burst: Burst::Ahead, request, retried: false, satisfied: None };
                    self.access(channel, &cable, moves, first).await;
                }
            }
        }
        if let Some(left) = port.ready.get().filter(|_| !moves.reads) {
            // What comes next on the cable waits for what was posted.
            self.sim.wait_until(left.max(self.sim.now())).await;
            cable.programmed(left - port.span.get(), port.span.get(), port.span.get(), 1);
        }
        cable.moved(SECTOR_BYTES);
        work.moved_words_since(begin);
    }

    /// What the data port says to an access whose FRAME# is asserted at `now`.
    pub(super) fn port_answer(&self, channel: &Channel, now: Time) -> Ready {
        let port = &channel.port;
        let waited_for = match (port.ready.get(), port.reads.get()) {
            (None, true) => {
                let come = now + self.own_clocks(self.spec.pio_start_up) + port.span.get();
                port.ready.set(Some(come));
                come
            }
            (ready, _) => ready.unwrap_or(now),
        };
        self.answer_when(waited_for, now)
    }

    /// An access whose data or whose room are there at `ready`.
    fn answer_when(&self, ready: Time, now: Time) -> Ready {
        let clock = self.pci.clocks(1);
        let waits =
            ready.saturating_sub(now + clock).as_ps().div_ceil(clock.as_ps()).max(self.spec.register_first_data);
        if waits < self.spec.retry_after { Ready::After(waits) } else { Ready::Retry(self.spec.retry_after) }
    }

    fn port_access(&self, channel: &Channel, moves: Moves) -> Transaction {
        let command = if moves.reads { Command::IoRead } else { Command::IoWrite };
        let address = COMMAND_BLOCKS[channel.number] + DATA_PORT;
        let carries = if moves.width_bytes > 2 { &PORT_DWORD } else { &PORT_WORD };
        Transaction { command, address, bytes: moves.width_bytes, carries }
    }

    /// An access has been satisfied, whose data phase ended at `taken`.
    fn satisfied(&self, channel: &Channel, cable: &IdeCable, taken: Time) {
        let port = &channel.port;
        let (span, before) = (port.span.get(), port.ready.get());
        if let Some(crossed) = before {
            cable.programmed(crossed - span, span, span, 1);
        }
        port.left.set(port.left.get() - 1);
        let set_up = if before.is_none() { self.own_clocks(self.spec.pio_start_up) } else { Time::ZERO };
        let ahead = !port.reads.get() || port.left.get() > 0;
        port.ready.set(ahead.then(|| taken + set_up + span));
    }

    /// How the accesses to come go when nobody disturbs them, where each goes like the one before.
    fn regular(&self, channel: &Channel, moves: Moves, gap: Time) -> Option<Regular> {
        let (port, now, clock) = (&channel.port, self.sim.now(), self.pci.clocks(1));
        let ready = port.ready.get().filter(|_| port.left.get() > 1 && now.edge(clock) == now)?;
        let access = self.port_access(channel, moves);
        let (mut attempts, mut request) = (Vec::with_capacity(ATTEMPTS), now + gap);
        while attempts.len() < ATTEMPTS {
            let start = request.edge(clock);
            let answer = Answer { ready: self.answer_when(ready, start), wait: &DRIVE_REGISTER, boundary_bytes: 0 };
            let course = self.pci.course_of(&access, Some(answer));
            attempts.push((request - now, course.whole()));
            let taken = start + course.data_after();
            if !course.retry {
                let pitch = taken + course.rest() - now;
                return (ready + pitch == taken + port.span.get()).then_some(Regular { attempts, pitch });
            }
            request = taken + self.host.retry_idle();
        }
        None
    }

    /// Moves as many words as nobody disturbs, and the access that somebody does.
    async fn move_regularly(&self, channel: &Channel, cable: &IdeCable, moves: Moves, regular: &Regular) {
        let (port, begin) = (&channel.port, self.sim.now());
        let Regular { attempts, pitch } = regular;
        let again = [self.retry_lead()];
        let lane = self.pci.lane();
        let cars: [Car<'_>; ATTEMPTS] = std::array::from_fn(|index| {
            let (offset, plan) = &attempts[index.min(attempts.len() - 1)];
            let lead: &[Lead<'_>] = if index > 0 { &again } else { &[] };
            Car { lane, priority: 0, reason: &ARBITRATION, offset: *offset, lead, plan }
        });
        let run = self.sim.train(port.left.get(), begin, *pitch, &cars).of_the_first(attempts.len());
        let journey = run.await;
        let mut states: Vec<CarState<'_>> = journey.cars.into_iter().flatten().collect();
        let done = states.last().map_or(0, |satisfied| satisfied.done);
        let ready = port.ready.get().unwrap_or(begin);
        if done > 0 {
            let span = port.span.get();
            cable.programmed(ready - span, span, *pitch, done);
        }
        port.left.set(port.left.get() - done);
        port.ready.set(Some(ready + *pitch * done));
        if port.left.get() == 0 {
            return;
        }
        // Attempts before this one have been retried.
        let index = states.iter().position(|state| state.done == done).unwrap_or(0);
        let burst = states.swap_remove(index).next;
        let request = begin + *pitch * done + attempts[index].0;
        let rest = attempts[attempts.len() - 1].1[3].1;
        let satisfied = (index + 1 == attempts.len()).then_some(rest);
        self.access(channel, cable, moves, Attempt { burst, request, retried: index > 0, satisfied }).await;
    }

    /// The idle clocks before an access that was retried comes again.
    fn retry_lead(&self) -> Lead<'_> {
        (self.host.arbiter(), &RETRY_IDLE, self.host.retry_idle())
    }

    /// One access, from wherever its first or its next attempt is.
    async fn access(&self, channel: &Channel, cable: &IdeCable, moves: Moves, attempt: Attempt<'_>) {
        let access = self.port_access(channel, moves);
        let Attempt { mut burst, mut request, mut retried, satisfied } = attempt;
        loop {
            let grant = match burst {
                Burst::UnderWay(burst) => {
                    burst.finish().await;
                    if let Some(rest) = satisfied {
                        return self.satisfied(channel, cable, self.sim.now() - rest);
                    }
                    None
                }
                Burst::Requested(requested) => Some(requested.await),
                Burst::Ahead => {
                    self.sim.wait_until(request).await;
                    if retried {
                        led(&[self.retry_lead()], request);
                    }
                    Some(self.pci.lane().acquire(&ARBITRATION).await)
                }
            };
            if let Some(grant) = grant {
                let ongoing = self.pci.transact_granted(grant, &access).await;
                let (retry, taken) = (ongoing.retry(), self.sim.now());
                ongoing.end().await;
                if !retry {
                    return self.satisfied(channel, cable, taken);
                }
            }
            (burst, retried, request) = (Burst::Ahead, true, self.sim.now() + self.host.retry_idle());
        }
    }
}
