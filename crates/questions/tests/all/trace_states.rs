//! What lanes without wires were doing, as the words of a waveform: as long as the run's own records say.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use hopscope_kernel::{Observer, Record, Sim, Time, expand};
use hopscope_machine::run::Options;
use hopscope_machine::trace::Window;

use super::trace::{blueprint, drawn, observed};

type Sums = BTreeMap<(String, String), u64>;

/// Adds up the phases of all lanes.
struct Adder {
    sim: Sim,
    window: Window,
    sums: Rc<RefCell<Sums>>,
}

impl Observer for Adder {
    fn records(&mut self, batch: &[Record]) {
        let (lanes, window) = (self.sim.lanes(), self.window);
        let mut sums = self.sums.borrow_mut();
        expand(
            batch,
            |lane| lanes[usize::from(lane)].1,
            |span| {
                let (from, until) = (span.at.max(window.from), (span.at + span.span).min(window.end()));
                if let Some(lane) = span.phase_of().filter(|_| from < until) {
                    let name = (lanes[usize::from(lane)].0.clone(), span.label.name.replace(' ', "_"));
                    *sums.entry(name).or_default() += (until - from).as_ps();
                }
            },
        );
    }

    fn wants_signals(&self) -> bool {
        true
    }
}

fn recorded(system: &str, job: &str, window: Window) -> Sums {
    let sums = Rc::<RefCell<Sums>>::default();
    let adder = |sim| Adder { sim, window, sums: sums.clone() };
    observed(&blueprint(system), job, (window, Options::default().trains), adder);
    sums.take()
}

/// The words of a dump, by the path of their signal.
fn read(dump: &[u8], window: Window) -> Sums {
    let text = std::str::from_utf8(dump).expect("a dump is text");
    let (mut scopes, mut names, mut now) = (Vec::new(), HashMap::new(), 0u64);
    let (mut since, mut sums): (HashMap<&str, (u64, &str)>, Sums) = (HashMap::new(), Sums::new());
    let mut add = |names: &HashMap<&str, String>, code: &str, (from, word): (u64, &str), until: u64| {
        *sums.entry((names[code].clone(), word.to_string())).or_default() += until - from;
    };
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["$scope", _, name, _] => scopes.push(name),
            ["$upscope", ..] => drop(scopes.pop()),
            ["$var", "string", _, code, name, _] => {
                let path = [&scopes[..], &[name]].concat().join(".");
                names.insert(code, path.strip_suffix(".state").unwrap_or(&path).to_string());
            }
            [word, code] if line.starts_with('s') => {
                if let Some(before) = since.insert(code, (now, &word[1..])) {
                    add(&names, code, before, now);
                }
            }
            [time] if time.starts_with('#') => now = time[1..].parse().expect("a time"),
            _ => {}
        }
    }
    since.into_iter().for_each(|(code, before)| add(&names, code, before, window.end().as_ps()));
    sums.retain(|(_, word), span| word != "idle" && *span > 0);
    sums
}

#[test]
fn every_hop_is_in_its_states_for_as_long_as_it_was() {
    for (system, job) in [
        ("piix4e-one-disk", "rw=randread bs=4k iodepth=4"),
        ("win2000-atlas-10k", "rw=randwrite bs=8k iodepth=16"),
        ("raid-megaraid-32-33", "rw=randread bs=16k iodepth=8"),
        ("nvme-server", "rw=randread bs=4k iodepth=16"),
        ("myrinet-x5dl8", "rw=read bs=4k iodepth=8"),
    ] {
        let nvme = system.starts_with("nvme");
        let window = Window { from: Time::ms(3), span: if nvme { Time::us(300) } else { Time::ms(12) } };
        let mut recorded = recorded(system, job, window);
        let words = read(&drawn(&blueprint(system), job, window).0, window);
        // Buses with wires are drawn as such; what lasts beyond the window has not been recorded when it ends.
        recorded.retain(|(lane, _), _| words.keys().any(|(drawn, _)| drawn == lane));
        assert!(words.len() > 4, "{system}: {words:?}");
        for (key, span) in &recorded {
            let drawn = words.get(key).copied().unwrap_or(0);
            assert!(drawn >= *span, "{system}: {key:?}: {drawn} ps drawn, {span} recorded");
        }
        let unlike = words.iter().filter(|(key, span)| recorded.get(*key) != Some(*span)).count();
        let lanes = words.keys().map(|(lane, _)| lane).collect::<std::collections::BTreeSet<_>>().len();
        assert!(unlike <= lanes, "{system}: {unlike} of {} differ on {lanes} lanes", words.len());
    }
}
