//! Any shipped system, with numbers of any of its parts drawn from what is declared of them.

use hopscope_files::job_file;
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_kernel::Time;
use hopscope_machine::blueprint::Blueprint;
use hopscope_parts::parameters::Value;
use hopscope_parts::parameters::declared::Declared;

use super::{Draw, Drawn};

/// Numbers that are drawn for each machine: what one part refuses beside the others stays as it is shipped.
const NUMBERS: usize = 6;
/// Where nothing is said of how much it may be: times what it is.
const FREE: u64 = 8;

/// A system with some numbers drawn, and one or two jobs that run for so many microseconds.
pub fn machine(library: &Library, seed: u64, runtime_us: u64) -> Drawn {
    let mut draw = Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let names: Vec<&str> = library.systems().collect();
    let system = names[seed as usize % names.len()];
    let mut sources = Sources::default();
    let text = library.open_system(system).expect("a shipped system");
    let file = sources.add(text.name, text.text);
    let mut blueprint = Blueprint::read(library, &mut sources, file).expect("a right system");
    let declared: Vec<(String, Declared)> = blueprint.declared().into_iter().collect();
    let mut changes = Vec::new();
    for _ in 0..NUMBERS {
        let (path, declared) = &declared[draw.number() as usize % declared.len()];
        let mut changed = blueprint.clone();
        let Ok(entry) = changed.entry_mut(path) else { continue };
        let Some(value) = drawn(&mut draw, declared, &entry.value) else { continue };
        entry.written = format!("{value:?}");
        entry.value = value;
        if changed.check().is_ok() {
            changes.push(format!("{path}={}", changed.entry_mut(path).expect("it is there").written));
            blueprint = changed;
        }
    }
    let devices = blueprint.devices();
    assert!(!devices.is_empty(), "{system} {changes:?}");
    let devices: Vec<&str> = devices.iter().map(String::as_str).collect();
    let mut options = Vec::new();
    for name in ["first", "second"].iter().take(1 + seed as usize % 2) {
        let device = draw.of(&devices);
        let (rw, depth) = (draw.of(&["read", "write", "randread", "randwrite"]), draw.of(&["1", "4", "40"]));
        let bs = draw.of(&["512", "4k", "64k"]);
        options.push(format!("--name={name}"));
        options.extend(
            [("filename", device), ("rw", rw), ("bs", bs), ("iodepth", depth)].map(|(k, v)| format!("--{k}={v}")),
        );
        options.extend([format!("--runtime={runtime_us}us"), "--time_based".into()]);
    }
    let jobs = job_file::read_options(&mut sources, &options).expect("right options").jobs;
    Drawn { blueprint, jobs, words: format!("{system} {options:?} {changes:?}") }
}

/// A value within its limits: an end of them, or evenly by its logarithm between them.
fn drawn(draw: &mut Draw, declared: &Declared, now: &Value) -> Option<Value> {
    if let (Value::Text(_), [_, ..]) = (now, declared.words) {
        return Some(Value::Text(draw.any(declared.words).into()));
    }
    let is = now.amount()?;
    let least = declared.least.unwrap_or(is / FREE);
    let most = declared.most.unwrap_or(is.saturating_mul(FREE)).max(least);
    let amount = match draw.number() % 6 {
        _ if !declared.one_of.is_empty() => draw.any(declared.one_of),
        0 => least,
        1 => most,
        _ => {
            let (low, high) = (least.max(1).ilog2(), most.max(1).ilog2());
            let power = low + (draw.number() % u64::from(high - low.min(high) + 1)) as u32;
            let within =
                if declared.power_of_two { 0 } else { (draw.number() << 31 | draw.number()) & ((1 << power) - 1) };
            let amount = ((1 << power) | within).clamp(least, most);
            declared.multiple_of.filter(|unit| *unit > 0).map_or(amount, |unit| amount / unit * unit)
        }
    };
    Some(match now {
        Value::Time(_) => Value::Time(Time::ps(amount)),
        Value::Period(_) => Value::Period(Time::ps(amount)),
        Value::Bytes(_) => Value::Bytes(amount),
        Value::Rate(_) => Value::Rate(amount),
        Value::Clocks(_) => Value::Clocks(amount),
        Value::Count(_) => Value::Count(amount),
        Value::Share(_) => Value::Share(amount),
        Value::Text(_) | Value::Rows(_) => return None,
    })
}
