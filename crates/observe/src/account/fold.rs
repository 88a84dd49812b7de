//! The fold: from timelines to the account.

use hopscope_kernel::{Class, Rate, Sim, Time};

use super::blame::{Bill, Blame, Item, Stretch, UNATTRIBUTED, Way};
use super::ledger::Ledger;
use super::timelines::{Hop, Interval, LaneLine, Timelines};
use super::{Account, Capacity, Entry, LaneAccount, Use, slice_edge};

/// Slices of the window in which utilisation is given.
pub(super) const SLICES: u64 = 120;
/// What the account of a run failed on: a defect of a part, with what was going on.
pub type Unaccountable = String;

impl Account {
    /// The account of a run in `sim`, from what the ledger kept. `all_over` says that the run ended by itself, so
    /// that nothing was under way. Nothing where no lane was used.
    pub fn of(sim: &Sim, ledger: &Ledger, all_over: bool) -> Result<Option<Account>, Unaccountable> {
        let lines = Timelines::new(sim, ledger, all_over)?;
        if lines.until <= lines.from {
            return Ok(None);
        }
        let (from, until) = (lines.squeeze(lines.from), lines.squeeze(lines.until));
        let mut fold = Fold { lines: &lines, blame: Blame::new(&lines), window: Stretch { from, until } };
        // A lane that is only ever held by someone who waits is no hop of its own.
        let works = |i: &Interval| i.end > from && i.start < until && i.phase.class != Class::Reason;
        let used = |line: &LaneLine| line.intervals.iter().any(works);
        let lanes = (0..lines.lanes.len()).filter(|&number| used(&lines.lanes[number]));
        let lanes = lanes.map(|number| fold.lane(number)).collect::<Result<Vec<_>, _>>()?;
        let path = fold.path()?;
        let ended = lines.transfers.iter().filter(|transfer| transfer.ended > from && transfer.ended <= until);
        let requests = ended.count() as u64;
        let Timelines { from, until, .. } = lines;
        Ok((!lanes.is_empty()).then_some(Account { from, until, lanes, path, requests }))
    }
}

struct Fold<'a> {
    lines: &'a Timelines,
    blame: Blame<'a>,
    /// In squeezed time.
    window: Stretch,
}

impl Fold<'_> {
    fn lane(&mut self, number: usize) -> Result<LaneAccount, Unaccountable> {
        let lines = self.lines;
        let line = &lines.lanes[number];
        let Stretch { from, until } = self.window;
        let (mut own, mut waits, mut at) = (Bill::default(), Bill::default(), from);
        let first = line.intervals.partition_point(|interval| interval.end <= from);
        for interval in &line.intervals[first..] {
            let Interval { start, end, phase, who } = *interval;
            if start > at {
                let stretch = Stretch { from: at, until: start };
                self.blame.before(who, stretch, until, Way::new(None), &mut waits)?;
            }
            if start >= until {
                at = until;
                break;
            }
            let (within, upto) = (start.max(from), end.min(until));
            if phase.class == Class::Reason {
                self.blame.before(
                    who,
                    Stretch { from: within, until: end },
                    upto,
                    Way::new(Some(phase)),
                    &mut waits,
                )?;
            } else {
                own.charge(number as u16, phase, lines.measure(within, upto));
            }
            at = upto;
        }
        let rate = best_rate(&line.rates);
        let mut entries = Vec::new();
        for (item, time) in own.0 {
            self.own_entries(&item, time, line, rate, &mut entries);
        }
        entries.extend(waits.0.iter().map(|(item, time)| self.entry(item, *time, Use::Waiting)));
        if until > at {
            let (part, lane) = (line.part().to_string(), line.name.clone());
            let (class, cause, phase) = (Use::Nothing, "nothing asks for it".to_string(), String::new());
            entries.push(Entry { class, cause, part, lane, phase, time: lines.measure(at, until) });
        }
        let mut entries = merged(entries);
        entries.sort_by(|a, b| (a.class, b.time, &a.lane, &a.phase, &a.cause).cmp(&order(b, a.time)));
        let capacity = rate.map(capacity);
        let (part, lane, busy) = (line.part().to_string(), line.name.clone(), self.busy(line));
        Ok(LaneAccount { lane, part, capacity, entries, busy })
    }

    /// What the lane did itself. Where bytes moved slower than the lane can, the difference is not used.
    fn own_entries(&self, item: &Item, time: Time, line: &LaneLine, best: Option<Rate>, entries: &mut Vec<Entry>) {
        let class = match item.phase.class {
            Class::Payload | Class::Through => Use::Payload,
            _ => Use::Protocol,
        };
        let rate = line.rates.iter().find(|rate| rate.phase == item.phase);
        let unused = match (rate, best) {
            (Some(rate), Some(best)) => {
                let of_best = u128::from(rate.bytes) * u128::from(best.per.as_ps());
                let all = u128::from(best.bytes) * u128::from(rate.per.as_ps());
                time - Time::ps((u128::from(time.as_ps()) * of_best / all) as u64)
            }
            _ => Time::ZERO,
        };
        let mut own = self.entry(item, time - unused, class);
        own.cause = String::new();
        if unused > Time::ZERO {
            entries.push(Entry { class: Use::WidthUnused, time: unused, ..own.clone() });
        }
        entries.push(own);
    }

    fn entry(&self, item: &Item, time: Time, class: Use) -> Entry {
        let class = if item.idle && class == Use::Waiting { Use::Nothing } else { class };
        let cause = item.cause.map_or(String::new(), |label| label.name.to_string());
        let phase = item.phase.name.to_string();
        let (part, lane) = match item.hop {
            Hop::Lane(lane) => {
                let line = &self.lines.lanes[usize::from(lane)];
                (line.part().to_string(), line.name.clone())
            }
            Hop::Process(who) => {
                let name = &self.lines.names[usize::from(who)];
                (name.clone(), name.clone())
            }
        };
        Entry { class, cause, part, lane, phase, time }
    }

    fn busy(&self, line: &LaneLine) -> Vec<Time> {
        let Timelines { from, until, .. } = *self.lines;
        let span = (until - from).as_ps();
        let edge = |slice: u64| from + slice_edge(until - from, slice, SLICES);
        let mut busy = vec![Time::ZERO; SLICES as usize];
        for interval in &line.intervals {
            let real = |at| self.lines.real(at);
            let (start, end) = (real(interval.start).max(from), real(interval.end).min(until));
            if start >= end || interval.phase.class == Class::Reason {
                continue;
            }
            let mut slice = (u128::from((start - from).as_ps()) * u128::from(SLICES) / u128::from(span)) as u64;
            while slice < SLICES && edge(slice) < end {
                let overlap = edge(slice + 1).min(end).saturating_sub(edge(slice).max(start));
                busy[slice as usize] += overlap;
                slice += 1;
            }
        }
        busy
    }

    /// Walks back from the last completion within the window to its beginning.
    fn path(&mut self) -> Result<Vec<Entry>, Unaccountable> {
        let Stretch { from, until } = self.window;
        let within = self.lines.transfers.iter().filter(|transfer| transfer.ended <= until && transfer.ended > from);
        let Some(last) = within.max_by_key(|transfer| (transfer.ended, transfer.who)) else { return Ok(Vec::new()) };
        let (who, stretch) = (last.who, Stretch { from, until: last.ended });
        let mut bill = Bill::default();
        self.blame.before(who, stretch, last.ended, Way::new(None), &mut bill)?;
        Ok(self.path_entries(bill))
    }

    /// Answers along the path: what the workload waits for there is the request itself.
    fn path_entries(&self, bill: Bill) -> Vec<Entry> {
        let class = |item: &Item| match item.phase.class {
            Class::Payload | Class::Through => Use::Payload,
            Class::Protocol => Use::Protocol,
            _ => Use::Waiting,
        };
        let entry = |(item, time): &(Item, Time)| self.entry(&Item { idle: false, ..*item }, *time, class(item));
        let without_cause = |entry: Entry| Entry { cause: String::new(), ..entry };
        let mut entries = merged(bill.0.iter().map(entry).map(without_cause).collect());
        entries.sort_by(|a, b| (b.time, &a.lane, &a.phase).cmp(&(a.time, &b.lane, &b.phase)));
        entries
    }
}

/// Each thing once: labels of several phases may have one name.
fn merged(entries: Vec<Entry>) -> Vec<Entry> {
    fn what(entry: &Entry) -> (Use, &str, &str, &str) {
        (entry.class, &entry.cause, &entry.lane, &entry.phase)
    }
    let mut merged: Vec<Entry> = Vec::new();
    for entry in entries {
        match merged.iter_mut().find(|known| what(known) == what(&entry)) {
            Some(known) => known.time += entry.time,
            None => merged.push(entry),
        }
    }
    merged
}

/// Within a class, the largest first.
fn order(entry: &Entry, other: Time) -> (Use, Time, &String, &String, &String) {
    (entry.class, other, &entry.lane, &entry.phase, &entry.cause)
}

/// What a lane can carry at that rate.
pub(super) fn capacity(Rate { bytes, per, .. }: Rate) -> Capacity {
    Capacity { bytes_per_second: bytes as f64 / per.as_seconds_f64(), how: how(bytes, per) }
}

/// What a capacity follows from: a width and the time of each step. Where a rate is given as such, its time stands for no
/// step, and the rate says more.
fn how(bytes: u64, per: Time) -> String {
    if per < Time::us(1) {
        return format!("{bytes} bytes every {per}");
    }
    let rate = bytes as f64 / per.as_seconds_f64();
    let (rate, unit) = match rate {
        rate if rate >= 1e12 => (rate / 1e12, "TB/s"),
        rate if rate >= 1e9 => (rate / 1e9, "GB/s"),
        rate if rate >= 1e6 => (rate / 1e6, "MB/s"),
        rate => (rate / 1e3, "kB/s"),
    };
    let decimals = match rate {
        rate if rate >= 100.0 => 1,
        rate if rate >= 10.0 => 2,
        _ => 3,
    };
    format!("{rate:.decimals$} {unit}")
}

/// The fastest at which the lane can move bytes.
pub(super) fn best_rate(rates: &[Rate]) -> Option<Rate> {
    let faster = |a: &&Rate, b: &&Rate| {
        let (a, b) = ((a.bytes, a.per.as_ps()), (b.bytes, b.per.as_ps()));
        (u128::from(a.0) * u128::from(b.1)).cmp(&(u128::from(b.0) * u128::from(a.1)))
    };
    rates.iter().max_by(faster).copied()
}

impl Account {
    /// Time for which no part says what it was at: a defect of that part. Who, and how long.
    pub fn unattributed(&self) -> Vec<(String, Time)> {
        let entries = self.lanes.iter().flat_map(|lane| &lane.entries).chain(&self.path);
        let nameless = entries.filter(|entry| entry.phase == UNATTRIBUTED.name);
        nameless.map(|entry| (entry.part.clone(), entry.time)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capacity_follows_from_a_step_or_is_a_rate() {
        assert_eq!(how(4, Time::ps(29_851)), "4 bytes every 29.851 ns");
        assert_eq!(how(512, Time::ps(999_999)), "512 bytes every 999.999 ns");
        assert_eq!(how(60_000_000_000, Time::ms(1_000)), "60.00 GB/s");
        assert_eq!(how(133_333_333, Time::ms(1_000)), "133.3 MB/s");
        assert_eq!(how(512, Time::us(13)), "39.38 MB/s");
        assert_eq!(how(1, Time::us(2)), "500.0 kB/s");
        assert_eq!(how(2_000_000_000_000, Time::ms(1_000)), "2.000 TB/s");
    }
}
