//! Two of whom one hands something to the other do what they would do anyway, in fewer turns.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;

use hopscope_kernel::{Ended, Label, Lane, Sim, Time, join, join_handing};

static BUSY: Label = Label::reason("bus busy");
static ASKING: Label = Label::payload("asking");
static ANSWER: Label = Label::payload("answer");

/// Who began to use a lane, and when.
type Log = Rc<RefCell<Vec<(u64, u64, Time)>>>;

/// What has been asked for so far, and whether the one who answers waits for it, or has to be told of it.
#[derive(Default)]
struct Asked {
    count: Cell<u64>,
    is_awaited: Cell<bool>,
    is_handed: Cell<bool>,
}

impl Asked {
    async fn hand(&self, handing: bool) {
        self.count.set(self.count.get() + 1);
        self.is_handed.set(self.is_awaited.take() && handing);
        poll_fn(|_| if self.is_handed.get() { Poll::Pending } else { Poll::Ready(()) }).await;
    }

    async fn come(&self, count: u64) {
        let has_come = || self.count.get() >= count;
        poll_fn(|_| {
            self.is_awaited.set(!has_come());
            if has_come() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

struct Draw(u64);

impl Draw {
    fn next(&mut self, most: u64) -> Time {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Time::ps(1 + (self.0 >> 33) % most)
    }
}

/// One of several who ask eight times over one lane, and answer over another one while they still ask.
async fn asks_and_answers(sim: Sim, who: u64, lanes: [Lane; 2], log: Log, (seed, handing): (u64, bool)) {
    let mut draw = Draw(seed * 31 + who);
    for _ in 0..20 {
        let spans: [[Time; 8]; 3] = [10_007, 500_009, 1_000_003].map(|most| std::array::from_fn(|_| draw.next(most)));
        sim.wait(draw.next(20_000_003)).await;
        let asked = Asked::default();
        let asks = async {
            for span in spans[0] {
                let grant = lanes[0].acquire(&BUSY).await;
                log.borrow_mut().push((who, 0, sim.now()));
                grant.hold(&ASKING, span).await;
                drop(grant);
                asked.hand(handing).await;
            }
        };
        let answers = async {
            for (number, (latency, span)) in (1..).zip(spans[1].into_iter().zip(spans[2])) {
                asked.come(number).await;
                sim.wait(latency).await;
                let grant = lanes[1].acquire(&BUSY).await;
                log.borrow_mut().push((who, 1, sim.now()));
                grant.hold(&ANSWER, span).await;
            }
        };
        if handing {
            join_handing(&sim, answers, asks, || asked.is_handed.take()).await;
        } else {
            join(&sim, asks, answers).await;
        }
    }
}

fn run(users: u64, seed: u64, handing: bool) -> (Vec<(u64, u64, Time)>, u64) {
    let (sim, log) = (Sim::new(), Log::default());
    let lanes = [sim.lane("asking", None), sim.lane("answering", None)];
    let turns = Rc::<Cell<u64>>::default();
    for who in 0..users {
        let turns = turns.clone();
        let mut one = Box::pin(asks_and_answers(sim.clone(), who, lanes.clone(), log.clone(), (seed, handing)));
        sim.process(
            &format!("user{who}"),
            poll_fn(move |context| {
                turns.set(turns.get() + 1);
                one.as_mut().poll(context)
            }),
        );
    }
    assert_eq!(sim.run(Time::ms(1_000)), Ended::Finished);
    let mut log = log.take();
    log.sort_unstable_by_key(|&(who, lane, at)| (at, who, lane));
    (log, turns.get())
}

#[test]
fn what_is_handed_over_is_taken_up_when_it_is_there() {
    for seed in 0..300 {
        for users in [1, 2, 4] {
            let ((in_turn, turns), (handed, fewer)) = (run(users, seed, false), run(users, seed, true));
            assert_eq!(in_turn.len() as u64, users * 20 * 16);
            assert_eq!(handed, in_turn, "{users} users, seed {seed}");
            // Who is alone goes on in place, and otherwise others come in between.
            assert!(users > 1 || fewer * 2 < turns, "{fewer} turns, and {turns} where nobody is told");
        }
    }
}
