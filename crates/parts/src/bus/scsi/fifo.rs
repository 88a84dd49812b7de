//! The data FIFO of an adapter's channel: whoever has the bus fills or empties it, while the commands' own processes
//! move its other end.

use std::cell::Cell;

use hopscope_kernel::{Bell, Sim};

/// A FIFO.
pub(crate) struct Fifo {
    bytes: u32,
    /// Data go through it in pieces of so many bytes.
    pub(crate) piece_bytes: u32,
    /// Bytes that are in it, or that it is kept free for.
    used: Cell<u32>,
    /// Its other end has moved.
    pub(crate) moved: Bell,
}

impl Fifo {
    pub(crate) fn new(sim: &Sim, bytes: u32, piece_bytes: u32) -> Fifo {
        Fifo { bytes, piece_bytes, used: Cell::new(0), moved: Bell::new(sim) }
    }

    /// Keeps room for a piece, if there is some.
    pub(crate) fn reserve(&self, bytes: u32) -> bool {
        let used = self.used.get() + bytes;
        let fits = used <= self.bytes;
        if fits {
            self.used.set(used);
        }
        fits
    }

    /// Whether nothing else is in it, or has room there.
    pub(crate) fn has_only(&self, bytes: u32) -> bool {
        self.used.get() == bytes
    }

    /// A piece has left, through either end.
    pub(crate) fn release(&self, bytes: u32) {
        self.used.set(self.used.get() - bytes);
    }

    /// Tells whoever has the bus.
    pub(crate) fn tell(&self) {
        // One message is as good as several.
        self.moved.ring();
    }
}
