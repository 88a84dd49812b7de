//! Levels of alike hops, added up: which of eight drives holds something is chance, how much all of them hold is not.

use hopscope_kernel::{Levels, Sim, Unit};

use crate::hops::starred;

/// Levels of a simulation whose names differ only in numbers, together.
pub struct AlikeLevels {
    levels: Levels,
    /// Of each level, which of the names is its.
    group: Vec<usize>,
    names: Vec<(String, Unit)>,
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
        AlikeLevels { levels, group, names }
    }

    /// Their names, with a star for each number, and what they count, in the order of the amounts.
    pub fn names(&self) -> &[(String, Unit)] {
        &self.names
    }

    /// How much is where now.
    pub fn amounts(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.names.len()];
        for (amount, group) in self.levels.amounts().zip(&self.group) {
            sums[*group] += amount as f64;
        }
        sums
    }
}
