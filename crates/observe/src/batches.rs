//! A rate from batches: warm-up cut by MSER, an interval for the mean, constant memory.
//!
//! Completions are grouped into batches of equally many; when there are too many batches, neighbours join.

use hopscope_kernel::Time;

/// Batches kept, at most; half as many after neighbours have joined.
const BATCHES_MAX: usize = 128;
/// Below this many batches after warm-up an interval says nothing.
const BATCHES_MIN: usize = 24;

#[derive(Clone, Copy, Debug)]
struct Batch {
    bytes: u64,
    end: Time,
}

/// Bytes completed over time.
#[derive(Clone, Debug)]
pub struct Batches {
    start: Time,
    batches: Vec<Batch>,
    /// Completions of a batch.
    size: u32,
    filling: u32,
    bytes: u64,
}

/// A rate with the half-width of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Bytes per second after warm-up.
    pub bytes_per_second: f64,
    /// Half-width of the interval over the mean; infinite where there are too few batches.
    pub relative_half_width: f64,
    /// When warm-up had ended.
    pub warm_up: Time,
}

impl Batches {
    /// Nothing yet; what ends before `start` does not count.
    pub fn new(start: Time) -> Batches {
        Batches { start, batches: Vec::with_capacity(BATCHES_MAX), size: 1, filling: 0, bytes: 0 }
    }

    /// `bytes` were completed at `at`; completions come in order of time.
    pub fn completed(&mut self, at: Time, bytes: u64) {
        self.bytes += bytes;
        self.filling += 1;
        if self.filling < self.size {
            return;
        }
        self.batches.push(Batch { bytes: self.bytes, end: at });
        (self.filling, self.bytes) = (0, 0);
        if self.batches.len() == BATCHES_MAX {
            for i in 0..BATCHES_MAX / 2 {
                let (a, b) = (self.batches[2 * i], self.batches[2 * i + 1]);
                self.batches[i] = Batch { bytes: a.bytes + b.bytes, end: b.end };
            }
            self.batches.truncate(BATCHES_MAX / 2);
            self.size *= 2;
        }
    }

    /// The rate so far.
    pub fn rate(&self) -> Rate {
        let spans: Vec<f64> = (0..self.batches.len())
            .map(|i| {
                let from = if i == 0 { self.start } else { self.batches[i - 1].end };
                (self.batches[i].end - from).as_seconds_f64() / self.batches[i].bytes as f64
            })
            .collect();
        let cut = warm_up(&spans);
        let kept = &spans[cut..];
        let from = if cut == 0 { self.start } else { self.batches[cut - 1].end };
        let bytes: u64 = self.batches[cut..].iter().map(|b| b.bytes).sum();
        let elapsed = self.batches.last().map_or(0.0, |b| (b.end - from).as_seconds_f64());
        let bytes_per_second = if elapsed > 0.0 { bytes as f64 / elapsed } else { 0.0 };
        let relative_half_width = if kept.len() < BATCHES_MIN {
            f64::INFINITY
        } else {
            let n = kept.len() as f64;
            let mean = kept.iter().sum::<f64>() / n;
            let variance = kept.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / (n - 1.0);
            // Student's t for the smallest number of batches.
            2.07 * (variance / n).sqrt() / mean
        };
        Rate { bytes_per_second, relative_half_width, warm_up: from }
    }
}

/// MSER: the cut, in the first half, after which the standard error is least.
fn warm_up(values: &[f64]) -> usize {
    let (mut sum, mut squares, mut best) = (0.0, 0.0, (f64::INFINITY, 0));
    for (i, v) in values.iter().enumerate().rev() {
        (sum, squares) = (sum + v, squares + v * v);
        let n = (values.len() - i) as f64;
        let error = (squares - sum * sum / n) / (n * n);
        if i <= values.len() / 2 && error <= best.0 {
            best = (error, i);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_rate_has_no_width_and_a_slow_start_is_cut() {
        let mut batches = Batches::new(Time::ZERO);
        let mut now = Time::ms(50);
        for _ in 0..1_000 {
            now += Time::ms(1);
            batches.completed(now, 1_000);
        }
        let rate = batches.rate();
        assert!((rate.bytes_per_second - 1e6).abs() < 1.0, "{rate:?}");
        assert!(rate.relative_half_width < 1e-6 && rate.warm_up >= Time::ms(50));
    }

    #[test]
    fn few_completions_say_nothing() {
        let mut batches = Batches::new(Time::ZERO);
        batches.completed(Time::ms(1), 512);
        assert!(batches.rate().relative_half_width.is_infinite());
    }
}
