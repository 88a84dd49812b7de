//! The nearest valid name, for "did you mean".

/// The candidate nearest to `name` by edits, where it is near enough to be what was meant.
pub fn nearest<S: AsRef<str>>(name: &str, candidates: impl IntoIterator<Item = S>) -> Option<String> {
    const LONGEST: usize = 80;
    if name.len() > LONGEST {
        return None;
    }
    let wanted = name.to_lowercase();
    let letters = wanted.chars().count();
    let allowed = 1 + letters / 3;
    candidates
        .into_iter()
        .filter(|candidate| candidate.as_ref().len() <= LONGEST)
        .filter_map(|candidate| {
            let candidate = candidate.as_ref();
            let lower = candidate.to_lowercase();
            // Each letter that one has more than the other is an edit.
            let may_be_near = lower.chars().count().abs_diff(letters) <= allowed;
            let edits = may_be_near.then(|| strsim::osa_distance(&wanted, &lower)).filter(|edits| *edits <= allowed)?;
            Some((edits, candidate != name, candidate.to_string()))
        })
        .min()
        .map(|(.., candidate)| candidate)
}

/// "did you mean `bs`?", or what is possible where nothing is near.
pub fn did_you_mean<S: AsRef<str>>(name: &str, candidates: &[S]) -> String {
    match nearest(name, candidates) {
        Some(candidate) => format!("did you mean `{candidate}`?"),
        None if candidates.is_empty() => String::new(),
        None => {
            let names: Vec<&str> = candidates.iter().map(AsRef::as_ref).take(12).collect();
            let more = if candidates.len() > names.len() { ", …" } else { "" };
            format!("possible are: {}{more}", names.join(", "))
        }
    }
}

/// The same for a name that is no device of a system: the nearest one and all, or what devices are where it has none.
pub fn among_devices(name: &str, devices: &[&str]) -> String {
    if devices.is_empty() {
        return "it has no devices: those are drives, arrays and adapters, each with the driver that controls it"
            .into();
    }
    let all = format!("devices: {}", devices.join(", "));
    nearest(name, devices).map_or(all.clone(), |candidate| format!("did you mean `{candidate}`? ({all})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name_and_nonsense_finds_none() {
        assert_eq!(nearest("rotaton", ["seek", "rotation"]).as_deref(), Some("rotation"));
        assert_eq!(nearest("PCI-32-33", ["pci-32-33", "pci-64-66"]).as_deref(), Some("pci-32-33"));
        assert_eq!(nearest("zzzz", ["seek", "rotation"]), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), ["x"]), None);
    }

    #[test]
    fn where_nothing_is_near_the_possible_names_are_listed() {
        assert_eq!(did_you_mean("zzzz", &["at", "controls"]), "possible are: at, controls");
    }

    #[test]
    fn a_name_that_is_no_device_has_the_devices_or_what_they_are_beside_it() {
        assert_eq!(among_devices("dsk", &["disk", "tape"]), "did you mean `disk`? (devices: disk, tape)");
        assert_eq!(among_devices("zzzz", &["disk", "tape"]), "devices: disk, tape");
        assert!(among_devices("disk", &[]).starts_with("it has no devices: those are drives"));
    }
}
