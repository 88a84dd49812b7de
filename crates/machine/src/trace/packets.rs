//! Packets of PCI Express links, as an adapter beside each device would take them.
//!
//! Devices are functions 0 of buses from 1 on, in the order in which the system has them; the host is 00:00.0. Each
//! device has 16 MiB of registers. Memory of the host is a pattern of device, address and seed, but for what a driver
//! writes into it for a drive: commands, lists of pages, completion entries. Drivers put it at the same addresses for
//! every device: packets of several devices are told apart by their requester.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use hopscope_kernel::{Record, Sim, Time};
use hopscope_parts::protocols::pcie::{
    CONTENT, CONTENT_AT, Flow, INTERRUPTS_AT, PACKET, PACKET_AT, Packet, REGISTERS_AT,
};
use hopscope_signals::content::mixed;
use hopscope_signals::pcie::nettlp::Way;
use hopscope_signals::pcie::pcap_out::PcapFile;
use hopscope_signals::pcie::tlp::{Access, Attributes, Body, Enables, Id, Requester, Tlp};

use super::{Drawing, Drawn, Traced, Window, part_of};
use crate::blueprint::Blueprint;

/// Registers of the first device.
const REGISTERS: u64 = 0xe000_0000;
const REGISTERS_BYTES: u64 = 1 << 24;
/// Where interrupt messages go.
const INTERRUPTS: u64 = 0xfee0_0000;
const HOST: Id = Id(0);

/// A direction of a link.
struct Direction {
    link: String,
    /// Up to the host.
    way: Way,
    /// The device at its lower end, by number from 1 on; nothing where that is a switch, or the other side of a chip set.
    device: Option<u16>,
    /// Address of the packet that begins.
    at: u64,
    /// Address of the content that follows.
    content_at: u64,
    packets: u64,
}

/// Draws packets.
pub struct Packets {
    window: Window,
    seed: u64,
    /// Links that are followed: the device below each, where there is one.
    below: HashMap<String, Option<u16>>,
    /// Devices, by their own name.
    devices: HashMap<String, u16>,
    /// The only link that is drawn; all that end in a device where none is named.
    link: Option<String>,
    out: Option<Box<dyn Write>>,
    file: Option<PcapFile<Box<dyn Write>>>,
    lanes: HashMap<u16, Direction>,
    processes: Vec<String>,
    /// Words that are known to be somewhere, by device and address.
    content: HashMap<(u16, u64), u64>,
}

/// The device below each link that ends in one, by the name of the link; and each device by its own name.
fn devices(blueprint: &Blueprint) -> (HashMap<String, Option<u16>>, HashMap<String, u16>) {
    let model = |name: &str| blueprint.parts().iter().find(|part| part.name == name).map(|part| part.kind.model);
    let (mut below, mut devices) = (HashMap::new(), HashMap::new());
    for part in blueprint.parts().iter().filter(|part| part.kind.model != "pcie-switch") {
        for (_, port) in part.plugs() {
            let link = part_of(&port);
            if model(link) == Some("pcie-link") {
                let number = devices.len() as u16 + 1;
                below.insert(link.to_string(), Some(number));
                devices.insert(part.name.clone(), number);
            }
        }
    }
    (below, devices)
}

/// Bus, device and function of a device; 0 is the host.
fn id(device: u16) -> Id {
    if device == 0 { HOST } else { Id(device << 8) }
}

impl Packets {
    /// Nothing drawn yet. Those of every link that ends in a device, or of one link, whatever it ends in.
    pub fn new(blueprint: &Blueprint, link: Option<&str>, pattern: (Window, u64), out: Box<dyn Write>) -> Packets {
        let ((mut below, devices), (window, seed)) = (devices(blueprint), pattern);
        if let Some(link) = link {
            below.entry(link.to_string()).or_default();
        }
        Packets {
            window,
            seed,
            below,
            devices,
            link: link.map(String::from),
            out: Some(out),
            file: None,
            lanes: HashMap::new(),
            processes: Vec::new(),
            content: HashMap::new(),
        }
    }

    fn begin(&mut self, sim: &Sim) -> io::Result<()> {
        let Some(out) = self.out.take() else { return Ok(()) };
        self.file = Some(PcapFile::new(out)?);
        self.processes = sim.processes();
        for (number, (name, _)) in sim.lanes().into_iter().enumerate() {
            let Some((link, way)) = name.rsplit_once('.') else { continue };
            let Some(&device) = self.below.get(link) else { continue };
            let way = if way == "up" { Way::Taken } else { Way::Given };
            let direction = Direction { link: link.to_string(), way, device, at: 0, content_at: 0, packets: 0 };
            self.lanes.insert(number as u16, direction);
        }
        Ok(())
    }

    /// Bytes from `address` on.
    fn bytes(&self, device: u16, address: u64, count: u64) -> Vec<u8> {
        let word = |at: u64| {
            let known = self.content.get(&(device, at)).copied();
            known.unwrap_or_else(|| mixed(self.seed ^ u64::from(device) << 48 ^ at))
        };
        (address..address + count).map(|at| (word(at & !7) >> (8 * (at & 7))) as u8).collect()
    }

    fn packet(&mut self, (lane, who, at): (u16, u16, Time), packet: Packet) -> io::Result<()> {
        let Some(direction) = self.lanes.get_mut(&lane) else { return Ok(()) };
        let (way, below, address) = (direction.way, direction.device, direction.at);
        direction.packets += 1;
        // Another device's writes come down this one's link.
        let part = self.processes.get(usize::from(who)).map(|name| part_of(name));
        let carrier = part.and_then(|part| self.devices.get(part)).copied();
        let device = below.or(carrier).unwrap_or(0);
        let sender = carrier.unwrap_or(device);
        let asks = match (way, packet.flow) {
            (Way::Taken, Flow::Completion) => HOST,
            (Way::Given, Flow::Completion) | (Way::Taken, _) => id(device),
            (Way::Given, _) if sender == device => HOST,
            (Way::Given, _) => id(sender),
        };
        let requester = Requester { id: asks, tag: packet.tag & 0x3ff };
        let offset = (address & 3) as u32;
        let words = |bytes: u32| ((offset + bytes).div_ceil(4)) as u16;
        let (body, length) = match packet.flow {
            Flow::Completion => {
                let completer = if way == Way::Taken { id(device) } else { HOST };
                let (status, byte_count, lower_address) = (0, packet.bytes as u16, address as u8 & 0x7f);
                let (with_data, locked, modified) = (true, false, false);
                let body = Body::Completion {
                    with_data,
                    locked,
                    completer,
                    status,
                    modified,
                    byte_count,
                    requester,
                    lower_address,
                };
                (body, words(packet.payload))
            }
            flow => {
                let asked = if flow == Flow::NonPosted { packet.bytes } else { packet.payload };
                let access = if flow == Flow::NonPosted { Access::Read } else { Access::Write };
                let (length, at) = (words(asked), on_wire(device, address) & !3);
                let enables = enables(offset, asked, length);
                let wide = at > u64::from(u32::MAX);
                (Body::Memory { access, requester, enables, address: at, hint: 0, wide }, length)
            }
        };
        let payload = match packet.flow {
            Flow::NonPosted => Vec::new(),
            _ => self.bytes(device, address & !3, u64::from(length) * 4),
        };
        let attributes = Attributes { relaxed_ordering: packet.relaxed, ..Attributes::default() };
        let tlp = Tlp { attributes, ..Tlp::plain(body, length, &payload) };
        match &mut self.file {
            Some(file) => file.packet(at.as_ps() / 1_000, way, &tlp),
            None => Ok(()),
        }
    }
}

/// Byte enables of the first and the last word (2.2.5).
fn enables(offset: u32, bytes: u32, words: u16) -> Enables {
    let from = 0xf << offset & 0xf;
    let until = 0xf >> (3 - (offset + bytes + 3) % 4);
    if words == 1 { Enables { first: from & until, last: 0 } } else { Enables { first: from, last: until } }
}

/// An address of the model as packets have it.
fn on_wire(device: u16, address: u64) -> u64 {
    match address {
        REGISTERS_AT.. => REGISTERS + u64::from(device.saturating_sub(1)) * REGISTERS_BYTES + (address - REGISTERS_AT),
        INTERRUPTS_AT.. => INTERRUPTS + (u64::from(device) << 12) + (address - INTERRUPTS_AT),
        _ => address,
    }
}

impl Drawing for Packets {
    fn records(&mut self, sim: &Sim, batch: &[Record]) -> io::Result<()> {
        self.begin(sim)?;
        let (from, end) = (self.window.from, self.window.end());
        for record in batch {
            let Record::Carried { lane, who, label, at, value } = *record else { continue };
            let Some(direction) = self.lanes.get_mut(&lane).filter(|_| at < end) else { continue };
            let is = |known| label == known;
            if is(&CONTENT_AT) {
                direction.content_at = value;
            } else if is(&CONTENT) {
                // What lies in memory is said on the link above the device that will read it.
                self.content.insert((direction.device.unwrap_or(0), direction.content_at), value);
                direction.content_at += 8;
            } else if is(&PACKET_AT) {
                direction.at = value;
            } else if is(&PACKET) && at >= from && self.link.as_ref().is_none_or(|link| *link == direction.link) {
                self.packet((lane, who, at), Packet::unpacked(value))?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, sim: &Sim) -> io::Result<Traced> {
        self.begin(sim)?;
        if let Some(file) = self.file.take() {
            file.finish()?;
        }
        let mut links: BTreeMap<&str, u64> = BTreeMap::new();
        for direction in self.lanes.values().filter(|direction| direction.packets > 0) {
            *links.entry(&direction.link).or_default() += direction.packets;
        }
        let drawn = links.into_iter().map(|(link, count)| Drawn { name: link.to_string(), count, what: "packets" });
        Ok(Traced { drawn: drawn.collect() })
    }
}
