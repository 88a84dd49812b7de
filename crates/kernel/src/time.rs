//! Time: integer picoseconds, for instants and spans alike. 2^64 ps are 213 days.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// An instant since the start of a run, or a span, in picoseconds.
///
/// Arithmetic is checked in release builds too: a run that leaves the range is a defect, never a wrong number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The start of a run, and the empty span.
    pub const ZERO: Time = Time(0);
    /// Later than anything that happens.
    pub const MAX: Time = Time(u64::MAX);

    /// From picoseconds.
    #[inline]
    pub const fn ps(picoseconds: u64) -> Time {
        Time(picoseconds)
    }

    /// From nanoseconds.
    #[inline]
    pub const fn ns(nanoseconds: u64) -> Time {
        Time(nanoseconds * 1_000)
    }

    /// From microseconds.
    #[inline]
    pub const fn us(microseconds: u64) -> Time {
        Time(microseconds * 1_000_000)
    }

    /// From milliseconds.
    #[inline]
    pub const fn ms(milliseconds: u64) -> Time {
        Time(milliseconds * 1_000_000_000)
    }

    /// In picoseconds.
    #[inline]
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// In nanoseconds, for display and statistics only.
    #[inline]
    pub fn as_ns_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// In seconds, for display and statistics only.
    #[inline]
    pub fn as_seconds_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// The span from `earlier` to `self`, or nothing where `earlier` is later.
    #[inline]
    pub fn saturating_sub(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }

    /// The later, or the end of time where the sum leaves the range.
    #[inline]
    pub fn saturating_add(self, span: Time) -> Time {
        Time(self.0.saturating_add(span.0))
    }

    /// The first multiple of `period` at or after `self`: the clock edge that sees what happened now.
    #[inline]
    pub fn edge(self, period: Time) -> Time {
        Time(self.0.div_ceil(period.0) * period.0)
    }

    /// The first multiple of `period` strictly after `self`.
    #[inline]
    pub fn next_edge(self, period: Time) -> Time {
        Time((self.0 / period.0 + 1) * period.0)
    }
}

impl Add for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Time) -> Time {
        Time(self.0.checked_add(span.0).expect("time stays below 213 days"))
    }
}

impl AddAssign for Time {
    #[inline]
    fn add_assign(&mut self, span: Time) {
        *self = *self + span;
    }
}

impl Sub for Time {
    type Output = Time;
    #[inline]
    fn sub(self, earlier: Time) -> Time {
        Time(self.0.checked_sub(earlier.0).expect("a span is never negative"))
    }
}

impl Mul<u64> for Time {
    type Output = Time;
    #[inline]
    fn mul(self, count: u64) -> Time {
        Time(self.0.checked_mul(count).expect("time stays below 213 days"))
    }
}

impl Div<Time> for Time {
    type Output = u64;
    /// How many whole `span`s fit.
    #[inline]
    fn div(self, span: Time) -> u64 {
        self.0 / span.0
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ps if ps >= 1_000_000_000_000 => write!(f, "{:.3} s", ps as f64 / 1e12),
            ps if ps >= 1_000_000_000 => write!(f, "{:.3} ms", ps as f64 / 1e9),
            ps if ps >= 1_000_000 => write!(f, "{:.3} us", ps as f64 / 1e6),
            ps if ps >= 1_000 => write!(f, "{:.3} ns", ps as f64 / 1e3),
            ps => write!(f, "{ps} ps"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_is_now_or_the_next_multiple() {
        let clock = Time::ps(29_851);
        assert_eq!(Time::ps(0).edge(clock), Time::ps(0));
        assert_eq!(Time::ps(1).edge(clock), clock);
        assert_eq!(clock.edge(clock), clock);
        assert_eq!(clock.next_edge(clock), clock * 2);
    }

    #[test]
    #[should_panic(expected = "213 days")]
    fn leaving_the_range_is_loud() {
        let _ = Time::MAX + Time::ps(1);
    }
}
