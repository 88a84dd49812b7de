//! Bursts of a write that the bridge stops, one like the other: as a train over the bus and over the lanes to memory.
//!
//! ```text
//!   bus      ▐address response data▸ stop▌ idle ▐address response data▸ stop▌ idle …
//!   link                                 └ through ▐piece▌
//!   memory                                               └ flight ▐piece▌
//! ```
//!
//! A bridge that stops conventional bursts at every cache line has its card ask for the bus as often. As long as nobody
//! else uses these lanes, each burst and the piece that it posts are like those before. What a train carries over the
//! link is the work of the bridge's processes, and records would say so: it runs only where nobody wants them. Pieces
//! that are on their way when it ends are carried on by those processes.
//!
//! PCI 2.2, 3.3.3.2.1: disconnect with data.

use hopscope_kernel::{Burst, Car, CarState, Errand, Grant, Label, Time};

use super::Initiator;
use crate::bridge::pci_x::path::{BEHIND, Stage};
use crate::bridge::pci_x::posted::{OnItsWay, Station};
use crate::bus::pci::Phase;
use crate::bus::pci::card::Mode;
use crate::protocols::pci::{ARBITRATION, DISCONNECT};

/// A train of fewer bursts costs as much as they do by hand.
const BURSTS_MIN: u64 = 3;

/// Bursts that follow one another.
#[derive(Clone, Copy)]
pub(super) struct Stops {
    /// When the first of them begins.
    start: Time,
    /// From one to the next.
    pitch: Time,
    /// From the address to the last data, then the stop, then until the card asks again.
    data: Time,
    stop: Time,
    idle: Time,
    count: u64,
    /// The last one is not stopped, for it ends what the card wanted: until the bus is idle, and until the card asks again.
    ending: Option<[Time; 2]>,
    /// Bytes of each.
    bytes: u32,
    /// Whose they are.
    pub(super) process: u16,
    /// Of each lane behind the bridge: from the beginning of a burst until its piece asks for it, and how long it is there.
    behind: [Option<(Time, Time)>; BEHIND],
}

impl Stops {
    /// When the card asks again after so many of them.
    fn next_request(&self, done: u64) -> Time {
        let [end, idle] = self.ending_of(done - 1);
        self.data_end(done - 1) + end + idle
    }

    /// When one of them has moved its data.
    fn data_end(&self, burst: u64) -> Time {
        self.start + self.pitch * burst + self.data
    }

    /// How one of them ends after its data, and how long the card does not ask then.
    fn ending_of(&self, burst: u64) -> [Time; 2] {
        self.ending.filter(|_| burst + 1 == self.count).unwrap_or([self.stop, self.idle])
    }

    /// When the card has something to do: after the data of the last one, if that is all, or as it asks again.
    fn until(&self) -> Time {
        if self.ending.is_some() { self.data_end(self.count - 1) } else { self.next_request(self.count) }
    }

    /// When the card asks again, for somebody who wants to know at `now`; nothing before the first has moved its data.
    /// Whose they are has had its turn of that instant, or has not.
    pub(super) fn not_before(&self, now: Time, has_had_its_turn: bool) -> Option<Time> {
        let since = now.as_ps().checked_sub((self.start + self.data).as_ps())?;
        let ends_now = since.is_multiple_of(self.pitch.as_ps()) && !has_had_its_turn;
        let done = (since / self.pitch.as_ps() + u64::from(!ends_now)).min(self.count);
        (done > 0).then(|| self.next_request(done))
    }

    /// How many of them there are at once of what takes so long of each, at most.
    fn at_once(&self, span: Time) -> u64 {
        span.as_ps().div_ceil(self.pitch.as_ps()) + 1
    }

    /// From the beginning of a burst until its piece has left the buffer, and until it is in memory.
    fn until_left(&self) -> Time {
        self.behind[0].map_or(self.data, |(asked, length)| asked + length)
    }

    fn until_there(&self) -> Time {
        self.behind.iter().flatten().last().map_or(self.data, |(asked, length)| *asked + *length)
    }

    /// Where a piece is at `now` that has come to so many lanes behind the bridge: on the last of them, or on its way to
    /// the next.
    fn whereabouts(&self, piece: u64, come_to: usize, now: Time) -> OnItsWay {
        let asked = |lane: usize| {
            self.behind
                .get(lane)
                .copied()
                .flatten()
                .map(|(asked, length)| (self.start + self.pitch * piece + asked, length))
        };
        let there = come_to.checked_sub(1).and_then(asked).map(|(asked, length)| asked + length);
        match there {
            Some(over) if over > now && come_to == 1 => OnItsWay { at: Station::Leaving, over },
            Some(over) if over > now => OnItsWay { at: Station::Arriving, over },
            Some(_) => OnItsWay { at: Station::Flight, over: asked(come_to).map_or(now, |(asked, _)| asked) },
            None => OnItsWay { at: Station::Through, over: asked(0).map_or(now, |(asked, _)| asked) },
        }
    }
}

impl Initiator {
    /// Moves what goes as bursts that are stopped one like the other, from now on, if anything does; returns how many bytes.
    pub(super) async fn stopped(&self, address: u32, bytes: u32, carries: &'static Label, errand: Errand) -> u32 {
        let each = self.port.boundary();
        let wanted = self.burst(address, bytes, self.spec.burst);
        // What is left of a burst of another length goes by hand.
        let count = u64::from(wanted / each);
        let regular = self.bus.mode() == Mode::Pci && address.is_multiple_of(each) && count >= BURSTS_MIN;
        if !regular || self.sim.is_observed() || self.stops.get().is_some() {
            return 0;
        }
        let stages = self.port.stages(each, carries);
        let plan = self.bus.stopped_burst(self.spec.width_bytes, self.port.write_response(), (carries, each));
        let (Some(stages), Some(plan)) = (stages, plan) else { return 0 };
        let stops = self.stops_from(&plan, &stages, (count, wanted.is_multiple_of(each)), each);
        if !self.port.takes_all(
            each,
            stops.at_once(stops.until_left()),
            stops.at_once(stops.until_there() - stops.data),
        ) {
            return 0;
        }
        let (lane, bus) = (self.bus.lane(), &plan[..]);
        let first = Car { lane, priority: 0, reason: &ARBITRATION, offset: Time::ZERO, lead: &[], plan: bus };
        let mut cars = [first; 1 + BEHIND];
        let mut lanes = 1;
        for (stage, (offset, _)) in stages.iter().flatten().zip(stops.behind.iter().flatten()) {
            let Stage { lane, reason, plan, .. } = stage;
            cars[lanes] = Car { lane, priority: 0, reason, offset: *offset, lead: &[], plan };
            lanes += 1;
        }
        self.stops.set(Some(stops));
        let run = self.sim.train(count, stops.start, stops.pitch, &cars[..lanes]);
        let [bus, behind @ ..] = run.until(stops.until()).await.cars;
        self.stops.set(None);
        let Some(bus) = bus else { return 0 };
        let (posted, under_way) = self.on_the_bus(&stops, bus);
        if posted > 0 {
            self.not_before.set(stops.next_request(posted));
        }
        self.carried_on(&stops, (address, posted), behind, (carries, errand));
        let Some((grant, begun)) = under_way else { return posted as u32 * each };
        self.sim.wait_until(begun + stops.data).await;
        self.port.post(address.wrapping_add(posted as u32 * each), each, carries, errand);
        let [end, idle] = stops.ending_of(posted);
        self.not_before.set(grant.leave([(&DISCONNECT, end)]) + idle);
        (posted as u32 + 1) * each
    }

    /// So many bursts of such phases, from the next clock on.
    fn stops_from(
        &self,
        plan: &[Phase; 4],
        stages: &[Option<Stage<'_>>; BEHIND],
        (count, is_all): (u64, bool),
        bytes: u32,
    ) -> Stops {
        let [address, response, data, stop] = plan.map(|phase| phase.1);
        let (data, clock) = (address + response + data, self.bus.clocks(1));
        let idle = self.bus.clocks_at(&self.lane, self.spec.gap.max(self.spec.retry_idle));
        let start = self.sim.now().edge(clock);
        let pitch = (start + data + stop + idle).edge(clock) - start;
        let mut at = data + self.port.latency();
        let behind = std::array::from_fn(|lane| {
            let stage = stages[lane].as_ref()?;
            let asked = at;
            at += stage.length() + stage.flight;
            Some((asked, stage.length()))
        });
        let ending = is_all.then(|| [self.bus.turnaround(), self.bus.clocks_at(&self.lane, self.spec.gap)]);
        Stops { start, pitch, data, stop, idle, count, ending, bytes, process: self.sim.process_at_work(), behind }
    }

    /// How many bursts have moved their data, and the one whose data move now, with its beginning.
    fn on_the_bus<'a>(&self, stops: &Stops, bus: CarState<'a>) -> (u64, Option<(Grant<'a>, Time)>) {
        let Burst::UnderWay(burst) = bus.next else { return (bus.done, None) };
        let now = self.sim.now();
        let (Some(grant), begun) = burst.take_over() else { return (bus.done, None) };
        if begun + stops.data > now {
            self.port.reserve(stops.bytes);
            return (bus.done, Some((grant, begun)));
        }
        let [end, _] = stops.ending_of(bus.done);
        grant.leave([(&DISCONNECT, begun + stops.data + end - now)]);
        (bus.done + 1, None)
    }

    /// The bridge's processes carry on what has been posted and is not in memory yet.
    fn carried_on<const LANES: usize>(
        &self,
        stops: &Stops,
        (address, posted): (u32, u64),
        behind: [Option<CarState<'_>>; LANES],
        (carries, errand): (&'static Label, Errand),
    ) {
        let now = self.sim.now();
        let in_memory = behind.iter().flatten().last().map_or(posted, |last| last.done);
        // How many have come to each lane. Those that a piece is on go on by themselves.
        let come = behind.map(|lane| {
            let CarState { done, next } = lane?;
            let Burst::UnderWay(piece) = next else { return Some(done) };
            let end = piece.ends_at();
            if let (Some(grant), _) = piece.take_over() {
                grant.leave([(carries, end - now)]);
            }
            Some(done + 1)
        });
        for piece in in_memory..posted {
            let come_to = come.iter().flatten().take_while(|come| **come > piece).count();
            let begun = stops.whereabouts(piece, come_to, now);
            if begun.at <= Station::Leaving {
                self.port.reserve(stops.bytes);
            }
            let address = address.wrapping_add(piece as u32 * stops.bytes);
            self.port.send(address, (stops.bytes, carries), errand, Some(begun));
        }
    }
}
