//! Bursts that follow one another over several lanes: as a convoy, or by a process that awaits a loop for each lane.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use hopscope_kernel::{Burst, Car, CarState, Label, Lane, Lead, Sim, Time, Track, join, led};

use crate::drawn::{DrawnTrack, Step, draw_system_of_convoys};
use crate::{ADDRESS, ARBITRATION, DATA, How, LEAD, PLAIN, run};

type Plan = [(&'static Label, Time); 2];

/// When bursts begin on each lane, in order.
type Begun = RefCell<Vec<Vec<Time>>>;

struct Row<'a> {
    sim: &'a Sim,
    lanes: Vec<&'a Lane>,
    leads: Vec<Lead<'a>>,
    plans: Vec<Plan>,
    count: u64,
}

impl Row<'_> {
    /// What is left of the bursts on one lane.
    async fn cross(&self, number: usize, state: CarState<'_>, begun: &Begun) {
        let (lane, mut k) = (self.lanes[number], state.done);
        let begins = || begun.borrow_mut()[number].push(self.sim.now());
        match state.next {
            Burst::Ahead => {}
            Burst::Requested(request) => {
                let grant = request.await;
                begins();
                grant.hold_plan(self.plans[number]).await;
                k += 1;
            }
            Burst::UnderWay(burst) => {
                burst.finish().await;
                k += 1;
            }
        }
        while k < self.count {
            if number > 0 {
                let opened = || begun.borrow()[number - 1].get(k as usize).copied();
                poll_fn(|_| if opened().is_some() { Poll::Ready(()) } else { Poll::Pending }).await;
                let open_at = opened().expect("it has begun") + self.leads[number].2;
                self.sim.wait_until(open_at).await;
                led(&[self.leads[number]], open_at);
            }
            let grant = lane.acquire(&ARBITRATION).await;
            begins();
            grant.hold_plan(self.plans[number]).await;
            k += 1;
        }
    }
}

/// Sends the bursts: as a train as far as that comes, then as a convoy or by hand.
pub async fn send(sim: &Sim, lanes: &[Lane], tracks: &[DrawnTrack], count: u64, is_convoy: bool) {
    let row = Row {
        sim,
        lanes: tracks.iter().map(|track| &lanes[track.lane]).collect(),
        leads: (0..tracks.len())
            .map(|number| (&lanes[tracks[number.saturating_sub(1)].lane], &LEAD, Time::ps(tracks[number].lead)))
            .collect(),
        plans: tracks.iter().map(|t| [(&ADDRESS, Time::ps(t.address)), (&DATA, Time::ps(t.data))]).collect(),
        count,
    };
    // Bursts that come sooner than the one before has left wait for it.
    let mut pitches = [Time::ZERO; 4];
    for number in 0..pitches.len() {
        let length = row.plans.get(number).map_or(Time::ZERO, |plan| plan[0].1 + plan[1].1);
        pitches[number] = length.max(pitches[number.saturating_sub(1)]);
    }
    let (start, mut offsets, mut offset) = (sim.now(), Vec::new(), Time::ZERO);
    for (number, lead) in row.leads.iter().enumerate() {
        offset += if number == 0 { Time::ZERO } else { lead.2 };
        offsets.push(offset);
    }
    let leads: Vec<[Lead<'_>; 1]> = row.leads.iter().map(|lead| [*lead]).collect();
    let car = |number: usize| Car {
        lane: row.lanes[number],
        priority: 0,
        reason: &ARBITRATION,
        offset: offsets[number],
        lead: &leads[number][..number.min(1)],
        plan: &row.plans[number],
    };
    let nothing = || CarState { done: 0, next: Burst::Ahead };
    // No burst is asked for before it has begun on the lane before, and no lane has a clock.
    let is_regular = tracks.len() <= 3
        && row.leads.iter().skip(1).all(|lead| lead.2 > Time::ZERO)
        && row.lanes.iter().all(|lane| lane.clock().is_none());
    let cars: [Car<'_>; 3] = std::array::from_fn(|number| car(number.min(tracks.len() - 1)));
    let mut states: Vec<CarState<'_>> = if is_regular {
        let [first, second, third, _] = pitches;
        let run = sim.train(count, start, first, &cars).of_the_first(tracks.len()).slowing([first, second, third]);
        run.await.cars.into_iter().flatten().collect()
    } else {
        (0..tracks.len()).map(|_| nothing()).collect()
    };
    if is_convoy && sim.may_convoy() {
        let tracks = states.into_iter().enumerate().map(|(number, state)| Track {
            lane: row.lanes[number],
            reason: &ARBITRATION,
            lead: row.leads[number],
            plan: row.plans[number],
            first: start + offsets[number],
            pitch: pitches[number],
            state,
        });
        return sim.convoy(count as u32, tracks).await;
    }
    let begun = |((state, offset), pitch): ((&CarState<'_>, &Time), Time)| {
        let begun = state.done + u64::from(matches!(state.next, Burst::UnderWay(_)));
        (0..begun).map(|k| start + *offset + pitch * k).collect()
    };
    let begun: Begun = RefCell::new(states.iter().zip(&offsets).zip(pitches).map(begun).collect());
    let mut hands: Pin<Box<dyn Future<Output = ()> + '_>> = Box::pin(async {});
    while let Some(state) = states.pop() {
        let (first, others) = (row.cross(states.len(), state, &begun), hands);
        hands = Box::pin(async move {
            join(sim, first, others).await;
        });
    }
    hands.await;
}

#[test]
fn a_convoy_is_its_bursts_by_hand_on_ten_thousand_random_systems() {
    let (mut convoys, mut carried) = (0, 0);
    for seed in 0..10_000 {
        let system = draw_system_of_convoys(seed);
        convoys += system.programs.iter().flatten().filter(|step| matches!(step, Step::Convoy { .. })).count();
        // Every fourth system is stopped in the middle; in another fourth somebody begins to look then.
        let until = if seed % 4 == 0 { 100 + seed / 10 } else { PLAIN.until };
        let from = if seed % 4 == 1 { 50 + seed / 10 % 400 } else { 0 };
        for observed in [true, false] {
            let how = How { until, from, observed, ..PLAIN };
            let ((ours, counts), theirs) = (run(&system, how), run(&system, How { convoys: false, ..how }).0);
            carried += counts.bursts_in_trains;
            let first = ours.spans.iter().zip(&theirs.spans).position(|(a, b)| a != b);
            let around = first.map(|i| (&ours.spans[i], &theirs.spans[i]));
            assert_eq!(around, None, "seed {seed} {how:?} {system:#?}");
            assert_eq!(ours, theirs, "seed {seed} {how:?} {system:#?}");
            let by_hand = run(&system, How { trains: false, ..how }).0;
            assert_eq!(ours, by_hand, "seed {seed} {how:?} {system:#?}");
        }
    }
    assert!(convoys > 50_000, "{convoys} convoys");
    // 143,000 of them without those that wait for a slower lane behind.
    assert!(carried > 160_000, "{carried} bursts in trains");
}
