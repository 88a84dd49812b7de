//! Writes value change dumps. IEEE 1364-2005, 18.2.

use std::io::{self, Write};

use vcd::{IdCode, ScopeType, TimescaleUnit, Value, VarType, Writer};

use super::changes::{Declared, Level, Sink, WORDS, Wire};

/// A file that is being written. Its unit of time is the picosecond.
pub struct VcdFile<W: Write> {
    writer: Writer<W>,
    codes: Vec<(IdCode, u32)>,
    at_ps: Option<u64>,
}

impl<W: Write> VcdFile<W> {
    /// Begins a file that has these wires, and says what they carry at `start_ps`.
    pub fn new(out: W, wires: &[Declared], start_ps: u64) -> io::Result<VcdFile<W>> {
        let mut writer = Writer::new(out);
        writer.version(concat!("hopscope ", env!("CARGO_PKG_VERSION")))?;
        writer.timescale(1, TimescaleUnit::PS)?;
        let (mut codes, mut inside): (Vec<(IdCode, u32)>, Vec<String>) = (Vec::new(), Vec::new());
        for Declared { scope, name, bits, .. } in wires {
            let shared = inside.iter().zip(scope).take_while(|(one, other)| one == other).count();
            for _ in shared..inside.len() {
                writer.upscope()?;
            }
            for name in &scope[shared..] {
                writer.scope_def(ScopeType::Module, name)?;
            }
            inside.clone_from(scope);
            // Words are no part of the standard; GTKWave and Surfer show them.
            let (kind, width) = if *bits == WORDS { (VarType::String, 1) } else { (VarType::Wire, *bits) };
            codes.push((writer.add_var(kind, width, name, None)?, *bits));
        }
        for _ in 0..inside.len() {
            writer.upscope()?;
        }
        writer.enddefinitions()?;
        let mut file = VcdFile { writer, codes, at_ps: None };
        for (number, wire) in wires.iter().enumerate() {
            file.change(start_ps, Wire(number as u32), wire.at_rest)?;
        }
        Ok(file)
    }

    /// Ends the file at this time.
    pub fn finish(mut self, end_ps: u64) -> io::Result<()> {
        if self.at_ps.is_none_or(|at| at < end_ps) {
            self.writer.timestamp(end_ps)?;
        }
        self.writer.flush()
    }
}

impl<W: Write> Sink for VcdFile<W> {
    type Error = io::Error;

    fn change(&mut self, at_ps: u64, wire: Wire, level: Level) -> io::Result<()> {
        if self.at_ps != Some(at_ps) {
            self.writer.timestamp(at_ps)?;
            self.at_ps = Some(at_ps);
        }
        let (code, bits) = self.codes[wire.0 as usize];
        match (level, bits) {
            (Level::Word(word), _) => self.writer.change_string(code, &word.replace(' ', "_")),
            (Level::Floating, 1) => self.writer.change_scalar(code, Value::Z),
            (Level::Driven(value), 1) => self.writer.change_scalar(code, value & 1 == 1),
            (Level::Floating, _) => self.writer.change_vector(code, [Value::Z]),
            // As the library writes vectors, all bits at once.
            (Level::Driven(value), bits) => {
                let (value, width) = (value & (u64::MAX >> (u64::BITS - bits)), bits as usize);
                writeln!(self.writer.writer(), "b{value:0width$b} {code}")
            }
        }
    }
    fn end(self: Box<Self>, end_ps: u64) -> io::Result<()> {
        self.finish(end_ps)
    }
}
