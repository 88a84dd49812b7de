//! Which of the waiting commands the arm goes to next.

use hopscope_declare::Spec;
use hopscope_kernel::{Errand, Time};

use crate::disk::geometry::{Geometry, Place};

/// Something to read or to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Job {
    /// Its number, in order of arrival.
    pub(super) number: u64,
    pub(super) writes: bool,
    pub(super) lba: u64,
    pub(super) sectors: u64,
    pub(super) tag: u16,
    /// A write that was reported already, and the segment that it waits in.
    pub(super) cached_in: Option<usize>,
    /// A write whose data are in the buffer.
    pub(super) here: bool,
    /// For whom.
    pub(super) errand: Errand,
}

impl Job {
    pub(super) fn end(&self) -> u64 {
        self.lba + self.sectors
    }
}

/// How the next one is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Spec)]
pub(super) enum Policy {
    /// In order of arrival.
    Fcfs,
    /// The next one upwards; behind the last one the lowest.
    Elevator,
    /// The one that the head reaches first.
    Sptf,
}

/// How long the head needs from `from` to the beginning of a block.
pub(super) fn reach(geometry: &Geometry, from: Place, lba: u64, writes: bool, now: Time) -> Time {
    let there = geometry.place(lba);
    geometry.next_pass(there, now + move_time(geometry, from, there, writes)) - now
}

/// Time to move and to settle, wherever arm or head changed. A read and a write settle differently.
pub(super) fn move_time(geometry: &Geometry, from: Place, to: Place, writes: bool) -> Time {
    if writes { geometry.write_move_time(from, to) } else { geometry.move_time(from, to) }
}

/// The place in `waiting` of the job to do next. `coming` is the sector that a stream reads next, if one goes on.
pub(super) fn choose(
    policy: Policy,
    waiting: &[Job],
    geometry: &Geometry,
    (at, lba): (Place, u64),
    coming: Option<u64>,
    now: Time,
) -> Option<usize> {
    if waiting.len() < 2 {
        return (!waiting.is_empty()).then_some(0);
    }
    let jobs = waiting.iter().enumerate();
    let best = match policy {
        Policy::Fcfs => return Some(0),
        Policy::Elevator => jobs.min_by_key(|(_, job)| (job.lba < lba, job.lba)),
        Policy::Sptf => jobs.min_by_key(|(_, job)| {
            if !job.writes && coming == Some(job.lba) {
                return Time::ZERO;
            }
            reach(geometry, at, job.lba, job.writes, now)
        }),
    };
    best.map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::geometry::tests::small;

    fn job(lba: u64) -> Job {
        Job { number: 0, writes: false, lba, sectors: 1, tag: 0, cached_in: None, here: false, errand: Errand::NOBODY }
    }

    fn chosen(policy: Policy, waiting: &[Job], lba: u64) -> u64 {
        let disk = small();
        let index = choose(policy, waiting, &disk, (disk.place(lba), lba), None, Time::ZERO);
        waiting[index.expect("something waits")].lba
    }

    #[test]
    fn each_policy_has_its_own_order() {
        // Sector 450 is on the next cylinder and comes by soon, 250 is on cylinder 1 too but has just passed.
        let waiting = [job(2_500), job(60), job(1_900), job(450)];
        assert_eq!(chosen(Policy::Fcfs, &waiting, 100), 2_500);
        assert_eq!(chosen(Policy::Elevator, &waiting, 100), 450);
        assert_eq!(chosen(Policy::Elevator, &waiting[..2], 2_600), 60, "behind the last one comes the lowest");
        let disk = small();
        let times = waiting.map(|job| reach(&disk, disk.place(100), job.lba, false, Time::ZERO));
        let soonest = (0..4).min_by_key(|&n| times[n]).unwrap();
        assert_eq!(chosen(Policy::Sptf, &waiting, 100), waiting[soonest].lba, "{times:?}");
    }

    #[test]
    fn a_write_settles_where_the_head_changed_and_nowhere_else() {
        let disk = small();
        let (here, same, other) = (disk.place(5), disk.place(9), disk.place(105));
        assert_eq!(move_time(&disk, here, same, true), Time::ZERO);
        assert_eq!(move_time(&disk, here, other, true) - move_time(&disk, here, other, false), disk.write_settle());
    }
}
