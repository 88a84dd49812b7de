//! The wires of a machine: every plug in a socket of its protocol, and an order in which the parts can be built.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hopscope_files::problem::{MOST_SHOWN, Problem, Problems};
use hopscope_parts::catalog::{Kind, Protocol, SocketList};
use hopscope_parts::nearest::did_you_mean;
use hopscope_parts::parameters::{Parameters, SpecError};

use crate::blueprint::Part;

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
    let offered = Offered::of(&offered);
    let mut used: BTreeMap<String, String> = BTreeMap::new();
    for part in &mut parts {
        part.plugs.clear();
        part.known = None;
        for plug in &part.wires {
            if !part.kind.plugs().iter().any(|(key, _)| *key == plug.key) {
                let problem = Problem::at(plug.place, format!("`{}` has no plug `{}`", part.uses, plug.key));
                problems.0.push(problem.help(plugs_of(part.kind)));
            }
        }
        for (key, protocol) in part.kind.plugs() {
            let Some(plug) = part.wires.iter().find(|plug| plug.key == *key) else {
                let problem = Problem::at(part.place, format!("`{}` is not plugged in: `{key}` is missing", part.name));
                problems
                    .0
                    .push(problem.help(format!("write {key} = \"part.port\", where the port is {}", protocol.name())));
                continue;
            };
            match offered.find(&plug.target, *protocol) {
                // The nearest name is looked up for those that are shown.
                Err(title) if problems.0.len() >= MOST_SHOWN => problems.0.push(Problem::at(plug.place, title)),
                Err(title) => {
                    let help = offered.help(&plug.target, *protocol);
                    problems.0.push(Problem::at(plug.place, title).help(help));
                }
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
    problems.unless_empty(())?;
    in_order(parts)
}

/// An order in which every part comes after those that it is plugged into; hardware first, else as in the file.
fn in_order(parts: Vec<Part>) -> Result<Vec<Part>, Problems> {
    let numbers: HashMap<&str, usize> =
        parts.iter().enumerate().map(|(number, part)| (part.name.as_str(), number)).collect();
    let mut awaited_by: Vec<Vec<usize>> = vec![Vec::new(); parts.len()];
    let mut awaits: Vec<usize> = parts.iter().map(|part| part.plugs.len()).collect();
    for (number, part) in parts.iter().enumerate() {
        for (target, _) in &part.plugs {
            awaited_by[numbers[target.as_str()]].push(number);
        }
    }
    let key = |number: usize| (parts[number].kind.is_software(), number);
    let mut ready: BTreeSet<(bool, usize)> = (0..parts.len()).filter(|&n| awaits[n] == 0).map(key).collect();
    let mut hardware_left = parts.iter().filter(|part| !part.kind.is_software()).count();
    let mut order = Vec::with_capacity(parts.len());
    while let Some(&(software, number)) = ready.first()
        && !(software && hardware_left > 0)
    {
        ready.pop_first();
        hardware_left -= usize::from(!software);
        order.push(number);
        for &waiting in &awaited_by[number] {
            awaits[waiting] -= 1;
            if awaits[waiting] == 0 {
                ready.insert(key(waiting));
            }
        }
    }
    let mut parts: Vec<Option<Part>> = parts.into_iter().map(Some).collect();
    let ordered = order.into_iter().filter_map(|number| parts[number].take()).collect();
    let mut problems = Problems::default();
    for part in parts.into_iter().flatten() {
        problems.0.push(Problem::at(part.place, format!("`{}` is part of a circle of wires", part.name)));
    }
    problems.unless_empty(ordered)
}

/// Names and protocols of a part's sockets.
pub(crate) fn sockets_of(part: &Part) -> Result<SocketList, SpecError> {
    (part.kind.sockets)(&mut Parameters::clone(&part.parameters))
}

fn plugs_of(kind: &Kind) -> String {
    let keys: Vec<String> =
        kind.plugs().iter().map(|(key, protocol)| format!("`{key}` ({})", protocol.name())).collect();
    if keys.is_empty() { "it has none".to_string() } else { format!("it has {}", keys.join(" and ")) }
}

/// Every port of a machine.
struct Offered(BTreeMap<String, Protocol>);

impl Offered {
    fn of(sockets: &BTreeMap<String, Vec<(String, Protocol)>>) -> Offered {
        let all =
            sockets.iter().flat_map(|(part, sockets)| sockets.iter().map(move |(s, p)| (format!("{part}.{s}"), *p)));
        Offered(all.collect())
    }

    /// The part and socket that `target` names; or what is wrong with it.
    fn find(&self, target: &str, protocol: Protocol) -> Result<(String, String), String> {
        match (self.0.get(target), target.split_once('.')) {
            (Some(p), Some((part, socket))) if *p == protocol => Ok((part.to_string(), socket.to_string())),
            (Some(p), _) => Err(protocol.refuses(target, p.name())),
            (None, _) => Err(format!("there is no port `{target}`")),
        }
    }

    /// What would be right instead.
    fn help(&self, target: &str, protocol: Protocol) -> String {
        const MOST_NAMED: usize = 12;
        let of_protocol = self.0.iter().filter(|(_, p)| **p == protocol);
        let fitting: Vec<&str> = of_protocol.map(|(name, _)| name.as_str()).collect();
        if fitting.is_empty() {
            return "no part of this system has a port that fits".to_string();
        }
        let named = fitting[..fitting.len().min(MOST_NAMED)].join(", ");
        let more = if fitting.len() > MOST_NAMED { ", …" } else { "" };
        if self.0.contains_key(target) {
            return format!("ports that fit: {named}{more}");
        }
        format!("{} (ports that fit: {named}{more})", did_you_mean(target, &fitting))
    }
}
