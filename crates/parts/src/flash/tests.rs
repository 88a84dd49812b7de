//! Flash by its formulas: not one picosecond before, and what each number does.

use std::cell::RefCell;
use std::rc::Rc;

use hopscope_kernel::{Ended, Errand, Sim, Time};
use rand_core::RngCore;
use rand_pcg::Pcg64Mcg;

use super::die_map::Step;
use super::translation::Translation;
use super::{Flash, Spec, State, UNIT_BYTES, Written};

mod aged;
mod single_bit;

const KIB: u64 = 1 << 10;

fn spec() -> Spec {
    Spec {
        capacity_bytes: 256 << 20,
        over_provisioning: 125_000,
        state: State::Fresh,
        channels: 2,
        dies: 2,
        planes: 2,
        independent_planes: 1,
        page_bytes: 16 << 10,
        pages_per_block: 64,
        pages_per_program: 1,
        read: Time::us(50),
        program: Time::us(500),
        erase: Time::ms(3),
        suspend_latency: Time::ms(5),
        suspend_progress: Time::ZERO,
        channel_rate: 1_024_000_000,
        command: Time::ns(200),
        decode: Time::us(5),
        buffer_bytes: 1 << 20,
        single_bit: super::single_bit::Spec::NONE,
    }
}

/// What processes, each with a list of operations, did by when: for each process, when each of its operations ended.
fn run(spec: Spec, processes: Vec<Vec<Do>>) -> (Vec<Vec<Time>>, Written) {
    let sim = Sim::new();
    let flash = Flash::new(&sim, "ssd", spec, 1);
    let ended = Rc::new(RefCell::new(vec![Vec::new(); processes.len()]));
    let left = Rc::new(std::cell::Cell::new(processes.len()));
    for (number, operations) in processes.into_iter().enumerate() {
        let (flash, ended, s, left) = (flash.clone(), ended.clone(), sim.clone(), left.clone());
        sim.process(&format!("p{number:03}"), async move {
            for operation in operations {
                match operation {
                    Do::Read(offset, bytes) => flash.read(offset, bytes, Errand::NOBODY).await,
                    Do::Write(offset, bytes) => flash.write(offset, bytes).await,
                    Do::Flush => flash.flush().await,
                    Do::Wait(span) => s.wait(span).await,
                }
                ended.borrow_mut()[number].push(s.now());
            }
            left.set(left.get() - 1);
            if left.get() == 0 {
                s.stop();
            }
        });
    }
    assert_eq!(sim.run(Time::ms(100_000)), Ended::Stopped);
    let written = flash.written();
    drop(flash);
    sim.tear_down();
    (Rc::try_unwrap(ended).expect("every process is gone").into_inner(), written)
}

#[derive(Clone, Copy)]
enum Do {
    Read(u64, u32),
    Write(u64, u32),
    Flush,
    Wait(Time),
}

fn last(spec: Spec, processes: Vec<Vec<Do>>) -> Time {
    run(spec, processes).0.into_iter().flatten().max().expect("something was done")
}

#[test]
fn a_read_takes_the_array_read_its_command_its_bytes_and_the_decode() {
    // 4 KiB at 1,024 MB/s are 4 us.
    assert_eq!(last(spec(), vec![vec![Do::Read(0, 4_096)]]), Time::ns(50_000 + 200 + 4_000 + 5_000));
    // A multi-plane page needs one array read: 32 KiB of 2 planes.
    assert_eq!(last(spec(), vec![vec![Do::Read(0, 32_768)]]), Time::ns(50_000 + 200 + 32_000 + 5_000));
    let whole = |change: fn(&mut Spec)| {
        let mut changed = spec();
        change(&mut changed);
        last(changed, vec![vec![Do::Read(0, 4_096)]])
    };
    assert_eq!(whole(|s| s.read = Time::us(60)), Time::ns(69_200));
    assert_eq!(whole(|s| s.command = Time::us(1)), Time::us(60));
    assert_eq!(whole(|s| s.decode = Time::ZERO), Time::ns(54_200));
    assert_eq!(whole(|s| s.channel_rate = 2_048_000_000), Time::ns(57_200));
}

#[test]
fn a_read_of_several_pages_has_them_read_at_once_by_several_dies_and_waits_for_their_channels() {
    // Four pages of 32 KiB on the four dies, two a channel: both pages of a channel go out one after the other.
    let two_pages_out = Time::ns(2 * (200 + 32_000));
    assert_eq!(last(spec(), vec![vec![Do::Read(0, 131_072)]]), Time::us(50) + two_pages_out + Time::us(5));
    // Eight pages: each die reads its second page while its first one goes out.
    assert_eq!(last(spec(), vec![vec![Do::Read(0, 262_144)]]), Time::us(50) + two_pages_out * 2 + Time::us(5));
    // Not from the beginning of a page: two pieces.
    assert_eq!(last(spec(), vec![vec![Do::Read(28 * KIB, 8_192)]]), Time::ns(50_000 + 200 + 4_000 + 5_000));
}

#[test]
fn a_die_reads_one_page_at_a_time_while_the_page_before_goes_out() {
    // Every fourth page of 32 KiB is on the same die.
    let reads = |count: u64| (0..count).map(|n| vec![Do::Read(n * 131_072, 4_096)]).collect();
    let (count, tail) = (7, Time::ns(200 + 4_000 + 5_000));
    assert_eq!(last(spec(), reads(count)), Time::us(50) * count + tail);
    // Where the channel takes longer than the array it decides: 4 KiB at 32 MB/s are 128 us.
    let slow = Spec { channel_rate: 32_000_000, ..spec() };
    assert_eq!(last(slow, reads(count)), Time::us(50) + Time::ns(128_200) * count + Time::us(5));
}

#[test]
fn reads_of_one_page_ask_the_array_once_until_another_page_or_a_program_takes_its_place() {
    let (array, out, decode) = (Time::us(50), Time::ns(200 + 4_000), Time::us(5));
    // Eight readers of a page of eight units: one array read, then one after the other on the channel.
    let readers = (0..8).map(|n| vec![Do::Read(n * 4_096, 4_096)]).collect();
    assert_eq!(last(spec(), readers), array + out * 8 + decode);
    // Later it is still there; the next page of the same die takes its place.
    let one_by_one = |list: &[u64]| {
        let (ended, _) = run(spec(), vec![list.iter().map(|offset| Do::Read(*offset, 4_096)).collect()]);
        let begun = std::iter::once(&Time::ZERO).chain(&ended[0]);
        ended[0].iter().zip(begun).map(|(end, begin)| *end - *begin).collect::<Vec<Time>>()
    };
    let (asked, joined) = (array + out + decode, out + decode);
    assert_eq!(one_by_one(&[0, 4_096, 32_768, 8_192]), [asked, joined, asked, joined]);
    assert_eq!(one_by_one(&[0, 131_072, 4_096]), [asked; 3]);
    let (ended, _) =
        run(spec(), vec![vec![Do::Read(0, 4_096), Do::Write(512 * KIB, 4_096), Do::Flush, Do::Read(0, 4_096)]]);
    assert_eq!(ended[0][3] - ended[0][2], asked);
    // Written at random, neighbours lie apart.
    let steady = Spec { state: State::Steady, ..spec() };
    let (ended, _) = run(steady, vec![vec![Do::Read(0, 4_096), Do::Read(4_096, 4_096)]]);
    assert_eq!(ended[0][1] - ended[0][0], asked);
}

#[test]
fn dies_read_at_once_until_the_channel_is_full() {
    let per_second = |spec: Spec| {
        // Two readers a die, each of them in pages of its own.
        let page = spec.page_units() * u64::from(UNIT_BYTES);
        let (lanes, reads) = (spec.lanes() as u64, 400);
        let reader = |n: u64| (0..reads).map(|k| Do::Read((n + 2 * lanes * k) % 8_000 * page, 4_096)).collect();
        let end = last(spec, (0..2 * lanes).map(reader).collect());
        (2 * lanes * reads) as f64 / end.as_seconds_f64()
    };
    let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.01, "{found} for {expected}");
    near(per_second(spec()), 4.0 / 50e-6);
    near(per_second(Spec { dies: 8, ..spec() }), 16.0 / 50e-6);
    near(per_second(Spec { channels: 4, ..spec() }), 8.0 / 50e-6);
    // A die of two planes that read independently reads twice as much.
    near(per_second(Spec { independent_planes: 2, ..spec() }), 8.0 / 50e-6);
    // 16 dies a channel would read 320,000 a second; at 4.2 us each the channel takes 238,095.
    near(per_second(Spec { dies: 16, ..spec() }), 2.0 / 4.2e-6);
    near(per_second(Spec { dies: 16, command: Time::us(4), ..spec() }), 2.0 / 8e-6);
}

#[test]
fn a_write_is_done_when_it_is_in_the_buffer_and_waits_where_that_is_full() {
    // 32 stripes of 32 KiB in the buffer. The first program ends after 2 pages in and tPROG; in between its channel takes
    // a page of its other die.
    let write = |bytes| vec![vec![Do::Write(0, bytes), Do::Write(64 << 20, 4_096)]];
    let (ended, _) = run(spec(), write((1 << 20) - 4_096));
    assert_eq!(ended[0][1], Time::ZERO);
    let (ended, _) = run(spec(), write(1 << 20));
    let page_in = Time::ns(200 + 16_000);
    assert_eq!(ended[0], [Time::ZERO, page_in * 3 + Time::us(500)]);
    let (ended, _) = run(Spec { program: Time::us(900), ..spec() }, write(1 << 20));
    assert_eq!(ended[0][1], page_in * 3 + Time::us(900));
    let (ended, _) = run(Spec { buffer_bytes: (1 << 20) + 32_768, ..spec() }, write(1 << 20));
    assert_eq!(ended[0][1], Time::ZERO);
}

#[test]
fn a_flush_ends_with_the_last_program_of_what_was_written_before() {
    let page_in = Time::ns(200 + 16_000);
    let (ended, written) = run(spec(), vec![vec![Do::Flush, Do::Write(0, 4_096), Do::Flush, Do::Flush]]);
    // A part of a stripe is programmed by itself, and only the unit that is there is loaded.
    let program = Time::ns(200 + 4_000) + Time::us(500);
    assert_eq!(ended[0], [Time::ZERO, Time::ZERO, program, program]);
    assert_eq!(written.by_host, 1);
    // What comes while a flush waits does not keep it.
    let other = vec![Do::Wait(Time::us(1)), Do::Write(1 << 20, 32_768), Do::Flush];
    let (ended, _) = run(spec(), vec![vec![Do::Write(0, 32_768), Do::Flush], other]);
    assert_eq!(ended[0][1], page_in * 2 + Time::us(500));
    assert!(ended[1][2] > ended[0][1]);
}

#[test]
fn sequential_writes_go_as_fast_as_all_dies_load_and_program() {
    let rate = |spec: Spec| {
        let bytes = 128 << 20;
        // On a drive so large that nothing is collected.
        let spec = Spec { capacity_bytes: 2 << 30, ..spec };
        let end = last(spec, vec![vec![Do::Write(0, bytes), Do::Flush]]);
        f64::from(bytes) / end.as_seconds_f64()
    };
    let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.02, "{found} for {expected}");
    // 32 KiB a program: 532.4 us each, on four dies; the channel is free for both of its dies.
    near(rate(spec()), 4.0 * 32_768.0 / 532.4e-6);
    near(rate(Spec { pages_per_program: 2, ..spec() }), 4.0 * 65_536.0 / 564.8e-6);
    near(rate(Spec { planes: 4, ..spec() }), 4.0 * 65_536.0 / 564.8e-6);
    near(rate(Spec { page_bytes: 8 << 10, ..spec() }), 4.0 * 16_384.0 / 516.4e-6);
    // Sixteen dies a channel would take more than 1,011 MB/s, what is left of 1,024 beside the commands.
    let many = Spec { dies: 32, buffer_bytes: 16 << 20, ..spec() };
    near(rate(many), 2.0 * 16_384.0 / 16.2e-6);
}

#[test]
fn what_is_in_the_write_buffer_is_read_at_once_and_a_part_of_a_unit_is_read_before_it_is_written() {
    let (ended, _) = run(spec(), vec![vec![Do::Write(8_192, 4_096), Do::Read(8_192, 4_096), Do::Read(0, 4_096)]]);
    let read = Time::ns(50_000 + 200 + 4_000 + 5_000);
    assert_eq!(ended[0], [Time::ZERO, Time::ZERO, read]);
    let (ended, _) = run(spec(), vec![vec![Do::Write(512, 512), Do::Write(1_024, 512)]]);
    assert_eq!(ended[0], [read, read]);
    // Programmed, it is no longer there.
    let (ended, _) = run(spec(), vec![vec![Do::Write(0, 4_096), Do::Flush, Do::Read(0, 4_096)]]);
    assert_eq!(ended[0][2] - ended[0][1], read);
}

#[test]
fn a_program_makes_way_for_a_read_within_the_suspend_latency_but_not_before_it_has_come_on() {
    // A program of 500 us begins at 32.4 us; a read asks at 100 us.
    let waits = |latency, progress| {
        let spec = Spec { suspend_latency: latency, suspend_progress: progress, ..spec() };
        let reader = vec![Do::Wait(Time::us(100)), Do::Read(131_072, 4_096)];
        let (ended, _) = run(spec, vec![vec![Do::Write(0, 32_768), Do::Flush], reader]);
        let read = Time::ns(50_000 + 200 + 4_000 + 5_000);
        (ended[1][1] - ended[1][0] - read, ended[0][1])
    };
    let (begin, end) = (Time::ns(32_400), Time::ns(532_400));
    assert_eq!(waits(Time::ms(5), Time::ZERO), (end - Time::us(100), end));
    // 67.6 us into it: the fourth piece of 20 us is under way. The program is longer by the array read.
    assert_eq!(waits(Time::us(20), Time::ZERO), (begin + Time::us(80) - Time::us(100), end + Time::us(50)));
    assert_eq!(waits(Time::us(20), Time::us(200)), (begin + Time::us(200) - Time::us(100), end + Time::us(50)));
}

/// Writes to the maps of the dies only, and does what is owed: what was written, and the work.
fn wear(spec: &Spec, units: u64, mut next: impl FnMut() -> u64) -> (Written, u64) {
    let mut translation = Translation::new(spec, Pcg64Mcg::new(5));
    let (mut stripe, mut die, mut reads) = (Vec::new(), 0, 0);
    for _ in 0..units {
        let entry = translation.accept(next());
        stripe.push(entry);
        if stripe.len() as u64 == spec.stripe_units() {
            while let Some(step) = translation.collect(die) {
                reads += if let Step::Copy { reads, .. } = step { reads } else { 0 };
            }
            translation.write(die, &stripe);
            stripe.clear();
            die = (die + 1) % spec.lanes();
        }
    }
    (translation.written, reads)
}

fn amplification(written: Written) -> f64 {
    (written.by_host + written.copied) as f64 / written.by_host as f64
}

fn draw(below: u64, seed: u128) -> impl FnMut() -> u64 {
    let mut random = Pcg64Mcg::new(seed | 1);
    move || ((u128::from(random.next_u64()) * u128::from(below)) >> 64) as u64
}

/// Write amplification of even random writes where blocks are large, as a fixed point: x = exp(−a (1 − x)) is what is
/// valid in a collected block, a = 1 + over-provisioning (Desnoyers 2012, 4.1).
fn known_amplification(over_provisioning: f64) -> f64 {
    let mut x: f64 = 0.5;
    for _ in 0..10_000 {
        x = libm::exp(-(1.0 + over_provisioning) * (1.0 - x));
    }
    1.0 / (1.0 - x)
}

/// Blocks large enough, and enough of them, for what is known of large drives.
fn large(over_provisioning: u64, state: State) -> Spec {
    Spec { capacity_bytes: 2 << 30, over_provisioning, state, ..spec() }
}

#[test]
fn random_writes_in_equilibrium_are_amplified_as_is_known_of_greedy_collection() {
    for over_provisioning in [70_000, 150_000, 280_000, 500_000] {
        let spec = large(over_provisioning, State::Steady);
        let units = spec.capacity_bytes / u64::from(UNIT_BYTES);
        let found = amplification(wear(&spec, units, draw(units, 3)).0);
        let known = known_amplification(over_provisioning as f64 / 1e6);
        assert!((found / known - 1.0).abs() < 0.05, "{over_provisioning} ppm: {found:.3} for {known:.3}");
    }
}

#[test]
fn a_fresh_drive_collects_nothing_at_first_and_comes_to_the_same_equilibrium() {
    let (fresh, steady) = (large(150_000, State::Fresh), large(150_000, State::Steady));
    let units = fresh.capacity_bytes / u64::from(UNIT_BYTES);
    let at_first = wear(&fresh, units / 10, draw(units, 3)).0;
    assert_eq!((at_first.copied, at_first.erased), (0, 0));
    let (early, late) = (wear(&fresh, 3 * units, draw(units, 3)).0, wear(&fresh, 4 * units, draw(units, 3)).0);
    let found = (late.copied - early.copied) as f64 / (late.by_host - early.by_host) as f64 + 1.0;
    let known = amplification(wear(&steady, units, draw(units, 3)).0);
    assert!((found / known - 1.0).abs() < 0.05, "{found:.3} for {known:.3}");
}

#[test]
fn sequential_writes_are_not_amplified_however_long_they_go_on() {
    let spec = large(70_000, State::Fresh);
    let units = spec.capacity_bytes / u64::from(UNIT_BYTES);
    let mut next = 0;
    let sequential = move || {
        next = (next + 1) % units;
        next
    };
    let written = wear(&spec, 4 * units, sequential).0;
    assert!(written.erased > 0 && amplification(written) < 1.02, "{written:?}");
}

#[test]
fn random_writes_to_a_part_of_a_fresh_drive_have_all_that_is_over_provisioned_for_themselves() {
    let spec = large(100_000, State::Fresh);
    let units = spec.capacity_bytes / u64::from(UNIT_BYTES);
    let part = units / 5;
    let (early, late) = (wear(&spec, units, draw(part, 3)).0, wear(&spec, 2 * units, draw(part, 3)).0);
    let found = (late.copied - early.copied) as f64 / (late.by_host - early.by_host) as f64 + 1.0;
    let known = known_amplification(0.5);
    assert!((found / known - 1.0).abs() < 0.05, "{found:.3} for {known:.3}");
}

#[test]
fn what_is_erased_is_what_is_written_and_copies_read_what_they_need() {
    let spec = large(280_000, State::Steady);
    let units = spec.capacity_bytes / u64::from(UNIT_BYTES);
    let (written, reads) = wear(&spec, units, draw(units, 3));
    let programmed = written.by_host + written.copied;
    let erased = written.erased * spec.block_units();
    assert!((erased as f64 / programmed as f64 - 1.0).abs() < 0.05, "{erased} of {programmed}");
    // At 0.6 valid nearly every page of 8 units has a valid one: each page of a collected block is read once.
    let pages = written.erased * spec.pages_per_block;
    assert!((reads as f64 / pages as f64 - 1.0).abs() < 0.05, "{reads} of {pages}");
}

/// Random writes of 4 KiB for some time by 64 processes; units per second in the second half.
fn random_writes(spec: Spec) -> f64 {
    let units = spec.capacity_bytes / u64::from(UNIT_BYTES);
    let mut next = draw(units, 9);
    let writes = (0..64).map(|_| (0..200).map(|_| Do::Write(next() * 4_096, 4_096)).collect()).collect();
    let mut ended: Vec<Time> = run(spec, writes).0.into_iter().flatten().collect();
    ended.sort();
    let (half, end) = (ended[ended.len() / 2], ended[ended.len() - 1]);
    (ended.len() / 2) as f64 / (end - half).as_seconds_f64()
}

#[test]
fn garbage_collection_takes_its_time_from_random_writes() {
    // Each stripe of 8 units goes with (A − 1) copied ones: page reads, and as many loads and programs. Erases too.
    let spec = || Spec { capacity_bytes: 1 << 30, over_provisioning: 280_000, ..spec() };
    let steady = Spec { state: State::Steady, ..spec() };
    let (fresh, found) = (random_writes(spec()), random_writes(steady.clone()));
    let stripe = 532.4e-6;
    assert!((fresh / (4.0 * 8.0 / stripe) - 1.0).abs() < 0.05, "{fresh}");
    let a = known_amplification(0.28);
    let (reads, copy_out) = ((a - 1.0) / (1.0 - 1.0 / a), 8.0 * 4e-6);
    let each = a * stripe + reads * 50.2e-6 + (a - 1.0) * (copy_out + 5e-6) + a * 3e-3 / 64.0;
    assert!((found / (4.0 * 8.0 / each) - 1.0).abs() < 0.1, "{found} for {}", 4.0 * 8.0 / each);
    let more = random_writes(Spec { over_provisioning: 800_000, ..steady.clone() });
    let slower_erase = random_writes(Spec { erase: Time::ms(30), ..steady.clone() });
    let small_blocks = random_writes(Spec { pages_per_block: 32, ..steady });
    assert!(more > 1.3 * found && slower_erase < 0.8 * found, "{found}: {more}, {slower_erase}");
    assert!(small_blocks < 0.99 * found, "twice as many erases: {small_blocks} for {found}");
}

#[test]
fn reads_wait_for_writes_and_their_garbage_collection() {
    let latency = |state, writes: u64| {
        let spec = Spec { state, over_provisioning: 280_000, ..spec() };
        let units = spec.capacity_bytes / u64::from(UNIT_BYTES);
        let (mut at, mut to) = (draw(units, 7), draw(units, 8));
        let reader = (0..200).map(|_| Do::Read(at() * 4_096, 4_096)).collect();
        let pace = Time::us(100);
        let writer = (0..writes).flat_map(|_| [Do::Write(to() * 4_096, 4_096), Do::Wait(pace)]).collect();
        let (ended, _) = run(spec, vec![reader, writer]);
        ended[0][199].as_seconds_f64() / 200.0
    };
    let (alone, beside) = (latency(State::Fresh, 0), latency(State::Fresh, 1_000));
    let collecting = latency(State::Steady, 1_000);
    assert!(beside > 1.1 * alone && collecting > 1.3 * beside, "{alone} {beside} {collecting}");
}

#[test]
fn where_data_were_written_at_random_a_long_read_is_many_short_ones() {
    let (fresh, steady) = (spec(), Spec { state: State::Steady, ..spec() });
    let sim = Sim::new();
    let cut = |spec: &Spec| Flash::new(&sim, "ssd", spec.clone(), 1).piece(4_096, 65_536);
    assert_eq!((cut(&fresh), cut(&steady)), (28_672, 4_096));
    sim.tear_down();
    let read = vec![vec![Do::Read(0, 32_768)]];
    assert!(last(steady, read.clone()) > last(fresh, read));
}
