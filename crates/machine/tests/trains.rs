//! Trains change nothing: every span of every lane is the same, burst by burst, on the shipped systems.

use hopscope_kernel::{Sim, Time};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::job_file;
use hopscope_machine::library::Library;
use hopscope_machine::problem::Sources;
use hopscope_machine::run::{Options, run_in};
use hopscope_observe::{Interval, Phases};

struct Draw(u64);

impl Draw {
    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        choices[(self.0 >> 33) as usize % choices.len()]
    }
}

/// A random system: the test bed with one or two disks, some numbers changed, jobs of any kind.
fn draw(seed: u64) -> (&'static str, Vec<String>, Vec<String>) {
    let mut draw = Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let system = draw.of(&["piix4e-one-disk", "piix4e-two-disks-same-channel", "piix4e-two-disks-two-channels"]);
    let mut job = |name: &str, target: &str| {
        let (rw, bs) = (
            draw.of(&["read", "write", "randread", "randwrite"]),
            draw.of(&["512", "2k", "4k", "6k", "16k", "64k", "128k"]),
        );
        let (depth, span) = (draw.of(&["1", "2", "5"]), draw.of(&["128k", "1m", "40m"]));
        [format!("--name={name}"), format!("--filename={target}"), format!("--rw={rw}"), format!("--bs={bs}")]
            .into_iter()
            .chain([
                format!("--size={span}"),
                format!("--iodepth={depth}"),
                "--time_based".into(),
                "--runtime=30ms".into(),
            ])
            .collect::<Vec<_>>()
    };
    let mut jobs = job("first", "disk");
    if system != "piix4e-one-disk" {
        jobs.extend(job("second", "disk2"));
    }
    let changes = [
        draw.of(&["pci.clock=33.5MHz", "pci.clock=33.333333MHz", "pci.clock=25MHz"]),
        draw.of(&["ide.channel_switch=0ns", "ide.channel_switch=120ns", "ide.channel_switch=333ns"]),
        draw.of(&["host.hold_acknowledge=0clocks", "host.hold_acknowledge=9clocks", "host.hold_acknowledge=25clocks"]),
        draw.of(&["driver.time_above=0us", "driver.time_above=80us"]),
        draw.of(&["pci.latency_timer=24clocks", "pci.latency_timer=32clocks"]),
        draw.of(&["disk.firmware.overwrite_interval=0us", "disk.firmware.overwrite_interval=745us"]),
    ];
    (system, jobs, changes.iter().map(|c| c.to_string()).collect())
}

#[test]
fn every_span_is_the_same_with_and_without_trains_on_random_jobs_and_machines() {
    let library = Library::new(None).expect("the shipped files can be read");
    let (mut booked, mut cut) = (0, 0);
    for seed in 0..400 {
        let (system, options, changes) = draw(seed);
        let mut sources = Sources::default();
        let text = library.open_system(system).expect("a shipped system");
        let file = sources.add(text.name, text.text);
        let mut blueprint = Blueprint::read(&library, &mut sources, file).expect("a right system");
        for change in &changes {
            blueprint.set(change).unwrap_or_else(|p| panic!("{change}: {}", p.render(&sources, false)));
        }
        let jobs = job_file::read_options(&mut sources, &options).expect("right options").jobs;
        let run = |trains: bool| {
            let (sim, phases) = (Sim::new(), Phases::default());
            let options = Options { seed, trains, until: None };
            let outcome = run_in(sim.clone(), &blueprint, &jobs, options, Some(Box::new(phases.clone())));
            let outcome = outcome.unwrap_or_else(|failure| panic!("seed {seed}: {failure:?}"));
            let lanes = sim.lanes().into_iter().map(|(name, _)| {
                let mut spans = phases.of(&sim, &name);
                // A part says what it did when that has ended: what the end of the run cuts short is not compared here.
                // (The kernel's own random systems are, to the last picosecond.)
                spans.retain(|span| span.end() < outcome.simulated - Time::us(500));
                (spans, name)
            });
            let lanes: Vec<_> = lanes.collect();
            (outcome.simulated, outcome.rate.bytes_per_second, lanes, outcome.counts)
        };
        let (with, without) = (run(true), run(false));
        let differs = |(a, name): &(Vec<Interval>, String), (b, _): &(Vec<Interval>, String)| {
            let at = (0..a.len().max(b.len())).find(|&i| a.get(i) != b.get(i))?;
            let (a, b) = (a.get(at).copied(), b.get(at).copied());
            Some((a.or(b)?.at.min(b.or(a)?.at), name.clone(), a, b))
        };
        if let Some(first) = with.2.iter().zip(&without.2).filter_map(|(a, b)| differs(a, b)).min_by_key(|d| d.0) {
            panic!("seed {seed} {system} {options:?} {changes:?}: {first:#?}");
        }
        assert_eq!((with.0, with.1), (without.0, without.1), "seed {seed}");
        assert_eq!(without.3.trains, 0);
        booked += with.3.trains;
        cut += with.3.trains_cut;
        assert!(with.0 >= Time::ms(30));
    }
    println!("trains booked {booked}, cut {cut}");
    assert!(booked > 10_000 && cut > 1_000);
}
