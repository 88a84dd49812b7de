//! The bus trace: Tables 2 and 3, Figure 1, and what the text reads off it, from the phases of short runs.

use std::collections::BTreeMap;

use hopscope_files::job_file::Job;
use hopscope_kernel::Time;
use hopscope_machine::run::Failure;
use hopscope_observe::Interval;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ID, PLACEMENTS, Setup};
use crate::measure::{self, Effort, Trace};
use crate::report::{Cell, CellBasis, Table};
use crate::shelf;

/// Simulated time of a trace: a few requests. (How long a request takes in all is the mean of a longer run.)
const SPAN: Time = Time::ms(40);

/// One PCI transaction, put together from its phases.
#[derive(Clone, Debug)]
struct Transaction {
    start: Time,
    address: Time,
    wait: Time,
    data: Time,
    data_end: Time,
    disconnect: Time,
    end: Time,
    carries: &'static str,
    retried: bool,
    who: u16,
}

/// Puts transactions together: each begins with an address phase.
fn transactions(pci: &[Interval]) -> Vec<Transaction> {
    let mut list: Vec<Transaction> = Vec::new();
    for phase in pci {
        if phase.phase.name == "address" {
            list.push(Transaction {
                start: phase.at,
                address: phase.span,
                wait: Time::ZERO,
                data: Time::ZERO,
                data_end: Time::ZERO,
                disconnect: Time::ZERO,
                end: phase.end(),
                carries: "",
                retried: false,
                who: phase.who,
            });
            continue;
        }
        let Some(last) = list.last_mut() else { continue };
        match phase.phase.name {
            name if name.starts_with("wait for ") => last.wait += phase.span,
            "target disconnect" => last.disconnect += phase.span,
            "retry" => last.retried = true,
            "turnaround" | "special cycle" | "master abort" => {}
            name => (last.data, last.data_end, last.carries) = (phase.span, phase.end(), name),
        }
        // The idle clock after a transaction belongs to nobody: the tables count it as idle.
        if phase.phase.name != "turnaround" {
            last.end = phase.end();
        }
    }
    list
}

/// The 98 clocks: from the first FRAME# of a 64-byte cycle to the next one's.
fn write_cycle(writes: &[Transaction]) -> [&Transaction; 3] {
    // From the middle of the trace: nothing there is cut short by its beginning or end.
    let found = writes[writes.len() / 2..].windows(3).find(|w| {
        w.iter().all(|t| t.carries == "data") && w[0].disconnect > Time::ZERO && w[1].disconnect == Time::ZERO
    });
    let Some([a, b, c]) = found else { panic!("the trace of 64 KB writes has 64-byte cycles") };
    [a, b, c]
}

/// From the first FRAME# of a 64-byte cycle of `pci` to the next one's.
pub(super) fn write_cycle_of(pci: &[Interval]) -> (Time, Time) {
    let writes = transactions(pci);
    let [first, _, next] = write_cycle(&writes);
    (first.start, next.start)
}

/// What a short run of one disk that writes 64 KB shows.
pub(super) struct Writes {
    clock: Time,
    pci: Vec<Transaction>,
    cable: Vec<Interval>,
}

/// What short runs of one disk with 64 KB requests show.
pub(super) struct Observed {
    read: Vec<Transaction>,
    writes: Writes,
    /// Shares of a transfer's time; see `Transfer`.
    pub(super) read_64k: Transfer,
    pub(super) read_128k: Transfer,
    pub(super) write_64k: Transfer,
    pub(super) write_64k_queued: Transfer,
    pub(super) tries_max: u64,
    pub(super) retry_clocks: f64,
}

/// One request after the other: how long data move, and how long a request takes in all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub(super) bytes: u64,
    pub(super) data_phase: Time,
    pub(super) period: Time,
    pub(super) descriptors: f64,
}

impl Transfer {
    pub(super) fn rate_mb_per_s(&self) -> f64 {
        self.bytes as f64 / self.period.as_seconds_f64() / 1e6
    }
    pub(super) fn burst_mb_per_s(&self) -> f64 {
        self.bytes as f64 / self.data_phase.as_seconds_f64() / 1e6
    }
    pub(super) fn set_up(&self) -> Time {
        self.period - self.data_phase
    }
}

/// One block again and again.
fn jobs(setup: &Setup, op: &str, kib: u64, depth: u64) -> Vec<Job> {
    let resize = |job: &Job| Job {
        block_bytes_min: kib << 10,
        block_bytes_max: kib << 10,
        size_bytes: Some(kib << 10),
        iodepth: depth,
        ..job.clone()
    };
    setup.jobs[&format!("single-block {op} one")].iter().map(resize).collect()
}

/// The trace of writes alone.
pub(super) fn observe_writes(setup: &Setup, trains: bool) -> Result<Writes, Failure> {
    let machine = &setup.machines.0[PLACEMENTS[0]];
    Ok(writes(setup, &measure::trace(machine, &jobs(setup, "write", 64, 1), SPAN, trains)?))
}

fn writes(setup: &Setup, trace: &Trace) -> Writes {
    let clock = match setup.machines.number("bus/pci-32-33", "clock").value {
        hopscope_parts::parameters::Value::Period(clock) => clock,
        other => panic!("a clock is a frequency, not {}", other.kind()),
    };
    Writes { clock, pci: transactions(&trace.lane("pci")), cable: trace.lane("cable") }
}

pub(super) fn observe(setup: &Setup, trains: bool) -> Result<Observed, Failure> {
    let machine = &setup.machines.0[PLACEMENTS[0]];
    // Claims are held against narrow ranges, and one disk is soon simulated.
    let effort = Effort { share: 0.0015, ..super::cells::full_effort(trains) };
    // A trace, and the whole time of a request.
    let run = |op: &str, kib: u64, depth: u64| -> Result<(Trace, Time), Failure> {
        let jobs = jobs(setup, op, kib, depth);
        let rate = measure::throughput(machine, &jobs, effort)?.value;
        let period = Time::ps(((kib << 10) as f64 / rate * 1e12) as u64);
        Ok((measure::trace(machine, &jobs, SPAN, trains)?, period))
    };
    // The trace was taken with one request at a time: only then can the gap before the set-up grow to 125 us.
    let ((read, read_period), (write, write_period)) = (run("read", 64, 1)?, run("write", 64, 1)?);
    let ((long, long_period), (queued, queued_period)) = (run("read", 128, 1)?, run("write", 64, 2)?);
    let writes = writes(setup, &write);
    let read_pci = transactions(&read.lane("pci"));
    let retried: Vec<&Transaction> = read_pci.iter().filter(|t| t.retried).collect();
    let retry_clocks = retried.first().map_or(0.0, |t| in_clocks(t.end - t.start, writes.clock));
    Ok(Observed {
        read_64k: transfer(&read, 64, 1, read_period),
        read_128k: transfer(&long, 128, 2, long_period),
        write_64k: transfer(&write, 64, 1, write_period),
        write_64k_queued: transfer(&queued, 64, 1, queued_period),
        tries_max: tries(&read_pci),
        retry_clocks,
        read: read_pci,
        writes,
    })
}

fn in_clocks(span: Time, clock: Time) -> f64 {
    span.as_ps() as f64 / clock.as_ps() as f64
}

/// Most transactions that one register access took: retries in a row, and the one that succeeded.
fn tries(pci: &[Transaction]) -> u64 {
    let (mut most, mut row) = (0, 0);
    for t in pci.iter().filter(|t| t.retried || t.carries == "register data") {
        row += 1;
        most = most.max(row);
        if !t.retried {
            row = 0;
        }
    }
    most
}

/// Reads the data phase off the cable: from the first to the last word of a command.
/// A request of `commands` commands has the data phases of all of them.
fn transfer(trace: &Trace, kib: u64, commands: usize, period: Time) -> Transfer {
    let cable = trace.lane("cable");
    let mut bursts: Vec<(Time, Time)> = Vec::new();
    let mut open = false;
    for phase in &cable {
        match phase.phase.name {
            // Register accesses stand between two commands.
            "register access" => open = true,
            "data words" if open => {
                bursts.push((phase.at, phase.end()));
                open = false;
            }
            "data words" => {
                if let Some(last) = bursts.last_mut() {
                    last.1 = phase.end();
                }
            }
            _ => {}
        }
    }
    // The last command may be cut short by the end of the run; the first ones fill the queue.
    let whole = &bursts[2 * commands..bursts.len() - 1];
    let requests = (whole.len() - 1) / commands;
    let used = &whole[..requests * commands + 1];
    let (first, last) = (used[0].0, used[requests * commands].0);
    let data: u64 = used[..requests * commands].iter().map(|(start, end)| (*end - *start).as_ps()).sum();
    let fetched = transactions(&trace.lane("pci"));
    let within = fetched.iter().filter(|t| t.carries == "descriptor data" && t.start >= first && t.start < last);
    Transfer {
        bytes: kib << 10,
        data_phase: Time::ps(data / requests as u64),
        period,
        descriptors: within.count() as f64 / requests as f64,
    }
}

#[derive(Deserialize)]
struct ReadRow {
    phase: String,
    duration_pci_cycles_min: f64,
    duration_pci_cycles_max: f64,
}

#[derive(Deserialize)]
struct WriteRow {
    phase: String,
    duration_pci_cycles: f64,
}

#[derive(Deserialize)]
struct TimelineRow {
    event: String,
    order: u64,
    stated_duration_ns: Option<f64>,
}

/// What the report says of a 64-byte cycle of a write: its clocks, its time and that of the bubble in it, ns.
pub(super) fn published_cycle() -> [f64; 3] {
    let clocks: Vec<WriteRow> = shelf::rows(ID, "write_cycle.csv");
    let spans: Vec<TimelineRow> = shelf::rows(ID, "timeline.csv");
    let stated = |event: &str| {
        let row = spans.iter().find(|row| row.event.starts_with(event));
        row.and_then(|row| row.stated_duration_ns).unwrap_or_else(|| panic!("studies/{ID}/timeline.csv: no {event}"))
    };
    [clocks.iter().map(|row| row.duration_pci_cycles).sum(), stated("one 64-byte cycle"), stated("whole bubble")]
}

fn key(pairs: &[(&str, Value)]) -> Map<String, Value> {
    pairs.iter().map(|(k, v)| (k.to_string(), v.clone())).collect()
}

impl Observed {
    /// Data bursts in the middle of regions: the next one follows without a descriptor between.
    fn inner(pci: &[Transaction]) -> Vec<(&Transaction, &Transaction)> {
        let moves = |t: &Transaction| t.carries == "data";
        pci.windows(2)
            .filter(|w| moves(&w[0]) && moves(&w[1]) && w[0].who == w[1].who)
            .map(|w| (&w[0], &w[1]))
            .collect()
    }

    /// Payload rate within the 64-byte cycle.
    pub(super) fn write_cycle_mb_per_s(&self) -> f64 {
        let [first, _, next] = write_cycle(&self.writes.pci);
        64.0 / (next.start - first.start).as_seconds_f64() / 1e6
    }

    pub(super) fn tables(&self) -> Vec<Table> {
        [self.read_cycle()].into_iter().chain(self.writes.tables()).collect()
    }

    fn read_cycle(&self) -> Table {
        let clocks = |span: Time| in_clocks(span, self.writes.clock);
        let bursts = Self::inner(&self.read);
        let extremes = |of: &dyn Fn(&Transaction, &Transaction) -> Time| {
            let spans = bursts.iter().map(|(a, b)| clocks(of(a, b)));
            spans.fold((f64::MAX, 0.0f64), |(low, high), s| (low.min(s), high.max(s)))
        };
        let mut simulated: BTreeMap<&str, (f64, f64, CellBasis)> = BTreeMap::new();
        let mut put = |name, (low, high): (f64, f64), basis| simulated.insert(name, (low, high, basis));
        put("address-command-memory-write", extremes(&|t, _| t.address), CellBasis::Input);
        put("initiator-ready-waiting-on-target", extremes(&|t, _| t.wait), CellBasis::Input);
        put("data-32-bytes", extremes(&|t, _| t.data), CellBasis::Input);
        // Idle where the bridge goes from one half to the next at the pace of the drive.
        let paced = extremes(&|t, next| next.start - t.data_end);
        let typical: Vec<f64> =
            bursts.iter().map(|(t, next)| clocks(next.start - t.data_end)).filter(|c| *c < 30.0).collect();
        let high = typical.iter().copied().fold(paced.0, f64::max);
        put("idle", (paced.0, high), CellBasis::Seen);
        let rows: Vec<ReadRow> = shelf::rows(ID, "read_cycle.csv");
        let mut cells = Vec::new();
        for row in rows {
            let (low, high, basis) = simulated[row.phase.as_str()];
            let phase = Value::from(row.phase);
            let of = |bound: &str| key(&[("phase", phase.clone()), ("bound", bound.into())]);
            cells.push(Cell::new(of("min"), row.duration_pci_cycles_min, low, basis, 0.0));
            cells.push(Cell::new(of("max"), row.duration_pci_cycles_max, high, basis, 0.0));
        }
        let title = "Table 2: PCI activity of a disk read, a cycle of 32 bytes".into();
        Table { id: "read-cycle".into(), title, unit: "PCI clocks".into(), cells }
    }
}

impl Writes {
    /// Table 3 and Figure 1.
    pub(super) fn tables(&self) -> [Table; 2] {
        [self.cycle(), self.timeline()]
    }

    fn cycle(&self) -> Table {
        let clocks = |span: Time| in_clocks(span, self.clock);
        let [first, second, next] = write_cycle(&self.pci);
        use CellBasis::{Fitted, Input};
        let simulated = [
            (clocks(first.address), Input),
            (clocks(first.wait), Input),
            (clocks(first.data), Input),
            (clocks(first.disconnect), Input),
            (clocks(second.start - first.end), Input),
            (clocks(second.address), Input),
            (clocks(second.wait), Input),
            (clocks(second.data), Input),
            (clocks(next.start - second.data_end), Fitted),
        ];
        let rows: Vec<WriteRow> = shelf::rows(ID, "write_cycle.csv");
        let total: f64 = rows.iter().map(|row| row.duration_pci_cycles).sum();
        let mut cells: Vec<Cell> = rows
            .into_iter()
            .zip(simulated)
            .enumerate()
            .map(|(row, (r, (clocks, basis)))| {
                Cell::new(
                    key(&[("row", json!(row + 1)), ("phase", r.phase.into())]),
                    r.duration_pci_cycles,
                    clocks,
                    basis,
                    0.0,
                )
            })
            .collect();
        let all = key(&[("row", json!(0)), ("phase", "64-byte cycle".into())]);
        cells.push(Cell::new(all, total, clocks(next.start - first.start), Fitted, 0.0));
        let title = "Table 3: PCI activity of a disk write, a cycle of 64 bytes".into();
        Table { id: "write-cycle".into(), title, unit: "PCI clocks".into(), cells }
    }

    /// Figure 1: both lanes of a 64-byte cycle.
    fn timeline(&self) -> Table {
        let [first, second, next] = write_cycle(&self.pci);
        let words: Vec<&Interval> = self.cable.iter().filter(|i| i.phase.name == "data words").collect();
        let half = words.iter().rposition(|i| i.at <= second.data_end).unwrap_or(0);
        let (one, two, after) = (words[half - 1], words[half], words[half + 1]);
        let word = Time::ps(two.span.as_ps() / 16);
        let last_strobe = two.end() - word;
        let ns = |span: Time| span.as_ns_f64();
        let simulated: BTreeMap<u64, (f64, CellBasis)> = [
            (7, (ns(two.at - one.end()), CellBasis::Fitted)),
            (9, (ns(last_strobe - second.data_end), CellBasis::Seen)),
            (10, (ns(next.start - last_strobe), CellBasis::Seen)),
            (11, (ns(after.at - two.end()), CellBasis::Seen)),
            (12, (ns(next.start - first.start), CellBasis::Fitted)),
        ]
        .into();
        let rows: Vec<TimelineRow> = shelf::rows(ID, "timeline.csv");
        let stated = |order: u64| rows.iter().find(|row| row.order == order).and_then(|row| row.stated_duration_ns);
        let together = stated(9).zip(stated(10)).map(|(rest, wait)| rest + wait);
        let mut cells: Vec<Cell> = rows
            .into_iter()
            .filter_map(|row| {
                let (simulated, basis) = *simulated.get(&row.order)?;
                let key = key(&[("order", row.order.into()), ("event", row.event.into())]);
                Some(Cell::new(key, row.stated_duration_ns?, simulated, basis, 0.0))
            })
            .collect();
        let sum =
            key(&[("order", 13.into()), ("event", "sum of the rest and the wait before the next request".into())]);
        cells.push(Cell::new(sum, together, ns(next.start - second.data_end), CellBasis::Seen, 0.0));
        let title = "Figure 1: PCI and IDE in one 64-byte cycle of a disk write".into();
        Table { id: "timeline".into(), title, unit: "ns".into(), cells }
    }
}
