//! Disk read: words fill half the buffer while the other half goes to memory in one PCI burst.
//!
//! Regular bursts are booked as a train: a car on the buffer's port, back to back, and one on PCI, a half behind. What
//! memory stops within a half goes on in another burst.

use std::pin::pin;

use hopscope_kernel::{Burst, Car, CarState, Grant, Time, join, led};

use super::{BUFFER_BUSY, BUFFER_FULL, CHANNEL_SWITCH, Channel, FILL, HOLD, HOLD_AGAIN, IdeBridge, RESUME, SwitchAt};
use crate::bus::ide_cable::IdeCable;
use crate::bus::pci::{Course, Phase};
use crate::protocols::pci::{ARBITRATION, Command, DATA, Transaction};

/// A half of the buffer and where its bytes go; the last one of a transfer may be a part of one.
#[derive(Clone, Copy)]
struct Half {
    address: u32,
    bytes: u32,
}

impl Half {
    fn transaction(self) -> Transaction {
        let Half { address, bytes } = self;
        Transaction { command: Command::MemoryWriteInvalidate, address, bytes, carries: &DATA }
    }
}

impl IdeBridge {
    /// Moves `bytes` from the cable to memory at `address`.
    pub(super) async fn to_memory(&self, channel: &Channel, cable: &IdeCable, address: u32, bytes: u32) {
        let size = self.spec.half_bytes;
        let (halves, wholes) = (bytes.div_ceil(size), bytes / size);
        let half = |index: u32| Half { address: address + index * size, bytes: size.min(bytes - index * size) };
        let word = self.word_in(cable);
        let fill_span = |half: Half| word * u64::from(half.bytes / 2);
        // Every whole half goes like the first where memory takes it in one burst, and answers them all alike.
        let first = half(0).transaction();
        let course = self.pci.course(&first, self.sim.now());
        let regular = first.bytes == size && course.bytes == size && self.pci.alike(&first);
        let drain = course.whole();
        let drain_span = drain.iter().fold(Time::ZERO, |sum, phase| sum + phase.1);
        let until_edge = self.pci.clocks(1);
        let in_time = self.host.hold_acknowledge() + until_edge + drain_span < fill_span(half(0));
        self.fill(channel, cable, fill_span(half(0))).await;
        let mut filled = 1;
        while filled < halves {
            // In a train every half is drained within the next one's fill, and no word waits.
            let ours = self.buffer.last_user.get() == Some(channel.number) && filled < wholes;
            let full = half(filled - 1);
            let free = || {
                let now = self.sim.now();
                self.buffer.port.is_free_at(now) && self.pci.lane().is_free_at(now + self.host.hold_acknowledge())
            };
            if ours && regular && in_time && cable.words_ended() == Some(self.sim.now()) && free() {
                let span = fill_span(full);
                filled += self.fill_regularly(channel, cable, (full, &drain), (wholes - filled).into(), span).await;
            } else {
                // Where they are, and not by value: the join would keep a copy of them.
                let fill = pin!(self.fill(channel, cable, fill_span(half(filled))));
                let drain = pin!(self.drain(full, regular.then_some(course)));
                join(&self.sim, fill, drain).await;
                filled += 1;
            }
        }
        self.drain(half(halves - 1), None).await;
    }

    /// Fills up to `halves` halves, each while the half before it drains; returns how many. The half before
    /// the first has been filled and not drained; the last one has too.
    async fn fill_regularly(
        &self,
        channel: &Channel,
        cable: &IdeCable,
        (full, drain_plan): (Half, &[Phase; 4]),
        halves: u64,
        span: Time,
    ) -> u32 {
        let (sim, port) = (&self.sim, &self.buffer.port);
        let begin = sim.now();
        let offset = self.host.hold_acknowledge();
        let (fill_plan, lead) = ([(&FILL, span)], [self.hold()]);
        let car = |lane, reason, offset, lead, plan| Car { lane, priority: 0, reason, offset, lead, plan };
        let fills = car(port, &BUFFER_BUSY, Time::ZERO, &[], &fill_plan[..]);
        let drains = car(self.pci.lane(), &ARBITRATION, offset, &lead[..], &drain_plan[..]);
        let journey = sim.train(halves, begin, span, &[fills, drains]).await;
        let [Some(fills), Some(drains), _] = journey.cars else { unreachable!("two cars went in") };
        let filled = fills.done;
        if filled > 0 {
            cable.words(begin, begin + span * filled);
        }
        if filled == halves {
            return halves as u32;
        }
        self.account_halves(&fills, drains.done);
        // Its half was full when the fill under way began.
        let drain = async {
            if drains.done == filled {
                let full = Half { address: full.address + full.bytes * filled as u32, ..full };
                let course = self.pci.course(&full.transaction(), sim.now());
                self.drain_from(drains.next, begin + span * filled + offset, full, course).await;
            }
        };
        let fill = async {
            match fills.next {
                Burst::UnderWay(burst) => {
                    let start = begin + span * filled;
                    burst.finish().await;
                    cable.words(start, start + span);
                }
                Burst::Requested(request) => {
                    let grant = request.await;
                    self.fill_granted(channel, cable, span, &grant).await;
                }
                Burst::Ahead => self.fill(channel, cable, span).await,
            }
        };
        let (fill, drain) = (pin!(fill), pin!(drain));
        join(sim, fill, drain).await;
        filled as u32 + 1
    }

    /// Takes the halves that a cut train holds: the one being filled, and the one not drained yet. Before the
    /// train one half was held: filled, and not drained.
    fn account_halves(&self, fills: &CarState<'_>, drained: u64) {
        let filling = usize::from(matches!(fills.next, Burst::UnderWay(_)));
        let undrained = usize::from(drained == fills.done);
        match filling + undrained {
            0 => self.free_half(),
            2 => {
                let half = self.buffer.halves.try_take();
                debug_assert!(half, "the other channel holds no half while this one's train runs");
            }
            _ => {}
        }
    }

    /// Fills one half from the cable.
    async fn fill(&self, channel: &Channel, cable: &IdeCable, span: Time) {
        let grant = self.buffer.port.acquire(&BUFFER_BUSY).await;
        self.fill_granted(channel, cable, span, &grant).await;
    }

    async fn fill_granted(&self, channel: &Channel, cable: &IdeCable, span: Time, grant: &Grant<'_>) {
        self.buffer.halves.take(&BUFFER_FULL).await;
        let switch = self.turn_to(channel);
        let paused = switch > Time::ZERO || cable.words_ended().is_some_and(|ended| ended < self.sim.now());
        // ATA/ATAPI-4, 9.13.3: a paused sender strobes again within tRFS of DMARDY#.
        let resume = if paused { self.buffer.port.paced(cable.ready_to_final_strobe()) } else { Time::ZERO };
        grant.hold_plan([(&CHANNEL_SWITCH, switch), (&RESUME, resume), (&FILL, span)]).await;
        let end = self.sim.now();
        if paused {
            cable.was_ready_again(resume + span);
        }
        cable.words(end - span, end);
    }

    /// Turns the buffer to this channel; returns the dead time that it costs.
    pub(super) fn turn_to(&self, channel: &Channel) -> Time {
        let before = self.buffer.last_user.replace(Some(channel.number));
        let other = before.is_some_and(|number| number != channel.number);
        if other && self.spec.channel_switch_at == SwitchAt::Burst { self.channel_switch() } else { Time::ZERO }
    }

    /// The half that is full now goes to memory, as `course` says where it is known.
    async fn drain(&self, half: Half, course: Option<Course>) {
        let course = course.unwrap_or_else(|| self.pci.course(&half.transaction(), self.sim.now()));
        self.drain_from(Burst::Ahead, self.sim.now() + self.host.hold_acknowledge(), half, course).await;
    }

    /// One half goes to memory, from wherever its first burst is, which is requested at `request`.
    async fn drain_from(&self, burst: Burst<'_>, request: Time, half: Half, course: Course) {
        match burst {
            Burst::UnderWay(burst) => burst.finish().await,
            Burst::Requested(request) => request.await.hold_plan(course.whole()).await,
            Burst::Ahead => {
                self.sim.wait_until(request.max(self.sim.now())).await;
                led(&[self.hold()], request);
                self.pci.lane().acquire(&ARBITRATION).await.hold_plan(course.whole()).await;
            }
        }
        let (mut done, mut moved) = (course.bytes, course.bytes);
        // What nobody claims goes nowhere.
        while done < half.bytes && moved > 0 {
            self.buffer.port.delay(&HOLD_AGAIN, self.own_clocks(self.spec.hold_again)).await;
            self.host.arbiter().delay(&HOLD, self.host.hold_acknowledge()).await;
            let rest = Half { address: half.address + done, bytes: half.bytes - done }.transaction();
            let ongoing = self.pci.transact(&rest).await;
            moved = ongoing.bytes();
            done += moved;
            ongoing.end().await;
        }
        self.free_half();
    }

    pub(super) fn free_half(&self) {
        self.buffer.halves.give();
    }
}
