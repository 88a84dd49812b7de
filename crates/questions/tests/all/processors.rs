//! What an I/O costs the processor: a meter that is exact, of the window that the requests are of, by layer.

use std::cell::RefCell;
use std::rc::Rc;

use hopscope_kernel::{Observer, Pace, Record, Sim, Span, Time};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::processor_cost::ProcessorCost;
use hopscope_machine::run::{Options, Outcome, run_in};
use hopscope_parts::cpu::Layer;

use crate::shipped::{WINDOW, jobs, machine};

/// Every phase of every lane: lane, layer's phase, its time and its end.
#[derive(Clone, Default)]
struct Phases(Rc<RefCell<Vec<(u16, Span)>>>);

impl Observer for Phases {
    fn records(&mut self, batch: &[Record]) {
        let phases = batch.iter().filter_map(Record::span).filter_map(|span| Some((span.phase_of()?, span)));
        self.0.borrow_mut().extend(phases);
    }
}

/// A run, what it cost, and the phases of the lanes of the part `cpu` that ended in the window of its requests.
fn watched(blueprint: &Blueprint, options: Options, job: &str) -> (Outcome, ProcessorCost, Vec<(Rc<str>, Span)>) {
    let (sim, phases) = (Sim::new(), Phases::default());
    let outcome = run_in(sim.clone(), blueprint, &jobs(job), options, Some(Box::new(phases.clone())));
    let outcome = outcome.unwrap_or_else(|failure| panic!("{job}: {failure:?}"));
    let names: Vec<Rc<str>> = sim.lanes().into_iter().map(|lane| lane.0.into()).collect();
    let (from, until) = (outcome.rate.warm_up, outcome.rate.end);
    let of_cpu = |lane: &u16| names[usize::from(*lane)].split('.').next() == Some("cpu");
    let counts = |(lane, span): &&(u16, Span)| of_cpu(lane) && span.end() > from && span.end() <= until;
    let named = |(lane, span): &(u16, Span)| (names[usize::from(*lane)].clone(), *span);
    let all = phases.0.borrow().iter().filter(counts).map(named).collect();
    (outcome.clone(), outcome.processor.expect("a machine with a processor"), all)
}

fn sum<'a>(phases: impl Iterator<Item = &'a (Rc<str>, Span)>) -> Time {
    phases.fold(Time::ZERO, |sum, (_, phase)| sum + phase.span)
}

/// Layers add up to what the lanes did, and each to its phase.
#[track_caller]
fn adds_up(what: &str, blueprint: &Blueprint, options: Options, job: &str) -> ProcessorCost {
    let (outcome, cost, phases) = watched(blueprint, options, job);
    assert!(!phases.is_empty(), "{what}: no phase of a processor");
    assert_eq!(cost.busy(), sum(phases.iter()), "{what}: {cost:?} from {}", outcome.rate.warm_up);
    for (layer, time) in &cost.layers {
        let of_layer = phases.iter().filter(|(_, phase)| phase.label == layer.phase());
        assert_eq!(*time, sum(of_layer), "{what}: {layer:?}");
    }
    let ended: u64 = outcome.jobs.iter().filter_map(|job| job.got.as_ref()).map(|got| got.count).sum();
    assert_eq!(cost.requests, ended, "{what}");
    cost
}

#[test]
fn layers_add_up_to_what_the_processors_did_to_the_picosecond() {
    let job = "--rw=randread --bs=4k --iodepth=4 --time_based --ramp_time=20ms --runtime=60ms";
    for count in ["1", "2", "3"] {
        let mut scsi = machine("scsi-ultra160", &[&format!("cpu.processors={count} processors")]);
        adds_up(&format!("{count} processors"), &scsi, Options::default(), job);
        adds_up(&format!("{count} processors, cut"), &scsi, WINDOW, job);
        scsi.pace("cpu", Pace::new(2, 1).expect("a pace")).expect("a hop");
        adds_up(&format!("{count} processors, the first at twice the pace"), &scsi, Options::default(), job);
        let converged = Options { until: Some(0.05), ..Options::default() };
        let cost = adds_up(&format!("{count} processors, converged"), &scsi, converged, "--rw=randread --bs=4k");
        assert!(cost.requests > 100, "{cost:?}");
    }
    let short = "--rw=read --bs=4k --iodepth=4 --time_based --ramp_time=200us --runtime=2ms";
    for system in ["nvme-desktop", "sata-ssd", "gpu-server", "raid-megaraid-32-33", "piix4e-one-disk"] {
        let long = "--rw=read --bs=4k --iodepth=2 --time_based --ramp_time=5ms --runtime=50ms";
        let is_slow = system.starts_with("raid") || system.starts_with("piix");
        adds_up(system, &machine(system, &[]), Options::default(), if is_slow { long } else { short });
    }
    for job in ["--rw=randwrite --bs=8k", "--rw=read --bs=24k", "--rw=write --bs=64k --iodepth=8"] {
        let job = format!("{job} --direct=0 --time_based --ramp_time=100ms --runtime=400ms");
        adds_up(&job, &machine("win2000-atlas-10k", &[]), Options::default(), &job);
    }
}

#[test]
fn a_machine_without_a_processor_says_nothing_of_it() {
    let outcome =
        run_in(Sim::new(), &machine("barracuda-4lp", &[]), &jobs("--rw=read --bs=4k --size=1m"), WINDOW, None);
    assert_eq!(outcome.expect("it runs").processor, None);
}

/// The time of a layer, ns a request.
fn ns(cost: &ProcessorCost, layer: Layer) -> f64 {
    let time = cost.layers.iter().find(|(known, _)| *known == layer).map_or(Time::ZERO, |(_, time)| *time);
    cost.ps_per_request(time).unwrap_or_default() / 1e3
}

#[test]
fn a_request_costs_what_the_data_say() {
    // Handler 5 us; submission 12.5 us and completion 7.5 us; 25 us above, in whole clocks; one read of a register.
    let job = "--rw=read --bs=8k --time_based --ramp_time=100ms --runtime=400ms";
    let cost = adds_up("one deep", &machine("scsi-ultra160", &[]), Options::default(), job);
    let near = |is: f64, should: f64| (is / should - 1.0).abs() < 0.01;
    assert!(near(ns(&cost, Layer::Driver), 20_000.0), "{cost:?}");
    assert!(near(ns(&cost, Layer::Interrupts), 5_000.0), "{cost:?}");
    assert!(near(ns(&cost, Layer::FileSystem), 25_000.0), "{cost:?}");
    assert!((300.0..900.0).contains(&ns(&cost, Layer::RegisterAccess)), "{cost:?}");
    let clocks = cost.clocks_per_request(cost.busy()).expect("requests ended");
    let seconds = cost.ps_per_request(cost.busy()).expect("requests ended") / 1e12;
    assert!(near(clocks / seconds, 733e6), "{clocks} clocks in {seconds} s");
    let json = cost.json();
    assert_eq!(json["processors"], 1);
    assert_eq!(json["layers"].as_array().map(Vec::len), Some(4), "{json}");
}

#[test]
fn interrupts_are_the_first_processors_and_threads_the_others() {
    let job = "--rw=read --bs=8k --time_based --ramp_time=20ms --runtime=100ms";
    let one = adds_up("one", &machine("scsi-ultra160", &[]), Options::default(), job);
    let two = machine("scsi-ultra160", &["cpu.processors=2 processors"]);
    let (_, cost, phases) = watched(&two, Options::default(), job);
    let on = |lane: &str, layer: Layer| {
        phases.iter().filter(|(name, phase)| **name == *lane && phase.label == layer.phase()).count()
    };
    assert!(on("cpu", Layer::Interrupts) > 100 && on("cpu.processor1", Layer::FileSystem) > 100);
    assert_eq!((on("cpu.processor1", Layer::Interrupts), on("cpu.processor1", Layer::Driver)), (0, 0));
    assert_eq!(on("cpu", Layer::FileSystem), 0, "the other processor is free whenever the thread comes");
    let halved = cost.utilisation() / one.utilisation();
    assert!((0.49..0.51).contains(&halved), "{halved} of the time of two");
}
