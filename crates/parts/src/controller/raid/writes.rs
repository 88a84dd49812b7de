//! Writes of the host: into the cache, and to the drives now or later.

use std::rc::Rc;

use hopscope_kernel::Label;

use super::cache::{mask, pieces};
use super::spec::WriteEnds;
use super::{Client, Raid, Wanted};
use crate::controller::block_card::Command;

static LIMIT_REACHED: Label = Label::reason("as much unwritten as may be");

impl Raid {
    pub(super) async fn write(&self, client: &Rc<Client>, command: &Command) {
        let (at, bytes, line) = (command.offset_bytes, u64::from(command.bytes), self.spec.line_bytes);
        let back = self.spec.write_ends == WriteEnds::InCache;
        self.ahead.interrupted();
        for (number, ..) in pieces(at, bytes, line) {
            self.compute(self.spec.line).await;
            if back {
                self.make_room(client).await;
            }
            self.take_in(client, number).await;
        }
        self.move_from_host(command).await;
        {
            let mut cache = self.cache.borrow_mut();
            for (number, first, count) in pieces(at, bytes, line) {
                if let Some(at) = cache.find(number) {
                    cache.written(at, mask(first, count), back);
                }
            }
        }
        if !back {
            self.write_array(client, at, bytes).await;
        }
        for (number, ..) in pieces(at, bytes, line) {
            self.let_go(number);
        }
        if back {
            self.destage_if_idle();
        }
    }

    /// Waits until one more line may be unwritten.
    async fn make_room(&self, client: &Rc<Client>) {
        while self.cache.borrow().unwritten() >= self.spec.unwritten_max {
            if !self.destage_oldest(client).await {
                self.wait_for_change(client, Wanted::Room, &LIMIT_REACHED).await;
            }
        }
    }
}
