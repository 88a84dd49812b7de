//! A block of values of an FST file: a stretch of time, every signal by itself, put in order of time.

use std::collections::HashMap;
use std::rc::Rc;

use super::fst_blocks::{Front, Unread, of_lz4, of_zlib, of_zlib_or_plain};
use super::read::{BITS_MAX, Bits, bits};

/// Bytes of all signals of a stretch once they are unpacked, at most.
const UNPACKED_MAX: usize = 1 << 31;

/// What a signal's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// So many bits.
    Bits(u32),
    /// A number with a fraction: eight bytes.
    Real,
    /// Text of any length.
    Text,
}

/// What the values of all signals are, by number.
pub type Geometry = Vec<Kind>;

/// Levels of one bit that are no 0 and no 1, by number.
const OTHER_LEVELS: &[u8; 8] = b"xzhuwl-?";

/// What comes next in a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// Time, in units of the file.
    Time(u64),
    /// A signal, by number, has this value.
    Value(usize, Bits),
}

/// Where a stretch has the changes of a signal.
#[derive(Clone, Copy, Default)]
struct Lies {
    offset: u64,
    length: u64,
}

/// A signal with changes to come.
struct Signal {
    number: usize,
    data: Rc<[u8]>,
    /// Bytes that have been read.
    read: usize,
    /// The next one that changes with the same time, from 1; 0 where there is none.
    beside: usize,
}

/// A stretch that is being read.
pub struct Stretch {
    kinds: Vec<Kind>,
    times: Vec<u64>,
    /// Of each time the first signal that changes then, from 1; 0 where there is none.
    first: Vec<usize>,
    signals: Vec<Signal>,
    /// The place in `times`; nothing before the first.
    at: Option<usize>,
    /// What is said before the first time, in order.
    before: std::vec::IntoIter<Said>,
}

impl Stretch {
    /// What a block holds behind its length. Its table is of the second kind where `by_signed`. Values at its beginning
    /// are said where it is the first one and they are nowhere else.
    pub fn new(
        content: &[u8],
        by_signed: bool,
        geometry: &Geometry,
        wanted: Option<&[bool]>,
        is_first: bool,
    ) -> Result<Stretch, Unread> {
        let is_wanted = |number: usize| wanted.is_none_or(|wanted| wanted.get(number) == Some(&true));
        let mut front = Front(content);
        let start = front.word()?;
        front.take(16)?;
        let (length, packed) = (front.number()?, front.number()?);
        let _signals = front.number()?;
        let frame = front.take(packed)?;
        // From the end: the times and their lengths, the table of signals and its length.
        let (rest, mut lengths) = split_end(front.0, 24)?;
        let (times_length, times_packed, count) = (lengths.word()?, lengths.word()?, lengths.word()?);
        let (rest, times_packed) = split_end(rest, times_packed)?;
        let times = times(&of_zlib_or_plain(times_packed.0, times_length)?, count)?;
        let (rest, mut length_of_table) = split_end(rest, 8)?;
        let (values, table) = split_end(rest, length_of_table.word()?)?;
        let mut values = Front(values);
        values.number()?;
        let values = values.0;
        let lies =
            if by_signed { table_by_signed(table, geometry.len()) } else { table_by_kind(table, geometry.len()) };
        let before = match is_first && times.first().is_none_or(|first| *first > start) {
            true => frame_values(&of_zlib_or_plain(frame, length)?, start, geometry, is_wanted)?,
            false => Vec::new(),
        };
        let mut this = Stretch {
            kinds: geometry.clone(),
            first: vec![0; times.len()],
            times,
            signals: Vec::new(),
            at: None,
            before: before.into_iter(),
        };
        this.unpack(values, &lies?, is_wanted)?;
        Ok(this)
    }

    fn unpack(&mut self, values: &[u8], lies: &[Lies], is_wanted: impl Fn(usize) -> bool) -> Result<(), Unread> {
        let how = values.first().copied().unwrap_or(b'4');
        let (mut unpacked, mut total): (HashMap<u64, Rc<[u8]>>, usize) = (HashMap::new(), 0);
        for (number, lies) in lies.iter().enumerate() {
            // A table that ends early leaves the rest without changes.
            let end = if lies.length == 0 { values.len() as u64 } else { lies.offset.saturating_add(lies.length) };
            if lies.offset == 0 || !is_wanted(number) {
                continue;
            }
            let data = match unpacked.get(&lies.offset) {
                Some(data) => data.clone(),
                None => {
                    let packed = values.get(lies.offset as usize..end as usize);
                    let data: Rc<[u8]> = unpack(packed.ok_or("changes lie outside of their block")?, how)?.into();
                    total += data.len();
                    if total > UNPACKED_MAX {
                        return Err(Unread::Wrong(format!("a block of more than {UNPACKED_MAX} bytes of changes")));
                    }
                    unpacked.insert(lies.offset, data.clone());
                    data
                }
            };
            self.signals.push(Signal { number, data, read: 0, beside: 0 });
            self.queue(self.signals.len() - 1, 0)?;
        }
        Ok(())
    }

    /// Puts a signal beside those that change with its next change; `at` is the time that it has come to.
    fn queue(&mut self, index: usize, at: usize) -> Result<(), Unread> {
        let signal = &mut self.signals[index];
        if signal.read == signal.data.len() {
            return Ok(());
        }
        let head = Front(&signal.data[signal.read..]).number()?;
        let later = match self.kinds[signal.number] {
            Kind::Bits(1) => head >> (2 << (head & 1)),
            _ => head >> 1,
        };
        let at = (at as u64).checked_add(later).and_then(|at| usize::try_from(at).ok());
        let first = at.and_then(|at| self.first.get_mut(at)).ok_or("a change comes after the end of its block")?;
        signal.beside = std::mem::replace(first, index + 1);
        Ok(())
    }

    /// What comes next.
    pub fn next(&mut self) -> Result<Option<Said>, Unread> {
        if let Some(said) = self.before.next() {
            return Ok(Some(said));
        }
        if let Some(at) = self.at {
            while self.first[at] != 0 {
                let index = self.first[at] - 1;
                self.first[at] = std::mem::take(&mut self.signals[index].beside);
                let said = self.value(index)?;
                self.queue(index, at)?;
                if said.is_some() {
                    return Ok(said);
                }
            }
        }
        let next = self.at.map_or(0, |at| at + 1);
        let Some(time) = self.times.get(next) else { return Ok(None) };
        self.at = Some(next);
        Ok(Some(Said::Time(*time)))
    }

    /// The next value of a signal; nothing where it is no bits.
    fn value(&mut self, index: usize) -> Result<Option<Said>, Unread> {
        let signal = &mut self.signals[index];
        let mut front = Front(&signal.data[signal.read..]);
        let head = front.number()?;
        let value = match (self.kinds[signal.number], head & 1) {
            (Kind::Bits(1), 0) => Some(bits(&[b'0' | (head >> 1 & 1) as u8])),
            (Kind::Bits(1), _) => Some(bits(&OTHER_LEVELS[(head >> 1 & 7) as usize..][..1])),
            (Kind::Bits(count), 0) => Some(of_two(front.take(u64::from(count.div_ceil(8)))?, count)),
            (Kind::Bits(count), _) => Some(bits(front.take(u64::from(count))?)),
            (Kind::Real, whole) => front.take(if whole == 0 { 1 } else { 8 }).map(|_| None)?,
            (Kind::Text, _) => {
                let length = front.number()?;
                front.take(length).map(|_| None)?
            }
        };
        signal.read = signal.data.len() - front.0.len();
        Ok(value.map(|value| Said::Value(signal.number, value)))
    }
}

fn split_end(bytes: &[u8], count: u64) -> Result<(&[u8], Front<'_>), Unread> {
    let at = usize::try_from(count).ok().and_then(|count| bytes.len().checked_sub(count));
    let (rest, end) = bytes.split_at(at.ok_or("a block is shorter than what should be in it")?);
    Ok((rest, Front(end)))
}

fn times(unpacked: &[u8], count: u64) -> Result<Vec<u64>, Unread> {
    let (mut front, mut times, mut now) = (Front(unpacked), Vec::new(), 0u64);
    for _ in 0..count {
        now = now.checked_add(front.number()?).ok_or("a time has more than 64 bits")?;
        times.push(now);
    }
    Ok(times)
}

/// Values at the beginning: of each signal all its characters.
fn frame_values(
    frame: &[u8],
    start: u64,
    geometry: &Geometry,
    is_wanted: impl Fn(usize) -> bool,
) -> Result<Vec<Said>, Unread> {
    let (mut front, mut said) = (Front(frame), vec![Said::Time(start)]);
    for (number, kind) in geometry.iter().enumerate() {
        match kind {
            Kind::Bits(count) => {
                let bits = bits(front.take(u64::from(*count))?);
                // What is not known yet needs no saying.
                said.extend((is_wanted(number) && bits.known != 0).then_some(Said::Value(number, bits)));
            }
            Kind::Real => drop(front.take(8)?),
            Kind::Text => {}
        }
    }
    if said.len() == 1 {
        said.clear();
    }
    Ok(said)
}

fn unpack(packed: &[u8], how: u8) -> Result<Vec<u8>, Unread> {
    let mut front = Front(packed);
    match (front.number()?, how) {
        (0, _) => Ok(front.0.to_vec()),
        (length, b'4') => of_lz4(front.0, length),
        (_, b'F') => Err("values are packed with FastLZ, which is not read: `vcd2fst` packs them with LZ4".into()),
        (length, _) => of_zlib(front.0, length),
    }
}

/// `count` bits without any that is not known, eight a byte, the highest first.
fn of_two(packed: &[u8], count: u32) -> Bits {
    let pad = packed.len() * 8 - count as usize;
    let wide = packed.iter().rev().take(BITS_MAX / 8 + 1).rev().fold(0u128, |wide, byte| wide << 8 | u128::from(*byte));
    let value = (wide >> pad) as u64;
    let value = if count < 64 { value & ((1 << count) - 1) } else { value };
    Bits { value, known: u64::MAX }
}

/// Where the changes of signals lie: numbers with a sign, or a row of signals without any. A negative one says which
/// signal has the same.
fn table_by_signed(mut table: Front<'_>, signals: usize) -> Result<Vec<Lies>, Unread> {
    let (mut all, mut last, mut same) = (Vec::new(), None, 0u64);
    while let Some(kind) = table.0.first() {
        if kind & 1 == 0 {
            skip(&mut all, table.number()? >> 1, signals)?;
            continue;
        }
        match table.signed()? >> 1 {
            by @ 1.. => begins(&mut all, &mut last, by as u64)?,
            0 => all.push(Entry::As(same)),
            other => {
                same = other.unsigned_abs() - 1;
                all.push(Entry::As(same));
            }
        }
        within(&all, signals)?;
    }
    settled(all)
}

/// The same in an older form: a zero says which signal has the same.
fn table_by_kind(mut table: Front<'_>, signals: usize) -> Result<Vec<Lies>, Unread> {
    let (mut all, mut last) = (Vec::new(), None);
    while !table.0.is_empty() {
        match table.number()? {
            0 => {
                let same = table.number()?.checked_sub(1).ok_or("a signal is the same as none")?;
                all.push(Entry::As(same));
            }
            by if by & 1 == 1 => begins(&mut all, &mut last, by >> 1)?,
            row => skip(&mut all, row >> 1, signals)?,
        }
        within(&all, signals)?;
    }
    settled(all)
}

/// Where changes lie, or which signal has the same.
#[derive(Clone, Copy)]
enum Entry {
    Lies(Lies),
    As(u64),
}

fn begins(all: &mut Vec<Entry>, last: &mut Option<usize>, by: u64) -> Result<(), Unread> {
    let before = last.and_then(|last| match all[last] {
        Entry::Lies(lies) => Some(lies.offset),
        Entry::As(_) => None,
    });
    let offset = before.unwrap_or(0).checked_add(by).ok_or("changes lie outside of their block")?;
    if let Some(Entry::Lies(lies)) = last.and_then(|last| all.get_mut(last)) {
        lies.length = by;
    }
    *last = Some(all.len());
    all.push(Entry::Lies(Lies { offset, length: 0 }));
    Ok(())
}

fn skip(all: &mut Vec<Entry>, row: u64, signals: usize) -> Result<(), Unread> {
    let left = (signals - all.len().min(signals)) as u64;
    if row > left {
        return Err("a block has more signals than the file".into());
    }
    all.extend(std::iter::repeat_n(Entry::Lies(Lies::default()), row as usize));
    Ok(())
}

fn within(all: &[Entry], signals: usize) -> Result<(), Unread> {
    if all.len() > signals { Err("a block has more signals than the file".into()) } else { Ok(()) }
}

fn settled(all: Vec<Entry>) -> Result<Vec<Lies>, Unread> {
    let lies = |entry: &Entry| match entry {
        Entry::Lies(lies) => Ok(*lies),
        Entry::As(same) => match usize::try_from(*same).ok().and_then(|same| all.get(same)) {
            Some(Entry::Lies(lies)) => Ok(*lies),
            _ => Err(Unread::from("a signal is the same as one that is not there")),
        },
    };
    all.iter().map(lies).collect()
}
