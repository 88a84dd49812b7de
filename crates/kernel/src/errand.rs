//! Errands: for which requests of the workload a process works.
//!
//! Records are made by processes; whom they are made for, the processes say. Whoever hands work on gives an errand along
//! with it, and whoever takes the work up says so. From then on its spans are those of that request, until it takes up
//! something else. Nothing is kept for that, and where nobody observes it costs one test.
//!
//! ```text
//!   thread ── passed on ──▶ (queue) ── taken up ──▶ driver ── passed on ──▶ (queue) ── taken up ──▶ …
//!            at an instant    waits     at another
//! ```

use crate::Time;
use crate::record::{Label, PassedOn, Record};
use crate::sim::Sim;

/// A request of the workload on its way from one process to another: which one, who passed it on, and when. Requests are
/// counted from one to [`Errand::REQUESTS_MAX`], and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errand(Option<PassedOn>);

impl Errand {
    /// Numbers of requests come again after sixteen million; nobody has as many in flight.
    pub const REQUESTS_MAX: u32 = (1 << 24) - 1;

    /// Nobody's: what a part does by itself (destaging, reading ahead).
    pub const NOBODY: Errand = Errand(None);

    /// Whether a request of the workload is behind it.
    pub fn is_somebodys(self) -> bool {
        self.0.is_some()
    }

    /// The request; nothing where it is nobody's.
    pub(crate) fn request(self) -> Option<PassedOn> {
        self.0
    }

    /// Whether both are of one request, or of nobody.
    fn is_of_same(self, other: Errand) -> bool {
        self.0.map(|of| of.request) == other.0.map(|of| of.request)
    }
}

impl Sim {
    /// A request that the current process is about to make. It works for it from now on.
    pub fn new_errand(&self) -> Errand {
        let request = self.shared.core.borrow_mut().next_request();
        let errand = Errand(Some(PassedOn { request, since: self.now(), by: self.shared.current.get() as u16 }));
        self.take_up(errand);
        errand
    }

    /// Says what the request that the current process makes is for, for those who draw it: `label` is its direction, `value`
    /// its place. Nobody else is told.
    #[inline]
    pub fn asked(&self, label: &'static Label, value: u64) {
        if self.shared.drawn.get() {
            self.record_mark(label, value);
        }
    }

    /// The request is issued now: its latency begins.
    pub fn issued(&self, errand: Errand) {
        let mut core = self.shared.core.borrow_mut();
        if let (true, Some(PassedOn { request, .. })) = (core.observed(), errand.0) {
            core.record(Record::Issue { who: self.shared.current.get() as u16, at: self.now(), request });
        }
    }

    /// The errand as it is given along with work that the current process hands on now.
    pub fn pass_on(&self, errand: Errand) -> Errand {
        let (since, by) = (self.now(), self.shared.current.get() as u16);
        Errand(errand.0.map(|of| PassedOn { since, by, ..of }))
    }

    /// The current process works for this request from now on, and for no other.
    pub fn take_up(&self, errand: Errand) {
        self.record_errand(errand, |who, at, request| Record::TakeUp { who, at, request });
    }

    /// The current process takes up what comes after `before`: another request, or more of the same, which it goes on
    /// with.
    pub fn take_up_after(&self, before: Errand, errand: Errand) {
        let goes_on = errand.is_somebodys() && errand.is_of_same(before);
        self.take_up(if goes_on { self.pass_on(errand) } else { errand });
    }

    /// The current process works for this request, too.
    pub fn take_up_too(&self, errand: Errand) {
        self.record_errand(errand, |who, at, request| Record::TakeUpToo { who, at, request });
    }

    /// The current process works for all of these requests from now on; for nobody where there are none. Of neighbours
    /// that belong to one request the last counts.
    pub fn take_up_all(&self, errands: impl IntoIterator<Item = Errand>) {
        if !self.shared.core.borrow().observed() {
            return;
        }
        self.take_up(Errand::NOBODY);
        let mut before = Errand::NOBODY;
        for errand in errands {
            if before.is_somebodys() && !before.is_of_same(errand) {
                self.take_up_too(before);
            }
            before = errand;
        }
        if before.is_somebodys() {
            self.take_up_too(before);
        }
    }

    fn record_errand(&self, errand: Errand, record: impl FnOnce(u16, Time, Option<PassedOn>) -> Record) {
        let mut core = self.shared.core.borrow_mut();
        if core.observed() {
            core.record(record(self.shared.current.get() as u16, self.now(), errand.0));
        }
    }
}
