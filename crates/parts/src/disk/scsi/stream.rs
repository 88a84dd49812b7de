//! Sectors that come from the media one after the other, and when: no event a sector, everything follows from geometry.

use hopscope_kernel::Time;

use crate::disk::geometry::{Geometry, Place};

/// A head that reads on from track to track.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    /// First sector of the run on the present track, where it is, and when it begins to pass.
    pub(super) first: u64,
    pub(super) here: Place,
    pub(super) start: Time,
    /// The stream stops before this sector.
    pub(super) stop: u64,
}

impl Stream {
    /// From sector `first` on, which begins to pass at `start`.
    pub(super) fn new(geometry: &Geometry, first: u64, start: Time, stop: u64) -> Stream {
        Stream { first, here: geometry.place(first), start, stop }
    }

    /// When `sectors` of the present run have passed.
    pub(super) fn passed(&self, geometry: &Geometry, sectors: u64) -> Time {
        geometry.passed(self.here, self.start, sectors)
    }

    /// Sectors of the present run, the stop left aside.
    pub(super) fn run(&self) -> u64 {
        self.here.left_on_track
    }

    /// When the present run has passed.
    pub(super) fn run_end(&self, geometry: &Geometry) -> Time {
        self.passed(geometry, self.run())
    }

    /// The stream on its next run.
    pub(super) fn next_run(&self, geometry: &Geometry) -> Stream {
        let first = self.first + self.run();
        let here = geometry.place(first.min(geometry.sectors() - 1));
        let start = geometry.next_pass(here, self.run_end(geometry) + geometry.move_time(self.here, here));
        Stream { first, here, start, stop: self.stop }
    }

    /// Goes on to the run of `now`; all sectors before the returned one have come by then.
    pub(super) fn come_by(&mut self, geometry: &Geometry, now: Time) -> u64 {
        loop {
            if now <= self.start {
                return self.first.min(self.stop);
            }
            let run = self.run();
            if self.first + run < self.stop && self.run_end(geometry) <= now {
                *self = self.next_run(geometry);
                continue;
            }
            return (self.first + self.passed_by(geometry, now).min(run)).min(self.stop);
        }
    }

    /// Sectors of the present run, or beyond it, that have passed by `now`, which is not before the run's start.
    fn passed_by(&self, geometry: &Geometry, now: Time) -> u64 {
        let turned = u128::from((now - self.start).as_ps()) * u128::from(self.here.slots());
        let estimate = (turned / u128::from(geometry.revolution().as_ps())) as u64;
        let run = self.run();
        if estimate > run {
            return run;
        }
        // Ends of sectors are rounded to picoseconds: the estimate is right or one off.
        if estimate < run && self.passed(geometry, estimate + 1) <= now {
            estimate + 1
        } else if self.passed(geometry, estimate) > now {
            estimate - 1
        } else {
            estimate
        }
    }

    /// When the transfer of the sectors `first..end` may begin so that it never waits for the media, at `per_sector`
    /// over the bus; and the stream on the run of the last of them. `first` must not lie before the present run.
    pub(super) fn due(&self, geometry: &Geometry, first: u64, end: u64, per_sector: Time) -> (Time, Stream) {
        let mut stream = *self;
        let mut due = Time::ZERO;
        loop {
            let run_end = stream.first + stream.run();
            if run_end > first {
                // The bus gains on the media along a run, or loses: one of its two ends decides.
                for sector in [stream.first.max(first), end.min(run_end) - 1] {
                    let come = stream.passed(geometry, sector - stream.first + 1);
                    due = due.max(come.saturating_sub(per_sector * (sector - first)));
                }
            }
            if run_end >= end {
                return (due, stream);
            }
            stream = stream.next_run(geometry);
        }
    }
}
