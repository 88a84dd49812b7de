//! What a run has cost, in what the kernel does.

/// What a run cost the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events popped and spans skipped in place.
    pub events: u64,
    /// Lane grants, those within trains not counted.
    pub grants: u64,
    /// Trains booked.
    pub trains: u64,
    /// Of those, cut by someone else.
    pub trains_cut: u64,
    /// Bursts carried by trains.
    pub bursts_in_trains: u64,
    /// What carriers have told that was booked ahead, and what has come before them as it was known to, and grants and ends
    /// of turns that were taken ahead: each would have been an event.
    pub told: u64,
}

impl Counts {
    /// Both together.
    #[must_use]
    pub fn with(self, other: Counts) -> Counts {
        Counts {
            events: self.events + other.events,
            grants: self.grants + other.grants,
            trains: self.trains + other.trains,
            trains_cut: self.trains_cut + other.trains_cut,
            bursts_in_trains: self.bursts_in_trains + other.bursts_in_trains,
            told: self.told + other.told,
        }
    }
}
