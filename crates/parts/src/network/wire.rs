//! Ethernet, full duplex: frames on a wire of a fixed rate. IEEE Std 802.3-2018, 3 (frame) and 4.4.2 (gap).
//!
//! ```text
//!   gap 12 · preamble 8 │ headers (copied) │ data │ pad up to 60 │ FCS 4
//! ```
//!
//! Not modelled: encoding and forward error correction (the rate is that of the MAC), pause frames as frames (a full
//! receiver stops the wire), propagation.

use hopscope_declare::Spec;
use hopscope_kernel::{Label, Lane, Sim, Time};

/// Bytes of the user.
static DATA: Label = Label::payload("data");
/// 3.2.1, 3.2.2 and 4.4.2: preamble, start of frame and the gap between two frames.
static BETWEEN: Label = Label::protocol("preamble and inter-frame gap");
/// Headers that segmentation puts in front of every frame but the first.
static HEADERS: Label = Label::protocol("headers of segments");
/// 3.2.8 and 3.2.9: a frame has 60 bytes at least, and a check sequence.
static PAD_AND_FCS: Label = Label::protocol("pad and FCS");
static WIRE_BUSY: Label = Label::reason("wire busy");

const PREAMBLE_BYTES: u64 = 8;
const GAP_BYTES: u64 = 12;
const FCS_BYTES: u64 = 4;
const FRAME_BYTES_MIN: u64 = 60;

/// A wire's numbers.
#[derive(Clone, Debug, PartialEq, Spec)]
pub(super) struct Spec {
    /// Bytes that a wire carries in a second, each way.
    #[rate("wire.rate", 1_000_000..=1_000_000_000_000)]
    rate: u64,
    /// The largest frame, header included, FCS not: 1514 B for an MTU of 1500.
    #[bytes("wire.frame_max", 512..=16_384)]
    pub(super) frame_bytes_max: u32,
}

/// One direction.
pub(super) struct Wire {
    spec: Spec,
    lane: Lane,
}

impl Wire {
    /// The direction whose lane is `name`.
    pub(super) fn new(sim: &Sim, name: &str, spec: Spec) -> Wire {
        let lane = sim.lane(name, None);
        lane.carries(&DATA, spec.rate, Time::ms(1_000));
        Wire { spec, lane }
    }

    /// Bytes take so long, rounded up: a wire is never faster than it is.
    fn time(&self, bytes: u64) -> Time {
        Time::ps((bytes * 1_000_000_000_000).div_ceil(self.spec.rate))
    }

    /// One frame crosses: `header_bytes` that were put in front, and `bytes` of the user.
    pub(super) async fn carry(&self, header_bytes: u32, bytes: u32) {
        let (header_bytes, bytes) = (u64::from(header_bytes), u64::from(bytes));
        let pad = FRAME_BYTES_MIN.saturating_sub(header_bytes + bytes);
        let parts = [PREAMBLE_BYTES + GAP_BYTES, header_bytes, bytes, pad + FCS_BYTES];
        let (mut ends, mut sum) = ([Time::ZERO; 4], 0);
        for (end, part) in ends.iter_mut().zip(parts) {
            sum += part;
            *end = self.time(sum);
        }
        let lane = &self.lane;
        let plan = [
            (&BETWEEN, lane.paced(ends[0])),
            (&HEADERS, lane.paced(ends[1] - ends[0])),
            (&DATA, lane.paced(ends[2] - ends[1])),
            (&PAD_AND_FCS, lane.paced(ends[3] - ends[2])),
        ];
        lane.acquire(&WIRE_BUSY).await.hold_plan(plan).await;
    }
}
