//! How long the arm needs for a distance.

use hopscope_declare::Spec;
use hopscope_kernel::Time;

use crate::parameters::{Parameters, SpecError};

/// One point of the seek curve.
#[derive(Clone, Debug, PartialEq, Spec)]
pub(super) struct SeekPoint {
    /// Cylinders, more than those of the point before.
    #[count("distance", 1..)]
    pub(super) distance: u64,
    /// How long a seek over them takes.
    #[time("time")]
    pub(super) time: Time,
}

/// Points, and what is between them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SeekCurve {
    pub(super) points: Vec<SeekPoint>,
    /// Between two points time grows with the distance, not with its square root.
    pub(super) straight: bool,
}

impl SeekCurve {
    /// A few points, between which time grows with the square root of the distance; it never falls.
    pub(super) fn drawn(points: Vec<SeekPoint>, cylinders: u64, p: &Parameters) -> Result<SeekCurve, SpecError> {
        if let Some(at) = points.windows(2).position(|pair| pair[0].time > pair[1].time) {
            return Err(falls(p, at + 1));
        }
        SeekCurve { points, straight: false }.spans(cylinders, p)
    }

    /// Points as they were measured: longer seeks may be a little faster than shorter ones.
    pub(super) fn measured(
        points: Vec<SeekPoint>,
        straight: bool,
        cylinders: u64,
        p: &Parameters,
    ) -> Result<SeekCurve, SpecError> {
        SeekCurve { points, straight }.spans(cylinders, p)
    }

    fn spans(self, cylinders: u64, p: &Parameters) -> Result<SeekCurve, SpecError> {
        let points = &self.points;
        if let Some(at) = points.windows(2).position(|pair| pair[0].distance >= pair[1].distance) {
            return Err(falls(p, at + 1));
        }
        if points.first().is_none_or(|first| first.distance != 1)
            || points.last().is_none_or(|last| last.distance < cylinders - 1)
        {
            let help = format!("expected points from 1 cylinder to {} cylinders", cylinders - 1);
            return Err(p.error("seek.rows", "the seek curve does not span the disk", help));
        }
        Ok(self)
    }

    /// Time for a distance of at least one cylinder.
    pub(super) fn time(&self, distance: u64) -> Time {
        let after = self.points.partition_point(|point| point.distance < distance).min(self.points.len() - 1);
        let upper = &self.points[after];
        if upper.distance <= distance || after == 0 {
            return upper.time;
        }
        let lower = &self.points[after - 1];
        if self.straight {
            let (done, whole) = (distance - lower.distance, upper.distance - lower.distance);
            let weighed = |time: Time, weight: u64| u128::from(time.as_ps()) * u128::from(weight);
            return Time::ps(
                ((weighed(lower.time, whole - done) + weighed(upper.time, done)) / u128::from(whole)) as u64,
            );
        }
        let root = |cylinders: u64| libm::sqrt(cylinders as f64);
        let share = (root(distance) - root(lower.distance)) / (root(upper.distance) - root(lower.distance));
        let (low, high) = (lower.time.as_ps() as f64, upper.time.as_ps() as f64);
        if high < low {
            return lower.time - Time::ps((share * (low - high)) as u64);
        }
        lower.time + Time::ps((share * (high - low)) as u64)
    }
}

fn falls(p: &Parameters, row: usize) -> SpecError {
    p.row("seek.rows", row).error("distance", "the seek curve falls", "expected rising distances and times")
}
