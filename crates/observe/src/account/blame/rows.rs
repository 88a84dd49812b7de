//! Rows: steps of one process that are answered once, however many lanes ask for them.
//!
//! A lane that has nothing to do asks the same as its neighbour: what the processes that keep it were at, act by act. Of a
//! long request these are thousands, and of lanes there are hundreds. So steps in a row are answered together, and the sum is
//! kept for whoever comes by the same instant. A row is the same for everybody: it has no wait that leads to a process
//! which could be waited for already, and says nothing of when a request was issued.

use std::collections::HashMap;

use hopscope_kernel::{Class, Time};

use super::super::acts::Act;
use super::super::timelines::What;
use super::{ActId, Bill, Blame, Stretch, Way, asks_on};

/// Of the acts of a track, one in so many begins a row.
const ROW: usize = 64;

/// Rows by process and where they end in time, which is where the walk backwards begins.
pub(super) type Rows = HashMap<(u16, Time), Row>;

/// What the steps of a row went into.
pub(super) struct Row {
    /// Where it begins in time.
    from: Time,
    bill: Bill,
}

/// Whether a row begins with that act.
pub(super) fn begins_row((_, (_, position)): ActId) -> bool {
    position.is_multiple_of(ROW)
}

impl Blame<'_> {
    /// Adds what the row of steps went into that begins with an act at the end of a stretch; returns how far back it went,
    /// which is not at all where there is none within the stretch.
    pub(super) fn row(
        &mut self,
        first: ActId,
        Stretch { from, until }: Stretch,
        way: &mut Way,
        bill: &mut Bill,
    ) -> Result<Time, String> {
        let key = (first.0, until);
        match self.rows.get(&key) {
            Some(row) if row.from < from => return Ok(until),
            Some(row) => {
                bill.add_found(&row.bill, *way);
                return Ok(row.from);
            }
            None => {}
        }
        let (mut at, mut own, mut found) = (until, Way::new(None), Bill::default());
        let (mut next, mut is_within) = (Some(first), true);
        let left_out = self.left_out.replace(usize::MAX);
        while let Some(id) = next.filter(|id| !own.idle && self.is_for_all(&self.act(*id), at)) {
            is_within = self.act(id).start >= from;
            if !is_within {
                break;
            }
            at = self.step(id, Stretch { from, until: at }, at, &mut own, &mut found)?;
            next = self.act_before(first.0, at).filter(|id| !begins_row(*id));
        }
        bill.add_found(&found, *way);
        way.idle |= own.idle;
        let is_whole = is_within && !own.idle && self.left_out.get() >= self.asked.len();
        if is_whole && at < until {
            self.rows.insert(key, Row { from: at, bill: found });
        }
        self.left_out.set(self.left_out.get().min(left_out));
        Ok(at)
    }

    /// Whether what an act went into that ended at an instant is the same whoever asks.
    fn is_for_all(&self, act: &Act, at: Time) -> bool {
        let says_something = |class| matches!(class, Class::Workload | Class::Queued);
        match act.what {
            _ if says_something(act.label.class) => false,
            What::Work(_) | What::Through(_) => true,
            // Answered as a whole, and kept.
            What::QueueWait(_) => act.end == at,
            What::LaneWait(lane) => self.lines.on_lane(lane, act.start, at).all(|on| !asks_on(on.phase)),
        }
    }
}
