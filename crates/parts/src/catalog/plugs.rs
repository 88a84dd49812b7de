//! The plugs of a part, typed: taking one out of the socket that it is in is the check that it fits.

use std::rc::Rc;
use std::vec::IntoIter;

use super::sockets::{Protocol, Socket, Software, Typed};
use crate::cpu::Processor;
use crate::parameters::{Parameters, SpecError};

/// What parts are plugged into: `part.port`, and what is there.
pub type Wires = Vec<(String, Socket)>;

/// `at`: what a part is plugged into.
pub struct At<S>(pub S);

/// `controls`: the registers that a driver works with.
pub struct Controls<S>(pub S);

/// `runs_on`: the processor of software.
pub struct RunsOn(pub Rc<Processor>);

/// One plug.
pub trait Plug: Sized {
    /// Its key in the wiring.
    const KEY: &'static str;
    /// What it must lead to.
    const PROTOCOL: Protocol;

    /// Itself, where the socket is of its protocol.
    fn of(socket: Socket) -> Option<Self>;
}

impl<S: Typed> Plug for At<S> {
    const KEY: &'static str = "at";
    const PROTOCOL: Protocol = S::PROTOCOL;

    fn of(socket: Socket) -> Option<At<S>> {
        S::of(socket).map(At)
    }
}

impl<S: Typed> Plug for Controls<S> {
    const KEY: &'static str = "controls";
    const PROTOCOL: Protocol = S::PROTOCOL;

    fn of(socket: Socket) -> Option<Controls<S>> {
        S::of(socket).map(Controls)
    }
}

impl Plug for RunsOn {
    const KEY: &'static str = "runs_on";
    const PROTOCOL: Protocol = Software::PROTOCOL;

    fn of(socket: Socket) -> Option<RunsOn> {
        Software::of(socket).map(|Software(processor)| RunsOn(processor))
    }
}

/// All plugs of a kind of part.
pub trait Plugs: Sized {
    /// Their keys, and what they must lead to.
    const KEYS: &'static [(&'static str, Protocol)];

    /// Takes them, in their order. Errors are those of one that leads to something else.
    fn take(wires: &mut IntoIter<(String, Socket)>, p: &Parameters) -> Result<Self, SpecError>;
}

impl Plugs for () {
    const KEYS: &'static [(&'static str, Protocol)] = &[];

    fn take(_: &mut IntoIter<(String, Socket)>, _: &Parameters) -> Result<(), SpecError> {
        Ok(())
    }
}

impl<P: Plug> Plugs for P {
    const KEYS: &'static [(&'static str, Protocol)] = &[(P::KEY, P::PROTOCOL)];

    fn take(wires: &mut IntoIter<(String, Socket)>, p: &Parameters) -> Result<P, SpecError> {
        let (target, socket) = wires.next().unzip();
        let what = socket.as_ref().map_or("nowhere", |socket: &Socket| socket.protocol().name());
        let refused = P::PROTOCOL.refuses(target.as_deref().unwrap_or(P::KEY), what);
        socket.and_then(P::of).ok_or_else(|| p.error(P::KEY, refused, format!("plug it into {}", P::PROTOCOL.name())))
    }
}

impl<A: Plug, B: Plug> Plugs for (A, B) {
    const KEYS: &'static [(&'static str, Protocol)] = &[(A::KEY, A::PROTOCOL), (B::KEY, B::PROTOCOL)];

    fn take(wires: &mut IntoIter<(String, Socket)>, p: &Parameters) -> Result<(A, B), SpecError> {
        Ok((A::take(wires, p)?, B::take(wires, p)?))
    }
}

#[cfg(test)]
mod tests {
    use hopscope_kernel::{Sim, Time};

    use super::super::sockets::{Pci, ProcessorBus};
    use super::{At, Controls, Plugs, RunsOn, Software};
    use crate::cpu::{self, Processor};
    use crate::parameters::Parameters;

    #[test]
    fn a_plug_that_leads_to_something_else_is_refused_and_said_to_be_so() {
        let processor = Processor::new(&Sim::new(), "cpu", cpu::Spec::of(Time::ns(1), 1));
        let wires = vec![
            ("cpu.software".to_string(), Software(processor.clone()).into()),
            ("cpu.bus".to_string(), ProcessorBus(processor).into()),
        ];
        let p = Parameters::default();
        let taken = <(RunsOn, At<ProcessorBus>)>::take(&mut wires.clone().into_iter(), &p);
        assert!(taken.is_ok(), "both lead to what they must lead to");
        let (one, all) = (vec![wires[0].clone()], wires);
        let refused = <(RunsOn, Controls<Pci>)>::take(&mut all.into_iter(), &p).err().unwrap();
        let expected = ("controls", "`cpu.bus` is a processor bus, but a PCI slot is needed");
        assert_eq!((&refused.key[..], &refused.problem[..]), expected);
        let refused = <(RunsOn, At<Pci>)>::take(&mut one.into_iter(), &p).err().unwrap();
        assert_eq!(refused.problem, "`at` is nowhere, but a PCI slot is needed");
    }
}
