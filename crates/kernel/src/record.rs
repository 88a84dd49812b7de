//! Records: what observers see. A lane was in a phase, a process waited for a reason, something happened.
//!
//! A record is 32 bytes and names its phase or reason by a static label. A train is recorded in closed form,
//! as one head and its phases; [`expand`] turns records into the spans that a run burst by burst would record.
//! Records of one lane come in order of time; between lanes no order is promised.

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
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The lane was in phase `label` from `at` for `span`.
    Phase,
    /// Process `who` waited for the lane from `at` for `span`, because of `label`. Where no lane is concerned it
    /// waited at a queue, and `count` is the process that ended the wait.
    Wait,
    /// Process `who` spent `span` from `at` on in what `label` says, which the lane's part asks of whoever comes.
    Delay,
    /// `who` says that `label` happened at `at`; `span` holds a value. With a lane: what its wires carried then.
    Mark,
    /// The lane enters phase `label` at `at`, for `span` unless whoever has it leaves before: then without a span, when
    /// he does. For observers that want signals: they draw what begins before they know how it ends.
    Planned,
    /// A transfer that `who` asked for at `at` ended after `span`; [`Record::bytes`] is its size. It is the end of the
    /// request that `who` works for.
    Transfer,
    /// From `at` on `who` works for one request, [`Record::request`]; zero is nobody's. It was passed on by process
    /// `count`, `span` before.
    TakeUp,
    /// The same; `who` works on for those that it worked for before, too.
    TakeUpToo,
    /// A request was issued at `at`.
    Issue,
    /// A train: `count` bursts on the lane, the first requested at `at`, one every `span`;
    /// `label` is the reason to wait for a clock edge. Its `phases` follow. Without a lane: what comes before the
    /// requests of a train, whose `phases` are delays.
    TrainHead,
    /// A phase or delay of each burst of the train before: `at` is relative to the burst's start.
    TrainPhase,
}

/// So many lanes, and so many processes, can a record tell apart: it numbers them in 16 bits, and one value says that
/// none is concerned.
pub const MOST: usize = u16::MAX as usize;

/// One observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// When it began.
    pub at: Time,
    /// How long it took, or a mark's value.
    pub span: Time,
    /// Phase, reason or mark.
    pub label: &'static Label,
    /// The lane, by number; `u16::MAX` where no lane is concerned; of a transfer, the high half of its size; of a
    /// request, the low bits of its number.
    pub lane: u16,
    /// The process, by number.
    pub who: u16,
    /// Bursts of a train, the low half of the size of a transfer, or who ended a wait at a queue.
    pub count: u16,
    /// What the record says.
    pub kind: Kind,
    /// How many `TrainPhase` records follow a `TrainHead`; of a request, the high bits of its number.
    pub phases: u8,
}

impl Record {
    /// Size of a transfer, bytes.
    pub fn bytes(&self) -> u32 {
        u32::from(self.lane) << 16 | u32::from(self.count)
    }

    /// Number of the request that is taken up or issued; zero is nobody's.
    pub fn request(&self) -> u32 {
        u32::from(self.phases) << 16 | u32::from(self.lane)
    }
}

const _: () = assert!(std::mem::size_of::<Record>() == 32);

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

    /// Whether it is wanted what the wires of a lane carry, [`Lane::carried`](crate::Lane::carried). Asked at first.
    fn wants_signals(&self) -> bool {
        false
    }
}

/// A record without trains: what a run burst by burst would have recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The lane, by number.
    pub lane: u16,
    /// When it began.
    pub at: Time,
    /// Anything but the parts of a train.
    pub kind: Kind,
    /// The process, by number.
    pub who: u16,
    /// Who ended a wait at a queue, or passed a request on, by number; `u16::MAX` elsewhere.
    pub by: u16,
    /// How long it took, or a mark's value.
    pub span: Time,
    /// Phase, reason or mark.
    pub label: &'static Label,
}

/// Expands records into spans, trains burst by burst. `clock_of` gives the clock period of a lane, if it has one.
pub fn expand(records: &[Record], clock_of: impl Fn(u16) -> Option<Time>, mut each: impl FnMut(Span)) {
    let mut index = 0;
    while let Some(&r) = records.get(index) {
        index += 1;
        match r.kind {
            Kind::Phase
            | Kind::Wait
            | Kind::Delay
            | Kind::Mark
            | Kind::Transfer
            | Kind::TakeUp
            | Kind::TakeUpToo
            | Kind::Issue => {
                let at_queue = r.kind == Kind::Wait && r.lane == u16::MAX;
                let named = at_queue || matches!(r.kind, Kind::TakeUp | Kind::TakeUpToo | Kind::Issue);
                let by = if named { r.count } else { u16::MAX };
                let lane = if r.kind == Kind::Transfer { u16::MAX } else { r.lane };
                each(Span { lane, at: r.at, kind: r.kind, who: r.who, by, span: r.span, label: r.label });
            }
            Kind::TrainHead => {
                let phases = &records[index..index + usize::from(r.phases)];
                index += phases.len();
                let clock = if r.lane == u16::MAX { None } else { clock_of(r.lane) };
                for k in 0..u64::from(r.count) {
                    let requested = r.at + r.span * k;
                    let start = clock.map_or(requested, |clock| requested.edge(clock));
                    if start > requested {
                        let span = start - requested;
                        let (lane, who, by, label) = (r.lane, r.who, u16::MAX, r.label);
                        each(Span { lane, at: requested, kind: Kind::Wait, who, by, span, label });
                    }
                    let kind = if r.lane == u16::MAX { Kind::Delay } else { Kind::Phase };
                    for p in phases {
                        let (lane, at, who, by) = (p.lane, start + p.at, p.who, u16::MAX);
                        each(Span { lane, at, kind, who, by, span: p.span, label: p.label });
                    }
                }
            }
            Kind::Planned => {}
            Kind::TrainPhase => unreachable!("a train's phases follow its head"),
        }
    }
}
