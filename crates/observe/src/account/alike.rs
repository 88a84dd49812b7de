//! Lanes of one part that differ only in a number, seen as one: the channels of a drive, the dies of a channel.
//!
//! For readers. The account itself keeps every lane.

use std::collections::{BTreeMap, BTreeSet};

use hopscope_kernel::Time;

use super::{Account, Entry, LaneAccount, Latency, Split};

/// The account with lanes that are alike as one, their mean: `drive.channel*` stands for `drive.channel0` and the
/// others. Capacities add up.
pub(super) fn alike(account: &Account) -> Account {
    let names = Names::of(account);
    let latency = account.latency.as_ref().map(|latency| Latency {
        mean: names.split(&latency.mean),
        median: names.split(&latency.median),
        p99: names.split(&latency.p99),
    });
    let mut lanes: Vec<(u64, LaneAccount)> = Vec::new();
    for lane in &account.lanes {
        let name = names.name(&lane.part, &lane.lane);
        let Some((count, whole)) = lanes.iter_mut().find(|(_, known)| known.lane == name) else {
            lanes.push((1, LaneAccount { lane: name, ..lane.clone() }));
            continue;
        };
        *count += 1;
        whole.entries.extend(lane.entries.iter().cloned());
        whole.busy.iter_mut().zip(&lane.busy).for_each(|(sum, busy)| *sum += *busy);
        if let (Some(sum), Some(capacity)) = (&mut whole.capacity, &lane.capacity) {
            sum.bytes_per_second += capacity.bytes_per_second;
        }
    }
    let mean = |(count, mut lane): (u64, LaneAccount)| {
        let share = |time: &mut Time| *time = Time::ps(time.as_ps() / count);
        lane.entries = names.together(&lane.entries);
        lane.entries.iter_mut().for_each(|entry| share(&mut entry.time));
        lane.busy.iter_mut().for_each(share);
        if let (true, Some(capacity)) = (count > 1, &mut lane.capacity) {
            capacity.how = format!("{count} times {}", capacity.how);
        }
        lane
    };
    let (from, until, path) = (account.from, account.until, names.together(&account.path));
    Account { from, until, lanes: lanes.into_iter().map(mean).collect(), path, latency }
}

/// Which names stand for several lanes.
struct Names(BTreeMap<String, BTreeSet<String>>);

impl Names {
    fn of(account: &Account) -> Names {
        let mut names = Names(BTreeMap::new());
        let splits = account.latency.iter().flat_map(|latency| &latency.mean.entries);
        let entries = account.lanes.iter().flat_map(|lane| &lane.entries).chain(&account.path).chain(splits);
        let lanes = account.lanes.iter().map(|lane| (&lane.part, &lane.lane));
        for (part, lane) in lanes.chain(entries.map(|entry| (&entry.part, &entry.lane))) {
            names.0.entry(family(part, lane)).or_default().insert(lane.clone());
        }
        names
    }

    fn name(&self, part: &str, lane: &str) -> String {
        let family = family(part, lane);
        match self.0.get(&family) {
            Some(lanes) if lanes.len() > 1 => family,
            _ => lane.to_string(),
        }
    }

    /// Entries that say the same of lanes that are alike, added up; the largest first within each class.
    fn together(&self, entries: &[Entry]) -> Vec<Entry> {
        let mut sums: Vec<Entry> = Vec::new();
        for entry in entries {
            let lane = self.name(&entry.part, &entry.lane);
            let same = |other: &&mut Entry| {
                (other.class, &other.cause, &other.lane, &other.phase)
                    == (entry.class, &entry.cause, &lane, &entry.phase)
            };
            match sums.iter_mut().find(same) {
                Some(sum) => sum.time += entry.time,
                None => sums.push(Entry { lane, ..entry.clone() }),
            }
        }
        // Entries of a path or a latency are not sorted by class.
        let by_class = entries.is_sorted_by_key(|entry| entry.class);
        sums.sort_by_key(|entry| (by_class.then_some(entry.class), std::cmp::Reverse(entry.time)));
        sums
    }

    fn split(&self, split: &Split) -> Split {
        Split { entries: self.together(&split.entries), ..split.clone() }
    }
}

/// The lane's name with a star for every number behind the name of its part.
fn family(part: &str, lane: &str) -> String {
    let (part, rest) = lane.split_at(if lane.starts_with(part) { part.len() } else { 0 });
    let mut family = part.to_string();
    for c in rest.chars() {
        match c {
            '0'..='9' if family.ends_with('*') => {}
            '0'..='9' => family.push('*'),
            c => family.push(c),
        }
    }
    family
}
