//! What the accesses and bursts of a cable add up to.

use std::collections::BTreeMap;

use super::decode::Decoder;
use super::{Access, Burst, Protocol, register};

/// Bursts of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bursts {
    /// How many.
    pub bursts: u64,
    /// Bytes.
    pub bytes: u64,
    /// From DMARQ or the first strobe to the end.
    pub held_ps: u64,
    /// Before the first strobe, and behind the last one.
    pub around_ps: u64,
    /// Pauses, and the sum of how much longer they were than the pace.
    pub pauses: (u64, u64),
    /// The least time between two strobes.
    pub word_ps: Option<u64>,
    /// Bursts whose CRC was wrong.
    pub wrong_crc: u64,
}

/// What there was on a cable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Register accesses, by name and direction: how many, and their strobes' time.
    pub registers: BTreeMap<(&'static str, bool), (u64, u64)>,
    /// By kind, and whether from the drive.
    pub bursts: BTreeMap<(Protocol, bool), Bursts>,
    /// INTRQ: how many, and the sum of the time until it was negated, of how many.
    pub interrupts: (u64, u64, u64),
}

impl Summary {
    /// Of all that a decoder has seen, whether listed or not.
    pub fn of(decoder: &Decoder) -> Summary {
        decoder.added_up.clone()
    }

    pub(super) fn access(&mut self, access: &Access) {
        let name = register(access.control, access.da, access.writes);
        let (count, spent) = self.registers.entry((name, access.writes)).or_default();
        (*count, *spent) = (*count + 1, *spent + access.end_ps - access.start_ps);
    }

    pub(super) fn burst(&mut self, burst: &Burst) {
        self.bursts.entry((burst.protocol, burst.reads)).or_default().add(burst);
    }

    /// INTRQ was asserted.
    pub(super) fn interrupt(&mut self) {
        self.interrupts.0 += 1;
    }

    /// It is negated again.
    pub(super) fn negated(&mut self, after_ps: u64) {
        self.interrupts.1 += after_ps;
        self.interrupts.2 += 1;
    }
}

impl Bursts {
    fn add(&mut self, burst: &Burst) {
        self.bursts += 1;
        self.bytes += 2 * burst.words;
        self.held_ps += burst.end_ps - burst.start_ps;
        let (first, last) = burst.strobes_ps;
        self.around_ps += (first - burst.start_ps) + burst.end_ps.saturating_sub(last);
        let pace = burst.word_ps.unwrap_or(0);
        let (count, together) = burst.paused;
        self.pauses = (self.pauses.0 + count, self.pauses.1 + together.saturating_sub(count * pace));
        self.word_ps = self.word_ps.into_iter().chain(burst.word_ps).min();
        self.wrong_crc += u64::from(burst.crc.is_some_and(|(right, sent)| sent != Some(right)));
    }
}
