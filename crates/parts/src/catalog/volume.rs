//! Software that makes devices of devices.

use strsim::levenshtein as edits;

use super::{Above, Built, Kind, Protocol, Socket, Volumes};
use crate::parameters::SpecError;
use crate::volume::striped::{Spec, Striped};

/// `striped-volume`
pub static STRIPED_VOLUME: Kind = Kind {
    model: "striped-volume",
    plugs: &[("runs_on", Protocol::Software)],
    sockets: |_| Ok(Vec::new()),
    required: &[],
    software: true,
    build: |context, p| {
        let spec = Spec::read(p)?;
        let [Socket::Software(processor)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        let (sim, name, processor) = (context.sim.clone(), context.name.to_string(), processor.clone());
        // What is wrong is known only when every device is.
        let error = p.error("members", "", "");
        let refuse = move |problem: String, help: String| SpecError { problem, help, ..error };
        let make = move |mut devices: Volumes| {
            let mut members = Vec::new();
            for wanted in &spec.members {
                let Some((_, device)) = devices.iter().find(|(name, _)| name == wanted) else {
                    let names: Vec<&str> = devices.iter().map(|(name, _)| name.as_str()).collect();
                    return Err(refuse(format!("`{wanted}` is no device of this system"), nearest(wanted, &names)));
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
    },
};

/// "did you mean", of the name that the fewest letters make of it; and all of them.
fn nearest(wanted: &str, names: &[&str]) -> String {
    let near = names.iter().map(|name| (edits(wanted, name), *name)).min();
    let near = near.filter(|(edits, _)| *edits <= 1 + wanted.len() / 3);
    let all = format!("devices: {}", names.join(", "));
    near.map_or(all.clone(), |(_, name)| format!("did you mean `{name}`? ({all})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_one_edit_and_the_nearest_name_is_offered() {
        assert_eq!((edits("disk1", "disk"), edits("dsik", "disk"), edits("", "ab"), edits("a", "a")), (1, 2, 2, 0));
        assert!(nearest("diskl", &["disk1", "raid"]).starts_with("did you mean `disk1`?"));
        assert_eq!(nearest("zzzzzz", &["disk1"]), "devices: disk1");
    }
}
