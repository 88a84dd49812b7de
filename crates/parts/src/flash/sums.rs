//! Sums over the blocks of a die, such that a drawn unit leads to its block in a few steps: a Fenwick tree.

/// How many units each block has, and all of them.
#[derive(Clone)]
pub(super) struct Sums {
    tree: Vec<u64>,
    all: u64,
}

impl Sums {
    /// Nothing yet.
    pub(super) fn new(blocks: usize) -> Sums {
        Sums { tree: vec![0; blocks.next_power_of_two() + 1], all: 0 }
    }

    /// Units of all blocks.
    pub(super) fn all(&self) -> u64 {
        self.all
    }

    /// A block has so many more.
    pub(super) fn add(&mut self, block: usize, count: u32) {
        self.all += u64::from(count);
        let mut at = block + 1;
        while at < self.tree.len() {
            self.tree[at] += u64::from(count);
            at += at & at.wrapping_neg();
        }
    }

    /// A block has so many fewer.
    pub(super) fn take(&mut self, block: usize, count: u32) {
        self.all -= u64::from(count);
        let mut at = block + 1;
        while at < self.tree.len() {
            self.tree[at] -= u64::from(count);
            at += at & at.wrapping_neg();
        }
    }

    /// The block of the unit of this number, where all units of all blocks are numbered.
    pub(super) fn block_of(&self, mut number: u64) -> usize {
        let (mut block, mut step) = (0, self.tree.len() - 1);
        while step > 0 {
            if let Some(sum) = self.tree.get(block + step).filter(|sum| **sum <= number) {
                number -= sum;
                block += step;
            }
            step /= 2;
        }
        block
    }
}
