//! The numbers that could be better: of parts, and of those that are plugged into them.
//!
//! A long table is a drawing, such as the measured seeks of a disk: of what one of its rows gains nobody can make use. Its
//! columns are numbers, each row of which is twice as good.

use std::collections::BTreeMap;

use hopscope_files::factor::{so_many_times, times};
use hopscope_files::quantity;
use hopscope_machine::blueprint::{Blueprint, column_of, numbers_of};
use hopscope_parts::parameters::Value;

use super::super::Remedy;
use crate::trials::{Gain, Setting};

/// A table of more rows is a drawing.
const DRAWING: usize = 8;

/// A number of parts that are alike, or a column of it.
pub(super) struct Number {
    /// Its path in the first of the parts, what is written there, and the same twice as good.
    path: String,
    written: String,
    better: String,
    /// How many parts have it.
    parts: usize,
    /// All of it.
    each: Vec<Better>,
}

/// A path, and what is twice as good as what is written there.
struct Better {
    path: String,
    written: String,
    factor: f64,
    better: String,
}

/// The parts that a name with stars stands for, those that are plugged into them, and those that they are plugged into.
pub(super) fn neighbours(blueprint: &Blueprint, pattern: &str) -> Vec<String> {
    let own: Vec<&str> =
        blueprint.parts().iter().map(|part| part.name.as_str()).filter(|name| stands_for(pattern, name)).collect();
    let mut all: Vec<String> = own.iter().map(|name| name.to_string()).collect();
    for part in blueprint.parts() {
        let plugged: Vec<String> =
            part.plugs().map(|(_, port)| port.split('.').next().unwrap_or("").to_string()).collect();
        let touches = plugged.iter().any(|at| own.contains(&at.as_str()));
        let new = if own.contains(&part.name.as_str()) { plugged } else { vec![part.name.clone()] };
        if touches || own.contains(&part.name.as_str()) {
            let unknown: Vec<String> = new.into_iter().filter(|name| !all.contains(name)).collect();
            all.extend(unknown);
        }
    }
    all
}

/// Whether a name is meant by one with stars for numbers.
pub(super) fn stands_for(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or("");
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    for piece in pieces {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        match rest[digits..].strip_prefix(piece) {
            Some(after) if digits > 0 => rest = after,
            _ => return false,
        }
    }
    rest.is_empty()
}

/// Numbers of these parts that can be better; of parts with the same data, a number is one, and of long tables a column.
pub(super) fn numbers(blueprint: &Blueprint, parts: &[String]) -> Vec<Number> {
    let mut numbers: BTreeMap<(String, String), Number> = BTreeMap::new();
    for part in blueprint.parts().iter().filter(|part| parts.contains(&part.name)) {
        let entries = numbers_of(&part.parameters);
        let mut rows: BTreeMap<String, usize> = BTreeMap::new();
        entries.iter().filter_map(|(key, _)| column_of(key)).for_each(|column| *rows.entry(column).or_default() += 1);
        let mut named: BTreeMap<String, Vec<Better>> = BTreeMap::new();
        for (key, entry) in entries {
            let column = column_of(&key).filter(|column| rows[column] > DRAWING);
            if let Some(better) = Better::of(format!("{}.{key}", part.name), &entry.written, &entry.value) {
                named.entry(column.unwrap_or(key)).or_default().push(better);
            }
        }
        for (name, each) in named {
            let path = format!("{}.{name}", part.name);
            let number = numbers.entry((part.uses.clone(), name)).or_insert_with(|| Number::of(path, &each));
            number.parts += 1;
            number.each.extend(each);
        }
    }
    numbers.into_values().collect()
}

impl Number {
    /// Of no part yet: one path, or those of a column.
    fn of(path: String, each: &[Better]) -> Number {
        // To as many digits as are worth showing.
        let shown = |one: &Better| times(&one.written, 1.0).unwrap_or_else(|| one.written.clone());
        let (written, better) = match each {
            [first, .., last] => (format!("{} to {}", shown(first), shown(last)), so_many_times(first.factor)),
            // Of a column others are nothing, and stay so.
            [only] if path.contains("[]") => (only.written.clone(), so_many_times(only.factor)),
            [only] => (only.written.clone(), only.better.clone()),
            [] => Default::default(),
        };
        Number { path, written, better, parts: 0, each: Vec::new() }
    }

    pub(super) fn remedy(&self, gain: Gain) -> Remedy {
        let alike = match self.parts - 1 {
            0 => String::new(),
            1 => ", and for the other one alike".to_string(),
            others => format!(", and for the {others} others alike"),
        };
        let change = format!("--set {}={}{alike}", self.path, self.better.replace(' ', ""));
        Remedy { change, instead_of: self.written.clone(), gain }
    }
}

/// The setting with these numbers twice as good.
pub(super) fn halved<'n>(setting: &Setting, numbers: impl IntoIterator<Item = &'n Number>) -> Setting {
    let mut changed = setting.clone();
    for Better { path, better, .. } in numbers.into_iter().flat_map(|number| &number.each) {
        // It is there, and of the same kind.
        let _ = changed.blueprint.assign(path, better, None);
    }
    changed
}

impl Better {
    /// Nothing where what is written has no such sense.
    fn of(path: String, written: &str, value: &Value) -> Option<Better> {
        let is_better = |(_, text): &(f64, String)| {
            let half = |is: u64, was: u64| is < was && is <= was / 2 + 1;
            match (quantity::parse(text), value) {
                (Ok(Value::Time(is)), Value::Time(was)) | (Ok(Value::Period(is)), Value::Period(was)) => {
                    half(is.as_ps(), was.as_ps())
                }
                (Ok(Value::Clocks(is)), Value::Clocks(was)) => half(is, *was),
                (Ok(Value::Rate(is)), Value::Rate(was)) => is > *was,
                _ => false,
            }
        };
        let texts = [0.5, 2.0].into_iter().filter_map(|factor| Some((factor, times(written, factor)?)));
        let (factor, better) = texts.into_iter().find(is_better)?;
        Some(Better { path, written: written.to_string(), factor, better })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_as_good_is_half_a_time_and_twice_a_rate_or_frequency() {
        let better = |written: &str| Better::of(String::new(), written, &quantity::parse(written).expect("a quantity"));
        let of = |written: &str| better(written).map(|found| found.better);
        assert_eq!(of("32 us").as_deref(), Some("16 us"));
        assert_eq!(of("1200 MB/s").as_deref(), Some("2400 MB/s"));
        assert_eq!((of("33 MHz").as_deref(), of("5400 rpm").as_deref()), (Some("66 MHz"), Some("10800 rpm")));
        assert_eq!((of("13 clocks").is_some(), of("0 ns"), of("4 KiB")), (true, None, None));
    }

    #[test]
    fn what_is_to_be_tried_can_be_set_as_it_is_said() {
        for (system, column) in [("win2000-atlas-10k", Some("disk0.seek.rows[].time")), ("piix4e-one-disk", None)] {
            let mut blueprint = Setting::shipped(system, "--rw=read --bs=4k").blueprint;
            let parts: Vec<String> = blueprint.parts().iter().map(|part| part.name.clone()).collect();
            let numbers = numbers(&blueprint, &parts);
            for number in &numbers {
                let paths = blueprint.numbers_at(&number.path);
                for path in &paths {
                    let meant = blueprint.resolved(path, &number.better.replace(' ', "")).expect("a value");
                    let [better] = &number.each.iter().filter(|each| each.path == *path).collect::<Vec<_>>()[..] else {
                        panic!("{path} is one of {}", number.path)
                    };
                    assert_eq!(quantity::parse(&meant), quantity::parse(&better.better), "{path}={}", number.better);
                }
                assert_eq!(number.each.len(), paths.len() * number.parts, "{}", number.path);
                assert!(paths.len() == 1 || paths.len() > DRAWING, "{}", number.path);
            }
            let found = numbers.iter().find(|number| Some(&number.path[..]) == column);
            assert_eq!(found.map(|found| (found.parts, &found.better[..])), column.map(|_| (4, "x0.5")));
        }
    }

    #[test]
    fn a_star_stands_for_a_number() {
        assert!(stands_for("drive*", "drive12") && stands_for("a*b", "a1b") && stands_for("cpu", "cpu"));
        assert!(!stands_for("drive*", "drive") && !stands_for("drive*", "drive1x") && !stands_for("cpu", "cpu2"));
    }
}
