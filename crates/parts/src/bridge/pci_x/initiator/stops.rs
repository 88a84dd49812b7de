//! Bursts of a write, one like the other, of one piece each: as a train over the bus.
//!
//! ```text
//!   bus      ▐address response data▸ stop▌ idle ▐address response data▸ stop▌ idle …
//!   link                                 └ through ▐piece▌
//!   memory                                               └ flight ▐piece▌
//! ```
//!
//! A bridge that stops conventional bursts at every cache line has its card ask for the bus as often; and the bursts of
//! some cards are as short by themselves. As long as nobody else uses these lanes, each burst and the piece that it posts
//! are like those before. Of a few short bursts the pieces are posted ahead (`posted`), where there is room for all. Of
//! stopped ones there are more than that, and the train has the lanes to memory, too: pieces that are on their way when
//! it ends are carried on by the bridge's processes. What they do is not recorded as theirs, so all of this is done only
//! where nobody wants records.
//!
//! PCI 2.2, 3.3.3.2.1: disconnect with data.

mod answers;

use hopscope_kernel::{Burst, Car, CarState, Errand, Grant, Label, Time};

use super::Initiator;
use crate::bridge::pci_x::path::{BEHIND, Stage};
use crate::bridge::pci_x::posted::{OnItsWay, Station};
use crate::bus::pci::Phase;
use crate::bus::pci::card::Mode;
use crate::bus::pci::tenure::Ending;
use crate::protocols::pci::{ARBITRATION, DISCONNECT};

/// A train of fewer bursts costs as much as they do by hand.
const BURSTS_MIN: u64 = 3;
/// Pieces of short bursts that are posted ahead, at most.
const SHORT_MAX: u64 = 8;

/// What bursts of one kind have in common, made out once for all that follow.
#[derive(Clone, Copy)]
pub(super) struct Alike {
    /// Clocks before the data, what it moves, and how it ends.
    kind: (u64, (&'static Label, u32), Ending),
    plan: [Phase; 5],
    /// From the address to the last data; then, behind the stop, until the card asks again.
    data: Time,
    idle: Time,
    /// From one to the next.
    pitch: Time,
}

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
    /// The bridge stops them.
    are_stopped: bool,
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

    /// Whether one of them ends what the card wanted.
    fn is_ending(&self, burst: u64) -> bool {
        self.ending.is_some() && burst + 1 == self.count
    }

    /// How one of them ends after its data, and how long the card does not ask then.
    fn ending_of(&self, burst: u64) -> [Time; 2] {
        self.ending.filter(|_| self.is_ending(burst)).unwrap_or([self.stop, self.idle])
    }

    /// How one of them ends whose data have all moved.
    fn how(&self, burst: u64) -> Ending {
        if self.are_stopped && !self.is_ending(burst) { Ending::Disconnect } else { Ending::Done }
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
        let Some(stages) = self.port.stages(each, carries) else { return 0 };
        let alike = self.alike(self.port.write_response(), (carries, each), Ending::Disconnect);
        let mut stops = self.stops_from(&alike, count);
        stops.behind = self.behind(&stops, &stages);
        stops.ending = wanted.is_multiple_of(each).then(|| self.last());
        let all_taken = self.port.takes_all(
            each,
            stops.at_once(stops.until_left()),
            stops.at_once(stops.until_there() - stops.data),
        );
        if !all_taken || !self.bus.is_sure(stops.data) {
            return 0;
        }
        let mut cars = [self.on_bus(&alike.plan); 1 + BEHIND];
        let mut lanes = 1;
        for (stage, (offset, _)) in stages.iter().flatten().zip(stops.behind.iter().flatten()) {
            let Stage { lane, reason, plan, .. } = stage;
            cars[lanes] = Car { lane, priority: 0, reason, offset: *offset, lead: &[], plan };
            lanes += 1;
        }
        self.stops.set(Some(stops));
        let run = self.sim.train(count, stops.start, stops.pitch, &cars).of_the_first(lanes);
        let [bus, behind @ ..] = run.until(stops.until()).await.cars;
        self.stops.set(None);
        let Some(bus) = bus else { return 0 };
        let (posted, under_way) = self.on_the_bus(&stops, bus);
        self.carried_on(&stops, (address, posted), behind, (carries, errand));
        self.rest_of(&stops, (address, posted), under_way, (carries, errand)).await
    }

    /// Moves what goes as short bursts of the card, one like the other, from now on, if anything does; returns how many
    /// bytes.
    pub(super) async fn short(&self, address: u32, bytes: u32, carries: &'static Label, errand: Errand) -> u32 {
        let each = self.spec.burst;
        let count = u64::from(bytes / each).min(SHORT_MAX);
        let whole = [self.port.boundary(), self.port.gathers()].iter().all(|bytes| bytes.is_multiple_of(each));
        if !whole
            || !address.is_multiple_of(each)
            || count < BURSTS_MIN
            || self.sim.is_observed()
            || self.stops.get().is_some()
        {
            return 0;
        }
        let alike = self.alike(self.port.write_response(), (carries, each), Ending::Done);
        let mut stops = self.stops_from(&alike, count);
        stops.ending = Some([stops.stop, stops.idle]);
        if !self.bus.lane().is_free_at(stops.start) {
            return 0;
        }
        let paces = (stops.data_end(0), stops.pitch);
        let Some(ahead) = self.port.post_ahead((address, each), (each, count as u32), (carries, errand), paces) else {
            return 0;
        };
        let (posted, under_way) = self.over_the_bus(&stops, &alike.plan).await;
        ahead.end(posted as u32 * each);
        self.rest_of(&stops, (address, posted), under_way, (carries, errand)).await
    }

    /// Has the bus, and nothing else, go through bursts of such phases; what has become of them.
    async fn over_the_bus<'a>(&'a self, stops: &Stops, plan: &'a [Phase; 5]) -> (u64, Option<(Grant<'a>, Time)>) {
        self.stops.set(Some(*stops));
        let cars = [self.on_bus(plan)];
        let [bus] = self.sim.train(stops.count, stops.start, stops.pitch, &cars).until(stops.until()).await.cars;
        self.stops.set(None);
        bus.map_or((0, None), |bus| self.on_the_bus(stops, bus))
    }

    /// Bursts of a kind, one like the other. A bus keeps the mode and the clock that it has once bursts cross it.
    fn alike(&self, waits: u64, moved: (&'static Label, u32), how: Ending) -> Alike {
        let kind = (waits, moved, how);
        if let Some(known) = self.known.get().filter(|known| known.kind == kind) {
            return known;
        }
        let plan = self.bus.whole_burst(self.spec.width_bytes, waits, moved, how);
        let [address, attribute, response, data, stop] = plan.map(|phase| phase.1);
        let (data, idle) = (address + attribute + response + data, self.idle_behind(how));
        let alike = Alike { kind, plan, data, idle, pitch: (data + stop + idle).edge(self.bus.clocks(1)) };
        self.known.set(Some(alike));
        alike
    }

    /// After the data of a burst that nobody stops: until the bus is idle, and until the card asks again.
    fn last(&self) -> [Time; 2] {
        [self.bus.ends(Ending::Done).1, self.idle_behind(Ending::Done)]
    }

    /// What a train does on the bus.
    fn on_bus<'a>(&'a self, plan: &'a [Phase; 5]) -> Car<'a> {
        Car { lane: self.bus.lane(), priority: 0, reason: &ARBITRATION, offset: Time::ZERO, lead: &[], plan }
    }

    /// So many of such bursts, from the next clock on.
    fn stops_from(&self, alike: &Alike, count: u64) -> Stops {
        let Alike { kind: (_, (_, bytes), how), plan, data, idle, pitch } = *alike;
        let (start, stop) = (self.sim.now().edge(self.bus.clocks(1)), plan[4].1);
        let (process, behind) = (self.sim.process_at_work(), [None; BEHIND]);
        Stops {
            start,
            pitch,
            data,
            stop,
            idle,
            count,
            are_stopped: how == Ending::Disconnect,
            ending: None,
            bytes,
            process,
            behind,
        }
    }

    /// When the piece of a burst asks for each lane behind the bridge, and how long it is there.
    fn behind(&self, stops: &Stops, stages: &[Option<Stage<'_>>; BEHIND]) -> [Option<(Time, Time)>; BEHIND] {
        let mut at = stops.data + self.port.latency();
        std::array::from_fn(|lane| {
            let stage = stages[lane].as_ref()?;
            let asked = at;
            at += stage.length() + stage.flight;
            Some((asked, stage.length()))
        })
    }

    /// How many bursts have moved their data, and the one whose data move now, with its beginning.
    fn on_the_bus<'a>(&self, stops: &Stops, bus: CarState<'a>) -> (u64, Option<(Grant<'a>, Time)>) {
        let Burst::UnderWay(burst) = bus.next else { return (bus.done, None) };
        let now = self.sim.now();
        let (Some(grant), begun) = burst.take_over() else { return (bus.done, None) };
        if begun + stops.data > now {
            return (bus.done, Some((grant, begun)));
        }
        let [end, _] = stops.ending_of(bus.done);
        grant.leave([(&DISCONNECT, begun + stops.data + end - now)]);
        (bus.done + 1, None)
    }

    /// Goes on by hand with the burst that is under way, if one is; returns how many bytes have moved with it and before.
    async fn rest_of(
        &self,
        stops: &Stops,
        (address, posted): (u32, u64),
        under_way: Option<(Grant<'_>, Time)>,
        (carries, errand): (&'static Label, Errand),
    ) -> u32 {
        if posted > 0 {
            self.not_before.set(stops.next_request(posted));
        }
        let before = posted as u32 * stops.bytes;
        let Some((grant, begun)) = under_way else { return before };
        let (at, tenure) = (address.wrapping_add(before), self.bus.resumed(grant, begun, self.spec.width_bytes));
        self.port.reserve(stops.bytes);
        let moved = tenure.go_on(begun, self.port.write_response(), at, stops.bytes).await;
        self.port.release(stops.bytes - moved);
        self.port.post(at, moved, carries, errand);
        self.ended(tenure, if moved < stops.bytes { Ending::Done } else { stops.how(posted) });
        before + moved
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
