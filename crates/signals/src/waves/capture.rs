//! A file of waveforms, whichever kind it is: by how it begins, not by its name.

use std::collections::HashSet;
use std::io::{BufRead, Read, Seek};

use vcd::IdCode;

use super::fst_in::{FstReader, MAGIC, PACKED};
use super::read::{Broken, Next, Signal};
use super::vcd_in::VcdReader;

/// Bytes that tell what a file is.
pub const TELLING_BYTES: u64 = MAGIC.len() as u64;

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value change dump: a text.
    Vcd,
    /// GTKWave's format. It is read here and there, so it has to be a file.
    Fst,
}

impl Kind {
    /// What a file is that begins so, if it is a waveform.
    pub fn of(first: &[u8]) -> Option<Kind> {
        if first.starts_with(&MAGIC) || first.first() == Some(&PACKED) {
            return Some(Kind::Fst);
        }
        // Every keyword of a value change dump begins with this; blank lines may stand before.
        let text = first.trim_ascii_start();
        let is_blank = text.is_empty() && !first.is_empty();
        (is_blank || text.first() == Some(&b'$')).then_some(Kind::Vcd)
    }
}

/// A file that is being read: a text, or one that is read here and there.
pub enum Capture<T, F> {
    /// A value change dump.
    Vcd(VcdReader<T>),
    /// GTKWave's format.
    Fst(Box<FstReader<F>>),
}

impl<T: BufRead, F: Read + Seek> Capture<T, F> {
    /// Reads what a value change dump declares.
    pub fn vcd(text: T) -> Result<(Capture<T, F>, Vec<Signal>), Broken> {
        VcdReader::new(text).map(|(reader, signals)| (Capture::Vcd(reader), signals))
    }

    /// Reads what an FST file declares.
    pub fn fst(file: F) -> Result<(Capture<T, F>, Vec<Signal>), Broken> {
        FstReader::new(file).map(|(reader, signals)| (Capture::Fst(Box::new(reader)), signals))
    }

    /// Whether the file says what its unit of time is; otherwise a nanosecond is taken.
    pub fn has_unit(&self) -> bool {
        match self {
            Capture::Vcd(reader) => reader.has_unit(),
            Capture::Fst(_) => true,
        }
    }

    /// Changes of other signals need not be said.
    pub fn only(&mut self, codes: &HashSet<IdCode>) {
        match self {
            // All of a text is read in any case.
            Capture::Vcd(_) => {}
            Capture::Fst(reader) => reader.only(codes),
        }
    }
}

impl<T: BufRead, F: Read + Seek> Iterator for Capture<T, F> {
    type Item = Result<Next, Broken>;

    fn next(&mut self) -> Option<Result<Next, Broken>> {
        match self {
            Capture::Vcd(reader) => reader.next(),
            Capture::Fst(reader) => reader.next(),
        }
    }
}
