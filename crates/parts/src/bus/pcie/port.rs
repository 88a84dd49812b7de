//! An endpoint's port: reads and writes of host memory, doorbells and interrupts, along the links to the host.
//!
//! ```text
//!   write   packets ▶▶▶▶ up ▶▶▶▶ root complex ▶ visible
//!   read    tag, request ▶ up ▶ root complex ▶ cache or memory ▶ completions ▶▶▶▶ down ▶ taken in, tag back
//! ```
//!
//! Whoever asks carries its packets itself, so that as much goes on at a time as there are processes that ask.
//!
//! Not modelled: configuration, errors, atomic operations, prefixes, address translation services.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::pin;
use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Label, Lane, Sim, Time, Tokens, join, join_handing};

use super::path::{LINKS_MAX, Path};
use super::root_complex::RootComplex;
use super::sent::{Sent, Steps};
use super::{Buffers, Link, PAYLOAD_MAX, PAYLOAD_MIN, RATES, UpstreamPort, WIDTHS};
use crate::protocols::pcie::{
    CONTENT, CONTENT_AT, DATA, Flow, HEADER_3DW, HEADER_4DW, Home, INTERRUPT, INTERRUPTS_AT, NO_TAG, PAGE_BYTES,
    Packets, REGISTER, REGISTERS_AT, TAKEN_IN, incomplete,
};

/// 10-bit tags; flit mode has 14 bits, of which so many are enough here.
const TAGS_MAX: u64 = 16_384;

/// The part of a device's data sheet that concerns its link.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct PortSpec {
    /// What a lane carries, at most.
    #[rate("pcie.rate", one_of = &RATES)]
    pub rate: u64,
    /// Lanes, at most.
    #[count("pcie.width", one_of = &WIDTHS)]
    pub width: u64,
    /// Largest payload of a packet.
    #[bytes("pcie.payload_max", PAYLOAD_MIN..=PAYLOAD_MAX, power_of_two)]
    pub payload_max: u32,
    /// Largest read request.
    #[bytes("pcie.read_request_max", PAYLOAD_MIN..=PAYLOAD_MAX, power_of_two)]
    pub read_request_max: u32,
    /// Reads under way, at most.
    #[count("pcie.tags", 1..=TAGS_MAX)]
    pub tags: usize,
    /// Bits of the addresses in its requests.
    #[count("pcie.address", one_of = &[32, 64])]
    pub address_bits: u32,
    /// Whether its reads may pass writes.
    #[choice("pcie.ordering", "strict" => false, "relaxed" => true)]
    pub relaxed: bool,
}

/// What takes in the completions of a device that is long at it.
#[derive(Clone)]
pub struct Intake {
    /// Nobody occupies it, but its delays are those of completions.
    pub lane: Lane,
    /// From the last completion of a request until its data are there and its tag is free.
    pub span: Time,
}

/// An endpoint's port.
pub struct Port {
    sim: Sim,
    up: Path,
    down: Path,
    root: Rc<RootComplex>,
    tags: Tokens,
    /// The numbers of those that are free, or will be: since when. The one that has been longest comes next.
    free_tags: RefCell<VecDeque<(Time, u16)>>,
    intake: Option<Intake>,
    header_bytes: u32,
    payload_max: u32,
    read_request_max: u32,
    relaxed: bool,
    /// All writes that have left are visible then.
    visible: Cell<Time>,
}

impl Port {
    /// Plugs an endpoint into a link, which trains. Its completions are taken in as they arrive.
    pub fn new(sim: &Sim, spec: &PortSpec, link: &Link) -> Result<Rc<Port>, String> {
        Port::with_intake(sim, spec, link, None)
    }

    /// The same for a device whose completions take a while to be taken in.
    pub fn with_intake(sim: &Sim, spec: &PortSpec, link: &Link, intake: Option<Intake>) -> Result<Rc<Port>, String> {
        let PortSpec { rate, width, payload_max, .. } = *spec;
        let payload_max = link.train(&UpstreamPort { rate, width, payload_max, buffers: Buffers::INFINITE })?;
        let (up, down) = (link.stages_up(), link.stages_down(Time::ZERO));
        if up.len() > LINKS_MAX {
            return Err(format!("there are {} links between this device and the host, {LINKS_MAX} at most", up.len()));
        }
        let root = link.above().root.clone();
        let tags = Tokens::full(sim, spec.tags);
        Ok(Rc::new(Port {
            sim: sim.clone(),
            up: Path::new(sim, up),
            down: Path::new(sim, down),
            tags,
            free_tags: RefCell::new((0..spec.tags as u16).map(|tag| (Time::ZERO, tag)).collect()),
            intake,
            header_bytes: if spec.address_bits == 32 { HEADER_3DW } else { HEADER_4DW },
            payload_max,
            read_request_max: spec.read_request_max,
            relaxed: spec.relaxed,
            visible: Cell::new(Time::ZERO),
            root,
        }))
    }

    /// The root complex.
    pub fn root(&self) -> &Rc<RootComplex> {
        &self.root
    }

    /// Largest read request, bytes.
    pub fn read_request_max(&self) -> u32 {
        self.read_request_max
    }

    /// Links to the host.
    pub fn up(&self) -> &Path {
        &self.up
    }

    /// Links from the host.
    pub fn down(&self) -> &Path {
        &self.down
    }

    /// Writes host memory. Ends when the last packet has left; returns when it will be visible to the processor.
    pub async fn write(&self, address: u64, bytes: u32, data: &'static Label, home: Home) -> Time {
        self.write_in_packets(address, bytes, self.payload_max, data, home).await
    }

    /// The same in packets of `payload_max` bytes at most.
    pub async fn write_in_packets(
        &self,
        address: u64,
        bytes: u32,
        payload_max: u32,
        data: &'static Label,
        home: Home,
    ) -> Time {
        let (mut address, mut left) = (address, bytes);
        while left > 0 {
            let part = left.min(PAGE_BYTES - (address % u64::from(PAGE_BYTES)) as u32);
            let payload_max = payload_max.min(self.payload_max);
            let packets = Packets::cut(Flow::Posted, self.header_bytes, data, address, part, payload_max);
            let packets = packets.relaxed(self.is_relaxed(data));
            let arrival = self.up.carry(&packets).await;
            let (stored, visible) = self.root.accept(arrival, address, part, home).await;
            self.sim.wait_until(stored).await;
            self.visible.set(self.visible.get().max(visible));
            (address, left) = (address + u64::from(part), left - part);
        }
        self.visible.get()
    }

    /// Writes host memory within one page. Ends when nothing more can hold the packets up, which may be before the last
    /// one has left and before memory has taken it; returns when it will be visible to the processor.
    pub async fn post(&self, address: u64, bytes: u32, data: &'static Label, home: Home) -> Time {
        let packets = Packets::cut(Flow::Posted, self.header_bytes, data, address, bytes, self.payload_max);
        let packets = packets.relaxed(self.is_relaxed(data));
        let arrival = self.up.launch(&packets).await + self.up.flight();
        let (_, visible) = self.root.accept(arrival, address, bytes, home).await;
        self.visible.set(self.visible.get().max(visible));
        self.visible.get()
    }

    /// Reads host memory, a page's worth at most. Ends when the last completion has arrived.
    pub async fn read(&self, address: u64, bytes: u32, data: &'static Label, home: Home) {
        self.read_into(self.intake.as_ref(), address, bytes, data, home).await;
    }

    /// The same past the intake, as a processor of the device reads for itself.
    pub async fn read_past_intake(&self, address: u64, bytes: u32, data: &'static Label, home: Home) {
        self.read_into(None, address, bytes, data, home).await;
    }

    async fn read_into(&self, intake: Option<&Intake>, address: u64, bytes: u32, data: &'static Label, home: Home) {
        let first = self.request_length(address, bytes);
        if first == bytes {
            let tag = self.take_tag().await;
            let after = self.writes_before();
            let request = self.read_request(address, bytes, tag);
            let arrival = self.up.launch_one(&request).await + self.up.flight();
            let packets = self.read_memory(&Sent { arrival, bytes, tag, after }, address, data, home).await;
            let left = self.down.launch(&packets).await;
            let arrival = left + self.down.flight();
            self.down.arrive_after(left, arrival).await;
            self.take_in(intake, arrival, tag).await;
            return;
        }
        // Several requests: they are sent one after the other, and answered one after the other.
        let (sent, answered) = (Steps::default(), Steps::default());
        let is_seen = self.sim.is_observed();
        let asking = pin!(async {
            let mut done = 0;
            while done < bytes {
                let at = address + u64::from(done);
                let part = self.request_length(at, bytes - done);
                let tag = self.take_tag().await;
                let request = self.request(at, part, tag).await;
                sent.hand(&request).await;
                done += part;
            }
        });
        let answering = pin!(async {
            let (mut done, mut index, mut over) = (0, 0, Time::ZERO);
            while done < bytes {
                let request = sent.get(index).await;
                let packets = self.read_memory(&request, address + u64::from(done), data, home).await;
                let arrival = self.down.carry(&packets).await;
                over = self.taken_in(intake, arrival).max(over);
                answered.push(&Sent { arrival, ..request });
                (done, index) = (done + request.bytes, index + 1);
                // The last one is waited for anyway.
                if !is_seen && done < bytes {
                    self.give_tag(request.tag, over);
                }
            }
            over
        });
        if is_seen {
            let arriving = pin!(async {
                let (mut done, mut index) = (0, 0);
                while done < bytes {
                    let answer = answered.get(index).await;
                    self.down.arrive(answer.arrival).await;
                    self.take_in(intake, answer.arrival, answer.tag).await;
                    (done, index) = (done + answer.bytes, index + 1);
                }
            });
            // Where they are, and not by value: each join would keep a copy of them.
            let later = pin!(join(&self.sim, answering, arriving));
            join_handing(&self.sim, later, asking, || sent.has_handed()).await;
            return;
        }
        let (over, ()) = join_handing(&self.sim, answering, asking, || sent.has_handed()).await;
        self.sim.wait_until(over).await;
        if let Some(last) = answered.all().last() {
            self.give_tag(last.tag, over);
        }
        if self.sim.is_observed() {
            // Nobody looked on when it began.
            self.tell_flights(intake, &answered);
        }
    }

    /// Says what answers went through on their way, once all are there.
    fn tell_flights(&self, intake: Option<&Intake>, answered: &Steps) {
        let mut at = Time::ZERO;
        for Sent { arrival, .. } in answered.all() {
            self.down.flew(at.max(arrival.saturating_sub(self.down.flight())), arrival);
            at = at.max(arrival);
            if let Some(Intake { lane, .. }) = intake {
                let over = self.taken_in(intake, arrival).max(at);
                lane.delayed(&TAKEN_IN, at, over);
                at = over;
            }
        }
    }

    /// When the data of a completion are there that arrives at `arrival`, and its tag is free.
    fn taken_in(&self, intake: Option<&Intake>, arrival: Time) -> Time {
        intake.map_or(arrival, |Intake { lane, span }| arrival + lane.paced(*span))
    }

    /// The last completion of a request has arrived at `arrival`: ends when its data are there and its tag is free.
    async fn take_in(&self, intake: Option<&Intake>, arrival: Time, tag: u16) {
        if let Some(Intake { lane, .. }) = intake {
            lane.delay_until(&TAKEN_IN, self.taken_in(intake, arrival).max(self.sim.now())).await;
        }
        self.give_tag(tag, self.sim.now());
    }

    /// A tag is free from an instant on, now or later.
    fn give_tag(&self, tag: u16, at: Time) {
        let mut free = self.free_tags.borrow_mut();
        let before = free.iter().rposition(|known| known.0 <= at).map_or(0, |last| last + 1);
        free.insert(before, (at, tag));
        self.tags.give_at(at);
    }

    /// Waits for a tag.
    async fn take_tag(&self) -> u16 {
        self.tags.take(&NO_TAG).await;
        self.free_tags.borrow_mut().pop_front().map_or(0, |(_, tag)| tag)
    }

    /// Whether the host sends the end of a read in a completion of its own, although it lies in a line with what comes
    /// before.
    pub fn tail_apart(&self, address: u64, bytes: u32, line_bytes: u32) -> bool {
        let tail = incomplete(address, bytes);
        self.root.tail_apart() && tail > 0 && !(address + u64::from(bytes - tail)).is_multiple_of(line_bytes.into())
    }

    /// How much of a read one request asks for: up to the next multiple of the largest request.
    fn request_length(&self, address: u64, bytes: u32) -> u32 {
        let max = self.read_request_max;
        bytes.min(max - (address % u64::from(max)) as u32)
    }

    /// When the writes are visible that a read does not pass (2.4.1), unless the ordering is relaxed.
    fn writes_before(&self) -> Time {
        if self.relaxed { Time::ZERO } else { self.visible.get() }
    }

    /// Whether writes of this may pass others: data of the user, never what says that they are there.
    fn is_relaxed(&self, data: &'static Label) -> bool {
        self.relaxed && data == &DATA
    }

    fn read_request(&self, address: u64, bytes: u32, tag: u16) -> Packets {
        Packets::request(self.header_bytes, address, bytes).tagged(tag).relaxed(self.relaxed)
    }

    /// Sends a read request.
    async fn request(&self, address: u64, bytes: u32, tag: u16) -> Sent {
        let after = self.writes_before();
        let left = self.up.launch_one(&self.read_request(address, bytes, tag)).await;
        self.sim.wait_until(left).await;
        Sent { arrival: left + self.up.flight(), bytes, tag, after }
    }

    /// Waits until what a request asks for is ready to be sent.
    async fn read_memory(&self, request: &Sent, address: u64, data: &'static Label, home: Home) -> Packets {
        let Sent { arrival, bytes, tag, after } = *request;
        let flew = self.sim.now().max(arrival.saturating_sub(self.up.flight()));
        if self.root.translates() {
            self.up.arrive_after(flew, arrival).await;
        }
        let completion_max = self.root.completion_bytes(bytes).min(self.payload_max);
        self.root.read(arrival, address, bytes, home, after).await;
        if !self.root.translates() {
            self.up.flew(flew, arrival);
        }
        let packets = match self.root.tail_apart() {
            true => Packets::cut_apart(Flow::Completion, HEADER_3DW, data, address, bytes, completion_max),
            false => Packets::cut(Flow::Completion, HEADER_3DW, data, address, bytes, completion_max),
        };
        packets.tagged(tag).relaxed(self.relaxed)
    }

    /// What lies from `address` on, a multiple of 8, for those who draw packets.
    pub fn holds<W: IntoIterator<Item = u64>>(&self, address: u64, words: impl FnOnce() -> W) {
        let lane = self.up.stages()[0].direction.lane();
        if lane.is_drawn() {
            lane.carried(&CONTENT_AT, address);
            words().into_iter().for_each(|word| lane.carried(&CONTENT, word));
        }
    }

    /// A posted write of the processor to a register of the device, carried by the device's process. Ends when it has
    /// arrived.
    pub async fn doorbell(&self) {
        self.doorbell_at(0, 0).await;
    }

    /// The same to the register at an offset, with a value.
    pub async fn doorbell_at(&self, offset: u64, value: u32) {
        let address = REGISTERS_AT + offset;
        self.holds(address & !7, || [u64::from(value) << (8 * (address & 7))]);
        let packets = Packets::cut(Flow::Posted, self.header_bytes, &REGISTER, address, 4, self.payload_max);
        let left = self.down.launch_one(&packets).await;
        self.down.arrive_after(left, left + self.down.flight()).await;
    }

    /// A read of the processor from a register of the device, which takes `access` to answer: a delay that is owed to
    /// `registers`. Ends when the answer has arrived at the root complex.
    pub async fn register_read(&self, registers: &Lane, access: Time) {
        let arrival = self.down.carry(&Packets::request(self.header_bytes, REGISTERS_AT, 4)).await;
        self.down.arrive(arrival).await;
        registers.delay(&REGISTER, registers.paced(access)).await;
        let packets = Packets::cut(Flow::Completion, HEADER_3DW, &REGISTER, REGISTERS_AT, 4, self.payload_max);
        let arrival = self.up.carry(&packets).await;
        self.up.arrive(arrival).await;
    }

    /// A message-signalled interrupt, behind all writes. Ends when it has arrived.
    pub async fn interrupt(&self) {
        let (left, arrival) = self.send_interrupt().await;
        self.up.arrive_after(left, arrival).await;
    }

    /// The same; ends when nothing more can hold it up. Returns when it leaves the last link, and when it arrives.
    pub async fn send_interrupt(&self) -> (Time, Time) {
        let packets = Packets::cut(Flow::Posted, self.header_bytes, &INTERRUPT, INTERRUPTS_AT, 4, self.payload_max);
        let left = self.up.launch_one(&packets).await;
        (left, (left + self.up.flight()).max(self.visible.get()))
    }

    /// Writes memory of another device: through the switch that both are below, or through the root complex. Ends when
    /// the last packet has arrived.
    pub async fn write_to(&self, route: &Path, address: u64, bytes: u32) {
        let (mut address, mut left) = (address, bytes);
        while left > 0 {
            let part = left.min(PAGE_BYTES - (address % u64::from(PAGE_BYTES)) as u32);
            let packets = Packets::cut(Flow::Posted, self.header_bytes, &DATA, address, part, self.payload_max);
            let arrival = route.carry(&packets).await;
            route.arrive(arrival).await;
            (address, left) = (address + u64::from(part), left - part);
        }
    }

    /// The way to another device: up to where both ways to the host meet, then down.
    pub fn route_to(&self, peer: &Port) -> Result<Path, String> {
        let (ours, theirs) = (self.up.stages(), peer.down.stages());
        // The same link is `up` for one and `opposite` of `down` for the other.
        let shared = ours.iter().rev().zip(theirs).take_while(|(up, down)| Rc::ptr_eq(&up.direction, &down.opposite));
        let shared = shared.count();
        let mut stages = ours[..ours.len() - shared].to_vec();
        if shared == 0
            && let Some(last) = stages.last_mut()
        {
            // Through the root complex, from one of its ports to another.
            last.switch = self.root.peer_to_peer();
        }
        stages.extend_from_slice(&theirs[shared..]);
        if stages.len() > LINKS_MAX {
            return Err(format!("there are {} links between the two devices, {LINKS_MAX} at most", stages.len()));
        }
        Ok(Path::new(&self.sim, stages))
    }
}
