//! From a bridge to memory and back: links one after the other, the memory at their end.
//!
//! ```text
//!   bridge ══ link ══ [processor that only passes on] ══ link ══ memory      up: requests, writes   down: read data
//! ```
//!
//! Whoever asks carries its packets itself. A link's packets share its lanes; a piece of data is sent as packets of at
//! most `payload` bytes, each with its overhead, back to back.
//!
//! Not modelled: credits of a link one by one (the bridge has pieces under way instead), coherence probes.

use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Label, Lane, Lead, Sim, Time, led};

use super::host::Memory;

static LINK_BUSY: Label = Label::reason("link busy");
static LINK_DATA: Label = Label::payload("data");
static LINK_OTHER: Label = Label::protocol("data that are not the user's");
static LINK_OVERHEAD: Label = Label::protocol("packet overhead");
static LINK_REQUEST: Label = Label::protocol("read request");
static LINK_REGISTER: Label = Label::protocol("register access");
static FLIGHT: Label = Label::protocol("flight");

/// Links between a bridge and its memory, at most.
pub const HOPS_MAX: usize = 8;
/// What links and memories of hosts carry, bytes per second.
pub(super) const RATE_MIN: u64 = 1_000_000;
pub(super) const RATE_MAX: u64 = 100_000_000_000;
/// Nothing in a host takes longer.
pub(super) const LATENCY_MAX: Time = Time::ms(1);

/// A link's data sheet.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct LinkSpec {
    /// What the link carries, each way.
    #[rate("rate", RATE_MIN..=RATE_MAX)]
    rate: u64,
    /// Whether both ways share the wires.
    #[choice("ways", "apart" => false, "shared" => true)]
    half_duplex: bool,
    /// Data of a packet, at most.
    #[bytes("payload", 16..=4_096)]
    payload: u32,
    /// What a write has on the link besides its data.
    #[bytes("write_overhead", ..=4_096)]
    write_overhead: u32,
    /// What read data have on the link besides themselves.
    #[bytes("read_overhead", ..=4_096)]
    read_overhead: u32,
    /// A read request on the link.
    #[bytes("request", ..=4_096)]
    request: u32,
    /// From one end to the other, what the chips at both ends do included.
    #[time("latency", ..=LATENCY_MAX)]
    latency: Time,
}

/// Says that a lane moves bytes at so many a second, in small numbers.
pub(super) fn carries(lane: &Lane, phase: &'static Label, rate: u64) {
    let (mut divisor, mut rest) = (1_000_000_000_000, rate);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    lane.carries(phase, rate / divisor, Time::ps(1_000_000_000_000 / divisor));
}

/// How long `bytes` take at `rate`.
pub(super) fn span(bytes: u64, rate: u64) -> Time {
    Time::ps((u128::from(bytes) * 1_000_000_000_000 / u128::from(rate)) as u64)
}

/// A link.
#[derive(Clone)]
struct Hop {
    up: Lane,
    down: Lane,
    spec: LinkSpec,
}

impl Hop {
    fn data(&self, lane: &Lane, bytes: u32, user: bool, overhead: u32) -> [(&'static Label, Time); 2] {
        let packets = u64::from(bytes.div_ceil(self.spec.payload));
        let label = if user { &LINK_DATA } else { &LINK_OTHER };
        let overhead = span(packets * u64::from(overhead), self.spec.rate);
        [(&LINK_OVERHEAD, lane.paced(overhead)), (label, lane.paced(span(u64::from(bytes), self.spec.rate)))]
    }

    /// Sends what `plan` says; returns when the last of it is on the lane. Nobody has waited for that yet.
    async fn send<const N: usize>(&self, lane: &Lane, plan: [(&'static Label, Time); N]) -> Time {
        lane.acquire(&LINK_BUSY).await.leave(plan)
    }

    fn request(&self, lane: &Lane, label: &'static Label) -> [(&'static Label, Time); 1] {
        [(label, lane.paced(span(u64::from(self.spec.request), self.spec.rate)))]
    }

    /// What follows on the lane: nothing occupies it any more.
    fn flight<'a>(&self, lane: &'a Lane) -> Lead<'a> {
        (lane, &FLIGHT, lane.paced(self.spec.latency))
    }
}

/// Goes on when what began at `from` and is owed to several parts, one after the other, is over: one wait for all.
async fn after<const N: usize>(sim: &Sim, from: Time, owed: [Lead<'_>; N]) {
    let end = owed.iter().fold(from, |at, delay| at + delay.2);
    sim.wait_until(end).await;
    led(&owed, end);
}

/// Links from a bridge to memory, the nearest to the bridge first.
#[derive(Clone)]
pub struct Path {
    sim: Sim,
    hops: Vec<Hop>,
    memory: Rc<Memory>,
}

impl Path {
    /// A port of the host itself.
    pub fn new(sim: &Sim, memory: &Rc<Memory>) -> Path {
        Path { sim: sim.clone(), hops: Vec::new(), memory: memory.clone() }
    }

    /// The same by one more link named `name`.
    pub fn with(&self, name: &str, spec: LinkSpec) -> Result<Path, String> {
        let sim = &self.sim;
        if self.hops.len() >= HOPS_MAX {
            return Err(format!("a bridge has {HOPS_MAX} links to memory at most"));
        }
        let up = sim.lane(&format!("{name}.up"), None);
        let down = if spec.half_duplex { up.clone() } else { sim.lane(&format!("{name}.down"), None) };
        for lane in [&up, &down] {
            carries(lane, &LINK_DATA, spec.rate);
        }
        let mut path = self.clone();
        path.hops.insert(0, Hop { up, down, spec });
        Ok(path)
    }

    /// The host at its end.
    pub fn memory(&self) -> &Rc<Memory> {
        &self.memory
    }

    /// Writes memory. `left` is told when the data have left the bridge.
    pub async fn write(&self, bytes: u32, user: bool, left: impl FnOnce()) {
        let mut left = Some(left);
        for hop in &self.hops {
            let sent = hop.send(&hop.up, hop.data(&hop.up, bytes, user, hop.spec.write_overhead)).await;
            if let Some(left) = left.take() {
                self.sim.wait_until(sent).await;
                left();
            }
            after(&self.sim, sent, [hop.flight(&hop.up)]).await;
        }
        self.memory.write(bytes, user).await;
        if let Some(left) = left.take() {
            left();
        }
    }

    /// Reads memory, `through` the bridge on the way there (whose request has just come) and back.
    pub(super) async fn read(&self, bytes: u32, user: bool, through: Lead<'_>) {
        let Some((last, hops)) = self.hops.split_last() else {
            after(&self.sim, self.sim.now(), [through, self.memory.latency()]).await;
            self.memory.write(bytes, user).await;
            return after(&self.sim, self.sim.now(), [through]).await;
        };
        after(&self.sim, self.sim.now(), [through]).await;
        for hop in hops {
            let sent = hop.send(&hop.up, hop.request(&hop.up, &LINK_REQUEST)).await;
            after(&self.sim, sent, [hop.flight(&hop.up)]).await;
        }
        let sent = last.send(&last.up, last.request(&last.up, &LINK_REQUEST)).await;
        after(&self.sim, sent, [last.flight(&last.up), self.memory.latency()]).await;
        self.memory.write(bytes, user).await;
        for (index, hop) in self.hops.iter().enumerate().rev() {
            let sent = hop.send(&hop.down, hop.data(&hop.down, bytes, user, hop.spec.read_overhead)).await;
            match index {
                0 => after(&self.sim, sent, [hop.flight(&hop.down), through]).await,
                _ => after(&self.sim, sent, [hop.flight(&hop.down)]).await,
            }
        }
    }

    /// A register access of the processor, on its way to the bridge.
    pub async fn register_down(&self) {
        for hop in self.hops.iter().rev() {
            let sent = hop.send(&hop.down, hop.request(&hop.down, &LINK_REGISTER)).await;
            after(&self.sim, sent, [hop.flight(&hop.down)]).await;
        }
    }

    /// The answer to a register read, on its way back.
    pub async fn register_up(&self) {
        for hop in &self.hops {
            let sent = hop.send(&hop.up, hop.request(&hop.up, &LINK_REGISTER)).await;
            after(&self.sim, sent, [hop.flight(&hop.up)]).await;
        }
    }
}

#[cfg(test)]
impl LinkSpec {
    /// A link for tests: packets of 64 bytes and 8 more, 20 ns.
    pub(crate) fn example(rate: u64, half_duplex: bool) -> LinkSpec {
        let latency = Time::ns(20);
        LinkSpec { rate, half_duplex, payload: 64, write_overhead: 8, read_overhead: 8, request: 8, latency }
    }
}
