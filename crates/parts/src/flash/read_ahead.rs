//! Read-ahead: a drive's memory holds what a run of reads will ask for next.
//!
//! ```text
//!   read accepted ─▶ goes on where another ended? ─▶ the segments that follow ─▶ flash, for nobody
//!   read ─▶ its segments: there, on their way, or read from the flash by itself
//! ```
//!
//! A segment may lie anywhere in the memory. It makes room for another one when all of it has been read, or when its run
//! is no longer followed; where none can, nothing is read ahead.
//!
//! Not modelled: runs backwards and with strides, the time of the memory itself.

use std::cell::Cell;
use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Errand, Label, Sim};

use super::Flash;
use super::reads::Together;

static ON_ITS_WAY: Label = Label::reason("being read ahead");

/// Runs that are followed at once.
const RUNS: usize = 8;

/// The numbers of read-ahead.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Bytes of a segment.
    #[bytes("segment", 4_096..=4 << 20, power_of_two)]
    segment_bytes: u32,
    /// Segments that the memory holds.
    #[count("segments", ..=256)]
    segments: u64,
    /// Segments beyond the end of a read that are asked for; 0 reads nothing ahead.
    #[count("ahead", ..=segments)]
    ahead: u64,
}

/// A place for a segment.
struct Place {
    /// As many as it has pages: a read waits for its own.
    pages: Vec<Rc<Together>>,
    /// Bytes that nobody has read yet.
    unread: Cell<u32>,
    /// Which run it was read for: its place among the runs, and its number among all that there were.
    run: Cell<(usize, u64)>,
}

/// Reads that follow one another.
#[derive(Default)]
struct Run {
    number: Cell<u64>,
    end: Cell<u64>,
    /// The first segment that has not been asked for.
    asked: Cell<u64>,
}

/// What is read ahead of runs of reads.
pub struct ReadAhead {
    spec: Spec,
    flash: Rc<Flash>,
    /// For each place one more than the number of the segment that is there, or on its way; zero for none.
    held: Vec<Cell<u64>>,
    places: Vec<Place>,
    next_place: Cell<usize>,
    /// Whether any place was ever filled.
    used: Cell<bool>,
    runs: [Run; RUNS],
    /// Runs that there were: the next one takes the place of the oldest.
    runs_begun: Cell<u64>,
}

impl ReadAhead {
    /// Read-ahead of the drive `name`.
    pub fn new(sim: &Sim, name: &str, spec: Spec, flash: &Rc<Flash>) -> Rc<ReadAhead> {
        let count = if spec.ahead > 0 { spec.segments as usize } else { 0 };
        let pages = match flash.page_bytes() {
            page if spec.segment_bytes.is_multiple_of(page) => spec.segment_bytes / page,
            _ => 1,
        };
        let place = |_| Place {
            pages: (0..pages).map(|_| Together::new(sim)).collect(),
            unread: Cell::new(0),
            run: Cell::new((0, 0)),
        };
        let run = |_| Run { end: Cell::new(u64::MAX), ..Run::default() };
        let ahead = Rc::new(ReadAhead {
            flash: flash.clone(),
            held: vec![Cell::new(0); count],
            places: (0..count).map(place).collect(),
            next_place: Cell::new(0),
            used: Cell::new(false),
            runs: std::array::from_fn(run),
            runs_begun: Cell::new(0),
            spec,
        });
        let held = ahead.clone();
        let unread = move || held.places.iter().map(|place| u64::from(place.unread.get())).sum::<u64>();
        sim.level(&format!("what {name} has read ahead"), unread);
        ahead
    }

    /// A read has been accepted: where it goes on with a run, what follows is asked for.
    pub fn accept(&self, offset: u64, bytes: u32) {
        if self.places.is_empty() {
            return;
        }
        let end = offset + u64::from(bytes);
        match self.runs.iter().position(|run| run.end.get() == offset) {
            Some(run) => {
                self.runs[run].end.set(end);
                self.want(run, end);
            }
            None => {
                let begun = self.runs_begun.get() + 1;
                self.runs_begun.set(begun);
                let run = &self.runs[begun as usize % RUNS];
                run.number.set(begun);
                run.end.set(end);
                run.asked.set(0);
            }
        }
    }

    /// Bytes from `offset` on that are read as one; `bytes` at most.
    pub fn piece(&self, offset: u64, bytes: u32) -> u32 {
        let piece = self.flash.piece(offset, bytes);
        match self.places.is_empty() {
            true => piece,
            false => piece.min(self.spec.segment_bytes - (offset % u64::from(self.spec.segment_bytes)) as u32),
        }
    }

    /// Reads a piece, as [`ReadAhead::piece`] cuts it: from memory where that has been read ahead.
    pub async fn read_piece(&self, offset: u64, bytes: u32) {
        match self.place(offset / u64::from(self.spec.segment_bytes)) {
            Some(place) => self.take(place, offset, bytes).await,
            None => self.flash.read_piece(offset, bytes).await,
        }
    }

    /// Accepts a read, and reads for somebody.
    pub async fn read(&self, offset: u64, bytes: u32, errand: Errand) {
        self.accept(offset, bytes);
        let end = offset + u64::from(bytes);
        let size = u64::from(self.spec.segment_bytes);
        let mut at = offset;
        while at < end {
            if let Some(place) = self.place(at / size) {
                let until = end.min((at / size + 1) * size);
                self.take(place, at, (until - at) as u32).await;
                at = until;
                continue;
            }
            // Up to the next segment that is here.
            let begin = at;
            while at < end && self.place(at / size).is_none() {
                at = (at / size + 1) * size;
            }
            at = at.min(end);
            self.flash.read(begin, (at - begin) as u32, errand).await;
        }
    }

    /// What is written is no longer what was read.
    pub fn written(&self, offset: u64, bytes: u32) {
        let size = u64::from(self.spec.segment_bytes);
        let end = offset + u64::from(bytes);
        for segment in offset / size..end.div_ceil(size) {
            if let Some(place) = self.place(segment) {
                self.held[place].set(0);
                self.places[place].unread.set(0);
            }
        }
    }

    /// Where a segment is, or on its way.
    fn place(&self, segment: u64) -> Option<usize> {
        if !self.used.get() {
            return None;
        }
        self.held.iter().position(|held| held.get() == segment + 1)
    }

    /// Waits until so much of a segment is here, and takes it.
    async fn take(&self, number: usize, offset: u64, bytes: u32) {
        let size = u64::from(self.spec.segment_bytes);
        let (place, held) = (&self.places[number], offset / size + 1);
        let (within, page_bytes) = (offset % size, size / place.pages.len() as u64);
        let pages = within / page_bytes..(within + u64::from(bytes)).div_ceil(page_bytes);
        for page in &place.pages[pages.start as usize..pages.end as usize] {
            // Where it had to make room meanwhile it came all the same.
            page.come(&ON_ITS_WAY, || self.held[number].get() == held).await;
        }
        if self.held[number].get() == held {
            place.unread.set(place.unread.get().saturating_sub(bytes));
        }
    }

    /// Asks for the segments after `end` that a run has not asked for.
    fn want(&self, run: usize, end: u64) {
        let size = u64::from(self.spec.segment_bytes);
        let (first, asked) = (end.div_ceil(size), &self.runs[run].asked);
        for segment in first.max(asked.get())..first + self.spec.ahead {
            if (segment + 1) * size > self.flash.size_bytes() {
                break;
            }
            if self.place(segment).is_none() {
                let Some(number) = self.room() else { break };
                let place = &self.places[number];
                if !self.flash.begin_read(segment * size, self.spec.segment_bytes, &place.pages) {
                    break;
                }
                self.held[number].set(segment + 1);
                place.unread.set(self.spec.segment_bytes);
                place.run.set((run, self.runs[run].number.get()));
                self.used.set(true);
            }
            asked.set(segment + 1);
        }
    }

    /// A place that nobody needs any more.
    fn room(&self) -> Option<usize> {
        let (count, next) = (self.places.len(), self.next_place.get());
        let number = (0..count).map(|step| (next + step) % count).find(|number| {
            let place = &self.places[*number];
            let (run, of) = place.run.get();
            place.pages.iter().all(|page| page.is_there())
                && (place.unread.get() == 0 || self.runs[run].number.get() != of)
        })?;
        self.next_place.set((number + 1) % count);
        Some(number)
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
            single_bit: flash::single_bit::Spec::NONE,
        };
        Flash::new(sim, "ssd", spec, 1)
    }

    /// How long each of these reads takes, 300 us after the one before; a length of zero is a write to there.
    fn reads(segments: u64, list: Vec<(u64, u32)>) -> Vec<Time> {
        let sim = Sim::new();
        let flash = flash(&sim);
        let ahead = ReadAhead::new(
            &sim,
            "ssd",
            Spec { segment_bytes: 16 << 10, segments: 2 * segments, ahead: segments },
            &flash,
        );
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
        // Nothing was programmed: it is still in the page register, and has to be sent.
        assert_eq!(took, [READ, READ, Time::ZERO, Time::us(16), Time::ZERO]);
    }

    #[test]
    fn several_readers_wait_for_one_segment() {
        let sim = Sim::new();
        let flash = flash(&sim);
        let ahead = ReadAhead::new(&sim, "ssd", Spec { segment_bytes: 16 << 10, segments: 4, ahead: 2 }, &flash);
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
