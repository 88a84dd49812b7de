//! Spans that overlap, on as few tracks as there are at once.

/// Rows of spans, none of which overlap in a row. Spans come in order of their ends, and of no more than
/// the last end of a row is anything kept.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    ends_ps: Vec<u64>,
}

impl Slots {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.ends_ps.len()
    }

    /// The row of a span: of those that are free the one that was in use last, or a new one.
    pub fn row(&mut self, from_ps: u64, until_ps: u64) -> usize {
        let free = self.ends_ps.iter().enumerate().filter(|(_, end)| **end <= from_ps);
        let row = free.max_by_key(|(_, end)| **end).map_or(self.ends_ps.len(), |(row, _)| row);
        if row == self.ends_ps.len() {
            self.ends_ps.push(0);
        }
        self.ends_ps[row] = until_ps;
        row
    }
}
