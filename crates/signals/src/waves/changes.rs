//! What wires change to. Whoever draws a bus says it a transaction at a time; a file wants it in order of time.

use std::collections::VecDeque;

/// A wire or a vector of wires, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wire(pub u32);

/// What a wire or a vector carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Nobody drives it.
    Floating,
    /// Driven, the lowest bit last.
    Driven(u64),
    /// A word, of a signal whose values are words.
    Word(&'static str),
}

/// Bits of a signal whose values are words, as [`Declared`] has them.
pub const WORDS: u32 = 0;

/// A wire as a file declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The scope that it is in, from the outermost on.
    pub scope: Vec<String>,
    /// Its name.
    pub name: String,
    /// Bits; [`WORDS`] where its values are words.
    pub bits: u32,
    /// What it carries before anything is said of it.
    pub at_rest: Level,
}

/// Whoever keeps what wires change to.
pub trait Sink {
    /// An error of the file.
    type Error;
    /// From `at_ps` on the wire carries this. Called in order of time.
    fn change(&mut self, at_ps: u64, wire: Wire, level: Level) -> Result<(), Self::Error>;

    /// Nothing changes any more, and the file ends at this time.
    fn end(self: Box<Self>, end_ps: u64) -> Result<(), Self::Error>;
}

/// Changes that have been said and not been written.
#[derive(Default)]
pub struct Changes {
    wires: Vec<Declared>,
    now: Vec<Level>,
    /// Of each wire, by time; of several at one time the last one counts.
    waiting: Vec<VecDeque<(u64, Level)>>,
    /// What is passed on, by time and wire; empty in between.
    due: Vec<(u64, Wire, Level)>,
    /// Everything before has been passed on.
    passed_ps: u64,
}

impl Changes {
    /// Nothing said yet; what holds before `from_ps` holds from then on.
    pub fn from(from_ps: u64) -> Changes {
        Changes { passed_ps: from_ps, ..Changes::default() }
    }

    /// A wire or a vector.
    pub fn declare(&mut self, scope: &[&str], name: &str, bits: u32, at_rest: Level) -> Wire {
        let scope = scope.iter().map(|name| name.to_string()).collect();
        self.wires.push(Declared { scope, name: name.to_string(), bits, at_rest });
        self.now.push(at_rest);
        self.waiting.push(VecDeque::new());
        Wire(self.wires.len() as u32 - 1)
    }

    /// All of them, by number.
    pub fn declared(&self) -> &[Declared] {
        &self.wires
    }

    /// From `at_ps` on the wire carries this; what is said too late holds from where the file has come to.
    pub fn set(&mut self, at_ps: u64, wire: Wire, level: Level) {
        let (at, waiting) = (at_ps.max(self.passed_ps), &mut self.waiting[wire.0 as usize]);
        // Mostly it is behind all that has been said of the wire.
        let behind = waiting.iter().rposition(|known| known.0 <= at).map_or(0, |last| last + 1);
        match behind.checked_sub(1).map(|last| &mut waiting[last]) {
            Some(last) if last.0 == at => last.1 = level,
            _ => waiting.insert(behind, (at, level)),
        }
    }

    /// Nothing of what has been said of the wire from `from_ps` on comes about.
    pub fn forget(&mut self, from_ps: u64, wire: Wire) {
        let waiting = &mut self.waiting[wire.0 as usize];
        waiting.truncate(waiting.partition_point(|known| known.0 < from_ps));
    }

    /// Passes on everything before `until_ps`: nothing will be said any more of that time.
    pub fn pass_on<S: Sink + ?Sized>(&mut self, until_ps: u64, sink: &mut S) -> Result<(), S::Error> {
        self.passed_ps = self.passed_ps.max(until_ps);
        for (number, waiting) in self.waiting.iter_mut().enumerate() {
            let now = &mut self.now[number];
            for (at, level) in waiting.drain(..waiting.partition_point(|known| known.0 < until_ps)) {
                if *now != level {
                    *now = level;
                    self.due.push((at, Wire(number as u32), level));
                }
            }
        }
        // Those of each wire are in order already, which this sort makes use of.
        self.due.sort_by_key(|&(at, wire, _)| (at, wire));
        self.due.drain(..).try_for_each(|(at, wire, level)| sink.change(at, wire, level))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[derive(Default)]
    struct Listed(Vec<(u64, Wire, Level)>);

    impl Sink for Listed {
        type Error = std::convert::Infallible;

        fn change(&mut self, at_ps: u64, wire: Wire, level: Level) -> Result<(), Self::Error> {
            self.0.push((at_ps, wire, level));
            Ok(())
        }

        fn end(self: Box<Self>, _: u64) -> Result<(), Self::Error> {
            Ok(())
        }
    }

    #[test]
    fn time_never_goes_back_and_what_does_not_change_is_not_said() {
        let (mut changes, mut listed) = (Changes::default(), Listed::default());
        let one = changes.declare(&["bus"], "REQ#", 1, Level::Driven(1));
        let other = changes.declare(&["bus"], "AD", 32, Level::Floating);
        changes.set(50, other, Level::Driven(7));
        changes.set(10, one, Level::Driven(1));
        let Ok(()) = changes.pass_on(100, &mut listed);
        changes.set(20, one, Level::Driven(0));
        changes.set(120, other, Level::Driven(7));
        let Ok(()) = changes.pass_on(200, &mut listed);
        assert_eq!(listed.0, [(50, other, Level::Driven(7)), (100, one, Level::Driven(0))]);
    }

    /// What somebody does: sets a wire, forgets what was said of one, passes on; at this time behind the file's end.
    fn doing() -> impl Strategy<Value = (u8, u64, u32, u64)> {
        (0..16u8, 0..60u64, 0..5u32, 0..3u64)
    }

    proptest! {
        /// Against one list of all that has been said, in order of time and wire.
        #[test]
        fn whatever_is_said_in_whatever_order_is_passed_on_in_order_of_time(list in vec(doing(), 0..400)) {
            let (mut changes, mut listed) = (Changes::default(), Listed::default());
            let wires = [0; 5].map(|_| changes.declare(&["bus"], "wire", 8, Level::Floating));
            let (mut said, mut now) = (BTreeMap::new(), [Level::Floating; 5]);
            let (mut expected, mut passed) = (Vec::new(), 0);
            for (what, behind, number, value) in list {
                let (at, wire) = ((passed + behind).saturating_sub(9), wires[number as usize]);
                match what {
                    0 => {
                        changes.forget(at, wire);
                        said.retain(|(from, of), _| *of != wire || *from < at);
                    }
                    1 => {
                        let Ok(()) = changes.pass_on(at, &mut listed);
                        passed = passed.max(at);
                        let later = said.split_off(&(at, Wire(0)));
                        for ((at, wire), level) in std::mem::replace(&mut said, later) {
                            if std::mem::replace(&mut now[wire.0 as usize], level) != level {
                                expected.push((at, wire, level));
                            }
                        }
                    }
                    _ => {
                        changes.set(at, wire, Level::Driven(value));
                        said.insert((at.max(passed), wire), Level::Driven(value));
                    }
                }
            }
            prop_assert_eq!(listed.0, expected);
        }
    }
}
