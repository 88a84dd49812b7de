//! Disk write: 64 bytes are fetched from memory in two PCI bursts, then sent; the next 64 are asked for when
//! the buffer is empty. Nothing overlaps but the sending of the first half with the fetch of the second.
//!
//! ```text
//!   PCI   |addr wait data|disc|  hold  |addr wait data|                              hold  |addr …
//!   cable                |first strobe|16 words------|pause|16 words------|rerequest|
//! ```
//!
//! Groups of 64 bytes that nobody disturbs are booked as a train: a car on the buffer's port, two on PCI. Whatever a group
//! takes besides, its first burst begins at an edge of the clock: the next one waits as long for its own. Two channels take
//! turns, a group each (`to_drive_in_turn`). A group, and its halves, may have any other length; one that memory answers in
//! more than two bursts goes by hand (`to_drive_in_bursts`).

use std::pin::pin;

use hopscope_kernel::{Burst, Car, CarState, Grant, Journey, Label, Lead, Time, UnderWay, join, led};

use super::{
    BUFFER_BUSY, BUFFER_FULL, CHANNEL_SWITCH, Channel, EMPTY, FETCH, FIRST_STROBE, HALVES, HOLD_AGAIN, IdeBridge,
    REREQUEST,
};
use crate::bus::ide_cable::IdeCable;
use crate::bus::pci::{Course, Ongoing, Phase};
use crate::protocols::pci::{ARBITRATION, Command, DATA, Transaction};

/// The cable waits for the second half of a group.
static SECOND_HALF: Label = Label::reason("second half not fetched yet");

/// One of a group's two bursts, seen from the group.
pub(super) enum Fetch<'a> {
    /// Its data have arrived, and it has left the bus.
    Ended,
    /// It comes, waits or is under way.
    Next(Burst<'a>),
}

impl<'a> Fetch<'a> {
    /// The fetch of group `index`, from a train that was cut in that group.
    pub(super) fn of(state: CarState<'a>, index: u32) -> Fetch<'a> {
        if state.done > u64::from(index) { Fetch::Ended } else { Fetch::Next(state.next) }
    }
}

/// A group that the port has begun to serve.
pub(super) struct Group<'a> {
    pub(super) port: Grant<'a>,
    /// When the buffer began to ask for it.
    pub(super) asked: Time,
    /// That instant, so much later that the first request meets a clock edge: an undisturbed group counts from here.
    pub(super) base: Time,
    pub(super) first: Fetch<'a>,
    pub(super) second: Fetch<'a>,
}

/// The words of a group: first and last strobe of its first half, and how many its second half has.
struct Words {
    start: Time,
    last_strobe: Time,
    second: u64,
}

/// How a group goes when nobody disturbs it, from the instant at which the buffer begins to ask.
pub(super) struct Undisturbed {
    first: Course,
    second: Course,
    first_request: Time,
    first_arrival: Time,
    second_request: Time,
    second_arrival: Time,
    /// From the first half in the buffer to the end of the first burst, where memory goes on past a half.
    early: Time,
    word: Time,
    words: [u64; 2],
    /// First strobe of each half.
    strobes: [Time; 2],
    /// Last strobe: the buffer is empty.
    pub(super) end: Time,
    /// Two bursts are all of it.
    in_two: bool,
}

impl Undisturbed {
    /// Whether the second fetch is over when the buffer is empty.
    fn is_in_time(&self) -> bool {
        self.second_arrival + self.second.rest() <= self.end
    }

    /// From the beginning of a group: first strobe of each half, and where its words end.
    pub(super) fn runs(&self, begin: Time) -> [(Time, Time); 2] {
        [0, 1].map(|half| {
            let start = begin + self.strobes[half];
            (start, start + self.word * self.words[half])
        })
    }
}

/// What a train has of a group that begins to count some time after it has the buffer.
pub(super) struct BookedGroup<'a> {
    /// From the beginning of its turn until the buffer asks for it.
    asked: Time,
    before: Time,
    serve: [Phase; 4],
    fetches: [[Phase; 4]; 2],
    leads: [[Lead<'a>; 2]; 2],
}

impl BookedGroup<'_> {
    /// A car on the buffer's port, two on PCI.
    pub(super) fn cars<'c>(&'c self, bridge: &'c IdeBridge, course: &Undisturbed) -> [Car<'c>; 3] {
        let car = |lane, reason, offset, lead, plan| Car { lane, priority: 0, reason, offset, lead, plan };
        let fetch = |number: usize, request| {
            let (lead, plan) = (&self.leads[number][..], &self.fetches[number][..]);
            car(bridge.pci.lane(), &ARBITRATION, request, lead, plan)
        };
        [
            car(&bridge.buffer.port, &BUFFER_BUSY, Time::ZERO, &[], &self.serve[..]),
            fetch(0, self.asked + course.first_request),
            fetch(1, self.before + course.second_request),
        ]
    }
}

impl IdeBridge {
    /// A group that counts `before` after its turn began, in which the buffer first turns to the channel for `switch`.
    pub(super) fn booked(&self, course: &Undisturbed, switch: Time, before: Time) -> BookedGroup<'_> {
        let (fetched, strobe) = (course.first_arrival - course.early, course.strobes[0]);
        let (fetch, empty) = (before - switch + fetched, course.end - strobe);
        let serve = [(&CHANNEL_SWITCH, switch), (&FETCH, fetch), (&FIRST_STROBE, strobe - fetched), (&EMPTY, empty)];
        let fetches = [course.first.whole(), course.second.whole()];
        BookedGroup { asked: switch, before, serve, fetches, leads: [self.lead_when_empty(), self.lead_again()] }
    }

    /// Moves `bytes` from memory at `address` to the cable.
    pub(super) async fn to_drive(&self, channel: &Channel, cable: &IdeCable, address: u32, bytes: u32) {
        let group_bytes = self.spec.buffer_bytes;
        let mut done = 0;
        // Every whole group goes like the first where memory answers them all alike.
        let mut course = self.undisturbed(cable, address, group_bytes.min(bytes));
        let alike = self.pci.alike(&self.fetch(address, group_bytes));
        while done < bytes {
            let address = address + done;
            let group = group_bytes.min(bytes - done);
            if group < group_bytes || !alike {
                course = self.undisturbed(cable, address, group);
            }
            if !course.in_two {
                self.send_in_bursts(channel, cable, address, group).await;
                done += group;
                continue;
            }
            let whole_groups = if alike { (bytes - done) / group_bytes } else { 0 };
            // Where they are, and not by value: each await would move all that they are.
            done += match pin!(self.send_regularly(channel, cable, address, whole_groups, &course)).await {
                0 => pin!(self.send_in_turn(channel, cable, (address, group), whole_groups, &course)).await,
                groups => groups * group_bytes,
            };
        }
    }

    pub(super) fn fetch(&self, address: u32, bytes: u32) -> Transaction {
        // The bridge hopes for the whole buffer; the memory controller stops it at the cache line.
        Transaction { command: Command::MemoryRead, address, bytes, carries: &DATA }
    }

    /// From an empty buffer to the request of the first fetch of a group.
    fn lead_when_empty(&self) -> [Lead<'_>; 2] {
        [(&self.buffer.port, &REREQUEST, self.own_clocks(self.spec.rerequest_delay)), self.hold()]
    }

    /// From the end of the first fetch to the request of the second.
    fn lead_again(&self) -> [Lead<'_>; 2] {
        [(&self.buffer.port, &HOLD_AGAIN, self.own_clocks(self.spec.hold_again)), self.hold()]
    }

    fn undisturbed(&self, cable: &IdeCable, address: u32, bytes: u32) -> Undisturbed {
        let (pci, acknowledge) = (&self.pci, self.host.hold_acknowledge());
        let now = self.sim.now();
        let word = self.strobe(cable);
        let first = pci.course(&self.fetch(address, bytes), now);
        let second = pci.course(&self.fetch(address + first.bytes, bytes - first.bytes), now);
        let first_request = self.own_clocks(self.spec.rerequest_delay) + acknowledge;
        let first_arrival = first_request + first.data_after();
        let second_request = first_arrival + first.rest() + self.own_clocks(self.spec.hold_again) + acknowledge;
        // The first burst begins at a clock edge, the second at the next one after its request.
        let second_start = first_request + (second_request - first_request).edge(pci.clocks(1));
        let second_arrival = second_start + second.data_after();
        let words = [first.bytes, bytes - first.bytes].map(|bytes| u64::from(bytes / 2));
        let beyond_half = first.bytes.saturating_sub(self.spec.half_bytes);
        let early = pci.clocks(u64::from(beyond_half / pci.width_bytes()));
        let strobe = first_arrival - early + self.own_clocks(self.spec.first_strobe);
        let next_strobe = (strobe + word * words[0]).max(second_arrival);
        let end = if words[1] == 0 { strobe + word * (words[0] - 1) } else { next_strobe + word * (words[1] - 1) };
        Undisturbed {
            first,
            second,
            first_request,
            first_arrival,
            second_request,
            second_arrival,
            early,
            word,
            words,
            strobes: [strobe, next_strobe],
            end,
            in_two: first.bytes + second.bytes == bytes,
        }
    }

    /// From the end of a group that takes so long until one behind it counts, for which the buffer first turns to its channel
    /// for `switch`: its first request meets an edge of the bus's clock, as that of every group does.
    pub(super) fn between_groups(&self, end: Time, switch: Time) -> Time {
        (end + switch).edge(self.pci.clocks(1)) - end
    }

    /// Whether a group that begins now counts after so long, and so do those behind it if nobody disturbs them: all of them
    /// fetch both halves in time.
    pub(super) fn groups_are_alike(&self, course: &Undisturbed, between: Time) -> bool {
        let counts = self.sim.now() + between + course.first_request;
        counts.edge(self.pci.clocks(1)) == counts && course.words[1] > 0 && course.is_in_time()
    }

    /// Sends up to `groups` groups as a train, and the one in which it was cut; returns how many.
    async fn send_regularly(
        &self,
        channel: &Channel,
        cable: &IdeCable,
        address: u32,
        groups: u32,
        course: &Undisturbed,
    ) -> u32 {
        let (sim, port) = (&self.sim, &self.buffer.port);
        let begin = sim.now();
        let ours = self.buffer.was_used_by(channel) && self.buffer.halves.len() == HALVES;
        let between = self.between_groups(course.end, Time::ZERO);
        if groups == 0 || !ours || !self.groups_are_alike(course, between) || !port.is_free_at(begin) {
            return 0;
        }
        let pitch = between + course.end;
        let booked = self.booked(course, Time::ZERO, between);
        let cars = booked.cars(self, course);
        let Journey { cars: [Some(served), Some(firsts), Some(seconds)] } =
            sim.train(u64::from(groups), begin, pitch, &cars).await
        else {
            unreachable!("three cars went in")
        };
        cable.words_in_groups(course.runs(begin + between), pitch, served.done);
        let sent = served.done as u32;
        let Burst::UnderWay(serving) = served.next else {
            // Cut between two groups: the next one asks for the port like any other.
            drop(served.next);
            return sent;
        };
        let (Some(port), asked) = serving.take_over() else { return sent };
        for _ in 0..HALVES {
            let half = self.buffer.halves.try_take();
            debug_assert!(half, "the other channel holds no half while this one's train runs");
        }
        let (first, second) = (Fetch::of(firsts, sent), Fetch::of(seconds, sent));
        let group = Group { port, asked, base: asked + between, first, second };
        let bytes = self.spec.buffer_bytes;
        pin!(self.finish_group(channel, cable, (address + sent * bytes, bytes), course, group)).await;
        sent + 1
    }

    /// Sends a group whose turn it is.
    pub(super) async fn send_group(
        &self,
        channel: &Channel,
        cable: &IdeCable,
        group: (u32, u32),
        course: &Undisturbed,
        port: Grant<'_>,
    ) {
        for _ in 0..HALVES {
            self.buffer.halves.take(&BUFFER_FULL).await;
        }
        let switch = self.turn_to(channel);
        if switch > Time::ZERO {
            port.hold(&CHANNEL_SWITCH, switch).await;
        }
        pin!(self.serve_group(channel, cable, group, course, port)).await;
    }

    /// Sends a group that the buffer has been turned to.
    pub(super) async fn serve_group(
        &self,
        channel: &Channel,
        cable: &IdeCable,
        group: (u32, u32),
        course: &Undisturbed,
        port: Grant<'_>,
    ) {
        // Others want the port, but seldom PCI in the middle of a group: both fetches are booked at once.
        let asked = self.sim.now();
        let request = asked + course.first_request;
        let base = request.edge(self.pci.clocks(1)) - course.first_request;
        let (first, second) = (course.first.whole(), course.second.whole());
        let (empty, again) = (self.lead_when_empty(), self.lead_again());
        let lane = self.pci.lane();
        let car = |offset, lead, plan| Car { lane, priority: 0, reason: &ARBITRATION, offset, lead, plan };
        let second_request = base - asked + course.second_request;
        let cars = [car(course.first_request, &empty[..], &first[..]), car(second_request, &again[..], &second[..])];
        let both = u64::from(course.words[1] > 0 && course.is_in_time());
        let [Some(first), Some(second)] = self.sim.train(both, asked, base - asked + course.end, &cars).await.cars
        else {
            unreachable!("two cars went in")
        };
        let under_way = Group { port, asked, base, first: Fetch::of(first, 0), second: Fetch::of(second, 0) };
        pin!(self.finish_group(channel, cable, group, course, under_way)).await;
    }

    /// Goes on with a group from wherever it is.
    pub(super) async fn finish_group(
        &self,
        channel: &Channel,
        cable: &IdeCable,
        (address, bytes): (u32, u32),
        course: &Undisturbed,
        group: Group<'_>,
    ) {
        let sim = &self.sim;
        let Group { port, asked, base, first, second } = group;
        let first_fetch = self.fetch(address, bytes);
        let first = match first {
            Fetch::Ended => None,
            Fetch::Next(burst) => {
                let (lead, request) = (self.lead_when_empty(), asked + course.first_request);
                Some(pin!(self.until_data(burst, &first_fetch, (&lead, request), course.first.rest())).await)
            }
        };
        let arrived = first.as_ref().map_or(base + course.first_arrival, |(arrived, _)| *arrived);
        let start = arrived - course.early + self.own_clocks(self.spec.first_strobe);
        let last_strobe = start + course.word * (course.words[0] - 1);
        let rest = self.fetch(address + course.first.bytes, bytes - course.first.bytes);
        let words = Words { start, last_strobe, second: course.words[1] };
        let sending = pin!(self.send_words(channel, cable, course.word, words));
        match (first, second) {
            // Nothing goes on beside it any more.
            (None, Fetch::Ended) if rest.bytes > 0 => {
                channel.arrivals.put_now(base + course.second_arrival);
                sending.await;
            }
            (first, second) => {
                let fetching = pin!(async {
                    if let Some((_, first)) = first {
                        first.end().await;
                    }
                    match second {
                        _ if rest.bytes == 0 => {}
                        Fetch::Ended => channel.arrivals.put_now(base + course.second_arrival),
                        Fetch::Next(burst) => {
                            let freed = arrived + course.first.rest();
                            let request = freed + self.own_clocks(self.spec.hold_again) + self.host.hold_acknowledge();
                            let (lead, after) = (self.lead_again(), course.second.rest());
                            let (arrived, second) = pin!(self.until_data(burst, &rest, (&lead, request), after)).await;
                            channel.arrivals.put_now(arrived);
                            second.end().await;
                        }
                    }
                });
                join(sim, sending, fetching).await;
            }
        }
        let fetched = arrived - course.early;
        port.was_in_until(&FETCH, asked, fetched);
        port.was_in_until(&FIRST_STROBE, fetched, start);
        port.was_in(&EMPTY, start);
        for _ in 0..HALVES {
            self.free_half();
        }
    }

    /// The words of a group go over the cable, those of its second half as soon as they have come.
    async fn send_words(&self, channel: &Channel, cable: &IdeCable, word: Time, words: Words) {
        let (sim, Words { start, last_strobe, second }) = (&self.sim, words);
        sim.wait_until(last_strobe.max(sim.now())).await;
        cable.words(start, last_strobe + word);
        if second > 0 {
            let arrived = channel.arrivals.take(&SECOND_HALF).await;
            let start = (last_strobe + word).max(arrived);
            let last = start + word * (second - 1);
            sim.wait_until(last).await;
            cable.words(start, last + word);
        }
    }

    /// A fetch up to its last data, from wherever it is; returns when those arrived, maybe a little earlier.
    async fn until_data<'a>(
        &'a self,
        burst: Burst<'a>,
        fetch: &Transaction,
        (lead, request): (&[Lead<'_>], Time),
        rest: Time,
    ) -> (Time, Ending<'a>) {
        let ending = match burst {
            Burst::Ahead => {
                self.sim.wait_until(request).await;
                led(lead, request);
                Ending::Held(self.pci.transact(fetch).await)
            }
            Burst::Requested(grant) => Ending::Held(self.pci.transact_granted(grant.await, fetch).await),
            Burst::UnderWay(burst) => {
                let arrived = burst.ends_at() - rest;
                self.sim.wait_until(arrived).await;
                return (arrived, Ending::Booked(burst));
            }
        };
        (self.sim.now(), ending)
    }
}

/// A fetch whose data have arrived, and that has not left the bus yet.
enum Ending<'a> {
    Held(Ongoing<'a>),
    Booked(UnderWay<'a>),
}

impl Ending<'_> {
    async fn end(self) {
        match self {
            Ending::Held(ongoing) => ongoing.end().await,
            Ending::Booked(burst) => burst.finish().await,
        }
    }
}
