//! Whom lanes worked for: requests within their lives, requests before or after, nobody.

use std::collections::HashMap;
use std::num::NonZeroU32;

use foldhash::fast::FixedState;
use hopscope_kernel::{Kind, PassedOn, Record, Span, Time};

use super::walk::is_busy;

/// Whom a lane worked for. The three add up to the time in which it worked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// For requests, between their issue and their completion.
    pub in_life: Time,
    /// For requests, before their issue or after their completion.
    pub outside: Time,
    /// For nobody: housekeeping.
    pub housekeeping: Time,
}

/// A request's life, as far as it is known.
#[derive(Clone, Copy, Default)]
struct Known {
    issued: Option<Time>,
    ended: Option<Time>,
}

type Lives = HashMap<NonZeroU32, Known, FixedState>;

fn known(lives: &Lives, of: &PassedOn) -> Known {
    lives.get(&of.request).copied().unwrap_or_default()
}

/// Adds up whom lanes work for.
#[derive(Default)]
pub(super) struct Sharing {
    lanes: Vec<Shares>,
    /// Lanes that worked, or that delays were owed to.
    at_work: Vec<bool>,
    lives: Lives,
}

impl Sharing {
    pub(super) fn new(lanes: usize) -> Sharing {
        Sharing { lanes: vec![Shares::default(); lanes], at_work: vec![false; lanes], lives: HashMap::default() }
    }

    pub(super) fn shares(&self) -> Vec<Shares> {
        self.lanes.clone()
    }

    pub(super) fn at_work(&self) -> Vec<bool> {
        self.at_work.clone()
    }

    pub(super) fn issued(&mut self, request: NonZeroU32, at: Time) {
        self.lives.insert(request, Known { issued: Some(at), ended: None });
    }

    pub(super) fn ended(&mut self, request: NonZeroU32, at: Time) {
        self.lives.entry(request).or_default().ended = Some(at);
    }

    /// Nobody works any more for what ended before `at`; if somebody does, it is outside all the same.
    pub(super) fn forget(&mut self, at: Time) {
        self.lives.retain(|_, known| known.ended.is_none_or(|ended| ended >= at));
    }

    /// A span of a process that works for these requests; each has an equal part of it.
    pub(super) fn enter(&mut self, span: &Span, members: &[PassedOn]) {
        if !is_busy(span.label) {
            return;
        }
        if let Kind::Phase(lane) | Kind::Delay(lane) = span.kind {
            self.at_work[usize::from(lane)] = true;
        }
        let Some(lane) = span.phase_of() else { return };
        let shares = &mut self.lanes[usize::from(lane)];
        let (length, count) = (span.span.as_ps(), members.len() as u64);
        if count == 0 {
            shares.housekeeping += span.span;
        }
        for (number, member) in (0..).zip(members) {
            let known = known(&self.lives, member);
            // Not yet issued is before; not yet ended is within.
            let (start, end) = (span.at, span.at + span.span);
            let from = known.issued.unwrap_or(end).clamp(start, end);
            let until = known.ended.unwrap_or(end).clamp(from, end);
            let part = |time: u64| time * (number + 1) / count - time * number / count;
            let (within, all) = (part((until - from).as_ps()), part(length));
            // Rounded apart, they may differ by a picosecond.
            let within = within.min(all);
            shares.in_life += Time::ps(within);
            shares.outside += Time::ps(all - within);
        }
    }

    /// The bursts of a train at once, where all of them are for nobody, or for one request and within its life or not.
    /// Whether they were.
    pub(super) fn enter_train(&mut self, records: &[Record], members: &[PassedOn]) -> bool {
        let Record::Train { lane, at, count, .. } = records[0] else { return false };
        let busy = records[1..].iter().filter_map(|record| match *record {
            Record::TrainPhase { label, span, .. } if is_busy(label) => Some(span),
            _ => None,
        });
        let time = busy.fold(Time::ZERO, |sum, span| sum + span) * u64::from(count);
        let shares = &mut self.lanes[usize::from(lane)];
        match members {
            [] => shares.housekeeping += time,
            [one] => match known(&self.lives, one) {
                Known { issued: Some(issued), ended: None } if issued <= at => shares.in_life += time,
                Known { issued: None, .. } => shares.outside += time,
                Known { ended: Some(ended), .. } if ended <= at => shares.outside += time,
                _ => return false,
            },
            _ => return false,
        }
        self.at_work[usize::from(lane)] |= time > Time::ZERO;
        true
    }
}

#[cfg(test)]
mod tests {
    use hopscope_kernel::{Label, expand};

    use super::*;

    static DATA: Label = Label::payload("data");
    static WAITS: Label = Label::reason("waits");

    #[test]
    fn a_train_is_told_at_once_as_burst_by_burst() {
        let request = |number| NonZeroU32::new(number).expect("not zero");
        let train = [
            Record::Train {
                lane: 1,
                who: 0,
                label: &DATA,
                at: Time::ns(100),
                pitch: Time::ns(10),
                count: 9,
                phases: 2,
            },
            Record::TrainPhase { label: &DATA, after: Time::ZERO, span: Time::ns(4) },
            Record::TrainPhase { label: &WAITS, after: Time::ns(4), span: Time::ns(5) },
        ];
        // Within its life, not issued, over before, and two that begin or end meanwhile.
        let lives = [(Some(50), None), (None, None), (Some(20), Some(90)), (Some(130), None), (Some(50), Some(150))];
        let known = |sharing: &mut Sharing| {
            for (number, (issued, ended)) in (1..).zip(lives) {
                issued.into_iter().for_each(|at| sharing.issued(request(number), Time::ns(at)));
                ended.into_iter().for_each(|at| sharing.ended(request(number), Time::ns(at)));
            }
        };
        let member = |number| PassedOn { request: request(number), since: Time::ZERO, by: 0 };
        let all = [vec![], vec![1], vec![2], vec![3], vec![4], vec![5], vec![1, 2]];
        let mut at_once = 0;
        for members in all.map(|numbers| numbers.into_iter().map(member).collect::<Vec<_>>()) {
            let [mut one, mut other] = [Sharing::new(2), Sharing::new(2)];
            known(&mut one);
            known(&mut other);
            let told = one.enter_train(&train, &members);
            at_once += usize::from(told);
            expand(&train, |_| None, |span| other.enter(&span, &members));
            let nothing = (vec![Shares::default(); 2], vec![false; 2]);
            let expected = if told { (other.shares(), other.at_work()) } else { nothing };
            assert_eq!((one.shares(), one.at_work()), expected, "{members:?}");
        }
        assert_eq!(at_once, 4, "trains that nothing begins or ends in");
    }
}
