//! Packets: host to fabric and fabric to host, each kept in a buffer of local memory on its way.

use hopscope_kernel::{Errand, Label, Lane, Sim, Time, join};

use super::{Adapter, PORT_RATE, span};

static NO_PACKET: Label = Label::workload("no packet asked for");
static ALL_BUFFERS_BUSY: Label = Label::queued("all buffers busy");
static FIRMWARE_BUSY: Label = Label::reason("firmware busy");
static SEND: Label = Label::protocol("packet to send");
static RECEIVE: Label = Label::protocol("packet received");
static PORT_BUSY: Label = Label::reason("port busy");
static OVERHEAD: Label = Label::protocol("route, header and CRC");
static PACKET: Label = Label::payload("packet");

/// A port: a lane each way.
pub(super) struct Port {
    out: Lane,
    into: Lane,
}

impl Port {
    pub(super) fn new(sim: &Sim, name: &str) -> Port {
        let lane = |way: &str| {
            let lane = sim.lane(&format!("{name}.{way}"), None);
            // 250 MB/s.
            lane.carries(&PACKET, 1, Time::ns(4));
            lane
        };
        Port { out: lane("out"), into: lane("in") }
    }
}

impl Adapter {
    /// One buffer of packets to the fabric.
    pub(super) async fn send(&self) {
        let mut before = Errand::NOBODY;
        loop {
            let block = self.to_send.take(&NO_PACKET).await;
            self.sim.take_up_after(std::mem::replace(&mut before, block.errand), block.errand);
            self.firmware.awaited(&ALL_BUFFERS_BUSY, block.queued);
            self.think(&SEND, self.spec.send).await;
            self.fetch(&block).await;
            let number = self.sent.replace(self.sent.get() + 1);
            self.wire(&self.ports[number % self.ports.len()].out, block.bytes).await;
            block.ended(&self.sim);
        }
    }

    /// One buffer of packets from the fabric.
    pub(super) async fn receive(&self) {
        let mut before = Errand::NOBODY;
        loop {
            let block = self.to_receive.take(&NO_PACKET).await;
            self.sim.take_up_after(std::mem::replace(&mut before, block.errand), block.errand);
            self.firmware.awaited(&ALL_BUFFERS_BUSY, block.queued);
            let number = self.received.replace(self.received.get() + 1);
            self.wire(&self.ports[number % self.ports.len()].into, block.bytes).await;
            self.think(&RECEIVE, self.spec.receive).await;
            self.store(&block).await;
            block.ended(&self.sim);
        }
    }

    async fn think(&self, what: &'static Label, span: Time) {
        self.firmware.acquire(&FIRMWARE_BUSY).await.hold(what, self.firmware.paced(span)).await;
    }

    async fn wire(&self, way: &Lane, bytes: u32) {
        let grant = way.acquire(&PORT_BUSY).await;
        let takes = |bytes| way.paced(span(bytes, PORT_RATE));
        let plan = [(&OVERHEAD, takes(self.spec.packet_overhead)), (&PACKET, takes(bytes))];
        join(&self.sim, grant.hold_plan(plan), self.local(bytes)).await;
    }
}
