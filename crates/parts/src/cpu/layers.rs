//! What a processor does for an I/O: the layers of the path that its time belongs to.
//!
//! ```text
//!   file system ─▶ driver ─▶ register access ─▶ (device) ─▶ interrupts ─▶ driver ─▶ copying
//! ```

use hopscope_kernel::Label;

/// A driver runs: submission and completion of its commands.
static DRIVER: Label = Label::protocol("driver");
/// Entry, exit and look of an interrupt handler, or a look that a thread takes in its place.
static INTERRUPTS: Label = Label::protocol("interrupts");
/// The processor waits for a register access to complete.
static REGISTER_ACCESS: Label = Label::reason("stalled on register access");
/// The operating system above the driver, and the application.
static FILE_SYSTEM: Label = Label::protocol("request path above the driver");
/// The processor moves words between a data port and memory, one after the other.
static WORDS: Label = Label::protocol("words moved");
/// Data are copied in memory.
static COPYING: Label = Label::protocol("copying");
/// The protocol above a network driver, and the application.
static NETWORK: Label = Label::protocol("network protocol");

/// A layer of the I/O path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Submission and completion in a driver.
    Driver,
    /// Interrupt handlers, besides completions and register accesses.
    Interrupts,
    /// Stalls on register accesses.
    RegisterAccess,
    /// The path above a storage driver.
    FileSystem,
    /// Words moved between a data port and memory, one after the other.
    Words,
    /// Copies of data.
    Copying,
    /// The path above a network driver.
    Network,
}

impl Layer {
    /// Every layer, in the order of reports.
    pub const ALL: [Layer; 7] = [
        Layer::FileSystem,
        Layer::Network,
        Layer::Copying,
        Layer::Words,
        Layer::Driver,
        Layer::Interrupts,
        Layer::RegisterAccess,
    ];

    /// The phase of a processor's lane that is in this layer.
    pub fn phase(self) -> &'static Label {
        match self {
            Layer::Driver => &DRIVER,
            Layer::Interrupts => &INTERRUPTS,
            Layer::RegisterAccess => &REGISTER_ACCESS,
            Layer::FileSystem => &FILE_SYSTEM,
            Layer::Words => &WORDS,
            Layer::Copying => &COPYING,
            Layer::Network => &NETWORK,
        }
    }

    /// In reports.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Driver => "driver",
            Layer::Interrupts => "interrupts",
            Layer::RegisterAccess => "register access",
            Layer::FileSystem => "file system",
            Layer::Words => "words moved",
            Layer::Copying => "copying",
            Layer::Network => "network protocol",
        }
    }
}
