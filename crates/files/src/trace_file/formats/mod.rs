//! The formats of traces, a file each, and which of them a text is.

mod ascii;
mod blkparse;
mod gaps;
mod msr;
mod spc;
mod validation;

use hopscope_kernel::Time;

use self::blkparse::Blkparse;
pub use self::gaps::of as gaps_of;
pub use self::gaps::{Gaps, Told};
use super::fields::Fields;
use super::lines::{Lines, TraceProblem, Wrong};
use super::record::{Gate, Layout, Record};

/// A format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// DiskSim's validation traces.
    DiskSimValidation,
    /// DiskSim's default format in ASCII.
    DiskSimAscii,
    /// That of the Storage Performance Council.
    Spc,
    /// That of Microsoft Research Cambridge.
    Msr,
    /// What blkparse prints.
    Blkparse,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 5] =
        [Format::DiskSimValidation, Format::DiskSimAscii, Format::Spc, Format::Msr, Format::Blkparse];

    /// As on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Format::DiskSimValidation => "disksim-validation",
            Format::DiskSimAscii => "disksim-ascii",
            Format::Spc => "spc",
            Format::Msr => "msr",
            Format::Blkparse => "blkparse",
        }
    }

    /// The one that is named; what was expected, where none is.
    pub fn named(word: &str) -> Result<Format, String> {
        let words: Vec<&str> = Format::ALL.iter().map(|format| format.word()).collect();
        let found = Format::ALL.into_iter().find(|format| format.word() == word);
        found.ok_or_else(|| format!("expected one of {}", words.join(", ")))
    }

    /// Whether each request is issued so long after the one before ended. Others are issued at the times recorded.
    pub fn follows_completions(self) -> bool {
        self == Format::DiskSimValidation
    }

    fn fields(self, line: &[u8]) -> Fields<'_> {
        match self {
            Format::Spc | Format::Msr => Fields::by_commas(line),
            Format::DiskSimValidation | Format::DiskSimAscii | Format::Blkparse => Fields::by_blanks(line),
        }
    }

    fn is_like(self, line: &[u8]) -> bool {
        let fields = self.fields(line);
        match self {
            Format::DiskSimValidation => validation::is_like(&fields),
            Format::DiskSimAscii => ascii::is_like(&fields),
            Format::Spc => spc::is_like(&fields),
            Format::Msr => msr::is_like(&fields),
            Format::Blkparse => blkparse::is_like(&fields),
        }
    }

    /// The format of a text that begins like this.
    pub fn of(sample: &[u8]) -> Option<Format> {
        let says_something = |line: &&[u8]| {
            let first = line.iter().find(|byte| !byte.is_ascii_whitespace());
            first.is_some_and(|byte| *byte != b'#')
        };
        let first = sample.split(|byte| *byte == b'\n').find(says_something)?;
        let first = first.strip_suffix(b"\r").unwrap_or(first);
        // The ones whose fields say most come first.
        let order = [Format::DiskSimValidation, Format::Msr, Format::Spc, Format::Blkparse, Format::DiskSimAscii];
        order.into_iter().find(|format| format.is_like(first))
    }
}

/// Reads requests of a format.
pub struct Requests {
    format: Format,
    gate: Gate,
    gaps: Gaps,
    /// The gap after the request before.
    after_last: Time,
    blkparse: Blkparse,
    /// An error that comes after the requests that are kept back.
    failed: Option<TraceProblem>,
}

impl Requests {
    /// Of a text that begins with this sample; whoever reads it says what its requests are held against.
    pub fn new(format: Format, gaps: Gaps, gate: Gate, sample: &[u8]) -> Requests {
        let mut lines = sample.split(|byte| *byte == b'\n');
        let issues = lines.any(|line| blkparse::is_issue(&Fields::by_blanks(line)));
        let blkparse = Blkparse::new(if issues { b'D' } else { b'Q' });
        Requests { format, gate, gaps, after_last: Time::ZERO, blkparse, failed: None }
    }

    /// Lines with requests that move no data.
    pub fn without_data(&self) -> u64 {
        self.blkparse.without_data
    }

    /// The next request; nothing at the end.
    pub fn next(&mut self, lines: &mut Lines) -> Result<Option<Record>, TraceProblem> {
        if self.format == Format::Blkparse {
            return self.next_kept(lines);
        }
        while lines.advance()? {
            match self.read(lines.line()) {
                Ok(Some(record)) => return Ok(Some(record)),
                Ok(None) => {}
                Err(wrong) => return Err(lines.problem(wrong)),
            }
        }
        Ok(None)
    }

    fn read(&mut self, line: &[u8]) -> Result<Option<Record>, Wrong> {
        let fields = self.format.fields(line);
        let (record, layout): (Record, &Layout) = match self.format {
            Format::DiskSimValidation => (validation::read(&fields)?, &validation::LAYOUT),
            Format::DiskSimAscii => (ascii::read(&fields)?, &ascii::LAYOUT),
            Format::Spc => (spc::read(&fields)?, &spc::LAYOUT),
            Format::Msr => (msr::read(&fields)?, &msr::LAYOUT),
            Format::Blkparse => return self.blkparse.take(&fields, &mut self.gate).map(|()| None),
        };
        let admitted = self.gate.admit(record, !self.format.follows_completions(), &fields, layout)?;
        Ok(admitted.map(|record| self.with_its_gap(record)))
    }

    /// A request with the gap that lies before it.
    fn with_its_gap(&mut self, mut record: Record) -> Record {
        if self.format.follows_completions() && self.gaps == Gaps::UntilNext {
            std::mem::swap(&mut record.at, &mut self.after_last);
        }
        record
    }

    fn next_kept(&mut self, lines: &mut Lines) -> Result<Option<Record>, TraceProblem> {
        loop {
            let at_end = self.failed.is_some();
            if let Some(record) = self.blkparse.next(at_end) {
                return Ok(Some(record));
            }
            if let Some(problem) = self.failed.take() {
                return Err(problem);
            }
            match lines.advance() {
                Ok(true) => {
                    if let Err(wrong) = self.read(lines.line()) {
                        self.failed = Some(lines.problem(wrong));
                    }
                }
                Ok(false) => return Ok(self.blkparse.next(true)),
                Err(problem) => self.failed = Some(problem),
            }
        }
    }
}

/// Requests of a sample from which a unit is judged, at least.
const JUDGED_MIN: usize = 32;

/// What looks like times in another unit than the format's: the requests of a sample follow each other faster or slower
/// than those of the storage that such traces are of, or their responses are too fast.
pub fn suspicious_unit(format: Format, sample: &[u8], gate: Gate) -> Option<String> {
    let mut requests = Requests::new(format, Gaps::SinceLast, gate, sample);
    let mut lines = Lines::new(Box::new(std::io::Cursor::new(sample.to_vec())), String::new());
    let (mut gaps, mut responses, mut last) = (Vec::new(), Vec::new(), Time::ZERO);
    while let Ok(Some(record)) = requests.next(&mut lines) {
        gaps.push(if format.follows_completions() { record.at } else { record.at.saturating_sub(last) });
        last = record.at;
        responses.extend(record.response);
    }
    if gaps.len() < JUDGED_MIN {
        return None;
    }
    let mean = Time::ps(gaps.iter().map(|gap| gap.as_ps() / gaps.len() as u64).sum());
    let median = |times: &mut Vec<Time>| {
        times.sort_unstable();
        times.get(times.len() / 2).copied()
    };
    // The shortest mean gap, the longest median gap, the shortest response; and what the unit would be instead.
    let (unit, shortest, if_shorter, if_longer, fastest) = match format {
        Format::DiskSimValidation => ("microseconds", Time::ZERO, "", "nanoseconds", Time::us(50)),
        Format::DiskSimAscii => ("milliseconds", Time::us(20), "seconds", "microseconds", Time::ZERO),
        Format::Spc => ("seconds", Time::ns(200), "hours", "milliseconds", Time::ZERO),
        Format::Msr => ("ticks of 100 ns", Time::ns(200), "milliseconds", "nanoseconds", Time::us(5)),
        Format::Blkparse => ("seconds", Time::ns(200), "hours", "milliseconds", Time::ZERO),
    };
    let question = |instead: &str| format!("are they {instead} instead of {unit}?");
    if mean < shortest {
        return Some(format!(
            "the times of the first {} requests are {mean} apart: {}",
            gaps.len(),
            question(if_shorter)
        ));
    }
    if let Some(gap) = median(&mut gaps).filter(|gap| *gap > LONGEST_GAP) {
        return Some(format!(
            "the times of the first {} requests are {gap} apart: {}",
            gaps.len(),
            question(if_longer)
        ));
    }
    let enough = responses.len() >= JUDGED_MIN;
    let response = median(&mut responses).filter(|response| enough && *response < fastest)?;
    Some(format!("the first {} responses took {response}: {}", responses.len(), question("milliseconds")))
}

/// The median gap between the requests of a trace that does not idle.
const LONGEST_GAP: Time = Time::ms(5_000);
