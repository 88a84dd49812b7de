//! Reads FST files, a change at a time. There is no standard: the format is what GTKWave reads and writes, as its
//! `block_format.txt` describes it.
//!
//! A file is a row of blocks. One has all names; those with values cover a stretch of time each, and in them every
//! signal has its changes for itself. So a stretch is unpacked at once, of the signals that are wanted, and put in order
//! of time: memory holds one of them.
//!
//! Not read: files that are packed once more as a whole, and values packed with FastLZ. Both say so.

use std::collections::{HashSet, VecDeque};
use std::io::{self, Read, Seek, SeekFrom};

use vcd::IdCode;

use super::fst_blocks::{Front, Unread, bytes, of_gzip, of_lz4, of_zlib_or_plain};
use super::fst_stretch::{Geometry, Kind, Said, Stretch};
use super::read::{Broken, Next, Place, SIGNALS_MAX, Scopes, Signal, indexed};

/// How a file begins: a block of this kind, and of this length.
pub const MAGIC: [u8; 9] = [0, 0, 0, 0, 0, 0, 0, 1, 73];
/// How a file begins that is packed once more as a whole.
pub const PACKED: u8 = 254;

/// A block: its kind, where it begins, and its length without the kind.
#[derive(Clone, Copy)]
struct Block {
    kind: u8,
    at: u64,
    length: u64,
}

/// A file that is being read.
pub struct FstReader<R> {
    file: R,
    /// Femtoseconds of a unit of time, or units of a femtosecond.
    unit_fs: (u64, u64),
    geometry: Geometry,
    /// Those with values that have not been read.
    ahead: VecDeque<Block>,
    is_first: bool,
    stretch: Option<(Stretch, u64)>,
    /// Whose changes are said; all where nothing is said.
    wanted: Option<Vec<bool>>,
    now: Option<u64>,
    /// The blocks do not come to an end.
    cut: Option<Broken>,
}

fn broken(at: u64, unread: &Unread) -> Broken {
    Broken { at: Place::Byte(at), what: unread.what() }
}

impl<R: Read + Seek> FstReader<R> {
    /// Reads what a file declares: its signals.
    pub fn new(mut file: R) -> Result<(FstReader<R>, Vec<Signal>), Broken> {
        let (blocks, cut) = blocks(&mut file)?;
        let one = |kinds: &[u8], what: &str| {
            let found = blocks.iter().find(|block| kinds.contains(&block.kind)).copied();
            found.ok_or_else(|| match &cut {
                Some(cut) => Broken { what: format!("{}, and before that no {what} comes", cut.what), ..cut.clone() },
                None => Broken { at: Place::Byte(0), what: format!("the file has no {what}") },
            })
        };
        let header = one(&[0], "header")?;
        let unit_fs = header_unit(&mut file, header).map_err(|unread| broken(header.at, &unread))?;
        let names = one(&[4, 6, 7], "block of names")?;
        let signals = hierarchy(&mut file, names).map_err(|unread| broken(names.at, &unread))?;
        let lengths = one(&[3], "block of lengths")?;
        let geometry = geometry(&mut file, lengths).map_err(|unread| broken(lengths.at, &unread))?;
        let ahead = blocks.into_iter().filter(|block| matches!(block.kind, 1 | 5 | 8)).collect();
        let stretch = None;
        let this = FstReader { file, unit_fs, geometry, ahead, is_first: true, stretch, wanted: None, now: None, cut };
        Ok((this, signals))
    }

    /// From now on only changes of these are said, and unpacked.
    pub fn only(&mut self, codes: &HashSet<IdCode>) {
        let is_wanted = |number: usize| codes.contains(&IdCode::from(number as u64));
        self.wanted = Some((0..self.geometry.len()).map(is_wanted).collect());
    }

    fn time(&mut self, at: u64) -> Result<Option<Next>, Unread> {
        let at_ps = u128::from(at) * u128::from(self.unit_fs.0) / u128::from(self.unit_fs.1) / 1_000;
        let at_ps = u64::try_from(at_ps).map_err(|_| Unread::Wrong(format!("time {at} is beyond 213 days")))?;
        match self.now.replace(at_ps) {
            Some(now) if now == at_ps => Ok(None),
            Some(now) if now > at_ps => Err(Unread::Wrong(format!("time goes back to {at}"))),
            _ => Ok(Some(Next::Time(at_ps))),
        }
    }

    /// The next of a stretch under way.
    fn go_on(&mut self) -> Result<Option<Next>, Unread> {
        while let Some((stretch, _)) = &mut self.stretch {
            match stretch.next()? {
                Some(Said::Time(at)) => {
                    if let Some(next) = self.time(at)? {
                        return Ok(Some(next));
                    }
                }
                Some(Said::Value(number, bits)) => return Ok(Some(Next::Change(IdCode::from(number as u64), bits))),
                None => self.stretch = None,
            }
        }
        Ok(None)
    }

    fn open(&mut self, block: Block) -> Result<(), Unread> {
        let content = bytes(&mut self.file, block.at + 8, block.length - 8)?;
        let is_first = std::mem::take(&mut self.is_first);
        let stretch = Stretch::new(&content, block.kind == 8, &self.geometry, self.wanted.as_deref(), is_first)?;
        self.stretch = Some((stretch, block.at));
        Ok(())
    }
}

impl<R: Read + Seek> Iterator for FstReader<R> {
    type Item = Result<Next, Broken>;

    fn next(&mut self) -> Option<Result<Next, Broken>> {
        loop {
            let at = self.stretch.as_ref().map_or(0, |(_, at)| *at);
            match self.go_on() {
                Ok(Some(next)) => return Some(Ok(next)),
                Ok(None) => {}
                Err(unread) => {
                    self.stretch = None;
                    self.ahead.clear();
                    self.cut = None;
                    return Some(Err(broken(at, &unread)));
                }
            }
            let Some(block) = self.ahead.pop_front() else { return self.cut.take().map(Err) };
            if let Err(unread) = self.open(block) {
                self.ahead.clear();
                self.cut = None;
                return Some(Err(broken(block.at, &unread)));
            }
        }
    }
}

/// All blocks of a file, and why there are no more if it does not just end.
fn blocks(file: &mut (impl Read + Seek)) -> Result<(Vec<Block>, Option<Broken>), Broken> {
    let unreadable = |error: io::Error| broken(0, &Unread::File(error));
    let end = file.seek(SeekFrom::End(0)).map_err(unreadable)?;
    let (mut all, mut at): (Vec<Block>, u64) = (Vec::new(), 0);
    while at < end {
        let wrong = |what: &str| Some(Broken { at: Place::Byte(at), what: what.to_string() });
        let Ok(head) = bytes(file, at, 9) else { return Ok((all, wrong("the file ends within a block"))) };
        let (kind, length) = (head[0], head[1..].iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        match kind {
            PACKED => return Err(Broken { at: Place::Byte(0), what: PACKED_WHOLE.to_string() }),
            // What a writer has not finished says that it is nothing.
            255 if length == 0 => return Ok((all, wrong("the file was not closed by whoever wrote it"))),
            0..=8 | 255 if length >= 8 => {}
            _ => return Ok((all, wrong("there is no block that FST files have"))),
        }
        match (at + 1).checked_add(length) {
            Some(next) if next <= end => {
                all.push(Block { kind, at: at + 1, length });
                at = next;
            }
            _ => return Ok((all, wrong("the file ends within a block"))),
        }
    }
    Ok((all, None))
}

const PACKED_WHOLE: &str =
    "the file is packed once more as a whole, which is not read: `fst2vcd` makes a value change dump of it";

/// The unit of time: femtoseconds, or how many of them make one.
fn header_unit(file: &mut (impl Read + Seek), block: Block) -> Result<(u64, u64), Unread> {
    let content = bytes(file, block.at + 8, block.length - 8)?;
    let exponent = i32::from(Front(&content).take(65)?[64] as i8) + 15;
    let unit = 10u64.checked_pow(exponent.unsigned_abs()).ok_or("the unit of time is out of all bounds")?;
    Ok(if exponent < 0 { (1, unit) } else { (unit, 1) })
}

/// What the values of each signal are.
fn geometry(file: &mut (impl Read + Seek), block: Block) -> Result<Geometry, Unread> {
    let content = bytes(file, block.at + 8, block.length - 8)?;
    let mut front = Front(&content);
    let (length, count) = (front.word()?, front.word()?);
    if count > SIGNALS_MAX as u64 {
        return Err(Unread::Wrong(format!("more than {SIGNALS_MAX} signals")));
    }
    let unpacked = of_zlib_or_plain(front.0, length)?;
    let mut front = Front(&unpacked);
    let kind = |written: u64| match u32::try_from(written) {
        Ok(0) => Ok(Kind::Real),
        Ok(u32::MAX) => Ok(Kind::Text),
        Ok(bits) => Ok(Kind::Bits(bits)),
        Err(_) => Err(Unread::from("a signal has more bits than can be")),
    };
    (0..count).map(|_| front.number().and_then(kind)).collect()
}

/// The names.
fn hierarchy(file: &mut (impl Read + Seek), block: Block) -> Result<Vec<Signal>, Unread> {
    let content = bytes(file, block.at + 8, block.length - 8)?;
    let mut front = Front(&content);
    let length = front.word()?;
    let unpacked = match block.kind {
        4 => of_gzip(front.0, length)?,
        6 => of_lz4(front.0, length)?,
        _ => {
            let once = front.number()?;
            of_lz4(&of_lz4(front.0, once)?, length)?
        }
    };
    let (mut front, mut scopes, mut signals, mut own) = (Front(&unpacked), Scopes::default(), Vec::new(), 0);
    while !front.0.is_empty() {
        match front.byte()? {
            // A scope: its kind, its name, what it is made of.
            254 => {
                front.byte()?;
                scopes.enter(&front.name()?).map_err(Unread::Wrong)?;
                front.name()?;
            }
            255 => scopes.leave(),
            // What else is known of the next one: two kinds, a name, a number.
            252 => {
                front.take(2)?;
                front.name()?;
                front.number()?;
            }
            253 => {}
            kind @ 0..=29 => {
                front.byte()?;
                let (reference, bits, same) = (front.name()?, front.number()?, front.number()?);
                // A port has three characters a bit and two more.
                let bits = if kind == 18 { bits.saturating_sub(2) / 3 } else { bits };
                own += u64::from(same == 0);
                if signals.len() >= SIGNALS_MAX {
                    return Err(Unread::Wrong(format!("more than {SIGNALS_MAX} signals")));
                }
                let (name, index) = indexed(&reference);
                let code = IdCode::from(if same == 0 { own } else { same } - 1);
                let bits = u32::try_from(bits).map_err(|_| "a signal has more bits than can be")?;
                signals.push(Signal { scope: scopes.path().clone(), name: name.to_string(), bits, index, code });
            }
            other => return Err(Unread::Wrong(format!("a name of kind {other}, which is not known"))),
        }
    }
    Ok(signals)
}
