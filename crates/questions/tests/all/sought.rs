//! Windows that are named by what happens in them, against the records of the whole run.

use hopscope_kernel::Time;
use hopscope_machine::run::Failure;
use hopscope_machine::trace::Window;
use hopscope_machine::trace::sought::{self, Sought};

use crate::perfetto::Timeline;
use crate::timeline::{drawn, recorded};
use crate::trace::{blueprint, jobs};

const LONG: Time = Time::ms(10_000);

fn found(system: &str, job: &str, sought: Sought) -> Window {
    sought::window(&blueprint(system), &jobs(job), sought, (1, LONG)).unwrap_or_else(|_| panic!("{system}: {sought:?}"))
}

fn missed(system: &str, job: &str, sought: Sought) -> String {
    match sought::window(&blueprint(system), &jobs(job), sought, (1, LONG)) {
        Err(Failure::Input(problems)) => problems.0.iter().map(|p| format!("{}; {}", p.title, p.help)).collect(),
        other => panic!("{sought:?}: {other:?}"),
    }
}

#[test]
fn the_window_of_a_request_has_it_from_its_issue_to_its_end() {
    let whole = Window { from: Time::ZERO, span: Time::ms(30) };
    for (system, job, numbers) in [
        ("nvme-server", "rw=randread bs=4k iodepth=32", [1, 2, 33, 700]),
        ("piix4e-one-disk", "rw=write bs=64k", [1, 2, 3, 5]),
    ] {
        let mut transfers = recorded(system, job, whole).transfers;
        transfers.sort_unstable();
        for number in numbers {
            let window = found(system, job, Sought::Request(number));
            let (issued, ended, bytes) = transfers[number as usize - 1];
            let tenth = Time::ps((ended - issued).as_ps().div_ceil(10));
            assert_eq!(window.from, issued.saturating_sub(tenth), "{system}, request {number}");
            assert_eq!(window.end(), ended + tenth, "{system}, request {number}");
            let timeline = Timeline::read(&drawn(system, job, window));
            let request = timeline
                .slices
                .iter()
                .find(|slice| slice.category == "request" && slice.number("request") == Some(u64::from(number)));
            let request = request.unwrap_or_else(|| panic!("{system}: request {number} is not drawn"));
            assert_eq!(request.ps, (ended - issued).as_ps(), "{system}: {request:?}");
            assert_eq!((request.from_ns, request.number("bytes")), (issued.as_ps() / 1_000, Some(u64::from(bytes))));
        }
    }
}

#[test]
fn the_window_of_an_event_begins_a_tenth_before_it() {
    let (system, job, span) = ("piix4e-one-disk", "rw=write bs=64k", Time::us(50));
    let recorded = recorded(system, job, Window { from: Time::ZERO, span: Time::ms(30) });
    for (name, hop, label, from) in [
        ("cable.pause", "cable", "pause", Time::ZERO),
        ("cable.pause", "cable", "pause", Time::us(12_345)),
        ("disk.arm.settle-seek", "disk.arm", "seek and settle", Time::ms(1)),
        ("host.idle", "host", "idle before a retry", Time::ms(3)),
    ] {
        let lane = recorded.lanes.iter().position(|(lane, _)| lane == hop).unwrap();
        let there = |span: &&hopscope_kernel::Span| {
            span.lane().map(usize::from) == Some(lane) && span.label.name == label && span.at >= from
        };
        let Some(first) = recorded.spans.iter().filter(there).map(|span| span.at).min() else {
            let labels: Vec<&str> = recorded
                .spans
                .iter()
                .filter(|s| s.lane().map(usize::from) == Some(lane))
                .map(|s| s.label.name)
                .collect();
            panic!("{hop} has no {label} but {:?}", labels.iter().collect::<std::collections::BTreeSet<_>>());
        };
        let window = found(system, job, Sought::Event { name, from, span });
        assert_eq!(window, Window { from: first.saturating_sub(Time::us(5)), span }, "{name} from {from} on");
    }
}

#[test]
fn an_event_may_be_what_the_wires_carry_and_a_hop_of_several_lanes() {
    let read = Sought::Event { name: "pci.memory-read", from: Time::ms(5), span: Time::us(20) };
    let window = found("piix4e-one-disk", "rw=write bs=64k", read);
    assert!(window.from >= Time::ms(5) - Time::us(2) && window.from < Time::ms(7), "{window:?}");
    let any = Sought::Event { name: "drive*.channel*.data", from: Time::us(500), span: Time::us(20) };
    let window = found("nvme-server", "rw=randread bs=4k", any);
    assert!(window.from < Time::ms(1), "{window:?}");
}

#[test]
fn what_does_not_come_says_what_there_is() {
    let (system, job) = ("nvme-server", "rw=randread bs=4k iodepth=32 runtime=2ms time_based");
    let said = missed(system, job, Sought::Request(2_000));
    assert!(said.starts_with("there is no request 2000 in the first 2.000 ms; "), "{said}");
    let count: u64 = said.split("; ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let ended = recorded(system, job, Window { from: Time::ZERO, span: Time::ms(2) }).transfers.len() as u64;
    assert!(said.contains(&format!(", and {ended} end")) && count > ended && count <= ended + 32, "{said}");
    let said = missed(system, job, Sought::Request(ended as u32 + 20));
    assert!(said.contains("is issued at ") && said.contains("has not ended after 2.000 ms"), "{said}");

    let (system, job) = ("piix4e-one-disk", "rw=write bs=64k runtime=20ms time_based");
    let event = |name| missed(system, job, Sought::Event { name, from: Time::ZERO, span: Time::us(50) });
    let said = event("cable.pauze");
    assert!(
        said.starts_with("there is no `pauze` at cable in the first 20.000 ms; there are: pause, INTRQ, burst"),
        "{said}"
    );
    assert!(event("cabel.pause").contains("did you mean `cable`?"));
    assert!(event("cable").starts_with("`cable` is a hop, and not what happens there; there are: "));
    assert!(event("seek").contains("there is no hop `seek`; possible are: cpu"));
    let late = Sought::Event { name: "cable.pause", from: Time::ms(19_999), span: Time::us(50) };
    assert!(missed(system, job, late).contains("it happens there last at 1"), "{}", missed(system, job, late));
}
