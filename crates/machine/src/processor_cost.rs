//! What I/O cost the processors of a machine, by layer of the path.
//!
//! Processors are metered (`hopscope_kernel`, `meter.rs`): a span counts when it ends, in the window that the requests
//! are of which it is divided by.

use hopscope_kernel::{Label, Time};
use hopscope_parts::cpu::Layer;
use hopscope_parts::parameters::Value as Number;
use serde_json::{Value, json};

use crate::blueprint::Blueprint;

/// The processors of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processors {
    /// How many.
    pub count: u64,
    /// The period of the clock of the first one.
    pub clock: Time,
}

/// What requests cost them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessorCost {
    /// Whose time it is.
    pub processors: Processors,
    /// How long each of them was there.
    pub span: Time,
    /// Time at work by layer, in the order of [`Layer::ALL`]; layers without any are left out.
    pub layers: Vec<(Layer, Time)>,
    /// Requests that ended in that time.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The processors that run the machine's software; nothing where it has none.
pub fn processors(blueprint: &Blueprint) -> Option<Processors> {
    let parts = blueprint.parts().iter().filter(|part| part.model() == "processor");
    let numbers = parts.filter_map(|part| {
        let entries = &part.parameters.entries;
        match (&entries.get("processors")?.value, &entries.get("clock")?.value) {
            (Number::Count(count), Number::Period(clock)) => Some(Processors { count: *count, clock: *clock }),
            _ => None,
        }
    });
    numbers.reduce(|all, more| Processors { count: all.count + more.count, ..all })
}

impl ProcessorCost {
    /// Nothing yet.
    pub(crate) fn none(processors: Processors) -> ProcessorCost {
        ProcessorCost { processors, span: Time::ZERO, layers: Vec::new(), requests: 0, bytes: 0 }
    }

    /// A window besides, and what was metered in it.
    pub(crate) fn add(&mut self, span: Time, metered: &[(&'static Label, Time)], (requests, bytes): (u64, u64)) {
        (self.span, self.requests, self.bytes) = (self.span + span, self.requests + requests, self.bytes + bytes);
        let time = |layer: Layer| {
            let of_layer = metered.iter().filter(|(phase, _)| *phase == layer.phase());
            let before = self.layers.iter().filter(|(known, _)| *known == layer);
            of_layer.map(|(_, time)| time).chain(before.map(|(_, time)| time)).fold(Time::ZERO, |sum, time| sum + *time)
        };
        let all = Layer::ALL.map(|layer| (layer, time(layer)));
        self.layers = all.into_iter().filter(|(_, time)| *time > Time::ZERO).collect();
    }

    /// What another stretch of the run cost, so many times as long.
    pub(crate) fn add_times(&mut self, other: &ProcessorCost, times: f64) {
        let scaled = |amount: u64| (amount as f64 * times).round() as u64;
        let metered: Vec<(&'static Label, Time)> =
            other.layers.iter().map(|(layer, time)| (layer.phase(), Time::ps(scaled(time.as_ps())))).collect();
        self.add(Time::ps(scaled(other.span.as_ps())), &metered, (scaled(other.requests), scaled(other.bytes)));
    }

    /// Time at work, of all processors together.
    pub fn busy(&self) -> Time {
        self.layers.iter().fold(Time::ZERO, |sum, (_, time)| sum + *time)
    }

    /// The share of all processors' time that they were at work.
    pub fn utilisation(&self) -> f64 {
        let whole = self.span.as_ps() as f64 * self.processors.count as f64;
        if whole > 0.0 { self.busy().as_ps() as f64 / whole } else { 0.0 }
    }

    /// Time a request, picoseconds; nothing where none ended.
    pub fn ps_per_request(&self, time: Time) -> Option<f64> {
        (self.requests > 0).then(|| time.as_ps() as f64 / self.requests as f64)
    }

    /// Clocks a request.
    pub fn clocks_per_request(&self, time: Time) -> Option<f64> {
        self.ps_per_request(time).map(|ps| ps / self.processors.clock.as_ps() as f64)
    }

    /// Clocks a byte.
    pub fn clocks_per_byte(&self, time: Time) -> Option<f64> {
        let clocks = time.as_ps() as f64 / self.processors.clock.as_ps() as f64;
        (self.bytes > 0).then(|| clocks / self.bytes as f64)
    }

    /// Cycles a second.
    pub fn clock_hz(&self) -> f64 {
        1e12 / self.processors.clock.as_ps() as f64
    }

    /// For other programs.
    pub fn json(&self) -> Value {
        let layers = self.layers.iter().map(|(layer, time)| {
            json!({
                "layer": layer.name(),
                "ps": time.as_ps(),
                "clocks_per_request": self.clocks_per_request(*time),
                "clocks_per_byte": self.clocks_per_byte(*time),
            })
        });
        json!({
            "processors": self.processors.count,
            "utilisation": self.utilisation(),
            "clock_hz": self.clock_hz(),
            "layers": layers.collect::<Vec<_>>(),
            "ps_per_request": self.ps_per_request(self.busy()),
        })
    }
}
