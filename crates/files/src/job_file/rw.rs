//! What a job does: reads, writes or both, in order or at random.

/// Direction and order of a job's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rw {
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Random reads.
    RandRead,
    /// Random writes.
    RandWrite,
    /// Sequential reads and sequential writes, mixed.
    ReadWrite,
    /// Random reads and writes, mixed.
    RandReadWrite,
}

impl Rw {
    /// Whether data goes to the device, and only there.
    pub fn writes(self) -> bool {
        matches!(self, Rw::Write | Rw::RandWrite)
    }

    /// Whether it reads, and whether it writes.
    pub fn sides(self) -> [bool; 2] {
        let is_mixed = matches!(self, Rw::ReadWrite | Rw::RandReadWrite);
        [is_mixed || !self.writes(), is_mixed || self.writes()]
    }

    /// Whether requests are in random order.
    pub fn is_random(self) -> bool {
        matches!(self, Rw::RandRead | Rw::RandWrite | Rw::RandReadWrite)
    }

    /// As fio writes it.
    pub fn word(self) -> &'static str {
        match self {
            Rw::Read => "read",
            Rw::Write => "write",
            Rw::RandRead => "randread",
            Rw::RandWrite => "randwrite",
            Rw::ReadWrite => "rw",
            Rw::RandReadWrite => "randrw",
        }
    }
}
