//! What came by, one by one: it agrees with the account and with the lives of the same run, to the picosecond.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use hopscope_kernel::Time;
use hopscope_machine::run::Options;
use hopscope_observe::account::Use;
use hopscope_observe::lives::StageKind;
use hopscope_questions::explain::{EXTENT, Explained, explain};
use hopscope_questions::passage::{Enough, HopOverTime, OTHERS, Passage, passage};
use rayon::prelude::*;

use crate::shipped::{jobs, machine};

const ALL: Enough = Enough { requests: usize::MAX / 2, phases: usize::MAX / 2 };

/// Unlike machines: one request at a time and many, one drive and several, a cache that answers, links and buses.
const RUNS: [(&str, &str); 9] = [
    ("piix4e-one-disk", "--rw=write --bs=64k --runtime=200ms --time_based"),
    ("piix4e-two-disks-two-channels", "--rw=read --bs=64k --iodepth=2 --runtime=200ms"),
    ("nvme-desktop", "--rw=randread --bs=4k --iodepth=32 --runtime=2ms"),
    ("nvme-chipset", "--rw=randwrite --bs=16k --iodepth=256 --runtime=10ms"),
    ("nvme-server", "--rw=randread --bs=4k --iodepth=8 --runtime=2ms"),
    ("raid-5-megaraid-32-33", "--rw=randwrite --bs=16k --iodepth=8 --runtime=1"),
    ("win2000-lct08", "--rw=read --bs=8k --direct=0 --runtime=50ms"),
    ("gpu-server", "--rw=read --bs=64k --iodepth=4 --runtime=1ms"),
    ("myrinet-hs20", "--rw=write --bs=4k --runtime=1ms"),
];

fn came_by(explained: &Explained, system: &str, options: &str, apart: &[String], enough: Enough) -> Passage {
    let (blueprint, jobs) = (machine(system, &[]), jobs(options));
    let found = passage(&blueprint, &jobs, Options::default(), explained, (apart, enough));
    found.ok().flatten().unwrap_or_else(|| panic!("{system}: nothing came by"))
}

/// A run, explained, and all that came by in it.
struct Seen {
    system: &'static str,
    options: &'static str,
    explained: Explained,
    all: Passage,
}

/// Those runs; once.
fn seen() -> &'static [Seen] {
    static SEEN: LazyLock<Vec<Seen>> = LazyLock::new(|| {
        let one = |(system, options): (&'static str, &'static str)| {
            let found = explain(&machine(system, &[]), &jobs(options), Options::default(), EXTENT, None);
            let explained = found.unwrap_or_else(|failure| panic!("{system}: {failure:?}"));
            let all = came_by(&explained, system, options, &[], ALL);
            Seen { system, options, explained, all }
        };
        RUNS.into_par_iter().map(one).collect()
    });
    &SEEN
}

fn worked(hop: &HopOverTime) -> u64 {
    hop.uses.sums().iter().map(|step| step[..3].iter().sum::<u64>()).sum()
}

#[test]
fn hops_worked_over_time_as_long_as_their_account_says() {
    let (mut hops, mut exactly) = (0, 0);
    for Seen { system, explained: of, all: passage, .. } in seen() {
        let mut by_hop: BTreeMap<&str, u64> = BTreeMap::new();
        for lane in &of.account.lanes {
            let busy = [Use::Payload, Use::WidthUnused, Use::Protocol].map(|class| lane.time_in(class).as_ps());
            *by_hop.entry(of.names.of(&lane.lane)).or_default() += busy.iter().sum::<u64>();
        }
        assert!(by_hop.values().filter(|ps| **ps > 0).count() >= 3, "{system}: {by_hop:?}");
        for (hop, busy) in by_hop {
            let seen = passage.hops.iter().find(|of| of.hop == hop).unwrap_or_else(|| panic!("{system}: no {hop}"));
            // The account ends with the last record that it took: of a phase that goes on then it may not know.
            let place = passage.hops.iter().position(|of| of.hop == hop);
            let goes_on = passage.phases.iter().filter(|of| Some(of.hop) == place && of.until == passage.until);
            let going_on: u64 = goes_on.filter(|of| of.used < 3).map(|of| (of.until - of.from).as_ps()).sum();
            let known = worked(seen) - going_on..=worked(seen);
            assert!(known.contains(&busy), "{system}: {hop} worked {busy} ps, and {known:?} by phases");
            exactly += usize::from(busy == worked(seen));
            hops += 1;
        }
    }
    assert!(hops > 50 && exactly * 10 >= hops * 9, "{exactly} of {hops} hops to the picosecond");
}

#[test]
fn requests_one_by_one_add_up_to_the_latencies_and_none_lies_on_another() {
    for Seen { system, options, explained, .. } in seen() {
        let mut of = explained.clone();
        let latency = of.latency_alike().unwrap_or_else(|| panic!("{system}: no request ended"));
        // From the beginning to the end of what was watched.
        (of.account.from, of.account.until) = (Time::ZERO, of.watched.saturating_add(Time::ms(10_000)));
        let apart: Vec<String> = latency.mean.stages.first().map(|stage| stage.lane.clone()).into_iter().collect();
        let passage = came_by(&of, system, options, &apart, ALL);
        let mut rows: BTreeMap<usize, Time> = BTreeMap::new();
        let (mut stages, mut count): (BTreeMap<(String, bool), u64>, u64) = (BTreeMap::new(), 0);
        let mut in_flight_ps = 0;
        for request in &passage.requests {
            let mut at = request.issued;
            let in_time = request.ended > latency.from && request.ended <= latency.until;
            count += u64::from(in_time);
            for leg in &request.legs {
                assert!(leg.until > at, "{system}: {request:?}");
                if in_time {
                    *stages.entry((leg.hop.clone(), leg.waits)).or_default() += (leg.until - at).as_ps();
                }
                at = leg.until;
            }
            assert_eq!(at, request.ended, "{system}: {request:?}");
            in_flight_ps += (request.ended - request.issued).as_ps();
            let before = rows.insert(request.row, request.ended);
            assert!(before.is_none_or(|before| before <= request.issued), "{system}: {request:?} lies on another");
        }
        assert_eq!(passage.requests_until, of.account.until, "{system}: all of them are listed");
        let sums: Vec<u64> = passage.requests_over_time.sums().iter().map(|step| step.iter().sum()).collect();
        assert_eq!(sums.iter().sum::<u64>(), in_flight_ps, "{system}: in flight over time");
        assert_eq!(passage.hops_of_requests, [&apart[..], &[OTHERS.to_string()]].concat());
        let mut expected: BTreeMap<(String, bool), u64> = BTreeMap::new();
        for stage in &latency.mean.stages {
            *expected.entry((stage.lane.clone(), stage.kind == StageKind::Wait)).or_default() += stage.time.as_ps();
        }
        assert_eq!((count, stages), (latency.mean.count, expected), "{system}");
    }
}

#[test]
fn what_is_listed_of_a_hop_does_not_overlap_and_ends_where_it_says() {
    for Seen { system, options, explained: of, all } in seen() {
        let some = came_by(of, system, options, &[], Enough { requests: 20, phases: 500 });
        assert!(some.phases.len() <= 1_000 && some.requests.len() <= 40, "{system}");
        assert!(some.phases_until <= all.phases_until && all.phases_until == of.account.until, "{system}");
        let until = |passage: &Passage, end: Time| -> Vec<(usize, &str, Time, Time, Option<u32>)> {
            let begun = passage.phases.iter().filter(|phase| phase.from < end);
            begun.map(|phase| (phase.hop, phase.name, phase.from, phase.until, phase.request)).collect()
        };
        assert_eq!(until(&some, some.phases_until), until(all, some.phases_until), "{system}");
        let mut rows: BTreeMap<(usize, usize), Time> = BTreeMap::new();
        for phase in &all.phases {
            let before = rows.insert((phase.hop, phase.row), phase.until);
            assert!(before.is_none_or(|before| before <= phase.from), "{system}: {phase:?} lies on another");
            assert!(phase.row < all.hops[phase.hop].lanes, "{system}: {phase:?} in more rows than there are lanes");
        }
        let listed: u64 = all.phases.iter().filter(|of| of.used < 3).map(|of| (of.until - of.from).as_ps()).sum();
        assert_eq!(listed, all.hops.iter().map(worked).sum::<u64>(), "{system}: listed, and over time");
    }
}
