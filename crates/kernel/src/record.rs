//! Records: what observers see. A lane was in a phase, a process waited for a reason, something happened.
//!
//! A record is 32 bytes and names its phase or reason by a static label. A train is recorded in closed form,
//! as one head and its phases; [`expand`] turns records into the spans that a run burst by burst would record.
//! Records of one lane come in order of time; between lanes no order is promised.

use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;

use crate::Time;

/// The class of a phase in the account of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Bytes that the user asked for.
    Payload,
    /// Bytes that the user asked for, at the pace of another lane that is at work meanwhile.
    Through,
    /// What the lane's own protocol needs besides.
    Protocol,
    /// Why something waits; as a phase, a lane that is held by someone who waits.
    Reason,
    /// Why a request of the workload waits, from its issue on.
    Queued,
    /// Why nothing is asked of the system: no request was issued yet.
    Workload,
    /// Something that happened, with a value.
    Mark,
}

/// The name of a phase, a reason or a mark, as its standard prints it. Always a static.
///
/// Two labels are equal where they are the same static, and in no other way are labels compared. Words do not tell: an
/// IDE cable, a PCI bus and a link each have a phase that their standards call "data". Nor is there an order of
/// labels: of addresses it would differ from one build to the next. Whoever sorts does so by what is shown.
#[derive(Debug)]
pub struct Label {
    /// In the words of the field.
    pub name: &'static str,
    /// How the account counts it.
    pub class: Class,
}

impl Label {
    /// A phase that moves bytes of the user.
    pub const fn payload(name: &'static str) -> Label {
        Label { name, class: Class::Payload }
    }
    /// A phase that passes bytes of the user on, at the pace of another lane.
    pub const fn through(name: &'static str) -> Label {
        Label { name, class: Class::Through }
    }
    /// A phase of the lane's own protocol.
    pub const fn protocol(name: &'static str) -> Label {
        Label { name, class: Class::Protocol }
    }
    /// A reason to wait.
    pub const fn reason(name: &'static str) -> Label {
        Label { name, class: Class::Reason }
    }
    /// A reason for which a request waits from its issue on.
    pub const fn queued(name: &'static str) -> Label {
        Label { name, class: Class::Queued }
    }
    /// A wait that ends when a request is issued.
    pub const fn workload(name: &'static str) -> Label {
        Label { name, class: Class::Workload }
    }
    /// Something that happened, with a value.
    pub const fn mark(name: &'static str) -> Label {
        Label { name, class: Class::Mark }
    }
}

impl PartialEq for Label {
    #[inline]
    fn eq(&self, other: &Label) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Label {}

impl Hash for Label {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self).hash(state);
    }
}

/// So many lanes, and so many processes, can a record tell apart: it numbers them in 16 bits.
pub const MOST: usize = u16::MAX as usize;

/// One observation. Lanes and processes are given by their numbers; `who` is the process that it is made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// The lane was in a phase, because of `who`.
    Phase {
        /// The lane.
        lane: u16,
        /// Whoever had it.
        who: u16,
        /// The phase.
        label: &'static Label,
        /// When it began.
        at: Time,
        /// How long it took.
        span: Time,
    },
    /// `who` spent time in what the lane's part asks of whoever comes.
    Delay {
        /// The lane.
        lane: u16,
        /// Who was delayed.
        who: u16,
        /// What for.
        label: &'static Label,
        /// When it began.
        at: Time,
        /// How long it took.
        span: Time,
    },
    /// `who` waited for the lane.
    LaneWait {
        /// The lane.
        lane: u16,
        /// Who waited.
        who: u16,
        /// Why.
        label: &'static Label,
        /// When the wait began.
        at: Time,
        /// How long it took.
        span: Time,
    },
    /// `who` waited at a queue, where no lane is concerned.
    QueueWait {
        /// Who waited.
        who: u16,
        /// Who ended the wait.
        by: u16,
        /// Why.
        label: &'static Label,
        /// When the wait began.
        at: Time,
        /// How long it took.
        span: Time,
    },
    /// The lane enters a phase, for so long unless whoever has it leaves before. For observers that want signals: they
    /// draw what begins before they know how it ends.
    Planned {
        /// The lane.
        lane: u16,
        /// The phase.
        label: &'static Label,
        /// When it begins.
        at: Time,
        /// How long it is to take.
        span: Time,
    },
    /// Whoever had the lane left it before what was planned had ended.
    Left {
        /// The lane.
        lane: u16,
        /// When.
        at: Time,
    },
    /// Something happened.
    Mark {
        /// Who says so.
        who: u16,
        /// What.
        label: &'static Label,
        /// When.
        at: Time,
        /// What belongs to it.
        value: u64,
    },
    /// The wires of a lane carried something.
    Carried {
        /// The lane.
        lane: u16,
        /// Who says so.
        who: u16,
        /// What.
        label: &'static Label,
        /// When.
        at: Time,
        /// What belongs to it.
        value: u64,
    },
    /// A transfer ended: with it the request that `who` works for.
    Transfer {
        /// Who asked for it.
        who: u16,
        /// Its direction.
        label: &'static Label,
        /// When it was asked for.
        at: Time,
        /// How long it took.
        span: Time,
        /// Its size.
        bytes: u32,
    },
    /// From `at` on `who` works for one request, or for nobody.
    TakeUp {
        /// Who takes it up.
        who: u16,
        /// When.
        at: Time,
        /// The request; of nobody none.
        request: Option<PassedOn>,
    },
    /// The same; `who` works on for those that it worked for before, too.
    TakeUpToo {
        /// Who takes it up.
        who: u16,
        /// When.
        at: Time,
        /// The request; of nobody none.
        request: Option<PassedOn>,
    },
    /// A request was issued.
    Issue {
        /// By whom.
        who: u16,
        /// When.
        at: Time,
        /// Its number.
        request: NonZeroU32,
    },
    /// A train: bursts on the lane, whose phases follow as [`Record::TrainPhase`].
    Train {
        /// The lane.
        lane: u16,
        /// Whose train.
        who: u16,
        /// Why a burst waits for a clock edge.
        label: &'static Label,
        /// When the first burst was requested.
        at: Time,
        /// One was requested every so often.
        pitch: Time,
        /// Bursts.
        count: u16,
        /// Records that follow.
        phases: u8,
    },
    /// A phase of each burst of the train before.
    TrainPhase {
        /// The phase.
        label: &'static Label,
        /// From the start of the burst to that of the phase.
        after: Time,
        /// How long it took.
        span: Time,
    },
    /// What comes before the requests of a train: delays, which follow as [`Record::Lead`].
    Leads {
        /// Whose train.
        who: u16,
        /// When the first of them began.
        at: Time,
        /// The first of them began every so often.
        pitch: Time,
        /// Requests.
        count: u16,
        /// Records that follow.
        delays: u8,
    },
    /// A delay before each of the requests before.
    Lead {
        /// The lane whose part asked for it.
        lane: u16,
        /// What for.
        label: &'static Label,
        /// From the start of the first delay to that of this one.
        after: Time,
        /// How long it took.
        span: Time,
    },
}

const _: () = assert!(size_of::<Record>() == 32);

/// A request of the workload, when it was passed on, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassedOn {
    /// Its number.
    pub request: NonZeroU32,
    /// When it was passed on.
    pub since: Time,
    /// By which process.
    pub by: u16,
}

impl Record {
    /// The stretch of time that it speaks of; nothing where it speaks of none, or of many.
    #[inline]
    pub fn span(&self) -> Option<Span> {
        Some(match *self {
            Record::Phase { lane, who, label, at, span } => Span { kind: Kind::Phase(lane), who, label, at, span },
            Record::Delay { lane, who, label, at, span } => Span { kind: Kind::Delay(lane), who, label, at, span },
            Record::LaneWait { lane, who, label, at, span } => {
                Span { kind: Kind::LaneWait(lane), who, label, at, span }
            }
            Record::QueueWait { who, by, label, at, span } => Span { kind: Kind::QueueWait(by), who, label, at, span },
            _ => return None,
        })
    }

    /// How many of the records that follow belong to it.
    #[inline]
    fn followers(&self) -> usize {
        match *self {
            Record::Train { phases, .. } => usize::from(phases),
            Record::Leads { delays, .. } => usize::from(delays),
            _ => 0,
        }
    }
}

/// Receives records in batches.
pub trait Observer {
    /// The next records.
    fn records(&mut self, batch: &[Record]);

    /// Whether phases and waits are wanted, besides marks and transfers. Asked at first and after every batch; once
    /// they are not wanted they never come again. A run that records only marks and transfers costs next to
    /// nothing more than one that nobody observes.
    fn wants_phases(&self) -> bool {
        true
    }

    /// From when on those are wanted: what has ended by then is not. Asked at first.
    fn wants_phases_from(&self) -> Time {
        Time::ZERO
    }

    /// Whether it is wanted what the wires of a lane carry, [`Lane::carried`](crate::Lane::carried). Asked at first.
    fn wants_signals(&self) -> bool {
        false
    }
}

/// What a span says, with the lane that is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The lane was in a phase.
    Phase(u16),
    /// A delay that is owed to the lane's part.
    Delay(u16),
    /// A wait for the lane.
    LaneWait(u16),
    /// A wait at a queue, and the process that ended it.
    QueueWait(u16),
}

/// What a process was at for a while, as a run burst by burst would have recorded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// A phase, a delay or a wait.
    pub kind: Kind,
    /// The process, by number.
    pub who: u16,
    /// Phase or reason.
    pub label: &'static Label,
    /// When it began.
    pub at: Time,
    /// How long it took.
    pub span: Time,
}

impl Span {
    /// When it ended.
    pub fn end(&self) -> Time {
        self.at + self.span
    }

    /// The lane that is concerned, if one is.
    pub fn lane(&self) -> Option<u16> {
        match self.kind {
            Kind::Phase(lane) | Kind::Delay(lane) | Kind::LaneWait(lane) => Some(lane),
            Kind::QueueWait(_) => None,
        }
    }

    /// The lane that was in a phase, if it is one.
    pub fn phase_of(&self) -> Option<u16> {
        match self.kind {
            Kind::Phase(lane) => Some(lane),
            _ => None,
        }
    }
}

/// Each record together with those that belong to it: a train with its phases, all others by themselves.
pub fn whole(records: &[Record]) -> impl Iterator<Item = &[Record]> {
    let mut rest = records;
    std::iter::from_fn(move || {
        let (one, others) = rest.split_at_checked(1 + rest.first()?.followers()).expect("trains are recorded whole");
        rest = others;
        Some(one)
    })
}

/// Expands records into spans, trains burst by burst. `clock_of` gives the clock period of a lane, if it has one.
pub fn expand(records: &[Record], clock_of: impl Fn(u16) -> Option<Time>, mut each: impl FnMut(Span)) {
    for records in whole(records) {
        match records[0] {
            Record::Train { lane, who, label, at, pitch, count, .. } => {
                let clock = clock_of(lane);
                for k in 0..u64::from(count) {
                    let requested = at + pitch * k;
                    let start = clock.map_or(requested, |clock| requested.edge(clock));
                    if start > requested {
                        let span = start - requested;
                        each(Span { kind: Kind::LaneWait(lane), who, label, at: requested, span });
                    }
                    for phase in &records[1..] {
                        let Record::TrainPhase { label, after, span } = *phase else {
                            unreachable!("a train is followed by its phases")
                        };
                        each(Span { kind: Kind::Phase(lane), who, label, at: start + after, span });
                    }
                }
            }
            Record::Leads { who, at, pitch, count, .. } => {
                for k in 0..u64::from(count) {
                    for delay in &records[1..] {
                        let Record::Lead { lane, label, after, span } = *delay else {
                            unreachable!("what comes before requests are delays")
                        };
                        each(Span { kind: Kind::Delay(lane), who, label, at: at + pitch * k + after, span });
                    }
                }
            }
            one => one.span().into_iter().for_each(&mut each),
        }
    }
}
