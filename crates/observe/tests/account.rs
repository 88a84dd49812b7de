//! The loss account of systems small enough to be told by hand.

use std::cell::RefCell;
use std::rc::Rc;

use hopscope_kernel::{Ended, Label, Observer, Queue, Record, Sim, Time, join};
use hopscope_observe::account::{Account, Entry, Extent, Ledger, Use};

static BUSY: Label = Label::reason("bus busy");
static ADDRESS: Label = Label::protocol("address");
static DATA: Label = Label::payload("data");
static SLOW_DATA: Label = Label::payload("slow data");
static COMPUTE: Label = Label::protocol("compute");
static NO_ITEM: Label = Label::reason("no item");
static NO_REQUEST: Label = Label::workload("no request");
static HELD: Label = Label::reason("held for the bus");
static DELAY: Label = Label::protocol("delay");
static READ: Label = Label::mark("read");

const fn ns(n: u64) -> Time {
    Time::ns(n)
}

/// Runs `system` and accounts for all of it.
fn account(system: impl FnOnce(&Sim)) -> Result<Account, String> {
    let (sim, ledger) = (Sim::new(), Ledger::new(Time::ZERO, Extent::ALL));
    sim.observe(Box::new(ledger.clone()));
    system(&sim);
    assert_eq!(sim.run(Time::ms(1)), Ended::Finished);
    sim.tear_down();
    Ok(Account::of(&sim, &ledger, true)?.expect("a lane was used"))
}

/// Class, cause, lane, phase, ns of each entry of a lane.
fn entries<'a>(account: &'a Account, lane: &str) -> Vec<(Use, &'a str, &'a str, &'a str, u64)> {
    let line = account.lanes.iter().find(|line| line.lane == lane).expect("the lane was used");
    let told = |e: &'a Entry| (e.class, e.cause.as_str(), e.lane.as_str(), e.phase.as_str(), e.time.as_ps() / 1_000);
    line.entries.iter().map(told).collect()
}

#[test]
fn a_lane_that_waits_for_a_processor_says_what_it_computes() {
    let account = account(|sim| {
        let (bus, cpu, s) = (sim.lane("bus", None), sim.lane("cpu", None), sim.clone());
        bus.carries(&DATA, 4, ns(10));
        sim.process("driver", async move {
            cpu.spend(&COMPUTE, ns(30)).await;
            let grant = bus.acquire(&BUSY).await;
            grant.hold_plan([(&ADDRESS, ns(10)), (&DATA, ns(60))]).await;
            drop(grant);
            s.transferred(&READ, Time::ZERO, 1);
        });
    });
    let account = account.expect("it adds up");
    let told = entries(&account, "bus");
    let (data, address) = ((Use::Payload, "", "bus", "data", 60), (Use::Protocol, "", "bus", "address", 10));
    assert_eq!(told, [data, address, (Use::Waiting, "", "cpu", "compute", 30)]);
    let bus = account.lanes.iter().find(|line| line.lane == "bus").expect("the bus was used");
    assert_eq!(bus.delivered(), Some(0.4e9 * 0.6));
    assert_eq!(bus.capacity.as_ref().map(|capacity| capacity.how.as_str()), Some("4 bytes every 10.000 ns"));
    assert_eq!(entries(&account, "cpu")[1], (Use::Nothing, "nothing asks for it", "cpu", "", 70));
    let path: Vec<(&str, u64)> = account.path.iter().map(|e| (e.phase.as_str(), e.time.as_ps() / 1_000)).collect();
    assert_eq!(path, [("data", 60), ("compute", 30), ("address", 10)]);
}

#[test]
fn no_slice_of_the_window_is_busy_for_longer_than_it_lasts() {
    // As many slices are not a divisor of the window, and slices end at whole picoseconds.
    for span in [Time::ps(7), Time::ps(119), Time::ps(1_000_003), Time::ps(987_654_321)] {
        let account = account(|sim| {
            let bus = sim.lane("bus", None);
            sim.process("driver", async move { bus.spend(&DATA, span).await });
        });
        let account = account.expect("it adds up");
        let bus = &account.lanes[0];
        let count = bus.busy.len();
        assert_eq!(account.slice(0, count).0, account.from);
        assert_eq!(account.slice(count - 1, count).1, account.until);
        for (index, share) in account.busy_over_time(bus).into_iter().enumerate() {
            let (begin, end) = account.slice(index, count);
            assert_eq!(share, if begin < end { 1.0 } else { 0.0 }, "slice {index} of {span}");
        }
    }
}

#[test]
fn whoever_is_on_a_lane_is_to_blame_for_a_wait_for_it() {
    let account = account(|sim| {
        let (bus, disk) = (sim.lane("bus", None), sim.lane("disk", None));
        let other = bus.clone();
        sim.process("a", async move {
            other.acquire(&BUSY).await.hold_plan([(&ADDRESS, ns(20)), (&DATA, ns(80))]).await;
        });
        sim.process("b", async move {
            let grant = bus.acquire(&BUSY).await;
            grant.hold(&DATA, ns(50)).await;
            drop(grant);
            disk.spend(&COMPUTE, ns(10)).await;
        });
    });
    let account = account.expect("it adds up");
    let waits = [(Use::Waiting, "bus busy", "bus", "data", 80), (Use::Waiting, "bus busy", "bus", "address", 20)];
    let told = entries(&account, "disk");
    assert_eq!(told[0], (Use::Protocol, "", "disk", "compute", 10));
    assert!(waits.iter().all(|wait| told.contains(wait)), "{told:?}");
    assert!(told.contains(&(Use::Waiting, "", "bus", "data", 50)), "{told:?}");
}

#[test]
fn a_wait_at_a_queue_leads_to_whoever_ended_it_and_on_from_there() {
    let account = account(|sim| {
        let (cpu, link, disk) = (sim.lane("cpu", None), sim.lane("link", None), sim.lane("disk", None));
        let (orders, items): (Queue<()>, Queue<()>) = (Queue::new(sim, 1), Queue::new(sim, 1));
        let (asked, given) = (orders.clone(), items.clone());
        sim.process("driver", async move {
            cpu.spend(&COMPUTE, ns(15)).await;
            asked.put((), &BUSY).await;
        });
        sim.process("link", async move {
            orders.take(&NO_ITEM).await;
            link.delay(&DELAY, ns(5)).await;
            link.spend(&DATA, ns(40)).await;
            given.put((), &BUSY).await;
        });
        sim.process("disk", async move {
            items.take(&NO_ITEM).await;
            disk.spend(&COMPUTE, ns(10)).await;
        });
    });
    let account = account.expect("it adds up");
    let mut told = entries(&account, "disk");
    told.sort();
    let waits = [
        (Use::Protocol, "", "disk", "compute", 10),
        (Use::Waiting, "no item", "cpu", "compute", 15),
        (Use::Waiting, "no item", "link", "data", 40),
        (Use::Waiting, "no item", "link", "delay", 5),
    ];
    assert_eq!(told, waits);
}

#[test]
fn of_two_things_at_once_the_last_one_decides() {
    let account = account(|sim| {
        let (fast, slow, out) = (sim.lane("fast", None), sim.lane("slow", None), sim.lane("out", None));
        let s = sim.clone();
        sim.process("raid", async move {
            join(&s, fast.spend(&DATA, ns(30)), slow.spend(&SLOW_DATA, ns(90))).await;
            out.spend(&COMPUTE, ns(10)).await;
        });
    });
    let account = account.expect("it adds up");
    assert!(entries(&account, "out").contains(&(Use::Waiting, "", "slow", "slow data", 90)));
}

#[test]
fn of_three_things_of_one_kind_that_end_at_once_the_one_that_began_last_decides() {
    let account = account(|sim| {
        let (bus, cpu, out) = (sim.lane("bus", None), sim.lane("cpu", None), sim.lane("out", None));
        let s = sim.clone();
        sim.process("raid", async move {
            let after = |before: u64| {
                let (cpu, bus) = (&cpu, &bus);
                async move {
                    cpu.delay(&COMPUTE, ns(before)).await;
                    bus.delay(&DELAY, ns(50 - before)).await;
                }
            };
            join(&s, after(10), join(&s, after(20), after(30))).await;
            out.spend(&ADDRESS, ns(10)).await;
        });
    });
    let account = account.expect("it adds up");
    let told = entries(&account, "out");
    assert!(told.contains(&(Use::Waiting, "", "bus", "delay", 20)), "{told:?}");
    assert!(told.contains(&(Use::Waiting, "", "cpu", "compute", 30)), "{told:?}");
}

#[test]
fn each_of_many_lanes_is_told_its_own_part_of_what_kept_all_of_them() {
    const LANES: u64 = 40;
    const BURSTS: u64 = 1_000;
    let account = account(|sim| {
        let (bus, done): (_, Queue<()>) = (sim.lane("bus", None), Queue::new(sim, LANES as usize));
        let ends = done.clone();
        sim.process("port", async move {
            for _ in 0..BURSTS {
                let grant = bus.acquire(&BUSY).await;
                grant.hold_plan([(&ADDRESS, ns(3)), (&DATA, ns(7))]).await;
            }
            for _ in 0..LANES {
                ends.put((), &BUSY).await;
            }
        });
        for number in 0..LANES {
            let (die, done) = (sim.lane(&format!("die{number}"), None), done.clone());
            sim.process(&format!("die{number}"), async move {
                die.spend(&COMPUTE, ns(1 + 170 * number)).await;
                done.take(&NO_ITEM).await;
                die.spend(&COMPUTE, ns(1)).await;
            });
        }
    });
    let account = account.expect("it adds up");
    for number in 0..LANES {
        let (from, lane) = (1 + 170 * number, format!("die{number}"));
        let address = 3 * (BURSTS - from / 10) - (from % 10).min(3);
        let mut told = entries(&account, &lane);
        told.sort();
        let waited = |phase, time| (Use::Waiting, "no item", "bus", phase, time);
        let waits = [waited("address", address), waited("data", 10 * BURSTS - from - address)];
        assert_eq!(told, [vec![(Use::Protocol, "", lane.as_str(), "compute", from + 1)], waits.to_vec()].concat());
    }
}

#[test]
fn a_lane_that_is_held_by_someone_who_waits_waits_with_them() {
    let account = account(|sim| {
        let (port, bus) = (sim.lane("port", None), sim.lane("bus", None));
        sim.process("bridge", async move {
            let grant = port.acquire(&BUSY).await;
            bus.spend(&ADDRESS, ns(20)).await;
            bus.spend(&DATA, ns(60)).await;
            grant.was_in(&HELD, Time::ZERO);
            grant.hold(&DATA, ns(20)).await;
        });
    });
    let account = account.expect("it adds up");
    let told = entries(&account, "port");
    assert!(told.contains(&(Use::Waiting, "held for the bus", "bus", "data", 60)), "{told:?}");
    assert!(told.contains(&(Use::Waiting, "held for the bus", "bus", "address", 20)), "{told:?}");
}

#[test]
fn what_was_before_a_request_was_issued_is_nothing_to_do() {
    let account = account(|sim| {
        let (cpu, disk) = (sim.lane("cpu", None), sim.lane("disk", None));
        let requests: Queue<()> = Queue::new(sim, 1);
        let issued = requests.clone();
        sim.process("thread", async move {
            cpu.spend(&COMPUTE, ns(70)).await;
            issued.put((), &BUSY).await;
        });
        sim.process("driver", async move {
            requests.take(&NO_REQUEST).await;
            disk.delay(&DELAY, ns(10)).await;
            disk.spend(&DATA, ns(20)).await;
        });
    });
    let account = account.expect("it adds up");
    let told = entries(&account, "disk");
    assert!(told.contains(&(Use::Nothing, "no request", "cpu", "compute", 70)), "{told:?}");
    assert!(told.contains(&(Use::Waiting, "", "disk", "delay", 10)), "{told:?}");
}

#[test]
fn bytes_that_move_slower_than_they_can_leave_width_unused() {
    let account = account(|sim| {
        let bus = sim.lane("bus", None);
        bus.carries(&DATA, 8, ns(10));
        bus.carries(&SLOW_DATA, 2, ns(10));
        sim.process("master", async move {
            bus.spend(&DATA, ns(100)).await;
            bus.spend(&SLOW_DATA, ns(100)).await;
        });
    });
    let account = account.expect("it adds up");
    let told = entries(&account, "bus");
    assert!(told.contains(&(Use::Payload, "", "bus", "slow data", 25)), "{told:?}");
    assert!(told.contains(&(Use::WidthUnused, "", "bus", "slow data", 75)), "{told:?}");
}

#[test]
fn a_part_that_spends_time_without_a_name_is_named() {
    let account = account(|sim| {
        let (bus, s) = (sim.lane("bus", None), sim.clone());
        sim.process("sloppy bridge", async move {
            bus.spend(&ADDRESS, ns(10)).await;
            s.wait(ns(25)).await;
            bus.spend(&DATA, ns(10)).await;
        });
    });
    let account = account.expect("it adds up");
    assert_eq!(account.unattributed(), [("sloppy bridge".to_string(), ns(25))]);
}

#[test]
fn a_lane_in_two_phases_at_once_is_refused_by_its_name() {
    let refused = account(|sim| {
        let (bus, s) = (sim.lane("bus", None), sim.clone());
        sim.process("master", async move {
            s.wait(ns(100)).await;
            bus.was_in_until(&ADDRESS, ns(10), ns(60));
            bus.was_in_until(&DATA, ns(50), ns(90));
        });
    });
    assert_eq!(refused, Err("bus is in `address` and in `data` at 50.000 ns".to_string()));
}

#[derive(Clone, Default)]
struct Count(Rc<RefCell<usize>>);

impl Observer for Count {
    fn records(&mut self, batch: &[Record]) {
        *self.0.borrow_mut() += batch.len();
    }

    fn wants_phases(&self) -> bool {
        *self.0.borrow() < 1_000
    }
}

#[test]
fn an_observer_that_has_enough_costs_no_more() {
    let (sim, count) = (Sim::new(), Count::default());
    sim.observe(Box::new(count.clone()));
    let bus = sim.lane("bus", None);
    sim.process("master", async move {
        for _ in 0..100_000 {
            bus.spend(&DATA, ns(10)).await;
        }
    });
    assert_eq!(sim.run(Time::ms(10)), Ended::Finished);
    assert!((1_000..10_000).contains(&*count.0.borrow()), "{}", count.0.borrow());
}
