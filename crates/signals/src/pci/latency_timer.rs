//! Latency timers, as they show on the wires. PCI 2.2, 3.5.4.1.
//!
//! An initiator whose timer has run out and whose GNT# is gone ends its burst as soon as it can, and goes on later where
//! it had come to. That it ended for the timer, and not because a buffer was full, shows where such bursts last equally
//! long and move unlike amounts.

use std::collections::{BTreeMap, BTreeSet};

use super::{CommandLines, EndedBy, Transaction};

/// From so many bursts on something is said.
const BURSTS_MIN: u64 = 8;
/// Bursts that the timer ends are within so many clocks of each other: the data phase under way is completed first
/// (3.5.1: a target takes eight clocks at most).
const WITHIN_CLOCKS: u64 = 8;
/// Of all that were given up, so large a share is.
const SHARE: (u64, u64) = (9, 10);
/// Unlike lengths that are kept.
const LENGTHS_MAX: usize = 1_024;

/// What is known of an initiator's bursts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Bursts {
    /// The last one: where it had come to, its command, FRAME#'s clocks and data phases, if it ended as a timer would end it.
    last: Option<(u64, CommandLines, u64, u64)>,
    /// Those that went on later, by FRAME#'s clocks: how many, and their data phases.
    given_up: BTreeMap<u64, (u64, BTreeSet<u64>)>,
}

/// Bursts of all initiators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatencyTimers(BTreeMap<usize, Bursts>);

/// A timer that shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyTimer {
    /// Whose, by number among the grants.
    pub initiator: usize,
    /// Clocks that FRAME# was asserted in its bursts, at least.
    pub clocks: u64,
    /// Bursts that it ended.
    pub bursts: u64,
}

impl LatencyTimers {
    /// A transaction more.
    pub(super) fn add(&mut self, one: &Transaction) {
        let Some(initiator) = one.initiator else { return };
        let of = self.0.entry(initiator).or_default();
        if let Some((address, command, clocks, phases)) = of.last.take()
            && one.address == Some(address)
            && one.command == command
            && (of.given_up.len() < LENGTHS_MAX || of.given_up.contains_key(&clocks))
        {
            let (count, lengths) = of.given_up.entry(clocks).or_default();
            *count += 1;
            if lengths.len() < LENGTHS_MAX {
                lengths.insert(phases);
            }
        }
        let ends_so = one.ended_by == EndedBy::Initiator && one.grant_lost && one.data_phases > 0;
        let behind = one.address.filter(|_| ends_so).and_then(|address| address.checked_add(one.bytes));
        of.last = behind.map(|address| (address, one.command, one.frame_clocks, one.data_phases));
    }

    /// Those that show.
    pub fn found(&self) -> Vec<LatencyTimer> {
        let timer = |(initiator, of): (&usize, &Bursts)| {
            let all: u64 = of.given_up.values().map(|(count, _)| count).sum();
            // The stretch of clocks that most of them are in.
            let within = |from: u64| of.given_up.range(from..from + WITHIN_CLOCKS);
            let count = |from: u64| within(from).map(|(_, (count, _))| count).sum::<u64>();
            let clocks = of.given_up.keys().copied().max_by_key(|from| (count(*from), *from))?;
            let bursts = count(clocks);
            let lengths: BTreeSet<u64> = within(clocks).flat_map(|(_, (_, lengths))| lengths).copied().collect();
            let shows = bursts >= BURSTS_MIN && bursts * SHARE.1 >= all * SHARE.0 && lengths.len() > 1;
            shows.then_some(LatencyTimer { initiator: *initiator, clocks, bursts })
        };
        self.0.iter().filter_map(timer).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pci::Clock;
    use crate::pci::decode::Decoder;

    /// A bus on which the only initiator writes: bursts of so many clocks of FRAME#, in which data move at every so
    /// many clocks, and GNT# is gone behind the first.
    fn bus(bursts: &[(u64, u64)], goes_on: bool) -> Vec<LatencyTimer> {
        let mut decoder = Decoder::default();
        let (mut at, mut address) = (0, 0x1000);
        let mut clock = |clock: Clock| {
            decoder.clock(at, at + 30, &clock);
            at += 30;
        };
        for (clocks, pace) in bursts {
            clock(Clock { grants: 1, ..Clock::default() });
            clock(Clock { frame: true, ad: Some(address), cbe: Some(0b0111), grants: 1, ..Clock::default() });
            let mut moved = 0;
            for age in 1..=*clocks {
                let ready = age % pace == 0 || age == *clocks;
                let frame = age < *clocks;
                let data = Clock { frame, irdy: true, devsel: true, trdy: ready, ..Clock::default() };
                clock(Clock { ad: Some(7), cbe: Some(0), ..data });
                moved += u64::from(ready) * 4;
            }
            address = if goes_on { address + moved } else { address + 0x1_0000 };
        }
        clock(Clock::default());
        decoder.finish();
        decoder.added_up.timers.found()
    }

    #[test]
    fn bursts_that_last_as_long_whatever_they_move_are_ended_by_the_timer() {
        let timed: Vec<(u64, u64)> = (0..20).map(|number| (32 + number % 3, 1 + number % 4)).collect();
        assert_eq!(bus(&timed, true), [LatencyTimer { initiator: 0, clocks: 32, bursts: 19 }]);
        // What begins elsewhere was not given up.
        assert_eq!(bus(&timed, false), []);
    }

    #[test]
    fn a_buffer_that_is_full_is_no_timer() {
        assert_eq!(bus(&[(8, 1); 40], true), []);
        let unlike: Vec<(u64, u64)> = (0..40).map(|number| (4 + number * 9, 1)).collect();
        assert_eq!(bus(&unlike, true), []);
    }
}
