//! A PCI Express link: two directions that know nothing of each other but acknowledgements.
//! PCI Express Base Specification 4.0 (6.0 for flits).
//!
//! ```text
//!   root port ──▶ NAME.down ──▶ device
//!             ◀── NAME.up  ◀──
//! ```
//!
//! The link trains to the lowest rate and the smallest width of port, slot and device. What a rate means (encoding,
//! framing, SKP) is a table in data, one row a generation.
//!
//! Modelled: packets with header, framing and LCRC; acknowledgements and credit updates at their time limits; SKP; flow
//! control credits; a bit error rate with replay.
//!
//! Not modelled: virtual channels, ECRC, power states, retraining, forward error correction beyond its bytes, the delay
//! of a packet until its flit is full, L0p, and acknowledgements on an idle direction, which cost nobody anything.

mod credits;
mod direction;
pub mod iommu;
mod path;
mod port;
pub mod root_complex;
mod sent;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Sim, Time};

pub use credits::Credits;
pub use direction::{Acknowledge, Direction, Speed};
pub use path::{LINKS_MAX, Path, Stage};
pub use port::{Intake, Port, PortSpec};

use self::root_complex::RootComplex;
use crate::parameters::{Parameters, SpecError};

/// Widths that links have.
pub const WIDTHS: [u64; 6] = [1, 2, 4, 8, 12, 16];
/// Rates that lanes have: 2.5 to 64 GT/s, in bytes per second.
pub const RATES: [u64; 6] = [312_500_000, 625_000_000, 1_000_000_000, 2_000_000_000, 4_000_000_000, 8_000_000_000];
/// Payloads and read requests are powers of two from this one on (7.5.3.4).
pub const PAYLOAD_MIN: u64 = 128;
/// The largest.
pub const PAYLOAD_MAX: u64 = 4_096;
/// 3.5.2.1: what the acknowledge limit counts for a packet besides its payload, bytes.
const LIMIT_OVERHEAD_BYTES: u64 = 28;
const PPM: u64 = 1_000_000;

/// What a rate means.
#[derive(Clone, Debug, PartialEq, Spec)]
#[spec(holds = Generation::fits)]
struct Generation {
    /// Bits of one lane.
    #[rate("rate")]
    rate: u64,
    /// A line on the wire: a symbol, a block or a flit.
    #[bytes("line", ..=65_536)]
    line_bytes: u64,
    /// What a line carries of packets.
    #[bytes("data", 1..=line_bytes)]
    data_bytes: u64,
    /// What a packet has around it on the wire.
    #[bytes("framing", ..=64)]
    framing_bytes: u64,
    /// A packet of the link itself.
    #[bytes("dllp", ..=64)]
    dllp_bytes: u64,
    /// What a lane sends from one SKP ordered set to the next.
    #[bytes("skip_every", ..=1 << 24)]
    skip_every_bytes: u64,
    /// An SKP ordered set on a lane.
    #[bytes("skip")]
    skip_bytes: u64,
    /// What a receiver may take before it acknowledges.
    #[time("internal_delay")]
    internal_delay: Time,
}

impl Generation {
    fn fits(&self, p: &Parameters) -> Result<(), SpecError> {
        if self.skip_bytes >= self.skip_every_bytes {
            return Err(p.error("skip", "nothing is sent besides SKP", "expected less than `skip_every`"));
        }
        Ok(())
    }
}

/// How late a packet may be acknowledged, by width: 3.5.2.1, table 3-7.
#[derive(Clone, Debug, PartialEq, Spec)]
struct AckFactor {
    /// Lanes.
    #[count("width")]
    width: u64,
    /// Of the largest packet's time, for payloads of 256 bytes at most.
    #[share("up_to_256_bytes", PPM / 10..=100 * PPM)]
    small: u64,
    /// Of the largest packet's time, for larger payloads.
    #[share("above", PPM / 10..=100 * PPM)]
    large: u64,
}

/// The link's data sheet: a slot, a cable, traces on a board.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// What each rate means.
    #[rows("generation.rows")]
    generations: Vec<Generation>,
    /// How late a packet may be acknowledged, by width: 3.5.2.1, table 3-7.
    #[rows("acknowledge.rows")]
    factors: Vec<AckFactor>,
    /// The highest rate that a lane carries.
    #[rate("rate", one_of = &RATES)]
    rate: u64,
    /// Lanes.
    #[count("width", one_of = &WIDTHS)]
    width: u64,
    /// From one end to the other.
    #[time("flight", ..=Time::us(100))]
    flight: Time,
    /// Of so many bits one is wrong; none where it is zero.
    #[count("bits_per_error", 1_000_000.., or_zero)]
    bits_per_error: u64,
    /// When the receiver acknowledges packets.
    #[choice("acknowledge.when", "at the limit" => false, "each packet" => true)]
    acknowledge_each: bool,
}

/// Buffers that a receiver advertises.
#[derive(Clone, Debug, PartialEq, Spec)]
#[spec(with(payload_max: u32), holds = |buffers: &Buffers, p: &Parameters| buffers.fit(p, payload_max))]
pub struct Buffers {
    /// Headers of posted requests; zero is infinitely many.
    #[count("credits.posted_headers")]
    pub posted_headers: u64,
    /// Data of posted requests.
    #[bytes("credits.posted_data")]
    pub posted_data_bytes: u64,
    /// Headers of non-posted requests; zero is infinitely many.
    #[count("credits.non_posted_headers")]
    pub non_posted_headers: u64,
    /// How long a packet stays in the buffers of the receiver.
    #[time("credits.drain")]
    pub drain: Time,
}

impl Buffers {
    /// A receiver that is never full.
    pub const INFINITE: Buffers =
        Buffers { posted_headers: 0, posted_data_bytes: 0, non_posted_headers: 0, drain: Time::ZERO };

    /// 2.6.1: at least one packet of the largest payload.
    fn fit(&self, p: &Parameters, payload_max: u32) -> Result<(), SpecError> {
        if self.posted_headers > 0 && self.posted_data_bytes < u64::from(payload_max) {
            let help = format!("expected {payload_max} B at least");
            return Err(p.error("credits.posted_data", "the largest packet does not fit", help));
        }
        Ok(())
    }
}

/// A port that leads away from the host: of a root complex, or of a switch.
pub struct DownstreamPort {
    /// The root.
    pub root: Rc<RootComplex>,
    /// Bytes per second of one lane, at most.
    pub rate: u64,
    /// Lanes, at most.
    pub width: u64,
    /// Largest payload on the way to the host, bytes.
    pub payload_max: u32,
    /// What its receiver advertises.
    pub buffers: Buffers,
    /// The links between here and the host, from here on; what goes there passes this switch first.
    pub up: Vec<Stage>,
    /// The links between the host and here, from the host on.
    pub down: Vec<Stage>,
    /// Through the switch that this is a port of.
    pub switch: Time,
}

/// A link.
pub struct Link {
    sim: Sim,
    spec: Spec,
    up: Rc<Direction>,
    down: Rc<Direction>,
    above: Rc<DownstreamPort>,
    training: Cell<Option<Training>>,
}

/// What a link has trained to, and what each of its ends and its wires would have carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Training {
    /// Bytes per second of one lane, and lanes.
    pub trained: (u64, u64),
    /// The same of the port nearer to the host.
    pub port: (u64, u64),
    /// Of what is between the two.
    pub slot: (u64, u64),
    /// Of the device.
    pub device: (u64, u64),
    /// Largest payload of a packet, bytes.
    pub payload_max: u32,
}

impl Training {
    /// Whether both ends could do more than the link does.
    pub fn is_low(&self) -> bool {
        let both = self.both_ends();
        self.trained.0 < both.0 || self.trained.1 < both.1
    }

    /// What both ends could do: bytes per second of one lane, and lanes.
    pub fn both_ends(&self) -> (u64, u64) {
        (self.port.0.min(self.device.0), self.port.1.min(self.device.1))
    }
}

/// A rate of one lane, bytes per second, and a number of lanes, as `lspci` writes them.
pub fn speed((bytes_per_second, lanes): (u64, u64)) -> String {
    format!("{} GT/s x{lanes}", bytes_per_second as f64 * 8e-9)
}

/// What is at the far end of a link.
pub struct UpstreamPort {
    /// Bytes per second of one lane, at most.
    pub rate: u64,
    /// Lanes, at most.
    pub width: u64,
    /// Largest payload, bytes.
    pub payload_max: u32,
    /// What its receiver advertises.
    pub buffers: Buffers,
}

impl Link {
    /// A link named `name` at a port.
    pub fn new(sim: &Sim, name: &str, spec: Spec, above: &Rc<DownstreamPort>, seed: u64) -> Rc<Link> {
        let direction = |way: &str| Rc::new(Direction::new(sim, &format!("{name}.{way}"), seed));
        let (up, down) = (direction("up"), direction("down"));
        Rc::new(Link { sim: sim.clone(), spec, up, down, above: above.clone(), training: Cell::new(None) })
    }

    /// The port that it is plugged into.
    pub fn above(&self) -> &DownstreamPort {
        &self.above
    }

    /// What it has trained to; nothing before it has.
    pub fn training(&self) -> Option<Training> {
        self.training.get()
    }

    /// Trains the link with what is at its far end. The error says what does not fit.
    pub fn train(&self, below: &UpstreamPort) -> Result<u32, String> {
        let rate = self.spec.rate.min(self.above.rate).min(below.rate);
        let width = self.spec.width.min(self.above.width).min(below.width);
        let payload_max = self.above.payload_max.min(below.payload_max);
        let Some(generation) = self.spec.generations.iter().find(|generation| generation.rate == rate) else {
            return Err(format!("the link has no row for {:.1} GT/s", rate as f64 * 8e-9));
        };
        let Some(factor) = self.spec.factors.iter().find(|factor| factor.width == width) else {
            return Err(format!("the link has no row for {width} lanes"));
        };
        // A byte of packets takes line/data bytes of the wire.
        let (ps, per_bytes) = (1_000_000_000_000 * generation.line_bytes, rate * width * generation.data_bytes);
        let common = gcd(ps, per_bytes);
        let (ps, per_bytes) = (ps / common, per_bytes / common);
        let of_lane = |bytes: u64| Time::ps(bytes * 1_000_000_000_000 / rate);
        let share = if payload_max <= 256 { factor.small } else { factor.large };
        let symbols = (u64::from(payload_max) + LIMIT_OVERHEAD_BYTES) * share / PPM;
        let mut speed = Speed {
            ps,
            per_bytes,
            framing_bytes: generation.framing_bytes as u32,
            dllp_bytes: generation.dllp_bytes as u32,
            skip_every: of_lane(generation.skip_every_bytes),
            skip: of_lane(generation.skip_bytes),
            acknowledge: Acknowledge::Each,
            flight: self.spec.flight,
            bits_per_error: self.spec.bits_per_error,
        };
        if !self.spec.acknowledge_each {
            speed.acknowledge = Acknowledge::Within(speed.time(symbols) + generation.internal_delay);
        }
        for (direction, receiver) in [(&self.up, &self.above.buffers), (&self.down, &below.buffers)] {
            let posted = Credits::new(&self.sim, receiver.posted_headers, receiver.posted_data_bytes);
            let non_posted = Credits::new(&self.sim, receiver.non_posted_headers, u64::MAX);
            direction.trained(speed, posted, non_posted);
        }
        self.training.set(Some(Training {
            trained: (rate, width),
            port: (self.above.rate, self.above.width),
            slot: (self.spec.rate, self.spec.width),
            device: (below.rate, below.width),
            payload_max,
        }));
        Ok(payload_max)
    }

    /// The links from the far end to the host, this one first.
    pub fn stages_up(&self) -> Vec<Stage> {
        let (direction, opposite) = (self.up.clone(), self.down.clone());
        let first = Stage { direction, opposite, switch: self.above.switch, drain: self.above.buffers.drain };
        [first].into_iter().chain(self.above.up.iter().cloned()).collect()
    }

    /// The links from the host to the far end, this one last.
    pub fn stages_down(&self, drain: Time) -> Vec<Stage> {
        let (direction, opposite) = (self.down.clone(), self.up.clone());
        let last = Stage { direction, opposite, switch: Time::ZERO, drain };
        self.above.down.iter().cloned().chain([last]).collect()
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
