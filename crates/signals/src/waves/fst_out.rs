//! Writes FST files, as GTKWave and Surfer read them. The library has no signals whose values are words: they are left
//! out.

use std::io::{self, Seek, Write};

use fst_writer::{
    FstBodyWriter, FstFileType, FstHeaderWriter, FstInfo, FstScopeType, FstSignalId, FstSignalType, FstVarDirection,
    FstVarType, FstWriteError,
};

use super::changes::{Declared, Level, Sink, WORDS, Wire};

/// Changes are written as a block once they take so many bytes.
const BLOCK_BYTES: usize = 1 << 23;

/// A file that is being written. Its unit of time is the picosecond. It begins at 0, with nothing known until the first
/// change.
pub struct FstFile<W: Write + Seek> {
    body: FstBodyWriter<W>,
    /// None where the values are words.
    signals: Vec<Option<(FstSignalId, u32)>>,
    at_ps: u64,
    /// Characters of a value, the highest bit first.
    written: Vec<u8>,
}

fn failed(error: FstWriteError) -> io::Error {
    match error {
        FstWriteError::Io(error) => error,
        other => io::Error::other(other.to_string()),
    }
}

impl<W: Write + Seek> FstFile<W> {
    /// Begins a file that has these wires, and says what they carry at `start_ps`.
    pub fn new(out: W, wires: &[Declared], start_ps: u64) -> io::Result<FstFile<W>> {
        let info = FstInfo {
            // The library means by it how much later everything is shown.
            start_time: 0,
            timescale_exponent: -12,
            version: concat!("hopscope ", env!("CARGO_PKG_VERSION")).to_string(),
            // A file does not say when it was written: the same run gives the same file.
            date: String::new(),
            file_type: FstFileType::Verilog,
        };
        let mut header = FstHeaderWriter::new(out, &info).map_err(failed)?;
        let (mut signals, mut inside): (Vec<Option<(FstSignalId, u32)>>, Vec<String>) = (Vec::new(), Vec::new());
        for Declared { scope, name, bits, .. } in wires {
            if *bits == WORDS {
                signals.push(None);
                continue;
            }
            let shared = inside.iter().zip(scope).take_while(|(one, other)| one == other).count();
            for _ in shared..inside.len() {
                header.up_scope().map_err(failed)?;
            }
            for name in &scope[shared..] {
                header.scope(name, "", FstScopeType::Module).map_err(failed)?;
            }
            inside.clone_from(scope);
            let kind = FstSignalType::bit_vec(*bits);
            let signal = header.var(name, kind, FstVarType::Wire, FstVarDirection::Implicit, None);
            signals.push(Some((signal.map_err(failed)?, *bits)));
        }
        for _ in 0..inside.len() {
            header.up_scope().map_err(failed)?;
        }
        let mut body = header.finish().map_err(failed)?;
        body.time_change(start_ps).map_err(failed)?;
        let mut file = FstFile { body, signals, at_ps: start_ps, written: Vec::new() };
        for (number, wire) in wires.iter().enumerate() {
            file.change(start_ps, Wire(number as u32), wire.at_rest)?;
        }
        Ok(file)
    }

    fn time(&mut self, at_ps: u64) -> io::Result<()> {
        if at_ps > self.at_ps {
            if self.body.size() > BLOCK_BYTES {
                self.body.flush().map_err(failed)?;
            }
            self.body.time_change(at_ps).map_err(failed)?;
            self.at_ps = at_ps;
        }
        Ok(())
    }

    /// Ends the file at this time.
    pub fn finish(mut self, end_ps: u64) -> io::Result<()> {
        self.time(end_ps)?;
        self.body.finish().map_err(failed)?.flush()
    }
}

impl<W: Write + Seek> Sink for FstFile<W> {
    type Error = io::Error;

    fn change(&mut self, at_ps: u64, wire: Wire, level: Level) -> io::Result<()> {
        let Some((signal, bits)) = self.signals[wire.0 as usize] else { return Ok(()) };
        self.time(at_ps)?;
        self.written.clear();
        match level {
            Level::Word(_) => return Ok(()),
            Level::Floating => self.written.resize(bits as usize, b'z'),
            Level::Driven(value) => self.written.extend((0..bits).rev().map(|bit| b'0' | (value >> bit & 1) as u8)),
        }
        self.body.signal_change(signal, &self.written).map_err(failed)
    }

    fn end(self: Box<Self>, end_ps: u64) -> io::Result<()> {
        self.finish(end_ps)
    }
}
