//! What a command takes on the bus.

use super::*;

#[test]
fn one_command_is_the_conversation_that_t10_describes() {
    let (seen, ended) = run(spec(40_000_000), END, &[(0, LIKE)], &[(0, false, 8, Time::ZERO)], Time::ZERO);
    let said: Vec<(&str, u64)> = seen.phases().iter().map(|phase| (phase.2, phase.1.as_ps() / 100_000)).collect();
    let expected = [
        ("arbitration", 24),
        ("selection", 16),
        ("message out", 10),
        ("command", 24),
        ("message in", 10),
        ("arbitration", 24),
        ("reselection", 16),
        ("message in", 10),
        ("data in", 1_024),
        ("status", 10),
        ("message in", 10),
    ];
    assert_eq!(said, expected);
    let fixed: u64 = said.iter().filter(|(name, _)| *name != "data in").map(|(_, tenths)| tenths).sum();
    assert_eq!(fixed, 154, "15.4 us besides the data");
    // The drive begins its work when it has the command, while it disconnects.
    let work = Time::us(100) - Time::us(1);
    assert_eq!(ended[0], Time::ns(15_400 + 102_400) + work);
}

#[test]
fn data_move_at_the_slowest_of_bus_adapter_drive_and_offset() {
    let data = |bus: u64, adapter: u64, drive: u64, offset: u64| {
        let end = HostEnd { rate: adapter, offset, ..END };
        let like = Like { rate: drive, ..LIKE };
        run(spec(bus), end, &[(0, like)], &[(0, false, 8, Time::ZERO)], Time::ZERO).0.in_phase("data in")
    };
    for rate in [40_000_000, 80_000_000, 160_000_000, 320_000_000] {
        let expected = Time::ps(4_096 * 1_000_000_000_000 / rate);
        assert_eq!(data(rate, 1_000_000_000, 1_000_000_000, 127), expected);
        assert_eq!(data(1_000_000_000, rate, 1_000_000_000, 127), expected);
        assert_eq!(data(1_000_000_000, 1_000_000_000, rate, 127), expected);
    }
    // One transfer a round trip of 30 ns, two in 30 ns, and as many as there is time for.
    assert_eq!(data(320_000_000, 320_000_000, 320_000_000, 1), Time::ns(2_048 * 30));
    assert_eq!(data(320_000_000, 320_000_000, 320_000_000, 2), Time::ns(2_048 * 15));
    assert_eq!(data(320_000_000, 320_000_000, 320_000_000, 5), Time::ps(2_048 * 6_250));
    let narrow = Spec { width_bytes: 1, ..spec(20_000_000) };
    let (seen, _) = run(narrow, END, &[(0, LIKE)], &[(0, false, 8, Time::ZERO)], Time::ZERO);
    assert_eq!(seen.in_phase("data in"), Time::ns(204_800));
}

#[test]
fn every_phase_takes_its_time_and_a_tag_is_waited_for() {
    let slower = Time::us(10);
    let plain = run(spec(40_000_000), END, &[(0, LIKE)], &[(0, false, 8, Time::ZERO)], Time::ZERO).1[0];
    type Of = fn(&mut Spec) -> &mut Time;
    let cases: [(&str, Of, u64); 7] = [
        ("arbitration", |spec| &mut spec.arbitration, 2),
        ("selection", |spec| &mut spec.selection, 1),
        ("reselection", |spec| &mut spec.reselection, 1),
        ("message out", |spec| &mut spec.message_out, 1),
        // The drive works while the bus is still at its first message: two of three are waited for.
        ("message in", |spec| &mut spec.message_in, 2),
        ("command", |spec| &mut spec.command, 1),
        ("status", |spec| &mut spec.status, 1),
    ];
    for (name, of, times) in cases {
        let mut changed = spec(40_000_000);
        *of(&mut changed) += slower;
        let ended = run(changed, END, &[(0, LIKE)], &[(0, false, 8, Time::ZERO)], Time::ZERO).1[0];
        assert_eq!(ended, plain + slower * times, "{name}");
    }
    let both = [(0, false, 8, Time::ZERO), (0, false, 8, Time::ZERO)];
    let selections = |tags, depth| {
        let like = Like { depth, ..LIKE };
        let (seen, _) = run(spec(40_000_000), HostEnd { tags, ..END }, &[(0, like)], &both, Time::ZERO);
        let phases = seen.phases();
        let first_back = phases.iter().position(|phase| phase.2 == "reselection").expect("a return");
        phases[..first_back].iter().filter(|phase| phase.2 == "selection").count()
    };
    assert_eq!([selections(1, 4), selections(4, 1), selections(2, 2)], [1, 1, 2]);
}

#[test]
fn a_drive_has_an_id_of_the_bus_that_nobody_else_has() {
    let sim = Sim::new();
    let attach = |end: HostEnd, spec: Spec, ids: &[usize]| {
        let bus = Channel::new(&sim, end).plug("bus", spec)?;
        let none: Weak<TestDrive> = Weak::new();
        ids.iter().try_for_each(|&id| bus.attach(id, "drive", none.clone()))
    };
    let narrow = Spec { width_bytes: 1, ..spec(20_000_000) };
    let refused = |end: &HostEnd, spec: &Spec, ids: &[usize]| attach(end.clone(), spec.clone(), ids).unwrap_err();
    assert_eq!(refused(&END, &narrow, &[0, 8]), "this bus has ids 0 to 7");
    assert_eq!(refused(&END, &narrow, &[0, 7]), "id 7 is the adapter's own");
    assert_eq!(refused(&END, &spec(1 << 20), &[3, 15, 3]), "id 3 is taken");
    let beyond = HostEnd { id: 9, ..END };
    assert_eq!(refused(&beyond, &narrow, &[]), "the adapter has id 9, this bus has ids 0 to 7");
    assert_eq!(attach(END, narrow, &[0, 6]), Ok(()));
}

/// Events of the kernel that a read of 8 blocks costs, with so many at a time, the drive's own one among them.
fn events_a_request(in_flight: usize) -> f64 {
    const REQUESTS: usize = 2_000;
    let sim = Sim::new();
    let channel = Channel::new(&sim, END);
    let bus = channel.plug("bus", spec(40_000_000)).expect("an id of the bus");
    let _drive = drive(&bus, 0, Like { depth: 32, ..LIKE });
    let volumes = initiator::install(&sim, "initiator", &channel, Time::ZERO);
    let (storage, s) = (volumes[0].1.clone(), sim.clone());
    sim.process("job", async move {
        let done = Queue::new(&s, in_flight);
        for request in 0..REQUESTS {
            if request >= in_flight {
                done.take(&NO_COMMAND).await;
            }
            let (issued, done, operation) = (s.now(), done.clone(), Operation::Read);
            let errand = s.new_errand();
            storage.submit(Request { operation, offset_bytes: 0, bytes: 4_096, issued, errand, done });
        }
        for _ in 0..in_flight {
            done.take(&NO_COMMAND).await;
        }
        s.stop();
    });
    assert_eq!(sim.run(Time::ms(100_000)), Ended::Stopped);
    let events = sim.counts().events;
    sim.tear_down();
    events as f64 / REQUESTS as f64
}

#[test]
fn a_command_costs_few_events() {
    // Bus won, command sent; the drive's work; bus won, data sent; status there.
    for in_flight in [1, 4, 16] {
        let events = events_a_request(in_flight);
        assert!(events <= 6.01, "{in_flight} in flight: {events} events a request");
    }
}
