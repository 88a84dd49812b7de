//! Tests of links, paths and ports: formulas, and the laws over random systems.

use std::cell::RefCell;
use std::rc::Rc;

use hopscope_kernel::{Counts, Ended, Observer, Record, Sim, Span, Time, expand};

use super::*;
use crate::bridge::pcie_switch;
use crate::bus::pcie::root_complex;
use crate::protocols::pcie::{DATA, DLLP, HEADER, Home};

const GEN3: u64 = 1_000_000_000;

fn link_spec(rate: u64, width: u64, bits_per_error: u64) -> Spec {
    let generation = |rate, line_bytes, data_bytes| Generation {
        rate,
        line_bytes,
        data_bytes,
        framing_bytes: if rate == 8 * GEN3 { 0 } else { 8 },
        dllp_bytes: if rate == 8 * GEN3 { 0 } else { 8 },
        skip_every_bytes: 6_012,
        skip_bytes: 16,
        internal_delay: Time::ns(115),
    };
    let generations = vec![
        generation(GEN3 / 2, 10, 8),
        generation(GEN3, 130, 128),
        generation(2 * GEN3, 130, 128),
        generation(8 * GEN3, 256, 236),
    ];
    let factor = |width| AckFactor { width, small: 1_400_000, large: 1_000_000 };
    let factors = WIDTHS.iter().map(|width| factor(*width)).collect();
    Spec { generations, factors, rate, width, flight: Time::ns(50), bits_per_error, acknowledge_each: false }
}

fn port_spec(payload_max: u32, read_request_max: u32, tags: usize) -> PortSpec {
    PortSpec { rate: 8 * GEN3, width: 16, payload_max, read_request_max, tags, address_bits: 64, relaxed: false }
}

fn direct(sim: &Sim, link: Spec, port: &PortSpec, buffers: Buffers) -> Rc<Port> {
    let root = RootComplex::new(sim, "root", root_complex::Spec::example(256, buffers));
    let link = Link::new(sim, "link", link, &root.port(), 1);
    Port::new(sim, port, &link).unwrap()
}

/// Time until `count` writes of `bytes` have left, one after the other.
fn writes(link: Spec, payload_max: u32, buffers: Buffers, count: u64, bytes: u32) -> Time {
    let sim = Sim::new();
    let port = direct(&sim, link, &port_spec(payload_max, 512, 32), buffers);
    sim.process("device", async move {
        for k in 0..count {
            port.write(k * 4_096, bytes, &DATA, Home::CACHE).await;
        }
    });
    assert_eq!(sim.run(Time::ms(100)), Ended::Finished);
    sim.now()
}

/// Time of `count` reads of `bytes` by each of `readers`.
fn reads(link: Spec, port: PortSpec, readers: usize, count: u64, bytes: u32) -> Time {
    let sim = Sim::new();
    let port = direct(&sim, link, &port, Buffers::INFINITE);
    for reader in 0..readers {
        let port = port.clone();
        sim.process(&format!("reader{reader:03}"), async move {
            for k in 0..count {
                port.read(k * 4_096, bytes, &DATA, Home::CACHE).await;
            }
        });
    }
    assert_eq!(sim.run(Time::ms(100)), Ended::Finished);
    sim.now()
}

#[test]
fn a_packet_takes_its_bytes_on_the_wire() {
    // 256 bytes, a header of 16, 8 of framing; 8 lanes of 8 GT/s with 130 bits for 128.
    assert_eq!(writes(link_spec(GEN3, 8, 0), 256, Buffers::INFINITE, 1, 256), Time::ps(280 * 16_250 / 128));
    // Flits carry 236 bytes in 256 and frame nothing.
    let flits = writes(link_spec(8 * GEN3, 16, 0), 256, Buffers::INFINITE, 1, 256);
    assert_eq!(flits, Time::ps(272 * 256_000_000_000_000 / (8 * GEN3 * 16 * 236)));
}

#[test]
fn byte_times_carry_their_remainder() {
    let count = 20_000;
    let time = writes(link_spec(GEN3, 8, 0), 256, Buffers::INFINITE, count, 256).as_ps() as f64;
    let exact = (count * 280) as f64 * 16_250.0 / 128.0;
    let with_skip = exact / (1.0 - 16.0 / 6_012.0);
    assert!((time / with_skip - 1.0).abs() < 2e-5, "{time} against {with_skip}");
}

#[test]
fn half_the_lanes_are_half_the_rate() {
    let at = |width| writes(link_spec(GEN3, width, 0), 256, Buffers::INFINITE, 5_000, 256).as_ps() as f64;
    assert!((at(4) / at(8) - 2.0).abs() < 1e-3, "{} {}", at(4), at(8));
    assert!((at(8) / at(16) - 2.0).abs() < 1e-3);
}

#[test]
fn a_read_takes_request_latency_and_completions() {
    let link = || link_spec(GEN3, 8, 0);
    let byte = |bytes: u64| Time::ps(bytes * 16_250 / 128);
    let one = reads(link(), port_spec(256, 512, 32), 1, 1, 64);
    assert_eq!(one, byte(24) + Time::ns(50) + Time::ns(100) + byte(84) + Time::ns(50));
    let two = reads(link(), port_spec(256, 512, 32), 1, 1, 128);
    assert_eq!(two, one + byte(84));
}

#[test]
fn tags_bound_the_reads_under_way() {
    let link = || link_spec(GEN3, 8, 0);
    let latency = reads(link(), port_spec(256, 512, 1), 1, 1, 64).as_ps() as f64;
    let time = |tags| reads(link(), port_spec(256, 512, tags), 64, 100, 64).as_ps() as f64 / 6_400.0;
    // 64 readers ask at once: as many tags as there are, one latency.
    for tags in [1, 2, 8, 16] {
        let each = latency / tags as f64;
        assert!(time(tags) >= each * 0.999 && time(tags) < each * 1.02 + 300.0, "{tags}: {} {each}", time(tags));
    }
}

#[test]
fn credits_bound_what_is_on_its_way() {
    let buffers = |headers| Buffers {
        posted_headers: headers,
        posted_data_bytes: 1 << 20,
        non_posted_headers: 0,
        drain: Time::ns(400),
    };
    let time = |headers| writes(link_spec(GEN3, 8, 0), 256, buffers(headers), 1_000, 4_096).as_ps() as f64 / 16_000.0;
    // A header comes back after its packet, two flights and the drain: 536 ns.
    assert!((time(1) / 535_546.0 - 1.0).abs() < 1e-3, "{}", time(1));
    assert!((time(4) / (535_546.0 / 4.0) - 1.0).abs() < 0.01, "{}", time(4));
    assert!((time(64) / time(0) - 1.0).abs() < 1e-6);
    let data =
        |bytes| Buffers { posted_headers: 64, posted_data_bytes: bytes, non_posted_headers: 0, drain: Time::ns(400) };
    let time = |bytes| writes(link_spec(GEN3, 8, 0), 256, data(bytes), 1_000, 4_096).as_ps() as f64 / 16_000.0;
    assert!((time(512) / (535_546.0 / 2.0) - 1.0).abs() < 0.01, "{}", time(512));
}

#[test]
fn errors_cost_a_replay_each() {
    let time = |bits| writes(link_spec(GEN3, 8, bits), 256, Buffers::INFINITE, 20_000, 256).as_ps() as f64;
    let (sound, noisy) = (time(0), time(22_400));
    // One packet of 2,240 bits in ten comes again, after two flights.
    let each = 35_546.0 + 100_000.0 + 1_015.0;
    let lost = (noisy - sound) / (20_000.0 * each);
    assert!((0.085..0.105).contains(&lost), "{lost}");
}

/// Writes of 4 KiB and reads of 512 bytes at the same time, for a while; bytes read and written.
fn both_ways(acknowledge_each: bool) -> f64 {
    let sim = Sim::new();
    let link = Spec { acknowledge_each, ..link_spec(GEN3, 8, 0) };
    let port = direct(&sim, link, &port_spec(256, 512, 64), Buffers::INFINITE);
    let bytes = Rc::new(std::cell::Cell::new(0u64));
    for worker in 0..64 {
        let (port, bytes) = (port.clone(), bytes.clone());
        sim.process(&format!("worker{worker:02}"), async move {
            for k in 0.. {
                match worker % 2 {
                    0 => drop(port.write(k * 4_096, 4_096, &DATA, Home::CACHE).await),
                    _ => port.read(k * 4_096, 512, &DATA, Home::CACHE).await,
                }
                bytes.set(bytes.get() + if worker % 2 == 0 { 4_096 } else { 512 });
            }
        });
    }
    sim.run(Time::us(300));
    bytes.get() as f64
}

#[test]
fn acknowledgements_cost_the_other_direction_at_the_limit_a_little_and_of_each_packet_more() {
    // Alone, either direction has nothing to acknowledge: 256 of 280 bytes, 64 of 84.
    let (limit, each) = (both_ways(false), both_ways(true));
    assert!(each < limit * 0.98, "{each} {limit}");
    assert!(each > limit * 0.85, "{each} {limit}");
}

/// Completions on the way down, and the acknowledgements of which there was time on the way up, while `writers` write
/// pages as fast as they can and eight readers read.
fn acknowledged(writers: usize) -> (f64, f64) {
    let sim = Sim::new();
    let kept = Kept::default();
    sim.observe(Box::new(kept.clone()));
    let link = Spec { acknowledge_each: true, ..link_spec(GEN3, 8, 0) };
    let port = direct(&sim, link, &port_spec(256, 512, 64), Buffers::INFINITE);
    for worker in 0..writers + 8 {
        let port = port.clone();
        sim.process(&format!("worker{worker:02}"), async move {
            for k in 0.. {
                match worker < writers {
                    true => drop(port.write(k * 4_096, 4_096, &DATA, Home::CACHE).await),
                    false => port.read(k * 4_096, 512, &DATA, Home::CACHE).await,
                }
            }
        });
    }
    sim.run(Time::us(300));
    let (lanes, records) = (sim.lanes(), kept.0.borrow());
    let of = |lane: &str, label: &hopscope_kernel::Label| {
        let lane = lanes.iter().position(|(name, _)| name == lane).expect("a lane") as u16;
        let (mut count, mut time) = (0.0, Time::ZERO);
        expand(
            &records,
            |_| None,
            |span| {
                if span.lane() == Some(lane) && span.label == label {
                    (count, time) = (count + 1.0, time + span.span);
                }
            },
        );
        (count, time)
    };
    let one = Time::ps(8 * 16_250 / 128).as_ps() as f64;
    (of("link.down", &HEADER).0, of("link.up", &DLLP).1.as_ps() as f64 / one)
}

#[test]
fn acknowledgements_take_their_turn_however_many_senders_keep_the_link_busy() {
    for writers in [1, 4, 16] {
        // The link up is never idle: every completion that comes down costs it an acknowledgement.
        let (completions, acknowledgements) = acknowledged(writers);
        let share = acknowledgements / completions;
        assert!(completions > 1_000.0 && (0.95..1.01).contains(&share), "{share} of {completions}, {writers} writers");
    }
}

#[derive(Clone, Default)]
struct Kept(Rc<RefCell<Vec<Record>>>);

impl Observer for Kept {
    fn records(&mut self, batch: &[Record]) {
        self.0.borrow_mut().extend_from_slice(batch);
    }
}

/// Splitmix64: enough to draw systems.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }
    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// One device at the root, two behind a switch, one behind two switches; what they do is drawn.
fn random_system(seed: u64, trains: bool) -> (Vec<Span>, Counts, Time) {
    let draw = &mut Draw(seed);
    let sim = Sim::new();
    if !trains {
        sim.without_trains();
    }
    let kept = Kept::default();
    sim.observe(Box::new(kept.clone()));
    let buffers = |draw: &mut Draw| Buffers {
        posted_headers: draw.of(&[0, 2, 4, 16, 32, 64]),
        posted_data_bytes: draw.of(&[512, 1_024, 4_096, 16_384]),
        non_posted_headers: draw.of(&[0, 1, 4, 32]),
        drain: Time::ns(draw.of(&[0, 100, 400])),
    };
    let rates = [GEN3 / 2, GEN3, 2 * GEN3, 8 * GEN3];
    let root = RootComplex::new(&sim, "root", root_complex::Spec::example(draw.of(&[128, 256, 512]), buffers(draw)));
    let link = |draw: &mut Draw, name: &str, above: &Rc<DownstreamPort>| {
        let errors = draw.of(&[0, 0, 1_000_000]);
        let spec = link_spec(draw.of(&rates), draw.of(&[1, 4, 8, 16]), errors);
        Link::new(&sim, name, Spec { acknowledge_each: draw.below(2) == 0, ..spec }, above, seed)
    };
    let first = link(draw, "link-a", &root.port());
    let upper = link(draw, "link-b", &root.port());
    let switch = pcie_switch::plug(
        &pcie_switch::Spec::example(Buffers { posted_headers: 8, posted_data_bytes: 4_096, ..buffers(draw) }),
        &upper,
    )
    .unwrap();
    let below = [link(draw, "link-c", &switch), link(draw, "link-d", &switch)];
    let lower = link(draw, "link-e", &switch);
    let second = pcie_switch::plug(
        &pcie_switch::Spec::example(Buffers { posted_headers: 8, posted_data_bytes: 4_096, ..buffers(draw) }),
        &lower,
    )
    .unwrap();
    let deepest = link(draw, "link-f", &second);
    let links = [&first, &below[0], &below[1], &deepest];
    let ports: Vec<Rc<Port>> = links
        .iter()
        .map(|link| {
            let spec = port_spec(draw.of(&[128, 256]), draw.of(&[128, 512, 4_096]), draw.of(&[1, 4, 32]));
            Port::new(&sim, &spec, link).unwrap()
        })
        .collect();
    for (number, port) in ports.iter().enumerate() {
        for worker in 0..1 + draw.below(3) {
            let steps: Vec<(u64, u64, u32)> = (0..draw.below(12))
                .map(|_| (draw.below(6), 64 * draw.below(8), 64 * (1 + draw.below(56)) as u32))
                .collect();
            let (port, peer) = (port.clone(), ports[(number + 1) % ports.len()].clone());
            let name = format!("device{number}.{worker}");
            let lane = sim.lane(&name, None);
            sim.process(&name, async move {
                let route = port.route_to(&peer).unwrap();
                for (kind, address, bytes) in steps {
                    let home = Home { cached: bytes % 128 == 0, remote: address == 0 };
                    match kind {
                        0 | 1 => drop(port.write(address, bytes, &DATA, home).await),
                        2 | 3 => port.read(address, bytes.min(4_096 - address as u32), &DATA, home).await,
                        4 => port.write_to(&route, address, bytes).await,
                        _ => lane.delay(&crate::protocols::pcie::FLIGHT, Time::ns(bytes.into())).await,
                    }
                }
            });
        }
    }
    assert_eq!(sim.run(Time::ms(100)), Ended::Finished, "system {seed}");
    let records = kept.0.borrow();
    let mut spans = Vec::new();
    expand(&records, |_| None, |span| spans.push(span));
    spans.sort_unstable_by_key(|s| (s.kind, s.at, s.who, s.span, s.label.name));
    (spans, sim.counts(), sim.now())
}

#[test]
fn trains_change_nothing_in_random_systems() {
    let (mut booked, mut cut, mut carried) = (0, 0, 0); // Without slower links behind: 14,073, 3,058, 64,085.
    for seed in 0..300 {
        let (with, counts, end) = random_system(seed, true);
        let (without, _, by_hand) = random_system(seed, false);
        assert_eq!(end, by_hand, "system {seed}");
        assert_eq!(with.len(), without.len(), "system {seed}");
        for (a, b) in with.iter().zip(&without) {
            assert_eq!(a, b, "system {seed}");
        }
        (booked, cut) = (booked + counts.trains, cut + counts.trains_cut);
        carried += counts.bursts_in_trains;
    }
    assert!(booked > 14_500 && cut > 3_200 && carried > 75_000, "{booked} booked, {cut} cut, {carried} packets");
}

#[test]
fn a_lane_is_in_one_phase_at_a_time_in_random_systems() {
    for seed in 0..200 {
        let (spans, ..) = random_system(seed, true);
        let phases: Vec<&Span> = spans.iter().filter(|span| span.phase_of().is_some()).collect();
        for pair in phases.windows(2).filter(|pair| pair[0].kind == pair[1].kind) {
            assert!(pair[0].at + pair[0].span <= pair[1].at, "system {seed}: {pair:?}");
        }
    }
}

/// Where a device is.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    RootPort,
    Switch,
}

/// Two devices, by where they are, at links of 8 lanes of 8 GT/s; a switch has such a link too.
fn two_devices(sim: &Sim, places: [Place; 2]) -> [Rc<Port>; 2] {
    let root = RootComplex::new(sim, "root", root_complex::Spec::example(256, Buffers::INFINITE));
    let uplink = Link::new(sim, "uplink", link_spec(GEN3, 8, 0), &root.port(), 1);
    let switch = pcie_switch::plug(&pcie_switch::Spec::example(Buffers::INFINITE), &uplink).unwrap();
    [("a", places[0]), ("b", places[1])].map(|(name, place)| {
        let above = if place == Place::Switch { &switch } else { &root.port() };
        let link = Link::new(sim, name, link_spec(GEN3, 8, 0), above, 1);
        Port::new(sim, &port_spec(256, 512, 32), &link).unwrap()
    })
}

/// How long `each` of two devices takes, and which lanes were used.
fn used<F: Future<Output = ()> + 'static>(
    places: [Place; 2],
    each: impl Fn(usize, [Rc<Port>; 2]) -> F,
) -> (Time, Vec<String>) {
    let sim = Sim::new();
    let kept = Kept::default();
    sim.observe(Box::new(kept.clone()));
    let ports = two_devices(&sim, places);
    for device in 0..2 {
        sim.process(&format!("device{device}"), each(device, ports.clone()));
    }
    assert_eq!(sim.run(Time::ms(100)), Ended::Finished);
    let mut lanes: Vec<u16> = Vec::new();
    let records = kept.0.borrow();
    expand(&records, |_| None, |span| lanes.extend(span.phase_of()));
    let names = sim.lanes();
    let mut names: Vec<String> = lanes.into_iter().map(|lane| names[usize::from(lane)].0.clone()).collect();
    names.sort();
    names.dedup();
    (sim.now(), names)
}

/// The first device writes 4 KiB of the second one's memory.
async fn to_peer(device: usize, [from, to]: [Rc<Port>; 2]) {
    if device == 0 {
        let route = from.route_to(&to).unwrap();
        from.write_to(&route, 0, 4_096).await;
    }
}

#[test]
fn what_goes_to_a_peer_below_the_same_switch_leaves_the_uplink_alone() {
    // 16 packets of 280 bytes, two flights, and the switch.
    let packets = Time::ps(280 * 16_250 / 128) * 16;
    let (time, lanes) = used([Place::Switch; 2], to_peer);
    assert_eq!((time, lanes), (packets + Time::ns(50 + 100 + 50), vec!["a.up".into(), "b.down".into()]));
    // Or the root complex, which takes 300 ns from one port to another.
    let (time, lanes) = used([Place::RootPort; 2], to_peer);
    assert_eq!((time, lanes), (packets + Time::ns(50 + 300 + 50), vec!["a.up".into(), "b.down".into()]));
    // Or both.
    let (time, lanes) = used([Place::Switch, Place::RootPort], to_peer);
    assert_eq!(time, packets + Time::ns(50 + 100 + 50 + 300 + 50));
    assert_eq!(lanes, ["a.up", "b.down", "uplink.up"]);
}

#[test]
fn devices_below_one_switch_share_its_uplink() {
    let write = |device: usize, ports: [Rc<Port>; 2]| async move {
        for page in 0..64 {
            ports[device].write(page * 4_096, 4_096, &DATA, Home::CACHE).await;
        }
    };
    let (alone, _) = used([Place::RootPort; 2], write);
    let (shared, _) = used([Place::Switch; 2], write);
    let share = shared.as_ps() as f64 / alone.as_ps() as f64;
    assert!((1.9..2.2).contains(&share), "{share}");
    let (apart, _) = used([Place::Switch, Place::RootPort], write);
    assert!(apart < alone + Time::ns(160) * 64, "{apart} with a switch of its own, {alone} without");
}

#[test]
fn a_read_passes_a_switch_twice() {
    let read = |device: usize, ports: [Rc<Port>; 2]| async move {
        if device == 0 {
            ports[0].read(0, 64, &DATA, Home::CACHE).await;
        }
    };
    let (direct, _) = used([Place::RootPort; 2], read);
    let (behind, lanes) = used([Place::Switch; 2], read);
    assert_eq!(behind - direct, (Time::ns(100) + Time::ns(50)) * 2);
    assert_eq!(lanes, ["a.down", "a.up", "uplink.down", "uplink.up"]);
}
