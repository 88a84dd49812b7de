//! Operating systems.

use super::plugs::RunsOn;
use super::{Above, Builder, Built, Kind, NO_SOCKETS};
use crate::system;

/// `io-stack`
pub static IO_STACK: Kind = Kind {
    model: "io-stack",
    what: "The operating system's I/O stack: every request passes it",
    sockets: NO_SOCKETS,
    required: &[],
    build: &Builder(|context, spec: system::Spec, RunsOn(processor), p| {
        let (sim, name) = (context.sim.clone(), context.name.to_string());
        let another = p.error("runs_on", "every request passes another operating system already", "one is enough");
        let through = move |volumes| system::install(&sim, &name, spec, &processor, volumes).ok_or(another);
        Ok(Built { over: Some((Above::System, Box::new(through))), ..Built::default() })
    }),
};
