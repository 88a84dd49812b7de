//! Posted writes: from the buffer to the other side, piece by piece.

use hopscope_kernel::Label;

use super::port::{Beyond, Port, Posted};
use super::reads::user;

static NOTHING_POSTED: Label = Label::reason("nothing posted");
pub(super) static THROUGH: Label = Label::protocol("through the bridge");

impl Port {
    /// One of the pieces that are on their way at a time.
    pub(super) async fn send_posted(&self) {
        loop {
            let Posted { address, bytes, carries, errand } = self.posted.take(&NOTHING_POSTED).await;
            self.sim.take_up(errand);
            self.lane.delay(&THROUGH, self.latency()).await;
            match &self.beyond {
                Beyond::Host(path) => path.write(bytes, user(carries), || self.release(bytes)).await,
                Beyond::Bus(upper) => {
                    upper.write(address, bytes, carries, errand).await;
                    self.release(bytes);
                }
            }
        }
    }
}
