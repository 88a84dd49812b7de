//! A rate from batches: warm-up, whether it has come to rest, and an interval for its mean, in constant memory.
//!
//! Completions are grouped into batches of equally many; when there are too many batches, neighbours join. An interval
//! takes batches as draws that do not depend on each other, so neighbours are joined further until they do not. Neighbours
//! that make up for each other, where completions come in lumps, are joined, too; the interval is not narrower then than
//! what came and went within the window.

use hopscope_kernel::Time;

/// Batches kept, at most; half as many after neighbours have joined.
pub(crate) const BATCHES_MAX: usize = 128;
/// A window begins at a multiple of so many batches.
pub const STEP: usize = 4;
/// Below this many batches in a window an interval says nothing.
const BATCHES_MIN: usize = 24;
/// Joined until they do not depend on each other, there must be so many left.
const JOINED_MIN: usize = 8;
/// Two-sided, of a normal distribution: 95 %.
const Z: f64 = 1.96;
/// One-sided, 95 %: neighbours that are alike by more than that over the root of their number, or make up for each other by
/// more than that, depend on each other.
const ALIKE: f64 = 1.645;

#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    bytes: u64,
    count: u64,
    end: Time,
}

/// Bytes completed over time.
#[derive(Clone, Debug)]
pub struct Batches {
    start: Time,
    batches: Vec<Batch>,
    /// Completions of a batch.
    size: u64,
    /// The batch that is being filled.
    filling: Batch,
}

/// What became of the batches with a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grew {
    /// It went into the last one.
    No,
    /// It filled one.
    ByOne,
    /// It filled one, and then neighbours were joined.
    AndJoined,
}

/// A rate with the half-width of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Bytes per second from then on.
    pub bytes_per_second: f64,
    /// Half-width of the interval over the mean; infinite where there are too few batches, or where they depend on
    /// each other however many are joined.
    pub relative_half_width: f64,
    /// Since when it counts: warm-up had ended.
    pub warm_up: Time,
    /// Until when.
    pub end: Time,
}

/// What the batches of a window say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Its first batch.
    pub first: usize,
    /// When it begins.
    pub from: Time,
    /// Requests that ended in it.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Half-width of the 95 % interval of the mean over the mean.
    pub relative_half_width: f64,
    /// How much the rate changes from begin to end, over its mean, by the straight line that fits best; zero where
    /// that could as well be chance.
    pub trend: f64,
}

impl Batches {
    /// Nothing yet; what ends before `start` does not count. Batches have `size` completions each, or a multiple of it
    /// by powers of two.
    pub fn new(start: Time, size: u64) -> Batches {
        let batches = Vec::with_capacity(BATCHES_MAX);
        Batches { start, batches, size: size.max(1), filling: Batch::default() }
    }

    /// `bytes` were completed at `at`; completions come in order of time.
    pub(crate) fn completed(&mut self, at: Time, bytes: u64) -> Grew {
        let filling = &mut self.filling;
        *filling = Batch { bytes: filling.bytes + bytes, count: filling.count + 1, end: at };
        if filling.count < self.size {
            return Grew::No;
        }
        self.batches.push(std::mem::take(filling));
        if self.batches.len() < BATCHES_MAX {
            return Grew::ByOne;
        }
        for i in 0..BATCHES_MAX / 2 {
            self.batches[i] = joined(&self.batches[2 * i..2 * i + 2]);
        }
        self.batches.truncate(BATCHES_MAX / 2);
        self.size *= 2;
        Grew::AndJoined
    }

    /// Whole batches.
    pub(crate) fn len(&self) -> usize {
        self.batches.len()
    }

    /// Requests that have ended.
    pub fn count(&self) -> u64 {
        self.batches.len() as u64 * self.size + self.filling.count
    }

    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        joined(&self.batches).bytes + self.filling.bytes
    }

    /// When a batch begins.
    pub fn begin(&self, batch: usize) -> Time {
        batch.checked_sub(1).map_or(self.start, |before| self.batches[before].end)
    }

    /// The rate from a batch on, up to the last completion.
    pub fn rate_from(&self, first: usize) -> Rate {
        let all = joined(&self.batches[first..]);
        let end = if self.filling.count > 0 { self.filling.end } else { all.end };
        self.rate(first, all.bytes + self.filling.bytes, end)
    }

    /// The same of whole batches only, as far as they come in steps.
    pub(crate) fn rate_of_steps_from(&self, first: usize) -> Rate {
        let all = joined(&self.batches[first..self.batches.len() / STEP * STEP]);
        self.rate(first, all.bytes, all.end)
    }

    fn rate(&self, first: usize, bytes: u64, end: Time) -> Rate {
        let (warm_up, relative_half_width) = (self.begin(first), self.window(first).relative_half_width);
        let elapsed = end.saturating_sub(warm_up).as_seconds_f64();
        let bytes_per_second = if elapsed > 0.0 { bytes as f64 / elapsed } else { 0.0 };
        Rate { bytes_per_second, relative_half_width, warm_up, end }
    }

    /// The first batch after warm-up, by MSER: from where on the standard error of the mean is least, or so small a share
    /// of the mean that nothing is gained by leaving more away. A multiple of the step, not beyond the half.
    pub fn warm_up(&self, small: f64) -> usize {
        let (mut sum, mut squares, mut least, mut first) = (0.0, 0.0, f64::INFINITY, 0);
        for i in (0..self.batches.len()).rev() {
            let value = self.span(i) / self.batches[i].bytes.max(1) as f64;
            (sum, squares) = (sum + value, squares + value * value);
            let n = (self.batches.len() - i) as f64;
            let error = (squares - sum * sum / n) / (n * n);
            least = if i <= self.batches.len() / 2 { error.min(least) } else { least };
            if i <= self.batches.len() / 2 && error <= least.max((small * sum / n).powi(2)) {
                first = i;
            }
        }
        first.next_multiple_of(STEP).min(self.batches.len() / 2 / STEP * STEP)
    }

    /// The rate once warm-up is over as far as batches show; from the beginning where there are too few of them.
    pub fn warmed_up(&self) -> Rate {
        self.rate_from(if self.batches.len() < BATCHES_MIN { 0 } else { self.warm_up(0.0) })
    }

    /// First batches of windows that may be looked at: from `first` to the half.
    pub fn windows_from(&self, first: usize) -> impl Iterator<Item = usize> {
        (first..=self.batches.len() / 2).step_by(STEP)
    }

    /// What the batches from one on say.
    pub fn window(&self, first: usize) -> Window {
        let kept = &self.batches[first..];
        let all = joined(kept);
        let mut window = Window {
            first,
            from: self.begin(first),
            count: all.count,
            bytes: all.bytes,
            relative_half_width: f64::INFINITY,
            trend: 0.0,
        };
        if kept.len() < BATCHES_MIN || all.bytes == 0 {
            return window;
        }
        let per_byte = all.end.saturating_sub(window.from).as_seconds_f64() / all.bytes as f64;
        let (mut together, mut least) = (1, 0.0);
        while kept.len() / together >= JOINED_MIN {
            let off = self.off_the_mean(first, together, per_byte);
            let (n, alike) = (off.len() as f64, alike(&off));
            // Time per byte grows where the rate falls.
            window.trend = -trend(&off);
            if alike <= ALIKE {
                let variance = off.iter().map(|one| one * one).sum::<f64>() / (n - 1.0);
                window.relative_half_width = (student(n - 1.0) * (variance / n).sqrt()).max(least);
            }
            if alike.abs() <= ALIKE {
                break;
            }
            if alike < 0.0 {
                least = f64::max(least, came_and_went(&off) / n);
            }
            together *= 2;
        }
        window
    }

    /// By how much batches, so many together, take more time for their bytes than the mean, over the mean of a batch.
    fn off_the_mean(&self, first: usize, together: usize, per_byte: f64) -> Vec<f64> {
        // The last ones count in any case: what is left over is at the beginning.
        let skipped = (self.batches.len() - first) % together;
        let groups = (first + skipped..self.batches.len()).step_by(together);
        let off = groups.map(|at| {
            let group = joined(&self.batches[at..at + together]);
            let expected = group.bytes as f64 * per_byte;
            (group.end.saturating_sub(self.begin(at)).as_seconds_f64() - expected, expected)
        });
        let off: Vec<(f64, f64)> = off.collect();
        let mean = off.iter().map(|one| one.1).sum::<f64>() / off.len() as f64;
        off.into_iter().map(|one| one.0 / mean).collect()
    }

    fn span(&self, batch: usize) -> f64 {
        (self.batches[batch].end - self.begin(batch)).as_seconds_f64()
    }
}

fn joined(batches: &[Batch]) -> Batch {
    batches.iter().fold(Batch::default(), |sum, batch| Batch {
        bytes: sum.bytes + batch.bytes,
        count: sum.count + batch.count,
        end: batch.end,
    })
}

/// How far their sum goes away from the mean's at most, to either side: so much where a window begins and ends may make of it.
fn came_and_went(values: &[f64]) -> f64 {
    let mut sum = 0.0;
    let (mut least, mut most) = (0.0f64, 0.0f64);
    for value in values {
        sum += value;
        (least, most) = (least.min(sum), most.max(sum));
    }
    most - least
}

/// How much more alike neighbours are than chance makes them, in standard errors; negative where they make up for each other.
fn alike(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    // Spans are whole picoseconds: what is below a millionth of a batch is their rounding.
    if squares / n > 1e-12 { products / squares * n.sqrt() } else { 0.0 }
}

/// Change over all values by the straight line that fits best; zero where that could as well be chance.
fn trend(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let (mean, middle) = (values.iter().sum::<f64>() / n, (n - 1.0) / 2.0);
    let away = |at: usize| at as f64 - middle;
    let spread: f64 = (0..values.len()).map(|at| away(at) * away(at)).sum();
    let slope = values.iter().enumerate().map(|(at, v)| away(at) * (v - mean)).sum::<f64>() / spread;
    let rest: f64 = values.iter().enumerate().map(|(at, v)| (v - mean - slope * away(at)).powi(2)).sum();
    let error = (rest / (n - 2.0) / spread).sqrt();
    if slope.abs() > student(n - 2.0) * error { slope * n } else { 0.0 }
}

/// Student's t, two-sided 95 %, by the first terms of its expansion about the normal distribution: right to a hundredth
/// from six degrees of freedom on.
fn student(freedom: f64) -> f64 {
    let (one, two) = ((Z.powi(3) + Z) / 4.0, (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / 96.0);
    Z + one / freedom + two / (freedom * freedom)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of a chain in which each keeps a share of the one before, from a generator of its own.
    fn chain(seed: u64, keeps: f64) -> impl FnMut() -> f64 {
        let (mut state, mut value) = (seed.wrapping_mul(2) | 1, 0.0);
        move || {
            let mut even = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 11) as f64 / (1u64 << 53) as f64
            };
            let normal = (0..12).map(|_| even()).sum::<f64>() - 6.0;
            value = keeps * value + (1.0 - keeps * keeps).sqrt() * normal;
            value
        }
    }

    fn filled(count: usize, mut span: impl FnMut(usize) -> f64) -> Batches {
        let (mut batches, mut now) = (Batches::new(Time::ZERO, 1), Time::ZERO);
        for number in 0..count {
            now += Time::ps((span(number) * 1e9) as u64);
            batches.completed(now, 1_000);
        }
        batches
    }

    #[test]
    fn a_steady_rate_has_no_width_and_a_slow_start_is_cut() {
        let batches = filled(1_000, |number| if number == 0 { 50.0 } else { 1.0 });
        let rate = batches.rate_from(batches.warm_up(1e-5));
        assert!((rate.bytes_per_second - 1e6).abs() < 1.0, "{rate:?}");
        assert!(rate.relative_half_width < 1e-6 && rate.warm_up >= Time::ms(50));
        assert_eq!(batches.count(), 1_000);
        let whole = batches.rate_from(0);
        assert!((whole.bytes_per_second - 1e9 / 1_049.0).abs() < 1.0, "{whole:?}");
    }

    #[test]
    fn few_completions_say_nothing() {
        let batches = filled(20, |_| 1.0);
        assert!(batches.rate_from(0).relative_half_width.is_infinite());
    }

    #[test]
    fn a_rate_that_changes_has_a_trend_and_one_that_varies_has_none() {
        let falling = filled(5_000, |number| 1.0 + number as f64 / 50_000.0).window(0);
        assert!((-0.11..-0.08).contains(&falling.trend), "{falling:?}");
        let mut next = chain(7, 0.0);
        let varying = filled(5_000, |_| 1.0 + 0.1 * next()).window(0);
        assert!(varying.trend == 0.0 && varying.relative_half_width < 0.005, "{varying:?}");
    }

    #[test]
    fn the_interval_has_the_mean_nine_times_in_ten_whatever_neighbours_are_to_each_other() {
        for keeps in [0.0, 0.9, 0.99, -0.5, -0.9] {
            let within = (0..200).filter(|seed| {
                let mut next = chain(*seed, keeps);
                let rate = filled(20_000, |_| (1.0 + 0.2 * next()).max(0.0)).rate_from(0);
                (rate.bytes_per_second / 1e6 - 1.0).abs() <= rate.relative_half_width
            });
            let within = within.count();
            assert!(within >= 180, "where each keeps {keeps} of the one before: {within} of 200");
        }
    }

    #[test]
    fn what_comes_in_lumps_is_known_to_a_lump_and_little_more() {
        for (lump, count, jitter, width) in [
            (97, 20_000, 0.0, 0.02),
            (97, 20_000, 0.3, 0.06),
            (256, 5_000, 0.0, 0.1),
            (31, 700, 0.0, 0.1),
            (33, 20_000, 0.0, 0.005),
            (33, 20_000, 0.3, 0.04),
        ] {
            let rates = (0..200).map(|phase| {
                let mut next = chain(phase as u64, 0.0);
                let lumps = |number: usize| match (number + phase * 37) % lump {
                    0 => lump as f64 * (1.0 + jitter * next()).max(0.0),
                    _ => 0.0,
                };
                filled(count + phase * 7, lumps).rate_from(0)
            });
            let rates: Vec<Rate> = rates.collect();
            let has = |rate: &&Rate| (rate.bytes_per_second / 1e6 - 1.0).abs() <= rate.relative_half_width;
            let within = rates.iter().filter(has).count();
            let mean = rates.iter().map(|rate| rate.relative_half_width).sum::<f64>() / 200.0;
            assert!(within >= 180 && mean < width, "{lump} of {count}, {jitter}: {within} of 200, ±{mean}");
        }
    }
}
