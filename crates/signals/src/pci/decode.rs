//! From clocks to transactions: what an analyzer on the bus sees.
//!
//! Which of the two protocols a bus speaks does not show in one transaction. On PCI-X no initiator asserts IRDY# before
//! the second clock behind its attributes (PCI-X 1.0a, 2.6); on conventional PCI all but the slowest do.

use super::over_time::OverTime;
use super::summary::Summary;
use super::{Attributes, Clock, CommandLines, EndedBy, Transaction, parity};

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Beginning of the clock, picoseconds.
    pub at_ps: u64,
    /// What happened, and the section that forbids it.
    pub rule: &'static str,
}

const FRAME_WITHOUT_IRDY: &str = "FRAME# was deasserted without IRDY# (PCI 2.2, 3.3.3.1)";
const UNCLAIMED_DATA: &str = "TRDY# without DEVSEL# (PCI 2.2, 3.3.1)";
const READ_AT_ONCE: &str = "read data without a turnaround clock on AD (PCI 2.2, 3.3.1)";
const STOP_LEFT: &str = "STOP# was deasserted before FRAME# (PCI 2.2, 3.3.3.2.1)";
const DATA_AFTER_STOP: &str = "data after a disconnect (PCI 2.2, 3.3.3.2.1)";

/// Violations that are kept.
const VIOLATIONS_MAX: usize = 1_000;

/// A transaction under way.
struct Open {
    transaction: Transaction,
    /// Clocks since FRAME#.
    age: u64,
    /// The command of a dual address cycle has not come yet.
    second_address: bool,
    /// The attributes have not come yet.
    awaits_attributes: bool,
    last_data: u64,
    stopped: bool,
    /// STOP# was asserted without TRDY#: no data will follow.
    refused: bool,
    stopped_with_data: bool,
    last: Clock,
}

/// Follows a bus.
#[derive(Default)]
pub struct Decoder {
    /// Whether what is read is PCI-X.
    pub pci_x: bool,
    /// Transactions, and those in which IRDY# came within two clocks of the address.
    pub begun: (u64, u64),
    open: Option<Open>,
    /// The clock before.
    before: Clock,
    idle: u64,
    /// What PAR has to be, where the clock before was one that has parity.
    to_check: Option<bool>,
    /// The last transaction: its parity comes a clock later.
    last: Option<Transaction>,
    /// What was decoded, the first ones.
    pub transactions: Vec<Transaction>,
    /// How many transactions are listed at most; all where nothing is said.
    pub listed_max: Option<usize>,
    /// What all of it adds up to, whether listed or not.
    pub(super) added_up: Summary,
    /// The same over time; nothing where nobody asked for it.
    pub over_time: Option<OverTime>,
    over_time_wanted: bool,
    /// What broke a rule, the first ones.
    pub violations: Vec<Violation>,
    /// Clocks seen.
    pub clocks: u64,
    /// Clocks in which FRAME# or IRDY# was asserted.
    pub busy: u64,
}

impl Decoder {
    /// Follows a bus that speaks PCI-X.
    pub fn of_pci_x() -> Decoder {
        Decoder { pci_x: true, ..Decoder::default() }
    }

    /// What it adds up to is kept over time, too.
    pub fn watch(&mut self) {
        self.over_time_wanted = true;
    }

    /// What the bus speaks.
    pub fn protocol(&self) -> &'static str {
        if self.pci_x { "PCI-X" } else { "PCI" }
    }

    /// The next clock, from `start_ps` to `end_ps`.
    pub fn clock(&mut self, start_ps: u64, end_ps: u64, clock: &Clock) {
        if self.over_time_wanted && self.over_time.is_none() {
            self.over_time = Some(OverTime::new(start_ps));
        }
        self.clocks += 1;
        let active = clock.frame || clock.irdy;
        self.busy += u64::from(active);
        if let (Some(expected), Some(par)) = (self.to_check.take(), clock.par)
            && expected != par
        {
            match &mut self.open {
                Some(open) => open.transaction.parity_errors += 1,
                None => self.last.iter_mut().for_each(|last| last.parity_errors += 1),
            }
        }
        // FRAME# again after its last clock: another transaction, without an idle clock between.
        let ended = self.open.as_ref().is_some_and(|open| {
            let last = &open.last;
            open.age > 1 && !last.frame && (!last.irdy || last.trdy || last.stop) && clock.frame
        });
        if ended {
            self.close(start_ps);
        }
        if self.open.is_some() {
            if active {
                self.go_on(start_ps, clock);
            } else {
                self.close(start_ps);
            }
        } else if clock.frame {
            self.begin(start_ps, clock);
        }
        if self.open.is_none() {
            self.idle += 1;
        }
        if let Some(open) = &mut self.open {
            open.transaction.end_ps = end_ps;
        }
        self.before = *clock;
    }

    fn violated(&mut self, at_ps: u64, rule: &'static str) {
        if self.violations.len() < VIOLATIONS_MAX {
            self.violations.push(Violation { at_ps, rule });
        }
    }

    fn command(&self, clock: &Clock) -> CommandLines {
        let lines = clock.cbe.unwrap_or(0b0100) & 0xf;
        CommandLines(if self.pci_x { CommandLines::PCI_X | lines } else { lines })
    }

    fn begin(&mut self, start_ps: u64, clock: &Clock) {
        self.begun.0 += 1;
        let command = self.command(clock);
        let grants = if self.before.grants != 0 { self.before.grants } else { clock.grants };
        let transaction = Transaction {
            start_ps,
            end_ps: start_ps,
            clocks: 0,
            initiator: (grants != 0).then(|| grants.trailing_zeros() as usize),
            command,
            address: clock.ad.map(|ad| ad & 0xffff_ffff),
            bytes: 0,
            data_phases: 0,
            wait_clocks: 0,
            initiator_waits: 0,
            target_waits: 0,
            after_clocks: 0,
            devsel_clocks: None,
            frame_clocks: 1,
            grant_lost: false,
            idle_before_clocks: self.idle,
            wide: (clock.req64, false),
            parity_errors: 0,
            attributes: None,
            ended_by: EndedBy::Cut,
        };
        self.idle = 0;
        self.to_check = clock.ad.zip(clock.cbe).map(|(ad, cbe)| parity(ad, cbe));
        self.open = Some(Open {
            transaction,
            age: 1,
            second_address: command.is_dual_address(),
            awaits_attributes: self.pci_x,
            last_data: 0,
            stopped: false,
            refused: false,
            stopped_with_data: false,
            last: *clock,
        });
    }

    fn go_on(&mut self, start_ps: u64, clock: &Clock) {
        let command = self.command(clock);
        let Some(open) = &mut self.open else { return };
        let transaction = &mut open.transaction;
        let mut broken = Vec::new();
        self.begun.1 += u64::from(clock.irdy && !open.last.irdy && open.age < 3);
        if clock.frame {
            transaction.frame_clocks += 1;
            let has_grant = |initiator: usize| clock.grants >> initiator & 1 == 1;
            transaction.grant_lost |= !transaction.initiator.is_none_or(has_grant);
        }
        if open.second_address {
            open.second_address = false;
            open.age += 1;
            open.last = *clock;
            transaction.command = command;
            let (low, high) = (transaction.address, clock.ad.map(|ad| ad & 0xffff_ffff));
            transaction.address = low.zip(high).map(|(low, high)| high << 32 | low);
            self.to_check = clock.ad.zip(clock.cbe).map(|(ad, cbe)| parity(ad, cbe));
            return;
        }
        if std::mem::take(&mut open.awaits_attributes) {
            open.age += 1;
            open.last = *clock;
            transaction.attributes = clock.ad.zip(clock.cbe).map(|(ad, cbe)| Attributes::of_lines(ad, cbe));
            self.to_check = clock.ad.zip(clock.cbe).map(|(ad, cbe)| parity(ad, cbe));
            return;
        }
        if clock.devsel && transaction.devsel_clocks.is_none() {
            transaction.devsel_clocks = Some(open.age);
        }
        if open.last.frame && !clock.frame && !clock.irdy && !self.pci_x {
            broken.push(FRAME_WITHOUT_IRDY);
        }
        let reads = transaction.command.reads();
        transaction.wide.1 |= clock.ack64;
        // PCI-X 1.0a, 2.11.1: TRDY# alone is a split response, TRDY# and STOP# without DEVSEL# a single data phase.
        let split = self.pci_x && clock.trdy && !clock.devsel && !clock.stop;
        let data = clock.irdy && clock.trdy && !split;
        if split {
            transaction.ended_by = EndedBy::SplitResponse;
        }
        if data {
            if !clock.devsel && !self.pci_x {
                broken.push(UNCLAIMED_DATA);
            }
            if reads && open.age == 1 && !self.pci_x {
                broken.push(READ_AT_ONCE);
            }
            if open.refused && !self.pci_x {
                broken.push(DATA_AFTER_STOP);
            }
            let wide = transaction.wide == (true, true);
            let enabled = clock.cbe.map_or(if wide { 8 } else { 4 }, |cbe| {
                let enables = if wide { !cbe } else { !cbe & 0xf };
                enables.count_ones()
            });
            transaction.bytes += u64::from(enabled);
            transaction.data_phases += 1;
            open.last_data = open.age;
            open.stopped_with_data = clock.stop;
        } else if open.last_data == 0 && !split {
            transaction.wait_clocks += 1;
            transaction.initiator_waits += u64::from(!clock.irdy);
            transaction.target_waits += u64::from(clock.irdy && !clock.stop);
        } else if !clock.stop {
            transaction.initiator_waits += u64::from(!clock.irdy);
            transaction.target_waits += u64::from(clock.irdy);
        }
        if open.stopped && !clock.stop && clock.frame && !self.pci_x {
            broken.push(STOP_LEFT);
        }
        open.stopped |= clock.stop;
        open.refused |= clock.stop && !clock.trdy;
        if clock.stop && !clock.devsel && !clock.trdy && open.transaction.devsel_clocks.is_some() {
            open.transaction.ended_by = EndedBy::TargetAbort;
        }
        open.last = *clock;
        open.age += 1;
        let has_parity = !reads || data;
        self.to_check = clock.ad.zip(clock.cbe).filter(|_| has_parity).map(|(ad, cbe)| parity(ad, cbe));
        for rule in broken {
            self.violated(start_ps, rule);
        }
    }

    fn close(&mut self, end_ps: u64) {
        let Some(Open { mut transaction, age, last_data, stopped, stopped_with_data, .. }) = self.open.take() else {
            return;
        };
        transaction.end_ps = end_ps;
        transaction.after_clocks = if last_data == 0 { 0 } else { age - 1 - last_data };
        if last_data == 0 && transaction.ended_by != EndedBy::SplitResponse {
            // The last clock is the answer, and no wait.
            transaction.wait_clocks = transaction.wait_clocks.saturating_sub(1);
        }
        if !matches!(transaction.ended_by, EndedBy::TargetAbort | EndedBy::SplitResponse) {
            transaction.ended_by = match transaction.data_phases {
                _ if transaction.devsel_clocks.is_none() && transaction.data_phases == 0 && !stopped => {
                    EndedBy::MasterAbort
                }
                0 if stopped => EndedBy::Retry,
                _ if stopped_with_data => EndedBy::DisconnectWithData,
                _ if stopped => EndedBy::Disconnect,
                _ => EndedBy::Initiator,
            };
        }
        self.ends(Transaction { clocks: age, ..transaction });
    }

    fn ends(&mut self, transaction: Transaction) {
        self.settle();
        self.last = Some(transaction);
    }

    /// Nothing more will be known of the last transaction.
    fn settle(&mut self) {
        let Some(last) = self.last.take() else { return };
        self.added_up.add(&last);
        if let Some(over_time) = &mut self.over_time {
            over_time.add(&last);
        }
        if self.listed_max.is_none_or(|most| self.transactions.len() < most) {
            self.transactions.push(last);
        }
    }

    /// Transactions until now, whether listed or not.
    pub fn count(&self) -> u64 {
        self.added_up.transactions
    }

    /// The capture ends here.
    pub fn finish(&mut self) {
        if let Some(Open { mut transaction, age, last_data, .. }) = self.open.take() {
            transaction.after_clocks = if last_data == 0 { 0 } else { age - 1 - last_data };
            transaction.ended_by = EndedBy::Cut;
            self.ends(Transaction { clocks: age, ..transaction });
        }
        self.settle();
    }
}
