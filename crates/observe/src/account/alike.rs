//! Lanes that are alike, seen as one: the channels of a drive, the drives of a server.
//!
//! For readers. The account itself keeps every lane.

use std::collections::BTreeMap;

use hopscope_kernel::Time;

use super::{Account, Entry, LaneAccount};

/// Which lanes stand under which name: `drive.channel*` for `drive.channel0` and the others.
#[derive(Clone, Debug, Default)]
pub struct Names(BTreeMap<String, String>);

impl Names {
    /// From pairs of a lane's name and the name that it stands under.
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Names {
        Names(pairs.into_iter().collect())
    }

    /// The name that a lane stands under: its own, where no other was said.
    pub fn of<'a>(&'a self, lane: &'a str) -> &'a str {
        self.0.get(lane).map_or(lane, String::as_str)
    }

    /// The part of that name.
    pub fn part_of<'a>(&'a self, lane: &'a str) -> &'a str {
        let name = self.of(lane);
        name.split('.').next().unwrap_or(name)
    }

    /// Whether lanes stand under this name.
    pub fn is_known(&self, name: &str) -> bool {
        self.0.values().any(|known| known == name)
    }

    /// Entries that say the same of lanes that are alike, added up; the largest first within each class.
    fn together(&self, entries: &[Entry]) -> Vec<Entry> {
        let mut sums: Vec<Entry> = Vec::new();
        for entry in entries {
            let (lane, part) = (self.of(&entry.lane), self.part_of(&entry.lane));
            let same = |other: &&mut Entry| {
                (other.class, &other.cause, other.lane.as_str(), &other.phase)
                    == (entry.class, &entry.cause, lane, &entry.phase)
            };
            match sums.iter_mut().find(same) {
                Some(sum) => sum.time += entry.time,
                None => sums.push(Entry { lane: lane.to_string(), part: part.to_string(), ..entry.clone() }),
            }
        }
        // Entries of a path or a latency are not sorted by class.
        let by_class = entries.is_sorted_by_key(|entry| entry.class);
        sums.sort_by_key(|entry| (by_class.then_some(entry.class), std::cmp::Reverse(entry.time)));
        sums
    }
}

impl Account {
    /// The account with lanes that are alike as one, their mean. Capacities add up.
    pub fn alike(&self, names: &Names) -> Account {
        let mut lanes: Vec<(u64, LaneAccount)> = Vec::new();
        for lane in &self.lanes {
            let (name, part) = (names.of(&lane.lane).to_string(), names.part_of(&lane.lane).to_string());
            let Some((count, whole)) = lanes.iter_mut().find(|(_, known)| known.lane == name) else {
                lanes.push((1, LaneAccount { lane: name, part, ..lane.clone() }));
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
        let (from, until, path) = (self.from, self.until, names.together(&self.path));
        Account { from, until, lanes: lanes.into_iter().map(mean).collect(), path, requests: self.requests }
    }
}
