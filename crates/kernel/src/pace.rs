//! Pace: how many times as fast as its data say a lane works. What if this hop were twice as fast?
//!
//! A part computes its spans from its data and asks the lane that they belong to for them at its pace
//! ([`Lane::paced`](crate::Lane::paced)). The rounded span is divided, so that nothing else rounds differently: with
//! every lane at half its pace a run records the same, with every time doubled.

use std::fmt;

use crate::Time;

/// A positive rational: at 2 every span of a lane is half as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    times: u32,
    over: u32,
}

impl Pace {
    /// As the data say.
    pub const ONE: Pace = Pace { times: 1, over: 1 };

    /// `times`/`over` as fast; nothing where one of them is zero.
    pub const fn new(times: u32, over: u32) -> Option<Pace> {
        if times == 0 || over == 0 { None } else { Some(Pace { times, over }) }
    }

    /// Both, one after the other.
    #[must_use]
    pub const fn times(self, other: Pace) -> Pace {
        Pace { times: self.times * other.times, over: self.over * other.over }
    }

    /// Whether it changes nothing.
    #[inline]
    pub const fn is_one(self) -> bool {
        self.times == self.over
    }

    /// As a fraction, for display and statistics only.
    pub fn as_f64(self) -> f64 {
        f64::from(self.times) / f64::from(self.over)
    }

    /// How long what takes `span` takes at this pace, in whole picoseconds; something never takes no time.
    pub fn of(self, span: Time) -> Time {
        if self.is_one() || span == Time::ZERO {
            return span;
        }
        let exact = u128::from(span.as_ps()) * u128::from(self.over) / u128::from(self.times);
        Time::ps(u64::try_from(exact).expect("time stays below 213 days").max(1))
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.over {
            1 => write!(f, "{}", self.times),
            over => write!(f, "{}/{over}", self.times),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_divided_and_never_vanishes() {
        let pace = |times, over| Pace::new(times, over).expect("is positive");
        assert_eq!(pace(2, 1).of(Time::ps(9)), Time::ps(4));
        assert_eq!(pace(1, 2).of(Time::ps(9)), Time::ps(18));
        assert_eq!(pace(21, 20).of(Time::ps(1_000)), Time::ps(952));
        assert_eq!(pace(16, 1).of(Time::ps(1)), Time::ps(1));
        assert_eq!(pace(16, 1).of(Time::ZERO), Time::ZERO);
        assert_eq!(Pace::new(0, 1), None);
    }
}
