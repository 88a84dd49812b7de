//! A PCI Express switch: one port to the host, several away from it. Also a chip set behind its own uplink.
//! PCI Express Base Specification 4.0, 1.3.3.
//!
//! ```text
//!   host ═══ link ═══ [ switch ] ═╤═ link ═══ device      every packet passes once it has begun to arrive,
//!                                 ╘═ link ═══ device      and shares the link to the host with those of others
//! ```
//!
//! Its ports advertise buffers; a packet lies in one until it has left by the next link.
//!
//! Not modelled: arbitration by weight, multicast, non-transparent bridging, a limit of the switch's own core.

use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::Time;

use crate::bus::pcie::{Buffers, DownstreamPort, Link, PAYLOAD_MAX, PAYLOAD_MIN, RATES, UpstreamPort, WIDTHS};

/// The switch's data sheet.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Ports away from the host.
    #[count("ports", 1..=64)]
    pub ports: u64,
    /// What a lane carries, at most.
    #[rate("rate", one_of = &RATES)]
    rate: u64,
    /// Lanes towards the host.
    #[count("width", one_of = &WIDTHS)]
    width: u64,
    /// Lanes of each port to a device.
    #[count("port_width", one_of = &WIDTHS)]
    port_width: u64,
    /// Largest payload of a packet.
    #[bytes("payload_max", PAYLOAD_MIN..=PAYLOAD_MAX, power_of_two)]
    payload_max: u32,
    /// From a packet's arrival to its departure at an idle port.
    #[time("latency")]
    latency: Time,
    #[by(Buffers::read(p, payload_max))]
    buffers: Buffers,
}

/// Plugs a switch into a link, which trains; returns one of its ports, which are all alike.
pub fn plug(spec: &Spec, link: &Link) -> Result<Rc<DownstreamPort>, String> {
    let Spec { rate, width, payload_max, ref buffers, .. } = *spec;
    let payload_max = link.train(&UpstreamPort { rate, width, payload_max, buffers: buffers.clone() })?;
    let mut down = link.stages_down(buffers.drain);
    if let Some(last) = down.last_mut() {
        last.switch = spec.latency;
    }
    Ok(Rc::new(DownstreamPort {
        root: link.above().root.clone(),
        rate,
        width: spec.port_width,
        payload_max,
        buffers: buffers.clone(),
        up: link.stages_up(),
        down,
        switch: spec.latency,
    }))
}

#[cfg(test)]
impl Spec {
    /// A switch for tests of what is plugged into it: 100 ns.
    pub(crate) fn example(buffers: Buffers) -> Spec {
        let (rate, payload_max) = (8_000_000_000, 512);
        Spec { ports: 4, rate, width: 16, port_width: 16, payload_max, latency: Time::ns(100), buffers }
    }
}
