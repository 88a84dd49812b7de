//! A card without a cache: bytes go between the FIFOs of its channels and the host as they come.
//!
//! Not modelled: levels with copies or parity, which such a card's driver makes on the host's processor.

use std::rc::Rc;

use super::{Client, Raid};
use crate::controller::block_card::Command;

impl Raid {
    /// Carries a host command out as commands of the drives that have its bytes.
    pub(super) async fn pass(&self, client: &Rc<Client>, command: &Command) {
        let array = self.array();
        let (mut done, mut sent) = (0, 0);
        while done < command.bytes {
            let at = command.offset_bytes + u64::from(done);
            let part = array.layout.left_in_unit(at).min(u64::from(command.bytes - done));
            let place = array.layout.place(at);
            let host = Some(command.buffer + done);
            sent += array.send_for(client, place.drive, command.writes, (place.offset_bytes, part), host);
            done += part as u32;
        }
        array.settle(client, sent).await;
    }
}
