//! Disk read: words fill half the buffer while the other half goes to memory in one PCI burst.
//!
//! Regular bursts are booked as a train: a car on the buffer's port, back to back, and one on PCI, a half behind. Two
//! channels take turns: while one fills a half, the other's goes to memory. What memory stops within a half goes on in
//! another burst. Where a half drains for longer than it fills, words pause (`to_memory_paused`).

use std::pin::pin;

use hopscope_kernel::{Burst, Car, CarState, During, Grant, Taken, Time, Turn, Turns, join, led};

use super::{BUFFER_BUSY, BUFFER_FULL, CHANNEL_SWITCH, Channel, FILL, HOLD, HOLD_AGAIN, IdeBridge, RESUME};
use crate::bus::ide_cable::IdeCable;
use crate::bus::pci::Course;
use crate::protocols::pci::{ARBITRATION, Command, DATA, Transaction};

/// A half of the buffer and where its bytes go; the last one of a transfer may be a part of one.
#[derive(Clone, Copy)]
pub(super) struct Half {
    pub(super) address: u32,
    pub(super) bytes: u32,
}

impl Half {
    pub(super) fn transaction(self) -> Transaction {
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
        let (course, alike) = self.pci.course_of_each(&first);
        let regular = first.bytes == size && course.bytes == size && alike;
        let drain = course.whole();
        let drain_span = drain.iter().fold(Time::ZERO, |sum, phase| sum + phase.1);
        let until_edge = self.pci.clocks(1);
        let in_time = self.host.hold_acknowledge() + until_edge + drain_span < fill_span(half(0));
        self.fill(channel, cable, fill_span(half(0))).await;
        // What a half costs where the other channel has had the buffer, and this one's words have paused.
        let (switch, resume, span) = (self.switch_each_burst(), self.resume(cable), fill_span(half(0)));
        let turn = [(&CHANNEL_SWITCH, switch), (&RESUME, resume), (&FILL, span)];
        let (lead, offset) = ([self.hold()], self.host.hold_acknowledge());
        let car = |lane, reason, offset, lead, plan| Car { lane, priority: 0, reason, offset, lead, plan };
        let fills = car(&self.buffer.port, &BUFFER_BUSY, Time::ZERO, &[], &turn[..]);
        let cars = [fills, car(self.pci.lane(), &ARBITRATION, offset, &lead[..], &drain[..])];
        let mut filled = 1;
        while filled < halves {
            // In a train every half is drained within the next one's fill, and no word waits.
            let ours = self.buffer.was_used_by(channel) && filled < wholes;
            let full = half(filled - 1);
            let free = || {
                let now = self.sim.now();
                self.buffer.port.is_free_at(now) && self.pci.lane().is_free_at(now + self.host.hold_acknowledge())
            };
            if ours && regular && in_time && cable.words_ended() == Some(self.sim.now()) && free() {
                filled += self.fill_regularly(channel, cable, (full, cars[1]), (wholes - filled).into(), span).await;
                continue;
            }
            let pitch = || self.paused_pitch(cable, wholes - filled, (span, drain_span));
            if ours
                && regular
                && let Some(pitch) = pitch().filter(|_| free())
            {
                let pace = (span, pitch);
                filled += pin!(self.fill_with_pauses(channel, cable, (full, cars[1]), wholes - filled, pace)).await;
                continue;
            }
            let left = if regular && self.go_the_same_way() { wholes.saturating_sub(filled) } else { 0 };
            let mut turns = self.sim.turns(left.into(), During::OthersTurn, &cars);
            let (taken, held) = if turns.begin() {
                (pin!(turns).await.taken(), 1)
            } else {
                // Where they are, and not by value: the join would keep a copy of them.
                let fill = pin!(self.fill_in_turn(channel, cable, fill_span(half(filled)), turns));
                let drain = pin!(self.drain(full, regular.then_some(course)));
                (join(&self.sim, fill, drain).await.0, 0)
            };
            filled += match taken {
                Some(taken) => pin!(self.go_on_filling(channel, cable, (full, span), taken, held)).await,
                None => 1,
            };
        }
        self.drain(half(halves - 1), (regular && wholes == halves).then_some(course)).await;
    }

    /// Fills up to `halves` halves, each while the half before it drains; returns how many. The half before
    /// the first has been filled and not drained; the last one has too.
    async fn fill_regularly(
        &self,
        channel: &Channel,
        cable: &IdeCable,
        (full, drains): (Half, Car<'_>),
        halves: u64,
        span: Time,
    ) -> u32 {
        let (begin, offset, plan) = (self.sim.now(), drains.offset, [(&FILL, span)]);
        let (lane, reason) = (&self.buffer.port, &BUFFER_BUSY);
        let fills = Car { lane, priority: 0, reason, offset: Time::ZERO, lead: &[], plan: &plan };
        let journey = self.sim.train(halves, begin, span, &[fills, drains]).await;
        let [Some(fills), Some(drains)] = journey.cars else { unreachable!("two cars went in") };
        let filled = fills.done;
        if filled > 0 {
            cable.words(begin, begin + span * filled);
        }
        if filled == halves {
            return halves as u32;
        }
        // Before the train one half was held: filled, and not drained.
        self.account_halves(&fills, drains.done, 1);
        let full = Half { address: full.address + full.bytes * filled as u32, ..full };
        let draining = (drains.done == filled).then_some((drains.next, full, begin + span * filled + offset));
        self.fill_and_drain(channel, cable, (fills.next, span), draining).await;
        filled as u32 + 1
    }

    /// Goes on behind halves that were filled in turns, before which it held so many; returns how many have been.
    async fn go_on_filling(
        &self,
        channel: &Channel,
        cable: &IdeCable,
        (full, span): (Half, Time),
        Taken { first, pitch, journey }: Taken<'_>,
        held: usize,
    ) -> u32 {
        let [Some(fills), Some(drains), _] = journey.cars else { unreachable!("two cars went in") };
        let (filled, turn) = (fills.done, self.switch_each_burst() + self.resume(cable) + span);
        let end = first + pitch * filled + turn - pitch;
        if filled > 0 {
            cable.words(end - span, end);
            self.buffer.was_given_to(channel, end - turn);
        }
        self.account_halves(&fills, drains.done, held);
        if matches!(fills.next, Burst::Ahead) {
            return filled as u32;
        }
        if matches!(fills.next, Burst::UnderWay(_)) {
            self.buffer.was_given_to(channel, first + pitch * filled);
        }
        let full = Half { address: full.address + full.bytes * filled as u32, ..full };
        let request = end + self.host.hold_acknowledge();
        let draining = (drains.done == filled).then_some((drains.next, full, request));
        self.fill_and_drain(channel, cable, (fills.next, span), draining).await;
        filled as u32 + 1
    }

    /// A half from wherever its fill is, and the one before it from wherever that is on its way to memory.
    pub(super) async fn fill_and_drain(
        &self,
        channel: &Channel,
        cable: &IdeCable,
        (fill, span): (Burst<'_>, Time),
        draining: Option<(Burst<'_>, Half, Time)>,
    ) {
        let sim = &self.sim;
        let drain = async {
            if let Some((burst, full, request)) = draining {
                let course = self.pci.course(&full.transaction(), sim.now());
                self.drain_from(burst, request, full, course).await;
            }
        };
        let fill = async {
            match fill {
                Burst::UnderWay(burst) => {
                    let end = burst.ends_at();
                    burst.finish().await;
                    cable.words(end - span, end);
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
    }

    /// Takes the halves that a cut train holds: the one being filled, and the one not drained yet. So many were held
    /// before.
    pub(super) fn account_halves(&self, fills: &CarState<'_>, drained: u64, held: usize) {
        let filling = usize::from(matches!(fills.next, Burst::UnderWay(_)));
        let undrained = usize::from(drained == fills.done);
        for _ in held..filling + undrained {
            let half = self.buffer.halves.try_take();
            debug_assert!(half, "the other channel holds no half that this one has in its train");
        }
        for _ in filling + undrained..held {
            self.free_half();
        }
    }

    /// Fills one half in a turn of its own, unless turns are taken ahead.
    async fn fill_in_turn<'a>(
        &self,
        channel: &Channel,
        cable: &IdeCable,
        span: Time,
        turns: Turns<'a, '_>,
    ) -> Option<Taken<'a>> {
        match turns.await {
            Turn::Taken(taken) => Some(taken),
            Turn::Granted(grant) => {
                self.fill_granted(channel, cable, span, &grant).await;
                None
            }
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
        let resume = if paused { self.resume(cable) } else { Time::ZERO };
        grant.hold_plan([(&CHANNEL_SWITCH, switch), (&RESUME, resume), (&FILL, span)]).await;
        let end = self.sim.now();
        if paused {
            cable.was_ready_again(resume + span);
        }
        cable.words(end - span, end);
    }

    /// ATA/ATAPI-4, 9.13.3: a paused sender strobes again within tRFS of DMARDY#.
    pub(super) fn resume(&self, cable: &IdeCable) -> Time {
        self.buffer.port.paced(cable.ready_to_final_strobe())
    }

    /// Turns the buffer to this channel; returns the dead time that it costs.
    pub(super) fn turn_to(&self, channel: &Channel) -> Time {
        let before = self.buffer.last_user.replace(Some((channel.number, self.sim.now())));
        if before.is_some_and(|(number, _)| number != channel.number) { self.switch_each_burst() } else { Time::ZERO }
    }

    /// The half that is full now goes to memory, as `course` says where it is known.
    async fn drain(&self, half: Half, course: Option<Course>) {
        let course = course.unwrap_or_else(|| self.pci.course(&half.transaction(), self.sim.now()));
        self.drain_from(Burst::Ahead, self.sim.now() + self.host.hold_acknowledge(), half, course).await;
    }

    /// One half goes to memory, from wherever its first burst is, which is requested at `request`.
    pub(super) async fn drain_from(&self, burst: Burst<'_>, request: Time, half: Half, course: Course) {
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
