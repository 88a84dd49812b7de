//! Flow control credits: buffers that a receiver has advertised and the transmitter has used up.
//! PCI Express Base Specification 4.0, 2.6.1.

use std::cell::RefCell;

use hopscope_kernel::{Bell, Grant, Lane, Sim, Time};

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
    returned: Bell,
}

struct State {
    headers: u64,
    data: u64,
    /// What comes back, in no order.
    returns: Vec<Returns>,
    /// When the next of it does; the end of time where nothing comes back.
    next: Time,
}

/// Credits of equal packets that come back at regular instants.
struct Returns {
    at: Time,
    pitch: Time,
    count: u64,
    data: u64,
}

impl Credits {
    /// What a receiver with these buffers advertises: headers, and data in bytes.
    pub fn new(sim: &Sim, headers: u64, data_bytes: u64) -> Credits {
        let advertised = (headers, data_bytes / u64::from(DATA_CREDIT_BYTES));
        let state = State { headers: advertised.0, data: advertised.1, returns: Vec::new(), next: Time::MAX };
        Credits { sim: sim.clone(), advertised, state: RefCell::new(state), returned: Bell::new(sim) }
    }

    /// Whether nothing ever waits for them.
    pub fn infinite(&self) -> bool {
        self.advertised.0 == 0
    }

    /// Data credits of a payload.
    fn data(payload_bytes: u32) -> u64 {
        u64::from(payload_bytes.div_ceil(DATA_CREDIT_BYTES))
    }

    fn collect(&self) {
        let (mut state, now) = (self.state.borrow_mut(), self.sim.now());
        if now < state.next {
            return;
        }
        let State { headers, data, returns, next } = &mut *state;
        *next = Time::MAX;
        returns.retain_mut(|entry| {
            if entry.at <= now {
                let back = ((now - entry.at) / entry.pitch + 1).min(entry.count);
                (*headers, *data) = (*headers + back, *data + back * entry.data);
                (entry.at, entry.count) = (entry.at + entry.pitch * back, entry.count - back);
            }
            if entry.count > 0 {
                *next = entry.at.min(*next);
            }
            entry.count > 0
        });
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
            let next = self.state.borrow().next;
            match next {
                Time::MAX => self.returned.heard(&NO_CREDITS).await,
                at => lane.delay_until(&CREDITS_RETURN, at).await,
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

    /// The credits of so many packets come back, of the first one at `at`, now or later, of the others one every `pitch`.
    pub fn give_back(&self, at: Time, pitch: Time, count: u64, payload_bytes: u32) {
        if self.infinite() || count == 0 {
            return;
        }
        let data = Credits::data(payload_bytes);
        let mut state = self.state.borrow_mut();
        state.next = state.next.min(at);
        match state.returns.last_mut() {
            // Packets that are sent one by one, as regularly as if they were one message.
            Some(last) if last.data == data && at == last.at + last.pitch * last.count && count == 1 => last.count += 1,
            _ => state.returns.push(Returns { at, pitch: pitch.max(Time::ps(1)), count, data }),
        }
        drop(state);
        self.returned.ring();
    }
}
