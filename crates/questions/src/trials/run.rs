//! One run of a trial: every request that ended in it, and what two of them say of the same requests.

use std::cell::RefCell;
use std::num::NonZeroU64;
use std::ops::Range;
use std::rc::Rc;

use hopscope_kernel::{Observer, Record, Time};

use super::gain::{Piece, mean};

/// Rates of two windows may differ so much, besides what chance does.
const ALIKE: f64 = 0.005;
/// What a trial counts is compared in so many pieces a seed.
pub(super) const PIECES: usize = 8;

/// A request that has ended.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Transfer {
    pub(super) end: Time,
    pub(super) latency: Time,
    pub(super) bytes: u64,
}

/// One run of a trial.
pub(super) struct Run {
    pub(super) transfers: Vec<Transfer>,
    pub(super) events: u64,
}

impl Run {
    /// What counts after a ramp, and the transfer's end from which its time does: between ends there are as many pauses
    /// of jobs as transfers.
    pub(super) fn after(&self, ramp: Time) -> (Time, &[Transfer]) {
        let warm = self.warm(ramp).min(self.transfers.len());
        let (before, counted) = self.transfers.split_at(warm);
        (before.last().map_or(Time::ZERO, |last| last.end), counted)
    }

    /// As many requests are asked of a changed setting.
    pub(super) fn asked(&self) -> Option<NonZeroU64> {
        NonZeroU64::new(self.transfers.len() as u64)
    }

    /// Whether requests of two windows come at the same rate, but for what chance does.
    pub(super) fn alike(&self, one: Range<usize>, other: Range<usize>) -> bool {
        let pieces = |of: Range<usize>| pieces_between(self, self, of);
        let (one, other) = (pieces(one), pieces(other));
        if one.len().min(other.len()) < PIECES {
            return false;
        }
        let ((one, one_width), (other, other_width)) = (mean(&one), mean(&other));
        (one / other - 1.0).abs() <= one_width.hypot(other_width).max(ALIKE)
    }

    /// When the last request ended.
    pub(super) fn end(&self) -> Time {
        self.transfers.last().map_or(Time::ZERO, |last| last.end)
    }

    /// So many transfers are not counted: those in the ramp, and the first in any case.
    pub(super) fn warm(&self, ramp: Time) -> usize {
        self.transfers.partition_point(|transfer| transfer.end <= ramp).max(1)
    }
}

/// Keeps every transfer of a run.
pub(super) struct Keeper(pub(super) Rc<RefCell<Vec<Transfer>>>);

impl Observer for Keeper {
    fn records(&mut self, batch: &[Record]) {
        let transfers = batch.iter().filter_map(|record| match *record {
            Record::Transfer { at, span, bytes, .. } => {
                Some(Transfer { end: at + span, latency: span, bytes: bytes.into() })
            }
            _ => None,
        });
        self.0.borrow_mut().extend(transfers);
    }

    fn wants_phases(&self) -> bool {
        false
    }
}

/// The pieces of one seed; none where too few requests ended.
pub(super) fn pieces(before: &Run, after: &Run, ramp: Time) -> Vec<Piece> {
    let warm = before.warm(ramp);
    let until = before.transfers.len().min(after.transfers.len());
    pieces_between(before, after, warm..until)
}

/// The same of some requests.
pub(super) fn pieces_between(before: &Run, after: &Run, counted: Range<usize>) -> Vec<Piece> {
    let (before, after) = (&before.transfers, &after.transfers);
    let (warm, count) = (counted.start, counted.len());
    let pieces = PIECES.min(count);
    let of = |transfers: &[Transfer], from: usize, until: usize| {
        let (start, counted) = (transfers[from - 1].end, &transfers[from..until]);
        let bytes: u64 = counted.iter().map(|transfer| transfer.bytes).sum();
        let span = (counted[counted.len() - 1].end.saturating_sub(start)).as_ps() as f64;
        let latency: f64 = counted.iter().map(|transfer| transfer.latency.as_ps() as f64).sum();
        (span / bytes.max(1) as f64, latency)
    };
    let one = |piece: usize| {
        let (from, until) = (warm + count * piece / pieces, warm + count * (piece + 1) / pieces);
        let (is, was) = (of(after, from, until), of(before, from, until));
        Piece { time: [was.0, is.0], latency: [was.1, is.1], later: 2 * piece >= pieces }
    };
    (0..pieces).map(one).collect()
}
