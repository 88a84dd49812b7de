//! Levels over time: what fills, empties or moves from one place to another, in constant memory.

use hopscope_kernel::{Time, Unit};

/// Samples kept, at most, where nobody says otherwise; half as many after every other one has gone.
const SAMPLES_MAX: usize = 64;
/// Fewer samples in a window say nothing.
const SAMPLES_MIN: usize = 8;

/// Samples of several levels at even intervals.
#[derive(Clone, Debug)]
pub struct Levels {
    most: usize,
    at: Vec<Time>,
    /// One for each sample.
    amounts: Vec<Vec<f64>>,
}

impl Default for Levels {
    fn default() -> Self {
        Levels::of_at_most(SAMPLES_MAX)
    }
}

/// How one level changed over a window, by the straight line that fits best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Which.
    pub level: usize,
    /// At the beginning.
    pub from: f64,
    /// At the end.
    pub to: f64,
    /// How long it is from the first sample to the last.
    pub over: Time,
    /// By how much the change may be off: twice its standard error, as far as samples do not depend on each other.
    pub half_width: f64,
}

impl Drift {
    /// By how much.
    pub fn change(&self) -> f64 {
        (self.to - self.from).abs()
    }

    /// Of what ended meanwhile, so many requests with so many bytes, what a level of this unit drifts by a share of.
    pub fn of_all(unit: Unit, requests: u64, bytes: u64) -> f64 {
        match unit {
            Unit::Items => requests as f64,
            Unit::Bytes => bytes as f64,
        }
    }
}

impl Levels {
    /// So many samples are kept, at most.
    pub fn of_at_most(most: usize) -> Levels {
        Levels { most, at: Vec::new(), amounts: Vec::new() }
    }

    /// One more sample. True where every other one has gone, so that the next is due twice as late.
    pub fn sample(&mut self, at: Time, amounts: Vec<f64>) -> bool {
        self.at.push(at);
        self.amounts.push(amounts);
        if self.at.len() < self.most {
            return false;
        }
        let mut keep = [false, true].into_iter().cycle();
        self.at.retain(|_| keep.next().unwrap_or(true));
        let mut keep = [false, true].into_iter().cycle();
        self.amounts.retain(|_| keep.next().unwrap_or(true));
        true
    }

    /// How each level changed since an instant; nothing where there are too few samples.
    pub fn since(&self, from: Time) -> Option<Vec<Drift>> {
        self.between(from, Time::MAX)
    }

    /// The same up to another one.
    pub fn between(&self, from: Time, until: Time) -> Option<Vec<Drift>> {
        let first = self.at.partition_point(|at| *at < from);
        let last = self.at.partition_point(|at| *at <= until).max(first);
        let (at, amounts) = (&self.at[first..last], &self.amounts[first..last]);
        if at.len() < SAMPLES_MIN {
            return None;
        }
        let seconds: Vec<f64> = at.iter().map(|at| (*at - from).as_seconds_f64()).collect();
        let n = seconds.len() as f64;
        let middle = seconds.iter().sum::<f64>() / n;
        let spread: f64 = seconds.iter().map(|at| (at - middle).powi(2)).sum();
        let over = at[at.len() - 1] - at[0];
        let (first, last) = (seconds[0] - middle, seconds[seconds.len() - 1] - middle);
        let drift = |level: usize| {
            let mean = amounts.iter().map(|amounts| amounts[level]).sum::<f64>() / n;
            let products = seconds.iter().zip(amounts).map(|(at, amounts)| (at - middle) * (amounts[level] - mean));
            let slope = products.sum::<f64>() / spread;
            let off = seconds.iter().zip(amounts).map(|(at, amounts)| amounts[level] - mean - slope * (at - middle));
            let squares: f64 = off.map(|off| off * off).sum();
            let half_width = 2.0 * (squares / (n - 2.0) / spread).sqrt() * (last - first);
            Drift { level, from: mean + slope * first, to: mean + slope * last, over, half_width }
        };
        Some((0..amounts[0].len()).map(drift).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fills_drifts_until_it_is_full_and_what_swings_does_not() {
        let mut levels = Levels::default();
        let (mut step, mut now) = (Time::us(1), Time::ZERO);
        while now < Time::ms(1) {
            now += step;
            let us = now.as_ps() as f64 / 1e6;
            let swings = (us * us % 17.0) - 8.0;
            if levels.sample(now, vec![us.min(400.0), swings]) {
                step = step * 2;
            }
        }
        let of = |from: Time| levels.since(from).expect("enough samples").iter().map(Drift::change).collect::<Vec<_>>();
        let (whole, rest) = (of(Time::ZERO), of(Time::us(420)));
        assert!(whole[0] > 250.0 && rest[0] < 1e-6, "{whole:?} {rest:?}");
        assert!(whole[1] < 8.0 && rest[1] < 8.0, "{whole:?} {rest:?}");
        assert!(levels.since(Time::us(990)).is_none());
    }
}
