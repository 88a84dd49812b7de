//! Software that makes devices of devices.

use super::plugs::RunsOn;
use super::{Above, Builder, Built, Kind, NO_SOCKETS, Volumes};
use crate::nearest::among_devices;
use crate::parameters::SpecError;
use crate::volume::striped::{Spec, Striped};

/// `striped-volume`
pub static STRIPED_VOLUME: Kind = Kind {
    model: "striped-volume",
    what: "A volume striped over devices by software",
    sockets: NO_SOCKETS,
    required: &[],
    build: &Builder(|context, spec: Spec, RunsOn(processor), p| {
        let (sim, name) = (context.sim.clone(), context.name.to_string());
        // What is wrong is known only when every device is.
        let error = p.error("members", "", "");
        let refuse = move |problem: String, help: String| SpecError { problem, help, ..error };
        let make = move |mut devices: Volumes| {
            let mut members = Vec::new();
            for wanted in &spec.members {
                let Some((_, device)) = devices.iter().find(|(name, _)| name == wanted) else {
                    let names: Vec<&str> = devices.iter().map(|(name, _)| name.as_str()).collect();
                    return Err(refuse(
                        format!("`{wanted}` is no device of this system"),
                        among_devices(wanted, &names),
                    ));
                };
                members.push(device.clone());
            }
            match Striped::install(&sim, &name, spec, &processor, members) {
                Ok(volume) => devices.push((name, volume)),
                Err((problem, help)) => return Err(refuse(problem, help)),
            }
            Ok(devices)
        };
        Ok(Built { over: Some((Above::Volume, Box::new(make))), ..Built::default() })
    }),
};
