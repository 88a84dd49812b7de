//! Scales and their ticks.

/// A scale from values to pixels.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    from: f64,
    until: f64,
    from_px: f64,
    until_px: f64,
}

impl Scale {
    /// `from` lies at `from_px`, `until` at `until_px`.
    pub fn new((from, until): (f64, f64), (from_px, until_px): (f64, f64)) -> Scale {
        let until = if until > from && until.is_finite() { until } else { from + 1.0 };
        Scale { from, until, from_px, until_px }
    }

    /// From nothing to the first tick at or above `most`.
    pub fn from_zero(most: f64, ticks: usize, pixels: (f64, f64)) -> Scale {
        let most = if most.is_finite() { most } else { 1.0 };
        let step = step((0.0, most), ticks);
        Scale::new((0.0, (most / step - 1e-9).ceil().max(1.0) * step), pixels)
    }

    /// Where a value lies.
    pub fn at(&self, value: f64) -> f64 {
        self.from_px + (value - self.from) / (self.until - self.from) * (self.until_px - self.from_px)
    }

    /// How long a span of values is.
    pub fn length(&self, span: f64) -> f64 {
        (span / (self.until - self.from) * (self.until_px - self.from_px)).abs()
    }

    /// Round values, about so many.
    pub fn ticks(&self, count: usize) -> Vec<f64> {
        let step = step((self.from, self.until), count);
        let (first, last) = ((self.from / step - 1e-9).ceil() as i64, (self.until / step + 1e-9).floor() as i64);
        (first..=last).map(|k| k as f64 * step).collect()
    }
}

/// A round distance of ticks: 1, 2 or 5 times a power of ten.
fn step((from, until): (f64, f64), count: usize) -> f64 {
    let span = (until - from).abs();
    if span.is_nan() || span <= 0.0 || span.is_infinite() {
        return 1.0;
    }
    let rough = span / count.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let round = [1.0, 2.0, 5.0, 10.0].into_iter().find(|round| round * power >= rough * (1.0 - 1e-9));
    round.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover_the_scale() {
        let scale = Scale::from_zero(22.4, 5, (100.0, 0.0));
        assert_eq!(scale.ticks(5), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0]);
        assert_eq!((scale.at(0.0), scale.at(25.0), scale.length(5.0)), (100.0, 0.0, 20.0));
        assert_eq!(Scale::new((-0.11, 0.2), (0.0, 1.0)).ticks(3), [0.0, 0.2]);
    }

    #[test]
    fn a_scale_of_nothing_has_ticks_too() {
        for most in [0.0, f64::NAN, f64::INFINITY, 1e-300] {
            assert!((1..20).contains(&Scale::from_zero(most, 5, (0.0, 1.0)).ticks(5).len()), "{most}");
        }
    }
}
