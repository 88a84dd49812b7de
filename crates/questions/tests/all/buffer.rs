//! A file in memory, which whoever made it can read once it is written. The tests of other crates take it from here, too.

use std::cell::RefCell;
use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::rc::Rc;

/// Clones are the same file.
#[derive(Clone, Default)]
pub struct Buffer(Rc<RefCell<Cursor<Vec<u8>>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Buffer {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.borrow_mut().seek(to)
    }
}

impl Buffer {
    /// What has been written.
    pub fn written(&self) -> Vec<u8> {
        self.0.take().into_inner()
    }
}
