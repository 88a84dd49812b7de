//! What share of each step of a window a lane is at work.

use std::io;

use hopscope_kernel::Time;

/// The step that is being added up. Phases come in order.
#[derive(Default)]
pub(super) struct Used {
    /// Its number in the window.
    step: u64,
    /// So much of it the lane was at work, ps.
    busy_ps: u64,
    /// What was said last.
    said: Option<f64>,
}

impl Used {
    /// The lane was at work for this stretch of a window, which ends with it and has such steps. `say` is told, of each
    /// step that is over and is unlike the one before, when it begins, and the share in per cent.
    pub(super) fn add(
        &mut self,
        (from, until): (u64, u64),
        window: (Time, Time, Time),
        mut say: impl FnMut(Time, f64) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut at = from;
        while at < until {
            let number = (at - window.0.as_ps()) / window.2.as_ps();
            self.come_to(number, window, &mut say)?;
            let end = until.min(window.0.as_ps() + (number + 1) * window.2.as_ps());
            self.busy_ps += end - at;
            at = end;
        }
        Ok(())
    }

    /// The window is over.
    pub(super) fn finish(
        &mut self,
        window: (Time, Time, Time),
        mut say: impl FnMut(Time, f64) -> io::Result<()>,
    ) -> io::Result<()> {
        let steps = (window.1 - window.0).as_ps().div_ceil(window.2.as_ps());
        self.come_to(steps, window, &mut say)
    }

    fn come_to(
        &mut self,
        number: u64,
        (from, end, step): (Time, Time, Time),
        say: &mut impl FnMut(Time, f64) -> io::Result<()>,
    ) -> io::Result<()> {
        while self.step < number {
            let begin = from + step * self.step;
            let length = (end.min(begin + step) - begin).as_ps();
            let share = 100.0 * self.busy_ps as f64 / length as f64;
            if self.said != Some(share) {
                say(begin, share)?;
                self.said = Some(share);
            }
            (self.step, self.busy_ps) = (self.step + 1, 0);
        }
        Ok(())
    }
}
