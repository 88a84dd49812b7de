//! Operating systems.

use super::{Above, Built, Kind, Protocol, Socket};
use crate::system;

/// `io-stack`
pub static IO_STACK: Kind = Kind {
    model: "io-stack",
    what: "The operating system's I/O stack: every request passes it",
    plugs: &[("runs_on", Protocol::Software)],
    sockets: |_| Ok(Vec::new()),
    required: &[],
    software: true,
    build: |context, p| {
        let spec = system::Spec::read(p)?;
        let [Socket::Software(processor)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        let (sim, name, processor) = (context.sim.clone(), context.name.to_string(), processor.clone());
        let another = p.error("runs_on", "every request passes another operating system already", "one is enough");
        let through = move |volumes| system::install(&sim, &name, spec, &processor, volumes).ok_or(another);
        Ok(Built { over: Some((Above::System, Box::new(through))), ..Built::default() })
    },
};
