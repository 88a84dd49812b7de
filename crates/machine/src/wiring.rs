//! The wires of a machine: every plug in a socket of its protocol, and an order in which the parts can be built.

use std::collections::{BTreeMap, BTreeSet};

use hopscope_parts::catalog::{Kind, Protocol, SocketList};
use hopscope_parts::parameters::{Parameters, SpecError};

use crate::blueprint::Part;
use crate::nearest::did_you_mean;
use crate::problem::{Problem, Problems};

/// Checks every wire and puts the parts into an order in which they can be built.
pub(crate) fn wire(mut parts: Vec<Part>) -> Result<Vec<Part>, Problems> {
    let mut problems = Problems::default();
    let mut offered: BTreeMap<String, Vec<(String, Protocol)>> = BTreeMap::new();
    for part in &parts {
        match sockets_of(part) {
            Ok(sockets) => drop(offered.insert(part.name.clone(), sockets)),
            Err(error) => problems.0.push(SpecError::into(error)),
        }
    }
    problems = problems.unless_empty(Problems::default())?;
    let mut used: BTreeMap<String, String> = BTreeMap::new();
    for part in &mut parts {
        part.plugs.clear();
        for plug in &part.wires {
            if !part.kind.plugs.iter().any(|(key, _)| *key == plug.key) {
                let problem = Problem::at(plug.place, format!("`{}` has no plug `{}`", part.uses, plug.key));
                problems.0.push(problem.help(plugs_of(part.kind)));
            }
        }
        for (key, protocol) in part.kind.plugs {
            let Some(plug) = part.wires.iter().find(|plug| plug.key == *key) else {
                let problem = Problem::at(part.place, format!("`{}` is not plugged in: `{key}` is missing", part.name));
                problems
                    .0
                    .push(problem.help(format!("write {key} = \"part.port\", where the port is {}", protocol.name())));
                continue;
            };
            match find_socket(&offered, &plug.target, *protocol) {
                Err((title, help)) => problems.0.push(Problem::at(plug.place, title).help(help)),
                Ok((target, socket)) => {
                    let taken = used.insert(plug.target.clone(), part.name.clone());
                    if let Some(other) = taken.filter(|_| !protocol.shared()) {
                        let problem =
                            Problem::at(plug.place, format!("`{}` is already used by `{other}`", plug.target));
                        problems.0.push(problem.help("a port takes one part: choose another"));
                    }
                    part.plugs.push((target, socket));
                }
            }
        }
    }
    for part in &parts {
        for socket in part.kind.required {
            let port = format!("{}.{socket}", part.name);
            if !used.contains_key(&port) {
                let problem = Problem::at(part.place, format!("nothing is plugged into `{port}`"));
                problems.0.push(problem.help("without it this part has nothing to do"));
            }
        }
    }
    problems = problems.unless_empty(Problems::default())?;
    let mut ordered: Vec<Part> = Vec::with_capacity(parts.len());
    let mut built = BTreeSet::new();
    while !parts.is_empty() {
        let hardware_left = parts.iter().any(|part| !part.kind.software);
        let ready = parts.iter().position(|part| {
            part.plugs.iter().all(|(target, _)| built.contains(target)) && !(part.kind.software && hardware_left)
        });
        let Some(index) = ready else {
            for part in &parts {
                problems.0.push(Problem::at(part.place, format!("`{}` is part of a circle of wires", part.name)));
            }
            return Err(problems);
        };
        let part = parts.remove(index);
        built.insert(part.name.clone());
        ordered.push(part);
    }
    Ok(ordered)
}

/// Names and protocols of a part's sockets.
pub(crate) fn sockets_of(part: &Part) -> Result<SocketList, SpecError> {
    (part.kind.sockets)(&mut Parameters::clone(&part.parameters))
}

fn plugs_of(kind: &Kind) -> String {
    let keys: Vec<String> = kind.plugs.iter().map(|(key, protocol)| format!("`{key}` ({})", protocol.name())).collect();
    if keys.is_empty() { "it has none".to_string() } else { format!("it has {}", keys.join(" and ")) }
}

/// The part and socket that `target` names; or what is wrong with it and what would be right.
fn find_socket(
    offered: &BTreeMap<String, Vec<(String, Protocol)>>,
    target: &str,
    protocol: Protocol,
) -> Result<(String, String), (String, String)> {
    let all =
        || offered.iter().flat_map(|(part, sockets)| sockets.iter().map(move |(s, p)| (format!("{part}.{s}"), *p)));
    let fitting: Vec<String> = all().filter(|(_, p)| *p == protocol).map(|(name, _)| name).collect();
    let found = all().find(|(name, _)| name == target);
    match (found, target.split_once('.')) {
        (Some((_, p)), Some((part, socket))) if p == protocol => Ok((part.to_string(), socket.to_string())),
        (Some((_, p)), _) => {
            let title = format!("`{target}` is {}, but {} is needed", p.name(), protocol.name());
            Err((title, format!("ports that fit: {}", fitting.join(", "))))
        }
        _ => {
            let help = format!("{} (ports that fit: {})", did_you_mean(target, &fitting), fitting.join(", "));
            Err((format!("there is no port `{target}`"), help))
        }
    }
}
