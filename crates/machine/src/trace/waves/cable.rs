//! A cable of the AT Attachment: everything it says, trains before the window included, since a burst may reach into it.

use hopscope_kernel::{Record, Time, expand};
use hopscope_signals::ide::cable::Cable;
use hopscope_signals::waves::changes::Changes;

use super::{Drawn, Wired};

/// A cable that is drawn.
pub struct DrawnCable {
    name: String,
    cable: Cable,
}

impl DrawnCable {
    /// A cable in a scope of its name.
    pub fn new(changes: &mut Changes, name: &str, pattern: (Time, u64)) -> DrawnCable {
        DrawnCable { name: name.to_string(), cable: Cable::new(changes, name, pattern) }
    }
}

impl Wired for DrawnCable {
    fn record(&mut self, changes: &mut Changes, record: &Record, _: &[String]) {
        self.cable.record(changes, record);
    }

    fn train(&mut self, changes: &mut Changes, train: &[Record]) {
        // A cable has no clock.
        expand(train, |_| None, |phase| self.cable.phase(changes, phase.label, phase.at, phase.span));
    }

    fn settled(&self) -> Option<Time> {
        self.cable.settled()
    }

    fn finish(&mut self, changes: &mut Changes, end: Time) {
        self.cable.finish(changes, end);
    }

    fn drawn(&self) -> Vec<Drawn> {
        let (accesses, words) = self.cable.drawn();
        let drawn = |count, what| Drawn { name: self.name.clone(), count, what };
        vec![drawn(accesses, "register accesses"), drawn(words, "words")]
    }
}
