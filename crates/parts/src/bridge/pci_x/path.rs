//! From a bridge to memory and back: links one after the other, the memory at their end.
//!
//! ```text
//!   bridge ══ link ══ [processor that only passes on] ══ link ══ memory      up: requests, writes   down: read data
//! ```
//!
//! Whoever asks carries its packets itself, a leg a link: where they go, and for how long, is made out once for each
//! length. A link's packets share its lanes; a piece of data is sent as packets of at
//! most `payload` bytes, each with its overhead, back to back.
//!
//! Not modelled: credits of a link one by one (the bridge has pieces under way instead), coherence probes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Label, Lane, Lead, Leg, Sim, Time};

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
    const SECOND_PS: u64 = Time::ms(1_000).as_ps();
    // What one burst moves fits in 64 bits, and divides in a fraction of the time.
    let ps = match bytes.checked_mul(SECOND_PS) {
        Some(scaled) => scaled / rate,
        None => (u128::from(bytes) * u128::from(SECOND_PS) / u128::from(rate)) as u64,
    };
    Time::ps(ps)
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

    /// A write on its way to memory.
    fn stage(&self, bytes: u32, user: bool) -> Stage<'_> {
        let (lane, flight) = (&self.up, self.flight(&self.up).2);
        let plan = self.data(lane, bytes, user, self.spec.write_overhead);
        Stage { lane, reason: &LINK_BUSY, plan, flight }
    }

    fn request(&self, lane: &Lane, label: &'static Label) -> [(&'static Label, Time); 2] {
        [(label, lane.paced(span(u64::from(self.spec.request), self.spec.rate))), (label, Time::ZERO)]
    }

    /// A register access over one of the lanes.
    fn register(&self, lane: &Lane) -> Leg {
        Leg::over(lane, &LINK_BUSY, self.request(lane, &LINK_REGISTER)).then(&[self.flight(lane)])
    }

    /// What follows on the lane: nothing occupies it any more.
    fn flight<'a>(&self, lane: &'a Lane) -> Lead<'a> {
        (lane, &FLIGHT, lane.paced(self.spec.latency))
    }
}

/// Legs of a way.
type Legs = Rc<[Leg]>;

/// Of a write, through the bridge and onto the lane behind.
const LEGS_IN_BRIDGE: usize = 2;

/// Lanes of a link and of memory.
pub(super) const BEHIND: usize = 2;

/// A lane on the way to memory: why it is waited for, what a piece does there, and how long it flies then.
pub(super) struct Stage<'a> {
    pub(super) lane: &'a Lane,
    pub(super) reason: &'static Label,
    pub(super) plan: [(&'static Label, Time); 2],
    pub(super) flight: Time,
}

impl Stage<'_> {
    /// As a leg of a way, without the flight.
    pub(super) fn leg(&self) -> Leg {
        Leg::over(self.lane, self.reason, self.plan)
    }

    /// How long the lane is occupied.
    pub(super) fn length(&self) -> Time {
        self.plan[0].1 + self.plan[1].1
    }
}

/// Ways by what they are for, as far as they have been gone.
#[derive(Clone)]
struct Ways<K>(Box<RefCell<Known<K>>>);

/// All of them, and the last one: mostly it is gone again.
#[derive(Clone)]
struct Known<K> {
    all: BTreeMap<K, Legs>,
    last: Option<(K, Legs)>,
}

impl<K> Default for Ways<K> {
    fn default() -> Self {
        Ways(Box::new(RefCell::new(Known { all: BTreeMap::new(), last: None })))
    }
}

impl<K: Ord + Copy> Ways<K> {
    /// The one for `what`, which `make` makes the first time: during a run, when every lane has its pace.
    #[inline]
    fn of(&self, what: K, make: impl FnOnce() -> Legs) -> Legs {
        let Known { all, last } = &mut *self.0.borrow_mut();
        if let Some((known, legs)) = last
            && *known == what
        {
            return legs.clone();
        }
        let legs = all.entry(what).or_insert_with(make).clone();
        *last = Some((what, legs.clone()));
        legs
    }
}

/// Of register accesses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Down,
    Up,
}

/// Links from a bridge to memory, the nearest to the bridge first.
#[derive(Clone)]
pub struct Path {
    sim: Sim,
    hops: Vec<Hop>,
    memory: Rc<Memory>,
    /// By length, and whether they are the user's data.
    writes: Ways<(u32, bool)>,
    reads: Ways<(u32, bool)>,
    registers: Ways<Way>,
}

impl Path {
    /// A port of the host itself.
    pub fn new(sim: &Sim, memory: &Rc<Memory>) -> Path {
        let (writes, reads, registers) = (Ways::default(), Ways::default(), Ways::default());
        Path { sim: sim.clone(), hops: Vec::new(), memory: memory.clone(), writes, reads, registers }
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

    /// The way of a write to memory, `through` the bridge; behind the first so many legs its data have left that.
    pub(super) fn write(&self, bytes: u32, user: bool, through: Lead<'_>) -> (Legs, usize) {
        (self.writes.of((bytes, user), || self.legs_of_write(bytes, user, through)), LEGS_IN_BRIDGE)
    }

    /// The lanes that a write occupies behind the bridge; nothing where they are more.
    pub(super) fn stages(&self, bytes: u32, user: bool) -> Option<[Option<Stage<'_>>; BEHIND]> {
        let memory = Some(self.memory.stage(bytes, user));
        match &self.hops[..] {
            [] => Some([memory, None]),
            [hop] => Some([Some(hop.stage(bytes, user)), memory]),
            _ => None,
        }
    }

    fn legs_of_write(&self, bytes: u32, user: bool, through: Lead<'_>) -> Legs {
        let (through, memory) = (Leg::owing(&[through]), self.memory.leg(bytes, user));
        let Some((first, others)) = self.hops.split_first() else { return Rc::new([through, memory]) };
        let data = |hop: &Hop| hop.stage(bytes, user).leg();
        let flight = Leg::owing(&[first.flight(&first.up)]);
        let onwards = others.iter().map(|hop| data(hop).then(&[hop.flight(&hop.up)]));
        [through, data(first), flight].into_iter().chain(onwards).chain([memory]).collect()
    }

    /// The way of a read to memory and back, `through` the bridge on the way there (whose request has just come) and back.
    pub(super) fn read(&self, bytes: u32, user: bool, through: Lead<'_>) -> Legs {
        self.reads.of((bytes, user), || self.legs_of_read(bytes, user, through))
    }

    fn legs_of_read(&self, bytes: u32, user: bool, through: Lead<'_>) -> Legs {
        let Some((last, hops)) = self.hops.split_last() else {
            let memory = self.memory.leg(bytes, user).then(&[through]);
            return Rc::new([Leg::owing(&[through, self.memory.latency()]), memory]);
        };
        let mut legs = vec![Leg::owing(&[through])];
        let asked = |hop: &Hop| Leg::over(&hop.up, &LINK_BUSY, hop.request(&hop.up, &LINK_REQUEST));
        legs.extend(hops.iter().map(|hop| asked(hop).then(&[hop.flight(&hop.up)])));
        legs.push(asked(last).then(&[last.flight(&last.up), self.memory.latency()]));
        legs.push(self.memory.leg(bytes, user));
        legs.extend(self.hops.iter().rev().map(|hop| {
            let plan = hop.data(&hop.down, bytes, user, hop.spec.read_overhead);
            Leg::over(&hop.down, &LINK_BUSY, plan).then(&[hop.flight(&hop.down)])
        }));
        if let Some(nearest) = legs.pop() {
            legs.push(nearest.then(&[through]));
        }
        legs.into()
    }

    /// A register access of the processor, on its way to the bridge and `through` it.
    pub async fn register_down(&self, through: Lead<'_>) {
        let across = |hop: &Hop| hop.register(&hop.down);
        let legs = || self.hops.iter().rev().map(across).chain([Leg::owing(&[through])]).collect();
        self.sim.go(self.registers.of(Way::Down, legs)).await;
    }

    /// The answer to a register read, on its way `through` the bridge and back.
    pub async fn register_up(&self, through: Lead<'_>) {
        let across = |hop: &Hop| hop.register(&hop.up);
        let legs = || [Leg::owing(&[through])].into_iter().chain(self.hops.iter().map(across)).collect();
        self.sim.go(self.registers.of(Way::Up, legs)).await;
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
