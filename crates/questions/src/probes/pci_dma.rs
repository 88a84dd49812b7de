//! Bus masters on the lane `pci`: the cycles in which a disk is read and written, and what its cable does meanwhile.

use hopscope_kernel::Time;
use hopscope_observe::Interval;
use hopscope_parts::protocols::ide::WORDS_OUT;
use hopscope_parts::protocols::pci::DATA;

use super::pci_transactions::{PCI, Transaction, in_clocks, seen, transactions};
use super::{Figure, Probe, Trace};

/// A word on an IDE cable: ATA/ATAPI-4, 6.
const WORD_BYTES: u64 = 2;
/// Where a burst follows after so many idle clocks, something else came between: a command, another channel.
const PACED_CLOCKS: f64 = 30.0;

macro_rules! burst {
    ($name:literal, $what:literal, $read:expr) => {
        Probe::traced($name, "clocks", concat!("on `pci`, of data bursts in a row: ", $what), $read)
    };
}

macro_rules! cycle {
    ($name:literal, $unit:literal, $what:literal, $read:expr) => {
        Probe::traced($name, $unit, concat!("of two bursts on `pci` that fetch for a disk write: ", $what), $read)
    };
}

pub(super) const PROBES: [Probe; 25] = [
    burst!("read_cycle_address_min", "fewest clocks of address", |t| extreme(t, |a, _| a.address, f64::min)),
    burst!("read_cycle_address_max", "most clocks of address", |t| extreme(t, |a, _| a.address, f64::max)),
    burst!("read_cycle_wait_min", "fewest clocks of waiting", |t| extreme(t, |a, _| a.wait, f64::min)),
    burst!("read_cycle_wait_max", "most clocks of waiting", |t| extreme(t, |a, _| a.wait, f64::max)),
    burst!("read_cycle_data_min", "fewest clocks of data", |t| extreme(t, |a, _| a.data, f64::min)),
    burst!("read_cycle_data_max", "most clocks of data", |t| extreme(t, |a, _| a.data, f64::max)),
    burst!("read_cycle_idle_min", "fewest clocks from its data to the next", |t| extreme(t, idle, f64::min)),
    burst!("read_cycle_idle_max", "most clocks from its data to the next, of those below 30", idle_max),
    cycle!("write_cycle", "clocks", "up to the next two", |t| clocks(t, |[a, _, c]| c.start - a.start)),
    cycle!("write_cycle_address", "clocks", "address of the first", |t| clocks(t, |[first, ..]| first.address)),
    cycle!("write_cycle_wait", "clocks", "until memory answers the first", |t| clocks(t, |[first, ..]| first.wait)),
    cycle!("write_cycle_data", "clocks", "data of the first", |t| clocks(t, |[first, ..]| first.data)),
    cycle!("write_cycle_disconnect", "clocks", "the target ends the first", |t| clocks(t, |[a, ..]| a.disconnect)),
    cycle!("write_cycle_gap", "clocks", "idle between both", |t| clocks(t, |[a, b, _]| b.start - a.end)),
    cycle!("write_cycle_second_address", "clocks", "address of the second", |t| clocks(t, |[_, b, _]| b.address)),
    cycle!("write_cycle_second_wait", "clocks", "until memory answers the second", |t| clocks(t, |[_, b, _]| b.wait)),
    cycle!("write_cycle_second_data", "clocks", "data of the second", |t| clocks(t, |[_, b, _]| b.data)),
    cycle!("write_cycle_idle", "clocks", "idle up to the next two", |t| clocks(t, |[_, b, c]| c.start - b.data_end)),
    cycle!("write_cycle_rate", "MB/s", "the bytes of both over the time up to the next two", rate),
    cycle!("write_cycle_time", "ns", "the time up to the next two", |t| ns(t, |s| (s.first.start, s.next.start))),
    cycle!("write_cycle_pause", "ns", "from the words of the first to those of the second on `cable`", |t| {
        ns(t, |s| (s.words[0].end(), s.words[1].at))
    }),
    cycle!("write_cycle_rest", "ns", "from the second's data to its last strobe on `cable`", |t| {
        ns(t, |s| (s.second.data_end, s.last_strobe))
    }),
    cycle!("write_cycle_ask", "ns", "from the last strobe on `cable` to the next two on `pci`", |t| {
        ns(t, |s| (s.last_strobe, s.next.start))
    }),
    cycle!("write_cycle_bubble", "ns", "from the second's words to those of the next two on `cable`", |t| {
        ns(t, |s| (s.words[1].end(), s.words[2].at))
    }),
    cycle!("write_cycle_rest_and_ask", "ns", "from the second's data to the next two", |t| {
        ns(t, |s| (s.second.data_end, s.next.start))
    }),
];

/// From the first FRAME# of a write cycle on `pci` to the next one's. Such a cycle has two bursts: the target ends the
/// first one early, at the end of a cache line, and the second one fetches the rest of what the bridge has room for.
pub fn dma_write_cycle(pci: &[Interval]) -> Option<(Time, Time)> {
    write_cycle(&transactions(pci)).map(|[first, _, next]| (first.start, next.start))
}

fn write_cycle(all: &[Transaction]) -> Option<[Transaction; 3]> {
    let is_cycle = |w: &&[Transaction]| {
        w.iter().all(|t| t.carries == Some(&DATA)) && w[0].disconnect > Time::ZERO && w[1].disconnect == Time::ZERO
    };
    // From the middle of the trace: nothing there is cut short by its beginning or end.
    all[all.len() / 2..].windows(3).find(is_cycle)?.try_into().ok()
}

fn in_trace(trace: &Trace) -> Result<[Transaction; 3], String> {
    let none = "the lane `pci` has no two data bursts of which the target ends the first, and another one";
    write_cycle(&seen(trace)?).ok_or_else(|| none.to_string())
}

fn clocks(trace: &Trace, of: fn([Transaction; 3]) -> Time) -> Figure {
    in_clocks(trace, of(in_trace(trace)?))
}

/// Bytes that data phases of so long carry.
fn bytes(trace: &Trace, data: Time) -> Result<u64, String> {
    let rate = trace.rate(PCI, &DATA).ok_or("the lane `pci` has no rate")?;
    Ok(data.as_ps() * rate.bytes / rate.per.as_ps())
}

fn rate(trace: &Trace) -> Figure {
    let [first, second, next] = in_trace(trace)?;
    let bytes = bytes(trace, first.data + second.data)?;
    Ok(bytes as f64 / (next.start - first.start).as_seconds_f64() / 1e6)
}

/// A write cycle, with the words on the cable of its bursts and of the next cycle's first.
struct Seen {
    first: Transaction,
    second: Transaction,
    next: Transaction,
    words: [Interval; 3],
    last_strobe: Time,
}

/// Between two instants of it.
fn ns(trace: &Trace, between: fn(&Seen) -> (Time, Time)) -> Figure {
    let [first, second, next] = in_trace(trace)?;
    let words: Vec<Interval> = trace.used("cable")?.into_iter().filter(|i| WORDS_OUT.contains(i.phase)).collect();
    let half = words.iter().rposition(|i| i.at <= second.data_end).unwrap_or(0);
    let around = half.checked_sub(1).and_then(|from| words.get(from..half + 2)?.try_into().ok());
    let words: [Interval; 3] = around.ok_or("the lane `cable` has no words before and after such a cycle")?;
    let count = (bytes(trace, second.data)? / WORD_BYTES).max(1);
    let last_strobe = words[1].end() - Time::ps(words[1].span.as_ps() / count);
    let (from, to) = between(&Seen { first, second, next, words, last_strobe });
    if to < from {
        return Err("the bus does not wait for the cable there".to_string());
    }
    Ok((to - from).as_ns_f64())
}

/// Of clocks of something, the least or the most: of data bursts that their master's next one follows at once.
fn extreme(trace: &Trace, of: fn(&Transaction, &Transaction) -> Time, best: fn(f64, f64) -> f64) -> Figure {
    let clocks = followed(trace, of)?.into_iter().reduce(best);
    clocks.ok_or_else(|| "the lane `pci` has no two data bursts of one master in a row".to_string())
}

fn followed(trace: &Trace, of: fn(&Transaction, &Transaction) -> Time) -> Result<Vec<f64>, String> {
    let moves = |t: &Transaction| t.carries == Some(&DATA);
    let pair = |w: &&[Transaction]| moves(&w[0]) && moves(&w[1]) && w[0].who == w[1].who;
    seen(trace)?.windows(2).filter(pair).map(|w| in_clocks(trace, of(&w[0], &w[1]))).collect()
}

fn idle(burst: &Transaction, next: &Transaction) -> Time {
    next.start - burst.data_end
}

/// At the pace of the drive; the least where none is.
fn idle_max(trace: &Trace) -> Figure {
    let paced = followed(trace, idle)?.into_iter().filter(|clocks| *clocks < PACED_CLOCKS);
    Ok(paced.fold(extreme(trace, idle, f64::min)?, f64::max))
}
