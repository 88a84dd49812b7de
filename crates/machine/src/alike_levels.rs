//! Levels of alike hops, added up: which of eight drives holds something is chance, how much all of them hold is not. But a
//! store that empties is empty before the others are.

use hopscope_kernel::{Levels, Sim, Unit};

use crate::hops::starred;

/// Levels of a simulation whose names differ only in numbers, together.
pub struct AlikeLevels {
    levels: Levels,
    /// Of each level, which of the names is its.
    group: Vec<usize>,
    names: Vec<(String, Unit)>,
    /// Of bytes that several hold, each by itself: its place among all levels, and whose it is.
    each: Vec<(usize, usize)>,
}

impl AlikeLevels {
    /// Those of a simulation that has begun: before, nobody knows who takes from its queues.
    pub fn of(sim: &Sim) -> AlikeLevels {
        let levels = sim.levels();
        let (mut names, mut group): (Vec<(String, Unit)>, Vec<usize>) = (Vec::new(), Vec::new());
        for level in levels.known() {
            let name = (starred(&level.name), level.unit);
            let found = names.iter().position(|other| *other == name);
            group.push(found.unwrap_or(names.len()));
            if found.is_none() {
                names.push(name);
            }
        }
        let of_bytes = |group: &usize| names[*group].1 == Unit::Bytes;
        let is_one_of_several = |of: &usize| group.iter().filter(|other| *other == of).count() > 1;
        let several = group.iter().enumerate().filter(|(_, of)| of_bytes(of) && is_one_of_several(of));
        let each = several.map(|(place, of)| (place, *of)).collect();
        AlikeLevels { levels, group, names, each }
    }

    /// Their names, with a star for each number, and what they count, in the order of the amounts.
    pub fn names(&self) -> &[(String, Unit)] {
        &self.names
    }

    /// How much is where now.
    pub fn amounts(&self) -> Vec<f64> {
        let mut sums = self.amounts_of_each();
        sums.truncate(self.names.len());
        sums
    }

    /// The same, and behind them those of bytes that several hold, each by itself.
    pub fn amounts_of_each(&self) -> Vec<f64> {
        let amounts: Vec<u64> = self.levels.amounts().collect();
        let mut all = vec![0.0; self.names.len()];
        for (amount, group) in amounts.iter().zip(&self.group) {
            all[*group] += *amount as f64;
        }
        all.extend(self.each.iter().map(|(place, _)| amounts[*place] as f64));
        all
    }

    /// Where those are among these that are added up in one.
    pub fn each_of(&self, level: usize) -> impl Iterator<Item = usize> + '_ {
        let places = self.each.iter().enumerate().filter(move |(_, (_, of))| *of == level);
        places.map(|(place, _)| self.names.len() + place)
    }
}
