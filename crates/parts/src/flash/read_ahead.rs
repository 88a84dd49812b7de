//! Read-ahead: a drive's memory holds what a run of reads will ask for next.
//!
//! ```text
//!   read ─▶ goes on where another ended? ─▶ segments ahead of it ─▶ a process each ─▶ flash
//!        └▶ its segments: there, on their way, or read from the flash by itself
//! ```
//!
//! A segment has one place in memory; a later one that needs the place takes it, unless it is still being filled.
//!
//! Not modelled: runs backwards and with strides, the time of the memory itself.

use std::cell::Cell;
use std::rc::Rc;

use hopscope_kernel::{Errand, Label, Queue, Sim};

use super::Flash;
use crate::parameters::{Parameters, SpecError};

static NOTHING_AHEAD: Label = Label::reason("nothing to read ahead");
static ON_ITS_WAY: Label = Label::reason("being read ahead");

/// Runs that are followed at once.
const RUNS: usize = 8;
/// Segments, at most.
const SEGMENTS_MAX: u64 = 256;

/// The numbers of read-ahead.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    segment_bytes: u32,
    segments: u64,
}

impl Spec {
    /// Pulls the numbers, all under `read_ahead.`.
    pub fn read(p: &mut Parameters) -> Result<Spec, SpecError> {
        let (segment, segments) = (p.bytes("read_ahead.segment")?, p.count("read_ahead.segments")?);
        if !segment.is_power_of_two() || !(4_096..=4 << 20).contains(&segment) {
            let help = "expected 4 KiB to 4 MiB, a power of two";
            return Err(p.error("read_ahead.segment", "no segment is like that", help));
        }
        if segments > SEGMENTS_MAX {
            let help = format!("expected {SEGMENTS_MAX} at most; 0 reads nothing ahead");
            return Err(p.error("read_ahead.segments", "too many segments", help));
        }
        Ok(Spec { segment_bytes: segment as u32, segments })
    }
}

/// A place for a segment.
struct Place {
    /// One more than the number of the segment that is here, or on its way; zero for none.
    segment: Cell<u64>,
    there: Cell<bool>,
    /// Wakes who waits for it.
    come: Queue<()>,
}

/// What is read ahead of runs of reads.
pub struct ReadAhead {
    spec: Spec,
    flash: Rc<Flash>,
    places: Vec<Place>,
    wanted: Queue<u64>,
    /// Where the last runs ended, and which is replaced next.
    runs: [Cell<u64>; RUNS],
    next_run: Cell<usize>,
}

impl ReadAhead {
    /// Read-ahead of the drive `name`.
    pub fn new(sim: &Sim, name: &str, spec: Spec, flash: &Rc<Flash>) -> Rc<ReadAhead> {
        // As many behind the reader as ahead of it: commands overtake each other.
        let place = |_| Place { segment: Cell::new(0), there: Cell::new(false), come: Queue::new(sim, 1) };
        let ahead = Rc::new(ReadAhead {
            flash: flash.clone(),
            places: (0..2 * spec.segments).map(place).collect(),
            wanted: Queue::new(sim, (2 * spec.segments).max(1) as usize),
            runs: [const { Cell::new(u64::MAX) }; RUNS],
            next_run: Cell::new(0),
            spec,
        });
        let held = ahead.clone();
        let segments = move || held.places.iter().filter(|place| place.segment.get() > 0).count() as u64;
        let segment_bytes = u64::from(ahead.spec.segment_bytes);
        sim.level(&format!("what {name} has read ahead"), move || segments() * segment_bytes);
        for number in 0..ahead.spec.segments {
            let running = ahead.clone();
            sim.process(&format!("{name}.ahead{number}"), async move { running.run().await });
        }
        ahead
    }

    /// Reads for somebody, from memory where that has been read ahead.
    pub async fn read(&self, offset: u64, bytes: u32, errand: Errand) {
        let end = offset + u64::from(bytes);
        if self.goes_on(offset, end) {
            self.want(end);
        }
        let size = u64::from(self.spec.segment_bytes);
        let mut at = offset;
        while at < end {
            if self.holds(at / size) {
                self.wait_for(at / size).await;
                at = (at / size + 1) * size;
                continue;
            }
            // Up to the next segment that is here.
            let begin = at;
            while at < end && !self.holds(at / size) {
                at = (at / size + 1) * size;
            }
            self.flash.read(begin, (at.min(end) - begin) as u32, errand).await;
        }
    }

    /// What is written is no longer what was read.
    pub fn written(&self, offset: u64, bytes: u32) {
        let size = u64::from(self.spec.segment_bytes);
        let end = offset + u64::from(bytes);
        for segment in offset / size..end.div_ceil(size) {
            if let Some(place) = self.place(segment).filter(|place| place.segment.get() == segment + 1) {
                place.segment.set(0);
            }
        }
    }

    /// Whether a read goes on where another ended.
    fn goes_on(&self, offset: u64, end: u64) -> bool {
        if self.places.is_empty() {
            return false;
        }
        let run = self.runs.iter().position(|run| run.get() == offset);
        let place = run.unwrap_or_else(|| {
            self.next_run.set((self.next_run.get() + 1) % RUNS);
            self.next_run.get()
        });
        self.runs[place].set(end);
        run.is_some()
    }

    fn place(&self, segment: u64) -> Option<&Place> {
        let count = self.places.len() as u64;
        if count == 0 { None } else { self.places.get((segment % count) as usize) }
    }

    fn holds(&self, segment: u64) -> bool {
        self.place(segment).is_some_and(|place| place.segment.get() == segment + 1)
    }

    /// Asks for the segments after `end` that are not here.
    fn want(&self, end: u64) {
        let size = u64::from(self.spec.segment_bytes);
        let first = end.div_ceil(size);
        for segment in first..first + self.spec.segments {
            if (segment + 1) * size > self.flash.size_bytes() || self.holds(segment) {
                continue;
            }
            let Some(place) = self.place(segment) else { continue };
            // A place that is being filled stays what it is.
            if (place.segment.get() == 0 || place.there.get()) && self.wanted.try_put(segment).is_ok() {
                place.segment.set(segment + 1);
                place.there.set(false);
            }
        }
    }

    /// Waits until a segment is here. Where it had to make room meanwhile it came all the same.
    async fn wait_for(&self, segment: u64) {
        let Some(place) = self.place(segment) else { return };
        while place.segment.get() == segment + 1 && !place.there.get() {
            place.come.take(&ON_ITS_WAY).await;
            // Whoever else waits for it looks, too.
            if place.there.get() || place.segment.get() != segment + 1 {
                let _ = place.come.try_put(());
            }
        }
    }

    async fn run(&self) {
        let size = u64::from(self.spec.segment_bytes);
        loop {
            let segment = self.wanted.take(&NOTHING_AHEAD).await;
            self.flash.read(segment * size, self.spec.segment_bytes, Errand::NOBODY).await;
            let Some(place) = self.place(segment) else { continue };
            if place.segment.get() == segment + 1 {
                place.there.set(true);
            }
            let _ = place.come.try_put(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use hopscope_kernel::{Ended, Time};

    use super::*;
    use crate::flash::{self, State};

    fn flash(sim: &Sim) -> Rc<Flash> {
        let spec = flash::Spec {
            capacity_bytes: 256 << 20,
            over_provisioning: 125_000,
            state: State::Fresh,
            channels: 4,
            dies: 4,
            planes: 1,
            independent_planes: 1,
            page_bytes: 16 << 10,
            pages_per_block: 64,
            pages_per_program: 1,
            read: Time::us(50),
            program: Time::us(500),
            erase: Time::ms(3),
            suspend_latency: Time::ms(5),
            suspend_progress: Time::ZERO,
            channel_rate: 1_024_000_000,
            command: Time::ZERO,
            decode: Time::ZERO,
            buffer_bytes: 1 << 20,
        };
        Flash::new(sim, "ssd", spec, 1)
    }

    /// How long each of these reads takes, 300 us after the one before; a length of zero is a write to there.
    fn reads(segments: u64, list: Vec<(u64, u32)>) -> Vec<Time> {
        let sim = Sim::new();
        let flash = flash(&sim);
        let ahead = ReadAhead::new(&sim, "ssd", Spec { segment_bytes: 16 << 10, segments }, &flash);
        let (took, s) = (Rc::new(RefCell::new(Vec::new())), sim.clone());
        let times = took.clone();
        sim.process("reader", async move {
            for (offset, bytes) in list {
                let start = s.now();
                if bytes == 0 {
                    ahead.written(offset, 4_096);
                } else {
                    ahead.read(offset, bytes, Errand::NOBODY).await;
                }
                times.borrow_mut().push(s.now() - start);
                s.wait(Time::us(300)).await;
            }
            s.stop();
        });
        assert_eq!(sim.run(Time::ms(100)), Ended::Stopped);
        drop(flash);
        sim.tear_down();
        took.take()
    }

    const PAGE: u32 = 16 << 10;
    const READ: Time = Time::us(66);

    #[test]
    fn what_follows_a_run_is_there_when_it_is_asked_for() {
        let page = |n: u64| (n * u64::from(PAGE), PAGE);
        let in_order = [page(0), page(1), page(2), page(3), page(4)].to_vec();
        assert_eq!(reads(0, in_order.clone()), [READ; 5]);
        // The second one shows that it is a run.
        let zero = Time::ZERO;
        assert_eq!(reads(1, in_order.clone()), [READ, READ, zero, zero, zero]);
        assert_eq!(reads(2, [page(0), page(5), page(2), page(9)].to_vec()), [READ; 4]);
        // Two pages ahead of page 1 are there, wherever the next reads begin.
        assert_eq!(reads(2, [page(0), page(1), page(3), page(4)].to_vec()), [READ, READ, zero, READ]);
    }

    #[test]
    fn what_is_on_its_way_is_waited_for_and_what_is_written_is_read_again() {
        // 128 KiB are eight pages on eight dies: while the second read goes on, what it asked for comes.
        let took = reads(8, vec![(0, PAGE), (16 << 10, PAGE), (32 << 10, 128 << 10), (160 << 10, 128 << 10)]);
        assert_eq!(took, [READ, READ, Time::ZERO, Time::ZERO]);
        let took = reads(8, vec![(0, PAGE), (16 << 10, PAGE), (32 << 10, 0), (32 << 10, PAGE), (48 << 10, PAGE)]);
        assert_eq!(took, [READ, READ, Time::ZERO, READ, Time::ZERO]);
    }

    #[test]
    fn several_readers_wait_for_one_segment() {
        let sim = Sim::new();
        let flash = flash(&sim);
        let ahead = ReadAhead::new(&sim, "ssd", Spec { segment_bytes: 16 << 10, segments: 2 }, &flash);
        let ended = Rc::new(RefCell::new(Vec::new()));
        for number in 0..4u64 {
            let (ahead, ended, s) = (ahead.clone(), ended.clone(), sim.clone());
            sim.process(&format!("reader{number}"), async move {
                // Four quarters of a page: those after the first wait for what the second had read ahead.
                s.wait(Time::us(number)).await;
                ahead.read(number * 8_192, 8_192, Errand::NOBODY).await;
                ended.borrow_mut().push(s.now());
            });
        }
        sim.run(Time::ms(1));
        // Pages 0 and 1 are read by themselves and ahead; nobody reads page 1 twice.
        let ended = ended.take();
        assert_eq!(ended.len(), 4);
        assert!(ended.iter().all(|at| *at < Time::us(130)), "{ended:?}");
        drop(flash);
        drop(ahead);
        sim.tear_down();
    }
}
