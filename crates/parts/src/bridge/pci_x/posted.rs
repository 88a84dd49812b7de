//! Posted writes: from the buffer to the other side, piece by piece.

use hopscope_kernel::Label;

use super::path::{BEHIND, Stage};
use super::port::{Beyond, Port, Posted};
use super::reads::user;

static NOTHING_POSTED: Label = Label::reason("nothing posted");
pub(super) static THROUGH: Label = Label::protocol("through the bridge");

impl Port {
    /// One of the pieces that are on their way at a time.
    pub(super) async fn send_posted(&self) {
        loop {
            let Posted { address, bytes, carries, errand, begun } = self.posted.take(&NOTHING_POSTED).await;
            self.sim.take_up(errand);
            match &self.beyond {
                Beyond::Host(path) => {
                    let through = (&self.lane, &THROUGH, self.latency());
                    path.write((bytes, user(carries)), through, begun, || self.release(bytes)).await;
                }
                Beyond::Bus(upper) => {
                    self.lane.delay(&THROUGH, self.latency()).await;
                    upper.write(address, bytes, carries, errand).await;
                    self.release(bytes);
                }
            }
            self.sending.set(self.sending.get() - 1);
        }
    }

    /// Where pieces of so many bytes go, lane after lane; nothing where that is more than a link and memory.
    pub(super) fn stages(&self, bytes: u32, carries: &'static Label) -> Option<[Option<Stage<'_>>; BEHIND]> {
        match &self.beyond {
            Beyond::Host(path) => path.stages(bytes, user(carries)),
            Beyond::Bus(_) => None,
        }
    }
}
