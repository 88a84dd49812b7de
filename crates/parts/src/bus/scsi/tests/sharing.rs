//! Who has the bus, and what keeps it waiting.

use super::*;

#[test]
fn a_full_fifo_pauses_the_bus_until_the_adapter_has_moved_a_piece() {
    let end = HostEnd { fifo: Some((1_024, 512)), ..END };
    // 2 KiB in pieces of 512 B, 12.8 us each; the host takes 30 us for one.
    let (seen, ended) = run(spec(40_000_000), end.clone(), &[(0, LIKE)], &[(0, false, 4, Time::ZERO)], Time::us(30));
    assert_eq!(seen.in_phase("data in"), Time::ns(51_200));
    // The third piece waits for the first to leave, the fourth for the second.
    assert_eq!(seen.in_phase(FIFO_FULL.name), Time::ns(30_000 - 12_800) * 2);
    let last_data = Time::ns(8_400 + 99_000 + 5_000 + 51_200 + 2 * 17_200);
    let moved = Time::ns(8_400 + 99_000 + 5_000 + 12_800) + Time::us(30) * 4;
    assert!(moved > last_data + Time::us(2));
    assert_eq!(ended[0], moved, "the command ends for its host when the last piece has left");
    let (seen, _) = run(spec(40_000_000), end, &[(0, LIKE)], &[(0, false, 4, Time::ZERO)], Time::us(12));
    assert_eq!(seen.in_phase(FIFO_FULL.name), Time::ZERO, "a host faster than the bus never pauses it");
}

#[test]
fn an_empty_fifo_pauses_the_bus_of_a_write() {
    let end = HostEnd { fifo: Some((1_024, 512)), ..END };
    let (seen, ended) = run(spec(40_000_000), end, &[(0, LIKE)], &[(0, true, 4, Time::ZERO)], Time::us(30));
    assert_eq!(seen.in_phase("data out"), Time::ns(51_200));
    // Two pieces are asked for at once, each of the others when room is there: the host is never idle.
    assert_eq!(seen.in_phase(FIFO_EMPTY.name), Time::us(30) + Time::ns(30_000 - 12_800) * 3);
    assert_eq!(ended[0], Time::ns(8_400 + 99_000 + 5_000) + Time::us(120) + Time::ns(12_800 + 2_000));
}

#[test]
fn the_highest_id_wins_and_the_second_eight_come_last() {
    // All drives have their data while a long transfer has the bus; they come back in the order of their ids.
    let ids = [0, 3, 6, 8, 12, 15];
    let drives: Vec<_> = ids.iter().map(|&id| (id, Like { works: Time::us(300), ..LIKE })).collect();
    let mut drives_and_first = drives.clone();
    drives_and_first.push((1, Like { works: Time::us(1), ..LIKE }));
    let mut commands: Vec<_> = ids.iter().map(|&id| (id, false, 1, Time::us(id as u64))).collect();
    commands.push((1, false, 64, Time::us(200)));
    let (seen, ended) = run(spec(40_000_000), END, &drives_and_first, &commands, Time::ZERO);
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_by_key(|&index| ended[index]);
    assert_eq!(order.iter().map(|&index| ids[index]).collect::<Vec<_>>(), [6, 3, 0, 15, 12, 8]);
    assert_eq!(seen.in_phase("status"), Time::us(7));
}

#[test]
fn a_drive_that_always_has_data_starves_a_lower_id_unless_arbitration_is_fair() {
    let eager = Like { works: Time::us(1), ..LIKE };
    let mut commands: Vec<_> = (0..40).map(|_| (3, false, 16, Time::ZERO)).collect();
    commands.extend((0..40).map(|_| (1, false, 16, Time::ZERO)));
    let lead = |fair: bool| {
        let (_, ended) = run(Spec { fair, ..spec(40_000_000) }, END, &[(1, eager), (3, eager)], &commands, Time::ZERO);
        let last_of_third = *ended[..40].iter().max().expect("40 commands");
        ended[40..].iter().filter(|end| **end < last_of_third).count()
    };
    let (by_id, fairly) = (lead(false), lead(true));
    assert!(by_id <= 6, "{by_id} commands of id 1 ended before the last of id 3");
    assert!((36..=40).contains(&fairly), "{fairly}");
}

#[test]
fn the_initiator_wins_against_every_drive() {
    let drives = [(0, LIKE), (6, Like { works: Time::us(110), ..LIKE })];
    // Drive 0 has the bus for 819 us from 112 us on; drive 6 and the next command wait for it.
    let commands = [(0, false, 64, Time::ZERO), (6, false, 1, Time::us(10)), (0, false, 1, Time::us(300))];
    let (seen, _) = run(spec(40_000_000), END, &drives, &commands, Time::ZERO);
    let phases = seen.phases();
    let long = phases.iter().position(|phase| phase.1 > Time::us(800)).expect("the long transfer");
    let next: Vec<&str> = phases[long + 1..long + 5].iter().map(|phase| phase.2).collect();
    assert_eq!(next, ["status", "message in", "arbitration", "selection"]);
}

#[test]
fn drives_that_work_at_the_same_time_share_the_bus() {
    let one = run(spec(40_000_000), END, &[(0, LIKE)], &[(0, false, 16, Time::ZERO)], Time::ZERO).1[0];
    let drives = [(0, LIKE), (1, LIKE)];
    let commands = [(0, false, 16, Time::ZERO), (1, false, 16, Time::ZERO)];
    let (seen, ended) = run(spec(40_000_000), END, &drives, &commands, Time::ZERO);
    assert!(ended[0].max(ended[1]) < one + Time::us(230), "the second works while the first does: {ended:?} {one}");
    // Both commands are sent before either drive comes back.
    let phases = seen.phases();
    let second = phases.iter().rposition(|phase| phase.2 == "selection").expect("two selections");
    let back = phases.iter().position(|phase| phase.2 == "reselection").expect("two reselections");
    assert!(second < back);
}

#[test]
fn a_drive_that_leaves_in_the_middle_lets_another_one_have_the_bus() {
    let drives = [(0, Like { halves: true, ..LIKE }), (1, LIKE)];
    let commands = [(0, false, 16, Time::ZERO), (1, false, 16, Time::us(95))];
    let (seen, ended) = run(spec(40_000_000), END, &drives, &commands, Time::ZERO);
    assert!(ended[1] < ended[0]);
    let said: Vec<&str> = seen.phases().iter().map(|phase| phase.2).collect();
    assert_eq!(said.iter().filter(|name| **name == "reselection").count(), 3);
    assert_eq!(seen.in_phase("data in"), Time::ns(204_800) * 2);
}

#[test]
fn a_drive_that_stays_connected_saves_a_disconnection_and_a_return_and_blocks_the_bus() {
    let stays = Like { stays: true, ..LIKE };
    let commands = [(0, false, 8, Time::ZERO), (1, false, 8, Time::us(20))];
    for (like, writes) in [(stays, false), (stays, true)] {
        let fifo = Some((4_096, 4_096));
        let commands = commands.map(|(id, _, blocks, at)| (id, writes, blocks, at));
        let (seen, ended) =
            run(spec(40_000_000), HostEnd { fifo, ..END }, &[(0, like), (1, LIKE)], &commands, Time::ZERO);
        assert_eq!(ended[0], Time::ns(7_400 + 100_000 + 102_400 + 2_000));
        let said: Vec<&str> = seen.phases().iter().take(8).map(|phase| phase.2).collect();
        let data = if writes { "data out" } else { "data in" };
        let conversation = [
            "arbitration",
            "selection",
            "message out",
            "command",
            "no REQ from the drive",
            data,
            "status",
            "message in",
        ];
        assert_eq!(said, conversation);
        let other = seen.phases().iter().filter(|phase| phase.2 == "arbitration").nth(1).expect("a second").0;
        assert_eq!(other, ended[0], "nobody else had the bus before");
    }
}

/// A number below `below`, from a fixed sequence.
fn draw(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

#[test]
fn random_systems_never_beat_the_bus_and_every_byte_crosses_it_once() {
    for seed in 0..300 {
        let s = &mut (seed * 0x9E37_79B9 + 1);
        let rate = [10_000_000, 40_000_000, 80_000_000, 160_000_000, 320_000_000][draw(s, 5) as usize];
        let fifo = [None, Some((512, 256)), Some((512, 512)), Some((1_024, 128)), Some((65_536, 4_096))];
        let end = HostEnd {
            id: [7, 0, 15][draw(s, 3) as usize],
            rate: [40_000_000, 160_000_000, 1_000_000_000][draw(s, 3) as usize],
            offset: [1, 8, 127][draw(s, 3) as usize],
            tags: [1, 2, 64][draw(s, 3) as usize],
            fifo: fifo[draw(s, 5) as usize],
        };
        let ids: Vec<usize> = (0..IDS_MAX).filter(|&id| id != end.id).take(1 + draw(s, 6) as usize).collect();
        let like = |s: &mut u64| Like {
            rate: [20_000_000, 80_000_000, 1_000_000_000][draw(s, 3) as usize],
            depth: 1 + draw(s, 8) as u32,
            works: Time::us(draw(s, 200)),
            stays: draw(s, 3) == 0,
            halves: draw(s, 3) == 0,
        };
        let drives: Vec<_> = ids.iter().map(|&id| (id, like(s))).collect();
        let commands: Vec<_> = (0..1 + draw(s, 24))
            .map(|_| {
                let id = ids[draw(s, ids.len() as u64) as usize];
                (id, draw(s, 2) == 0, 1 + draw(s, 40) as u32, Time::us(draw(s, 900)))
            })
            .collect();
        let host = Time::ns(draw(s, 40_000));
        let (seen, ended) = run(spec(rate), end, &drives, &commands, host);
        let bytes: u64 = commands.iter().map(|command| u64::from(command.2 * BLOCK_BYTES)).sum();
        let fastest = Time::ps(bytes / 2 * 2_000_000_000_000_u64.div_ceil(rate));
        let data = seen.in_phase("data in") + seen.in_phase("data out");
        assert!(data >= fastest, "seed {seed}: {data} for {bytes} bytes");
        assert_eq!(seen.in_phase("status"), Time::us(commands.len() as u64), "seed {seed}");
        assert!(ended.iter().all(|end| *end > Time::ZERO), "seed {seed}");
    }
}
