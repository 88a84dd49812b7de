//! What blocks of an FST file are made of: numbers, names, packed bytes. Nothing in a file says how large something is
//! without being held against what is there.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom};

/// Bytes of a block once it is unpacked, at most.
const UNPACKED_MAX: u64 = 1 << 30;
/// LZ4 makes at most so many bytes of one.
const LZ4_MOST: u64 = 255;

/// Why a block cannot be read.
#[derive(Debug)]
pub enum Unread {
    /// The file cannot be read there.
    File(io::Error),
    /// What is there is wrong.
    Wrong(String),
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Unread {
        Unread::File(error)
    }
}

impl From<&str> for Unread {
    fn from(what: &str) -> Unread {
        Unread::Wrong(what.to_string())
    }
}

impl Unread {
    /// In words.
    pub fn what(&self) -> String {
        match self {
            Unread::File(error) if error.kind() == ErrorKind::UnexpectedEof => {
                "the file ends within a block".to_string()
            }
            Unread::File(error) => error.to_string(),
            Unread::Wrong(what) => what.clone(),
        }
    }
}

/// Bytes that are read from the front.
#[derive(Clone, Copy)]
pub struct Front<'a>(pub &'a [u8]);

impl<'a> Front<'a> {
    /// The next bytes.
    pub fn take(&mut self, count: u64) -> Result<&'a [u8], Unread> {
        let whole = usize::try_from(count).ok().and_then(|count| self.0.split_at_checked(count));
        let (taken, rest) = whole.ok_or("a block ends too early")?;
        self.0 = rest;
        Ok(taken)
    }

    /// The next byte.
    pub fn byte(&mut self) -> Result<u8, Unread> {
        Ok(self.take(1)?[0])
    }

    /// The next eight bytes, the highest first.
    pub fn word(&mut self) -> Result<u64, Unread> {
        Ok(self.take(8)?.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)))
    }

    /// A number in groups of seven bits, the lowest first.
    pub fn number(&mut self) -> Result<u64, Unread> {
        Ok(self.groups()?.0)
    }

    /// The same with a sign.
    pub fn signed(&mut self) -> Result<i64, Unread> {
        let (value, bits) = self.groups()?;
        let above = 64u32.saturating_sub(bits);
        Ok((value << above) as i64 >> above)
    }

    fn groups(&mut self) -> Result<(u64, u32), Unread> {
        let mut value = 0;
        for group in 0..10 {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << (7 * group);
            if byte & 0x80 == 0 {
                return Ok((value, 7 * (group + 1)));
            }
        }
        Err("a number has more than 64 bits".into())
    }

    /// A name that ends with a zero byte.
    pub fn name(&mut self) -> Result<String, Unread> {
        let length = self.0.iter().position(|byte| *byte == 0).ok_or("a name has no end")?;
        let name = String::from_utf8_lossy(&self.0[..length]).into_owned();
        self.0 = &self.0[length + 1..];
        Ok(name)
    }
}

/// Bytes of the file from there on.
pub fn bytes(file: &mut (impl Read + Seek), from: u64, count: u64) -> Result<Vec<u8>, Unread> {
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    if file.by_ref().take(count).read_to_end(&mut bytes)? as u64 == count {
        Ok(bytes)
    } else {
        Err(Unread::File(ErrorKind::UnexpectedEof.into()))
    }
}

fn fits(length: u64) -> Result<usize, Unread> {
    if length > UNPACKED_MAX {
        return Err(Unread::Wrong(format!("a block of {length} bytes: {UNPACKED_MAX} at most are read")));
    }
    Ok(length as usize)
}

fn whole(bytes: Vec<u8>, length: u64) -> Result<Vec<u8>, Unread> {
    if bytes.len() as u64 == length { Ok(bytes) } else { Err("a block has another length than it says".into()) }
}

/// What was packed with zlib.
pub fn of_zlib(packed: &[u8], length: u64) -> Result<Vec<u8>, Unread> {
    let unpacked = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(packed, fits(length)?);
    whole(unpacked.map_err(|error| Unread::Wrong(format!("zlib: {error}")))?, length)
}

/// The same, but what did not get smaller is as it was.
pub fn of_zlib_or_plain(packed: &[u8], length: u64) -> Result<Vec<u8>, Unread> {
    if packed.len() as u64 == length { Ok(packed.to_vec()) } else { of_zlib(packed, length) }
}

/// What was packed with gzip, with the shortest header there is.
pub fn of_gzip(packed: &[u8], length: u64) -> Result<Vec<u8>, Unread> {
    let data = packed.strip_prefix(&[0x1f, 0x8b, 8, 0]).and_then(|rest| rest.get(6..));
    let data = data.ok_or("a block that should be gzip is not")?;
    let unpacked = miniz_oxide::inflate::decompress_to_vec_with_limit(data, fits(length)?);
    whole(unpacked.map_err(|error| Unread::Wrong(format!("gzip: {error}")))?, length)
}

/// What was packed with LZ4.
pub fn of_lz4(packed: &[u8], length: u64) -> Result<Vec<u8>, Unread> {
    if length > (packed.len() as u64).saturating_mul(LZ4_MOST) {
        return Err("a block says that it is larger than LZ4 can make it".into());
    }
    let unpacked = lz4_flex::block::decompress(packed, fits(length)?);
    whole(unpacked.map_err(|error| Unread::Wrong(format!("LZ4: {error}")))?, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_in_groups_of_seven_bits() {
        let number = |bytes: &[u8]| Front(bytes).number().ok();
        assert_eq!(number(&[0x05]), Some(5));
        assert_eq!(number(&[0x85, 0x01]), Some(133));
        assert_eq!(number(&[0x85]), None);
        assert_eq!(number(&[0xff; 12]), None);
        let signed = |bytes: &[u8]| Front(bytes).signed().ok();
        assert_eq!((signed(&[0x7f]), signed(&[0x3f]), signed(&[0x80, 0x7f])), (Some(-1), Some(63), Some(-128)));
    }

    #[test]
    fn a_length_that_cannot_be_is_refused_before_memory_is_taken() {
        assert!(of_lz4(&[0; 16], 1 << 40).is_err());
        assert!(of_zlib(&[0; 16], 1 << 40).is_err());
        assert!(of_gzip(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0, 0], u64::MAX).is_err());
        assert!(Front(&[0; 4]).take(u64::MAX).is_err());
    }
}
