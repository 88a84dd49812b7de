//! Flow control credits: buffers that a receiver has advertised and the transmitter has used up.
//! PCI Express Base Specification 4.0, 2.6.1.

use std::cell::RefCell;
use std::collections::VecDeque;

use hopscope_kernel::{Grant, Lane, Queue, Sim, Time};

use crate::protocols::pcie::{CREDITS_RETURN, NO_CREDITS};

/// Bytes of payload that one data credit stands for.
const DATA_CREDIT_BYTES: u32 = 16;

/// Credits of one kind of traffic in one direction of a link. Zero advertised credits are infinitely many.
pub struct Credits {
    sim: Sim,
    /// Advertised headers and data.
    advertised: (u64, u64),
    state: RefCell<State>,
    /// Told when credits come back whose return was not foreseen.
    returned: Queue<()>,
}

struct State {
    headers: u64,
    data: u64,
    /// What comes back, and when, in order of time.
    returns: VecDeque<(Time, u64, u64)>,
}

impl Credits {
    /// What a receiver with these buffers advertises: headers, and data in bytes.
    pub fn new(sim: &Sim, headers: u64, data_bytes: u64) -> Credits {
        let advertised = (headers, data_bytes / u64::from(DATA_CREDIT_BYTES));
        let state = State { headers: advertised.0, data: advertised.1, returns: VecDeque::new() };
        Credits { sim: sim.clone(), advertised, state: RefCell::new(state), returned: Queue::new(sim, 1) }
    }

    fn infinite(&self) -> bool {
        self.advertised.0 == 0
    }

    /// Data credits of a payload.
    fn data(payload_bytes: u32) -> u64 {
        u64::from(payload_bytes.div_ceil(DATA_CREDIT_BYTES))
    }

    fn collect(&self) {
        let (mut state, now) = (self.state.borrow_mut(), self.sim.now());
        while let Some(&(at, headers, data)) = state.returns.front()
            && at <= now
        {
            (state.headers, state.data) = (state.headers + headers, state.data + data);
            state.returns.pop_front();
        }
    }

    /// Whether `count` packets with that payload each may be sent now, one after the other.
    pub fn suffice(&self, count: u32, payload_bytes: u32) -> bool {
        if self.infinite() {
            return true;
        }
        self.collect();
        let (state, count) = (self.state.borrow(), u64::from(count));
        state.headers >= count && state.data >= count * Credits::data(payload_bytes)
    }

    /// Uses up the credits of a packet. The transmitter, which is held, waits until there are enough.
    pub async fn take(&self, lane: &Lane, transmitter: &Grant<'_>, payload_bytes: u32) {
        let start = self.sim.now();
        while !self.suffice(1, payload_bytes) {
            let next = self.state.borrow().returns.front().map(|next| next.0);
            match next {
                Some(at) => lane.delay(&CREDITS_RETURN, at - self.sim.now()).await,
                None => self.returned.take(&NO_CREDITS).await,
            }
        }
        if self.sim.now() > start {
            transmitter.was_in(&NO_CREDITS, start);
        }
        self.use_up(1, payload_bytes);
    }

    /// Uses up the credits of packets of which [`Credits::suffice`] was true.
    pub fn use_up(&self, count: u32, payload_bytes: u32) {
        if self.infinite() {
            return;
        }
        let (mut state, count) = (self.state.borrow_mut(), u64::from(count));
        state.headers -= count;
        state.data -= count * Credits::data(payload_bytes);
    }

    /// The credits of a packet come back at `at`, now or later.
    pub fn give_back(&self, at: Time, payload_bytes: u32) {
        if self.infinite() {
            return;
        }
        let entry = (at, 1, Credits::data(payload_bytes));
        let mut state = self.state.borrow_mut();
        let position = state.returns.partition_point(|earlier| earlier.0 <= at);
        state.returns.insert(position, entry);
        drop(state);
        let _ = self.returned.try_put(());
    }
}
