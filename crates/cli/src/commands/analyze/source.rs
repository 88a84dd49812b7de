//! Where a waveform comes from, and how much of it has been read.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::rc::Rc;

use hopscope_signals::waves::capture::Capture;
use hopscope_signals::waves::read::{Broken, Signal};

/// Says how much has been read.
pub struct Counted<R>(R, Rc<Cell<u64>>);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        self.1.set(self.1.get() + count as u64);
        Ok(count)
    }
}

impl<R: Seek> Seek for Counted<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

/// A waveform: a text that comes from anywhere, or a file that is read here and there.
pub enum Source<'a> {
    /// A value change dump.
    Text(Box<dyn Read + 'a>),
    /// An FST file.
    File(File),
}

/// A waveform that is being read.
pub type Reading<'a> = Capture<BufReader<Counted<Box<dyn Read + 'a>>>, Counted<File>>;

impl<'a> Source<'a> {
    /// A value change dump.
    pub fn text(text: impl Read + 'a) -> Source<'a> {
        Source::Text(Box::new(text))
    }

    /// An FST file.
    pub fn file(file: File) -> Source<'a> {
        Source::File(file)
    }

    /// Reads what it declares; `read` says from now on how many bytes have been read.
    pub fn open(self, read: &Rc<Cell<u64>>) -> Result<(Reading<'a>, Vec<Signal>), Broken> {
        match self {
            Source::Text(text) => Capture::vcd(BufReader::with_capacity(1 << 16, Counted(text, read.clone()))),
            Source::File(file) => Capture::fst(Counted(file, read.clone())),
        }
    }
}
