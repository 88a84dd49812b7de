//! Two observers of one run.

use hopscope_kernel::{Observer, Record, Time};

/// Two observers at once.
pub struct Both(pub Box<dyn Observer>, pub Box<dyn Observer>);

impl Observer for Both {
    fn records(&mut self, batch: &[Record]) {
        self.0.records(batch);
        self.1.records(batch);
    }

    fn wants_phases(&self) -> bool {
        self.0.wants_phases() || self.1.wants_phases()
    }

    fn wants_phases_from(&self) -> Time {
        let from = |observer: &dyn Observer| observer.wants_phases().then(|| observer.wants_phases_from());
        from(&*self.0).into_iter().chain(from(&*self.1)).min().unwrap_or(Time::ZERO)
    }

    fn wants_signals(&self) -> bool {
        self.0.wants_signals() || self.1.wants_signals()
    }
}
