//! SMB, as CIFS uses it to read and write: how long its messages are. [MS-CIFS], 2.2.3.1 (header), 2.2.4.42 and
//! 2.2.4.43 (SMB_COM_READ_ANDX and SMB_COM_WRITE_ANDX with offsets of 64 bits); RFC 1002, 4.3.1 (session header).

use super::storage::Operation;

const SESSION_BYTES: u32 = 4;
const HEADER_BYTES: u32 = 32;
/// The count of words, and the count of bytes behind them.
const COUNTS_BYTES: u32 = 1 + 2;
/// A word count of 12 in the request of a read and in its answer, 14 in that of a write, 6 in its answer.
const READ_WORDS_BYTES: u32 = 2 * 12;
const WRITE_WORDS_BYTES: u32 = 2 * 14;
const WRITTEN_WORDS_BYTES: u32 = 2 * 6;
/// A byte of padding before data.
const PAD_BYTES: u32 = 1;

const BEFORE_WORDS_BYTES: u32 = SESSION_BYTES + HEADER_BYTES + COUNTS_BYTES;

/// A command that moves `bytes`.
pub fn request_bytes(operation: Operation, bytes: u32) -> u32 {
    match operation {
        Operation::Read => BEFORE_WORDS_BYTES + READ_WORDS_BYTES,
        Operation::Write => BEFORE_WORDS_BYTES + WRITE_WORDS_BYTES + PAD_BYTES + bytes,
    }
}

/// Its answer.
pub fn answer_bytes(operation: Operation, bytes: u32) -> u32 {
    match operation {
        Operation::Read => BEFORE_WORDS_BYTES + READ_WORDS_BYTES + PAD_BYTES + bytes,
        Operation::Write => BEFORE_WORDS_BYTES + WRITTEN_WORDS_BYTES,
    }
}
