//! A drive fails, and a spare takes its place: row by row, from what the others have.

use std::rc::Rc;

use hopscope_kernel::{Label, Time};

use super::layout::Level;
use super::spec::{Failure, Spec};
use super::{Client, Raid};

static ALL_WELL: Label = Label::protocol("all drives well");
static PAUSE: Label = Label::protocol("pause of the rebuild");
static ROW_BUSY: Label = Label::reason("row being written");

/// From a failure until a rebuild begins, where there is a spare.
fn to_rebuild(spec: &Spec, failure: Failure) -> Time {
    failure.noticed.saturating_add(spec.rebuild_pause)
}

/// Starts whatever makes a drive fail, where one does.
pub(super) fn start(raid: &Rc<Raid>) {
    if let (Some(failure), Some(timer)) = (raid.spec.failure, &raid.timer) {
        timer.plan(failure.at);
        timer.plan(failure.at.saturating_add(to_rebuild(&raid.spec, failure)));
        let (running, client) = (raid.clone(), Rc::new(Client::new(&raid.sim)));
        raid.sim.process(&format!("{}.rebuild", raid.name), async move { running.run_rebuild(failure, &client).await });
    }
}

impl Raid {
    async fn run_rebuild(&self, failure: Failure, client: &Rc<Client>) {
        let array = self.array();
        self.pause(&ALL_WELL, failure.at).await;
        array.fail(failure.drive);
        self.pause(&PAUSE, to_rebuild(&self.spec, failure)).await;
        if !array.replace(failure.drive) {
            return;
        }
        let layout = array.layout;
        let mut row = 0;
        while row < layout.rows {
            let rows = self.spec.rebuild_rows.min(layout.rows - row);
            for row in row..row + rows {
                self.rebuild_row(client, failure.drive, row).await;
            }
            row += rows;
            self.pause(&PAUSE, self.spec.rebuild_pause).await;
        }
        array.rebuilding.set(None);
    }

    async fn rebuild_row(&self, client: &Rc<Client>, place: usize, row: u64) {
        let (array, layout) = (self.array(), self.array().layout);
        let lock = &array.row_locks[row as usize % array.row_locks.len()];
        lock.take(&ROW_BUSY).await;
        let (at, bytes) = (row * layout.unit_bytes, layout.unit_bytes);
        let mut sent = 0;
        match layout.mirror(place) {
            Some(mirror) => sent += array.send(client, mirror, false, at, bytes),
            None => {
                for other in (0..layout.drives).filter(|other| *other != place) {
                    sent += array.send(client, other, false, at, bytes);
                }
            }
        }
        array.settle(client, sent).await;
        if layout.level == Level::Raid5 {
            self.parity(bytes, layout.drives as u64).await;
        }
        let sent = array.send(client, place, true, at, bytes);
        array.settle(client, sent).await;
        array.rebuilding.set(Some((place, row + 1)));
        lock.give();
    }
}
