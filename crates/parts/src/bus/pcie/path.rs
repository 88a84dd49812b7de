//! A path: one direction of several links in a row, and how a message crosses it packet by packet.
//!
//! ```text
//!   link 0   h ddd h ddd h ddd
//!   link 1      └ flight, switch ┘ h ddd h ddd h ddd      (cut through: a packet goes on before it has arrived)
//! ```
//!
//! Packets of several messages share a link in the order in which they come. Packets of a message that nobody
//! disturbs are booked as one train.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use hopscope_kernel::{Burst, Car, CarState, Grant, Lead, Sim, Time, Track, join};

use super::direction::{Direction, PacketPlan};
use crate::protocols::pcie::{FLIGHT, LINK_BUSY, Packets, SWITCH};

/// Links in a row, at most: device, two switches, chip set.
pub const LINKS_MAX: usize = 4;
/// A train has so many cars.
const TRAIN_LINKS_MAX: usize = 3;
/// It has so many packets at least that come sooner than a link behind takes them.
const TRAIN_THAT_SLOWS_MIN: u32 = 8;
/// Packets of a message, at most: a page in packets of 64 bytes, and a partial one at either end.
const PACKETS_MAX: usize = 66;

/// One link of a path.
#[derive(Clone)]
pub struct Stage {
    /// The direction that the packets take.
    pub direction: Rc<Direction>,
    /// The opposite one.
    pub opposite: Rc<Direction>,
    /// Through the switch behind it, from the first byte to the first byte; nothing at the end of a path. By the data, as
    /// `drain`: whoever waits for them owes that to this link.
    pub switch: Time,
    /// How long the receiver keeps a packet in its buffers, where no link follows.
    pub drain: Time,
}

/// Links in a row.
pub struct Path {
    sim: Sim,
    stages: Vec<Stage>,
}

/// The packets of a message that may cross one link: those that have begun to cross the link before.
struct Gates {
    /// When they may.
    open_at: RefCell<[Time; PACKETS_MAX]>,
    /// How many there are.
    count: Cell<u32>,
}

impl Default for Gates {
    fn default() -> Self {
        Gates { open_at: RefCell::new([Time::ZERO; PACKETS_MAX]), count: Cell::new(0) }
    }
}

impl Gates {
    fn open(&self, at: Time) {
        self.open_at.borrow_mut()[self.count.get() as usize] = at;
        self.count.set(self.count.get() + 1);
    }
}

impl Path {
    /// A path along `stages`, at most [`LINKS_MAX`].
    pub fn new(sim: &Sim, stages: Vec<Stage>) -> Path {
        assert!((1..=LINKS_MAX).contains(&stages.len()), "a path has one to {LINKS_MAX} links");
        Path { sim: sim.clone(), stages }
    }

    /// The links.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// The last link's direction.
    pub fn last(&self) -> &Direction {
        &self.stages[self.stages.len() - 1].direction
    }

    /// Sends a message of a page at most. Ends when its last packet has left the last link; returns when it will have
    /// arrived.
    pub async fn carry(&self, packets: &Packets) -> Time {
        let left = self.launch(packets).await;
        self.sim.wait_until(left).await;
        left + self.flight()
    }

    /// Sends a message of a page at most. Returns when its last packet has left the last link; a message of one packet
    /// ends by itself, for whoever waits for what follows. Until then it is on the link: there is no other delay.
    pub async fn launch(&self, packets: &Packets) -> Time {
        if packets.count() == 1 {
            return self.launch_one(packets).await;
        }
        self.prepare(packets).await;
        if self.stages.len() == 1 {
            self.carry_over_one(packets).await;
        } else {
            self.carry_over_several(packets).await;
        }
        self.sim.now()
    }

    /// Sends what fell due before a message on each link, and counts the message.
    async fn prepare(&self, packets: &Packets) {
        for Stage { direction, opposite, .. } in &self.stages {
            if let Some(due) = direction.due(packets) {
                direction.lane().acquire(&LINK_BUSY).await.hold_plan(due).await;
            }
            direction.count(packets, opposite);
        }
    }

    /// From one packet of a message to the next on each link, where nobody disturbs them: behind a slow one they come slowly.
    fn pitches(&self, packets: &Packets) -> [Time; LINKS_MAX] {
        let mut slowest = Time::ZERO;
        std::array::from_fn(|stage| {
            let length = |stage: &Stage| stage.direction.length(packets, packets.payload(0));
            slowest = slowest.max(self.stages.get(stage).map_or(Time::ZERO, length));
            slowest
        })
    }

    /// From the far end of the last link to what is there.
    pub fn flight(&self) -> Time {
        self.last().flight()
    }

    /// Waits until what [`Path::carry`] has sent arrives.
    pub async fn arrive(&self, arrival: Time) {
        self.last().lane().delay_until(&FLIGHT, arrival.max(self.sim.now())).await;
    }

    /// Waits until what has left at `left` arrives; the process may still be there before it has left.
    pub async fn arrive_after(&self, left: Time, arrival: Time) {
        let left = left.max(self.sim.now());
        self.sim.wait_until(arrival).await;
        self.flew(left, arrival);
    }

    /// Says that the process was delayed by what left at `left` and arrived at `arrival`.
    pub fn flew(&self, left: Time, arrival: Time) {
        self.last().lane().delayed(&FLIGHT, left, arrival);
    }

    /// The same for a message of one packet, over link after link.
    pub async fn launch_one(&self, packets: &Packets) -> Time {
        debug_assert_eq!(packets.count(), 1, "a message of one packet");
        self.prepare(packets).await;
        let payload = packets.payload(0);
        let (mut open_at, mut left) = (Time::ZERO, Time::ZERO);
        for (stage, Stage { direction, .. }) in self.stages.iter().enumerate() {
            if stage > 0 {
                self.sim.wait_until(open_at).await;
                let passage = self.passage(stage, packets, payload);
                self.stages[stage - 1].direction.lane().delayed(&SWITCH, open_at - passage, open_at);
            }
            let grant = direction.lane().acquire(&LINK_BUSY).await;
            if let Some(credits) = direction.credits(packets.flow) {
                credits.take(direction.lane(), &grant, payload).await;
            }
            let plan = self.begin(stage, packets, 0);
            if stage + 1 < self.stages.len() {
                open_at = self.sim.now() + self.passage(stage + 1, packets, payload);
            }
            left = grant.leave(plan);
        }
        left
    }

    async fn carry_over_one(&self, packets: &Packets) {
        let (direction, count) = (&*self.stages[0].direction, packets.count());
        let mut index = 0;
        while index < count {
            let (payload, ahead) = (packets.payload(index), count - index);
            let plan = direction.plan(packets, payload);
            if ahead > 1 && packets.equal() && self.credits_suffice(packets, ahead) {
                let (start, length) = (self.sim.now(), direction.length(packets, payload));
                let cars = [car(direction, Time::ZERO, &[], &plan)];
                let [Some(CarState { done, next })] = self.sim.train(u64::from(ahead), start, length, &cars).await.cars
                else {
                    return;
                };
                let begun = done as u32 + u32::from(matches!(next, Burst::UnderWay(_)));
                self.count_sent(0, packets, begun);
                self.credit(0, packets, payload, start + length, length, begun.into());
                index += begun;
                match next {
                    Burst::UnderWay(burst) => burst.finish().await,
                    Burst::Requested(request) => {
                        let grant = request.await;
                        self.send(0, packets, index, grant, |_| {}).await;
                        index += 1;
                    }
                    Burst::Ahead => {}
                }
                if begun > 0 {
                    continue;
                }
            }
            if index < count {
                let grant = direction.lane().acquire(&LINK_BUSY).await;
                self.send(0, packets, index, grant, |_| {}).await;
                index += 1;
            }
        }
    }

    async fn carry_over_several(&self, packets: &Packets) {
        let plans: [PacketPlan; LINKS_MAX] = std::array::from_fn(|stage| match self.stages.get(stage) {
            Some(stage) => stage.direction.plan(packets, packets.payload(0)),
            None => [(&FLIGHT, Time::ZERO); 2],
        });
        let leads: [[Lead<'_>; 1]; LINKS_MAX] = std::array::from_fn(|stage| {
            let (before, stage) = (stage.saturating_sub(1), stage.min(self.stages.len() - 1));
            let passage = if stage == 0 { Time::ZERO } else { self.passage(stage, packets, packets.payload(0)) };
            [(self.stages[before.min(self.stages.len() - 1)].direction.lane(), &SWITCH, passage)]
        });
        let mut from = [0; LINKS_MAX];
        let mut next = [const { Burst::Ahead }; LINKS_MAX];
        let (start, offsets, pitches) = (self.sim.now(), self.offsets(packets), self.pitches(packets));
        if self.regular(packets) {
            let cars: [Car<'_>; TRAIN_LINKS_MAX] = std::array::from_fn(|stage| {
                let stage = stage.min(self.stages.len() - 1);
                car(&self.stages[stage].direction, offsets[stage], &leads[stage][..stage.min(1)], &plans[stage])
            });
            let [first, second, third, _] = pitches;
            let run = self.sim.train(packets.count().into(), start, first, &cars).of_the_first(self.stages.len());
            let run = run.slowing([first, second, third]);
            for (stage, state) in run.await.cars.into_iter().enumerate() {
                let Some(state) = state else { continue };
                let begun = state.done as u32 + u32::from(matches!(state.next, Burst::UnderWay(_)));
                self.count_sent(stage, packets, begun);
                let sent = start + offsets[stage] + plans[stage][0].1 + plans[stage][1].1;
                self.credit(stage, packets, packets.payload(0), sent, pitches[stage], begun.into());
                (from[stage], next[stage]) = (state.done as u32, state.next);
            }
        }
        if self.goes_by_itself(packets) {
            let states = from.into_iter().zip(next);
            let tracks =
                self.stages.iter().zip(states).enumerate().map(|(stage, (Stage { direction, .. }, (done, next)))| {
                    Track {
                        lane: direction.lane(),
                        reason: &LINK_BUSY,
                        lead: leads[stage][0],
                        plan: plans[stage],
                        first: start + offsets[stage],
                        pitch: pitches[stage],
                        state: CarState { done: done.into(), next },
                    }
                });
            return self.sim.convoy(packets.count(), tracks).await;
        }
        self.carry_by_hand(packets, from, next, (start, pitches)).await;
    }

    /// Takes what a train has left of a message, whose first packet began at an instant and the others one every so long
    /// on each link, across all links.
    async fn carry_by_hand(
        &self,
        packets: &Packets,
        from: [u32; LINKS_MAX],
        next: [Burst<'_>; LINKS_MAX],
        (start, pitches): (Time, [Time; LINKS_MAX]),
    ) {
        let (gates, offsets): ([Gates; LINKS_MAX], _) = (Default::default(), self.offsets(packets));
        for stage in 1..self.stages.len() {
            let begun = from[stage - 1] + u32::from(matches!(next[stage - 1], Burst::UnderWay(_)));
            (0..begun).for_each(|k| gates[stage].open(start + offsets[stage] + pitches[stage - 1] * u64::from(k)));
        }
        let [a, b, c, d] = next;
        let cross = |stage, next| self.cross(stage, packets, from[stage], next, &gates);
        let sim = &self.sim;
        // Where they are, and not by value: each join would keep a copy of them.
        let (first, second, third, fourth) =
            (pin!(cross(0, a)), pin!(cross(1, b)), pin!(cross(2, c)), pin!(cross(3, d)));
        let last = pin!(join(sim, third, fourth));
        let later = pin!(join(sim, second, last));
        join(sim, first, later).await;
    }

    /// Whether all packets can be booked as one train. Where they wait for a slower link behind, whoever comes in between
    /// mostly does so before the few are through.
    fn regular(&self, packets: &Packets) -> bool {
        let pitches = self.pitches(packets);
        let slows = pitches[self.stages.len() - 1] > pitches[0];
        packets.count() >= if slows { TRAIN_THAT_SLOWS_MIN } else { 2 }
            && packets.equal()
            && self.stages.len() <= TRAIN_LINKS_MAX
            // What a train is cut at has begun on the link before.
            && (1..self.stages.len()).all(|stage| self.passage(stage, packets, packets.payload(0)) > Time::ZERO)
            && self.credits_suffice(packets, packets.count())
    }

    /// Whether packets need nothing but the links, and are alike.
    fn goes_by_itself(&self, packets: &Packets) -> bool {
        packets.equal()
            && self.stages.iter().all(|stage| stage.direction.credits(packets.flow).is_none())
            && self.sim.may_convoy()
    }

    fn credits_suffice(&self, packets: &Packets, count: u32) -> bool {
        let credits =
            |stage: &Stage| stage.direction.credits(packets.flow).is_none_or(|c| c.suffice(count, packets.payload(0)));
        self.stages.iter().all(credits)
    }

    fn count_sent(&self, stage: usize, packets: &Packets, count: u32) {
        if let Some(credits) = self.stages[stage].direction.credits(packets.flow) {
            credits.use_up(count, packets.payload(0));
        }
    }

    /// From the beginning of a packet on the first link to its beginning on each.
    fn offsets(&self, packets: &Packets) -> [Time; LINKS_MAX] {
        let mut offsets = [Time::ZERO; LINKS_MAX];
        for stage in 1..self.stages.len() {
            offsets[stage] = offsets[stage - 1] + self.passage(stage, packets, packets.payload(0));
        }
        offsets
    }

    /// From the beginning of a packet on the link before `stage` to where it can begin on that one. It is passed on
    /// while it still arrives, but never faster than it arrives.
    fn passage(&self, stage: usize, packets: &Packets, payload: u32) -> Time {
        let (before, here) = (&self.stages[stage - 1], &self.stages[stage]);
        let (slow, fast) = (before.direction.length(packets, payload), here.direction.length(packets, payload));
        before.direction.flight() + before.direction.lane().paced(before.switch) + slow.saturating_sub(fast)
    }

    /// Takes what is left of a message across one link, packet by packet.
    async fn cross(&self, stage: usize, packets: &Packets, from: u32, next: Burst<'_>, gates: &[Gates; LINKS_MAX]) {
        let Some(Stage { direction, .. }) = self.stages.get(stage) else { return };
        let following = gates.get(stage + 1).filter(|_| stage + 1 < self.stages.len());
        let begins = |index: u32, at: Time| {
            if let Some(gate) = following {
                gate.open(at + self.passage(stage + 1, packets, packets.payload(index)));
            }
        };
        let mut index = from;
        match next {
            Burst::UnderWay(burst) => {
                burst.finish().await;
                index += 1;
            }
            Burst::Requested(request) => {
                let grant = request.await;
                self.send(stage, packets, index, grant, |at| begins(index, at)).await;
                index += 1;
            }
            Burst::Ahead => {}
        }
        while index < packets.count() {
            if stage > 0 {
                self.pass(stage, packets, index, &gates[stage]).await;
            }
            let grant = direction.lane().acquire(&LINK_BUSY).await;
            self.send(stage, packets, index, grant, |at| begins(index, at)).await;
            index += 1;
        }
    }

    /// Waits until a packet may cross the link of `stage`.
    async fn pass(&self, stage: usize, packets: &Packets, index: u32, gates: &Gates) {
        poll_fn(|_| if gates.count.get() > index { Poll::Ready(()) } else { Poll::Pending }).await;
        let open_at = gates.open_at.borrow()[index as usize];
        self.sim.wait_until(open_at).await;
        let passage = self.passage(stage, packets, packets.payload(index));
        self.stages[stage - 1].direction.lane().delayed(&SWITCH, open_at - passage, open_at);
    }

    /// Sends one packet over the link of `stage`, once the receiver has room for it; `begins` is told when it begins.
    async fn send(&self, stage: usize, packets: &Packets, index: u32, grant: Grant<'_>, begins: impl FnOnce(Time)) {
        let direction = &*self.stages[stage].direction;
        if let Some(credits) = direction.credits(packets.flow) {
            credits.take(direction.lane(), &grant, packets.payload(index)).await;
        }
        let plan = self.begin(stage, packets, index);
        begins(self.sim.now());
        grant.hold_plan(plan).await;
    }

    /// A packet begins now to cross the link of `stage`; returns its phases.
    fn begin(&self, stage: usize, packets: &Packets, index: u32) -> PacketPlan {
        let (direction, payload) = (&*self.stages[stage].direction, packets.payload(index));
        packets.begins(direction.lane(), index);
        let plan = direction.plan(packets, payload);
        self.credit(stage, packets, payload, self.sim.now() + plan[0].1 + plan[1].1, Time::ZERO, 1);
        plan
    }

    /// Packets leave for good, the first one at `end`, the others one every `pitch`: the buffers that they lay in before
    /// the link of `stage` are free, and at the end of the path the receiver will free its own. The other direction
    /// brings the credits back.
    fn credit(&self, stage: usize, packets: &Packets, payload: u32, end: Time, pitch: Time, count: u64) {
        if stage > 0 {
            let before = &self.stages[stage - 1].direction;
            if let Some(credits) = before.credits(packets.flow) {
                credits.give_back(end + before.flight(), pitch, count, payload);
            }
        }
        if stage + 1 == self.stages.len() {
            let Stage { direction, drain, .. } = &self.stages[stage];
            if let Some(credits) = direction.credits(packets.flow) {
                let freed = direction.flight() * 2 + direction.lane().paced(*drain);
                credits.give_back(end + freed, pitch, count, payload);
            }
        }
    }
}

fn car<'a>(direction: &'a Direction, offset: Time, lead: &'a [Lead<'a>], plan: &'a PacketPlan) -> Car<'a> {
    Car { lane: direction.lane(), priority: 0, reason: &LINK_BUSY, offset, lead, plan }
}
