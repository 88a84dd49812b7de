//! A root complex with the host's memory behind it: ports, the path to cache and memory, the other socket.
//! PCI Express Base Specification 4.0, 1.3.1.
//!
//! ```text
//!   ports ══▶ root complex ─┬─▶ last-level cache
//!                  │        ├─▶ memory (NAME.memory)
//!            translation    └─▶ other socket (NAME.interconnect-in, NAME.interconnect-out)
//! ```
//!
//! Reads cost the latency of where the data lies; writes go into the cache (direct cache access) or to memory. What lies
//! on the other socket comes from there and goes there over a link that carries both ways at once.
//!
//! Not modelled: what processors do to caches and memory meanwhile, which lines are evicted, snoops, refresh, memory
//! channels one by one (the memory has one rate), the order of completions of different requests (first come).

use std::cell::Cell;
use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Label, Lane, Sim, Time};

use super::iommu::{self, Iommu};
use super::{Buffers, DownstreamPort, PAYLOAD_MAX, PAYLOAD_MIN, RATES, WIDTHS};
use crate::protocols::pcie::{Home, WORD_BYTES};

/// From a request's arrival to its data, in the last-level cache.
static CACHE_READ: Label = Label::protocol("read from the last-level cache");
/// The same, in memory.
static MEMORY_READ: Label = Label::protocol("read from memory");
/// A write until it is visible to processors.
static WRITE: Label = Label::protocol("write until visible");
/// Writes that came before have to be visible first.
static ORDER: Label = Label::protocol("behind earlier writes");
/// Memory at work for a device.
static MEMORY_DATA: Label = Label::through("memory");
static MEMORY_BUSY: Label = Label::reason("memory busy");
/// To or from the other socket.
static INTERCONNECT_DATA: Label = Label::through("socket interconnect");
static INTERCONNECT_BUSY: Label = Label::reason("socket interconnect busy");
static INTERCONNECT: Label = Label::protocol("to the other socket and back");

/// The data sheet of a root complex and of what is behind it.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Ports.
    #[count("ports", 1..=64)]
    pub ports: u64,
    /// What a lane carries, at most.
    #[rate("rate", one_of = &RATES)]
    rate: u64,
    /// Lanes of a port.
    #[count("width", one_of = &WIDTHS)]
    width: u64,
    /// Largest payload of a packet.
    #[bytes("payload_max", PAYLOAD_MIN..=PAYLOAD_MAX, power_of_two)]
    payload_max: u32,
    /// Completions are cut at multiples of so many bytes: the read completion boundary (2.3.1.1).
    #[bytes("completion", 64..=4_096, power_of_two)]
    completion_bytes: u32,
    /// Completions of long reads are combined up to this size.
    #[bytes("combined", 64..=4_096, power_of_two)]
    combined_bytes: u32,
    /// Reads that are as long have combined completions.
    #[bytes("combined_from")]
    combined_from_bytes: u64,
    /// Whether the last part of a read has a completion of its own.
    #[choice("tail", "apart" => true, "with the rest" => false)]
    tail_apart: bool,
    #[by(Buffers::read(p, payload_max))]
    buffers: Buffers,
    /// From a read's arrival to its data, where they are in a cache.
    #[time("cache_read")]
    cache_read: Time,
    /// From a read's arrival to its data, where they are in memory.
    #[time("memory_read")]
    memory_read: Time,
    /// From a write's arrival until memory or cache has it.
    #[time("write")]
    write: Time,
    /// What memory carries.
    #[rate("memory_rate", 1_000_000..=100_000_000_000_000)]
    memory_rate: u64,
    /// To the other socket, each way.
    #[time("interconnect.latency")]
    interconnect: Time,
    /// What the wires between the sockets carry, each way.
    #[rate("interconnect.rate", 1_000_000..=100_000_000_000_000)]
    interconnect_rate: u64,
    /// From port to port, for what devices send each other.
    #[time("peer_to_peer")]
    peer_to_peer: Time,
    /// Register writes of one processor to one device that are on their way at once.
    #[count("register_writes", 1..=64)]
    register_writes: usize,
    #[nested]
    iommu: iommu::Spec,
}

#[cfg(test)]
impl Spec {
    /// A root complex for tests of what is plugged into it: 100 ns to the cache, 200 ns to memory.
    pub(crate) fn example(payload_max: u32, buffers: Buffers) -> Spec {
        Spec {
            ports: 4,
            rate: 8_000_000_000,
            width: 16,
            payload_max,
            completion_bytes: 64,
            combined_bytes: 256,
            combined_from_bytes: 512,
            tail_apart: false,
            buffers,
            cache_read: Time::ns(100),
            memory_read: Time::ns(200),
            write: Time::ns(50),
            memory_rate: 100_000_000_000,
            interconnect: Time::ns(80),
            interconnect_rate: 50_000_000_000,
            peer_to_peer: Time::ns(300),
            register_writes: 4,
            iommu: iommu::Spec::off(),
        }
    }
}

/// A root complex.
pub struct RootComplex {
    sim: Sim,
    spec: Spec,
    /// Nobody occupies it, but its delays are the root complex's.
    lane: Lane,
    memory: Lane,
    /// From the other socket, and to it.
    interconnect_in: Lane,
    interconnect_out: Lane,
    iommu: Iommu,
    /// The last request was as long as those that are answered in combined completions.
    combining: Cell<bool>,
}

impl RootComplex {
    /// A root complex named `name`.
    pub fn new(sim: &Sim, name: &str, spec: Spec) -> Rc<RootComplex> {
        let lane = |part: &str| sim.lane(&format!("{name}{part}"), None);
        let (interconnect_in, interconnect_out) = (lane(".interconnect-in"), lane(".interconnect-out"));
        let (lane, memory) = (lane(""), lane(".memory"));
        memory.carries(&MEMORY_DATA, spec.memory_rate, Time::ms(1_000));
        for interconnect in [&interconnect_in, &interconnect_out] {
            interconnect.carries(&INTERCONNECT_DATA, spec.interconnect_rate, Time::ms(1_000));
        }
        let iommu = Iommu::new(sim, name, spec.iommu.clone());
        let (sim, combining) = (sim.clone(), Cell::new(false));
        Rc::new(RootComplex { sim, spec, lane, memory, interconnect_in, interconnect_out, iommu, combining })
    }

    /// Register writes of one processor to one device that are on their way at once.
    pub fn register_writes(&self) -> usize {
        self.spec.register_writes
    }

    /// One of its ports.
    pub fn port(self: &Rc<Self>) -> Rc<DownstreamPort> {
        let Spec { rate, width, payload_max, ref buffers, .. } = self.spec;
        Rc::new(DownstreamPort {
            root: self.clone(),
            rate,
            width,
            payload_max,
            buffers: buffers.clone(),
            up: Vec::new(),
            down: Vec::new(),
            switch: Time::ZERO,
        })
    }

    /// A request for so many bytes is sent: its completions are cut at multiples of what is returned. Where long requests
    /// follow one another and no write comes in between, the next lines are there before the first have left, and go
    /// together; how long they have to be is the host's own, whatever the largest request of the device.
    pub fn completion_bytes(&self, bytes: u32) -> u32 {
        let long = u64::from(bytes.next_multiple_of(WORD_BYTES)) >= self.spec.combined_from_bytes;
        if self.combining.replace(long) && long { self.spec.combined_bytes } else { self.spec.completion_bytes }
    }

    /// Whether an incomplete word at the end of a read comes in a completion of its own.
    pub fn tail_apart(&self) -> bool {
        self.spec.tail_apart
    }

    /// Whether there is another socket: where there is none, nothing is between here and there.
    pub fn two_sockets(&self) -> bool {
        self.spec.interconnect > Time::ZERO
    }

    /// From one port to another, from the first byte to the first byte.
    pub fn peer_to_peer(&self) -> Time {
        self.spec.peer_to_peer
    }

    /// The lane of its delays.
    pub fn lane(&self) -> &Lane {
        &self.lane
    }

    /// Whether addresses are translated.
    pub fn translates(&self) -> bool {
        self.iommu.translates()
    }

    /// A write arrives at `arrival`; returns when memory has taken it, now where it lies in the cache, and when it is
    /// visible. Ends when nothing more can hold it up.
    pub async fn accept(&self, arrival: Time, address: u64, bytes: u32, home: Home) -> (Time, Time) {
        self.combining.set(false);
        let walked = self.iommu.translate(address).await;
        let memory = self.memory_time(bytes);
        let mut visible = (arrival + walked).max(self.sim.now()) + self.lane.paced(self.spec.write);
        if home.remote {
            let out = &self.interconnect_out;
            let grant = out.acquire(&INTERCONNECT_BUSY).await;
            grant.hold(&INTERCONNECT_DATA, self.interconnect_time(out, bytes)).await;
            visible = visible.max(self.sim.now()) + out.paced(self.spec.interconnect);
        }
        let mut stored = self.sim.now();
        if !home.cached {
            let grant = self.memory.acquire(&MEMORY_BUSY).await;
            stored = grant.leave([(&MEMORY_DATA, memory)]);
            visible = visible.max(stored);
        }
        (stored, visible)
    }

    /// Waits for what a write of this device, visible at `visible`, has to go through.
    pub async fn until_visible(&self, visible: Time) {
        self.lane.delay_until(&WRITE, visible.max(self.sim.now())).await;
    }

    /// A read request has arrived at `arrival`; ends when its data is ready to be sent. It waits for the writes visible
    /// at `after`. Whoever asks may have been at an earlier request meanwhile.
    pub async fn read(&self, arrival: Time, address: u64, bytes: u32, home: Home, after: Time) {
        let (label, latency) =
            if home.cached { (&CACHE_READ, self.spec.cache_read) } else { (&MEMORY_READ, self.spec.memory_read) };
        let latency = self.lane.paced(latency);
        let since = self.sim.now().max(arrival);
        let mut begin = arrival.max(after);
        if self.translates() {
            self.sim.wait_until(begin).await;
            self.lane.delayed(&ORDER, since, after);
            if self.iommu.translate(address).await > Time::ZERO {
                begin = self.sim.now();
            }
        }
        // One wait for what follows one after the other.
        let asked = self.sim.now();
        self.sim.wait_until(begin + latency).await;
        if !self.translates() {
            self.lane.delayed(&ORDER, since, after);
        }
        self.lane.delayed(label, begin.max(asked), begin + latency);
        if home.remote {
            let crossed = begin + latency + self.interconnect_in.paced(self.spec.interconnect);
            self.interconnect_in.delay_until(&INTERCONNECT, crossed.max(self.sim.now())).await;
            let grant = self.interconnect_in.acquire(&INTERCONNECT_BUSY).await;
            grant.hold(&INTERCONNECT_DATA, self.interconnect_time(&self.interconnect_in, bytes)).await;
        }
        if !home.cached {
            let grant = self.memory.acquire(&MEMORY_BUSY).await;
            grant.hold(&MEMORY_DATA, self.memory_time(bytes)).await;
        }
    }

    fn memory_time(&self, bytes: u32) -> Time {
        self.memory.paced(Time::ps(u64::from(bytes) * 1_000_000_000_000 / self.spec.memory_rate))
    }

    fn interconnect_time(&self, interconnect: &Lane, bytes: u32) -> Time {
        interconnect.paced(Time::ps(u64::from(bytes) * 1_000_000_000_000 / self.spec.interconnect_rate))
    }
}
