//! How long the arm needs for a distance.

use hopscope_kernel::Time;

use crate::parameters::{Parameters, SpecError};

/// One point of the seek curve.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SeekPoint {
    pub(super) distance: u64,
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
    pub(super) fn drawn(p: &mut Parameters, cylinders: u64) -> Result<SeekCurve, SpecError> {
        SeekCurve::points(p, cylinders, false)
    }

    /// Points as they were measured: longer seeks may be a little faster than shorter ones.
    pub(super) fn measured(p: &mut Parameters, cylinders: u64) -> Result<SeekCurve, SpecError> {
        let straight = match p.text("seek.between")?.as_str() {
            "straight line" => true,
            "square root" => false,
            other => {
                let problem = format!("`{other}` is no way from one point to the next");
                return Err(p.error("seek.between", problem, "write \"straight line\" or \"square root\""));
            }
        };
        Ok(SeekCurve { straight, ..SeekCurve::points(p, cylinders, true)? })
    }

    fn points(p: &mut Parameters, cylinders: u64, may_fall: bool) -> Result<SeekCurve, SpecError> {
        let mut points = Vec::new();
        for mut row in p.rows("seek.rows")? {
            let point = SeekPoint { distance: row.count("distance")?, time: row.time("time")? };
            let falls = |before: &SeekPoint| before.distance >= point.distance || !may_fall && before.time > point.time;
            if points.last().is_some_and(falls) {
                return Err(row.error("distance", "the seek curve falls", "expected rising distances and times"));
            }
            points.push(point);
        }
        if points.first().is_none_or(|first| first.distance != 1)
            || points.last().is_none_or(|last| last.distance < cylinders - 1)
        {
            let help = format!("expected points from 1 cylinder to {} cylinders", cylinders - 1);
            return Err(p.error("seek.rows", "the seek curve does not span the disk", help));
        }
        Ok(SeekCurve { points, straight: false })
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
