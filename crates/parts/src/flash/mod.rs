//! The flash back end of a solid-state drive: everything behind the controller that speaks to the host.
//!
//! ```text
//!   read  ──▶ which die? ──▶ array read (tR) ──▶ channel: command, data out ──▶ ECC decode ──▶ done
//!   write ──▶ write buffer: done when there; full stripes go to the dies in turn
//!               └─▶ die: copies and erases owed ──▶ channel: data in ──▶ program (tPROG) ──▶ room in the buffer
//!                                                                        one bit a cell while there is room for that
//! ```
//!
//! A die is a lane, a channel is a lane. A die whose planes read independently is one lane for each such group of
//! planes. A die reads one multi-plane page at a time; the page waits in the die until the channel is granted, then the
//! die is free (cache read). Whoever asks for the page that a die read last joins it. A stripe is what one program of a
//! die writes: every plane, so many pages each. A program
//! or an erase makes way for whoever asks for the die, in the order in which they ask. Copies and erases of garbage
//! collection are paced: each stripe of the user is preceded by its share of them, and they occupy die and channel
//! like anything else. What is valid where is in `translation.rs`, die by die in `die_map.rs`.
//!
//! Not modelled:
//! - where each unit of 4 KiB lies. Where a unit is read follows from its address: in stripes over the dies where the
//!   drive was written in order (`state = "fresh"`: page after page goes to the next die), anywhere where it was written
//!   at random (`state = "steady"`).
//!   Which block holds the old copy of what is written is drawn (`translation.rs`), which is exact for writes that come
//!   evenly over a span, and for writes in order.
//! - the channel during the command cycles before an array read: they are counted where the data go out;
//! - what couples the planes of a die that read independently: a program of one group of them does not stop the others;
//! - page types of different speed, read retries, wear levelling, refresh, bad blocks, power states;
//! - garbage collection while nothing is written; a choice of blocks by age: greedy collection keeps collecting what is
//!   overwritten often, and leaves old garbage where it is;
//! - trim, the rewrite of what still waits in the buffer, a time after which a part of a stripe is written by itself;
//! - the map's own reads and writes: the whole map is in memory. The buffer takes data in no time.
//!
//! Sources: ONFI 5.0 (array operations, page registers, suspend); P. Desnoyers, "Analytic modeling of SSD write
//! performance", SYSTOR 2012 (what greedy garbage collection comes to).

mod aged;
mod buffer;
mod die;
mod die_map;
pub mod read_ahead;
mod reads;
pub mod single_bit;
mod spec;
mod sums;
#[cfg(test)]
mod tests;
mod translation;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use hopscope_kernel::{Lane, Queue, Sim, Time};

use crate::chance;
use buffer::Buffer;
use reads::Readers;
use single_bit::SingleBit;
pub use spec::{Spec, State};
use translation::Translation;

/// What the map speaks of: 4 KiB, as one page of memory.
pub const UNIT_BYTES: u32 = 4_096;

/// One die, or a group of its planes that reads independently.
struct Die {
    lane: Lane,
    channel: Lane,
    /// Nobody occupies it, but what the controller corrects on that channel waits for it.
    decoder: Lane,
    /// The page that was read from the array last and is still in the page register; zero for none.
    page: Cell<u64>,
    /// What is to be programmed here.
    tasks: Queue<Task>,
}

/// What a die is to program.
enum Task {
    /// A stripe of the buffer.
    Stripe(usize),
    /// What lies in cells of one bit, while nobody asks for anything.
    Fold,
}

/// What flash has done so far, in units of 4 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Written by the host, whose program has begun.
    pub by_host: u64,
    /// Copied by garbage collection.
    pub copied: u64,
    /// Blocks erased.
    pub erased: u64,
}

/// Flash behind a controller.
pub struct Flash {
    sim: Sim,
    spec: Spec,
    dies: Vec<Die>,
    translation: RefCell<Translation>,
    buffer: Buffer,
    readers: Readers,
    single_bit: SingleBit,
}

impl Flash {
    /// The flash of the drive `name`: its lanes are `name.channel0`, `name.channel0.decoder`, `name.channel0.die0`, …
    /// `seed` decides its draws.
    pub fn new(sim: &Sim, name: &str, spec: Spec, seed: u64) -> Rc<Flash> {
        let random = chance::of(name, seed);
        let buffer = Buffer::new(sim, &spec);
        let channels: Vec<(String, Lane, Lane)> = (0..spec.channels)
            .map(|number| format!("{name}.channel{number}"))
            .map(|name| (name.clone(), sim.lane(&name, None), sim.lane(&format!("{name}.decoder"), None)))
            .collect();
        // Stripes go to the channels in turn, then to the next die of each, then to the next group of planes.
        let mut dies = Vec::with_capacity(spec.lanes());
        let mut names = Vec::with_capacity(spec.lanes());
        for group in 0..spec.independent_planes {
            for die in 0..spec.dies {
                for (channel_name, channel, decoder) in &channels {
                    let plane = if spec.independent_planes > 1 { format!(".plane{group}") } else { String::new() };
                    names.push(format!("{channel_name}.die{die}{plane}"));
                    // All stripes of the buffer, and a fold.
                    let tasks = Queue::new(sim, spec.buffer_stripes() + 1);
                    let (lane, channel) = (sim.lane(&names[dies.len()], None), channel.clone());
                    dies.push(Die { lane, channel, decoder: decoder.clone(), page: Cell::new(0), tasks });
                }
            }
        }
        for (_, channel, _) in &channels {
            let page = u64::from(spec.page_bytes);
            channel.carries(&die::DATA_OUT, page, spec.transfer(page));
            channel.carries(&die::DATA_IN, page, spec.transfer(page));
        }
        let flash = Rc::new(Flash {
            sim: sim.clone(),
            dies,
            translation: RefCell::new(Translation::new(&spec, random)),
            buffer,
            readers: Readers::new(sim),
            single_bit: SingleBit::new(sim, name, &spec),
            spec,
        });
        let held = flash.clone();
        sim.level(&format!("the write buffer of {name}"), move || held.buffer.held_bytes());
        let held = flash.clone();
        sim.level(&format!("the spare blocks of {name}"), move || held.translation.borrow().spare_bytes());
        let held = flash.clone();
        let first = move || held.translation.borrow().first_gains_bytes();
        sim.level(&format!("what {name} gains by the first blocks that it collects"), first);
        let held = flash.clone();
        sim.level(&format!("the copies that {name} owes"), move || held.translation.borrow().owed_bytes());
        if flash.single_bit.is_there() {
            let held = flash.clone();
            let room = move || held.single_bit.room();
            sim.level(&format!("the room in the single-bit cells of {name}"), room);
            let running = flash.clone();
            sim.process(&format!("{name}.folding"), async move { running.run_folding().await });
        }
        for (number, name) in names.into_iter().enumerate() {
            let running = flash.clone();
            sim.process(&name, async move { running.run_die(number).await });
        }
        for number in 0..(2 * flash.dies.len()).min(reads::READERS_MAX) {
            let running = flash.clone();
            sim.process(&format!("{name}.reader{number}"), async move { running.run_reader().await });
        }
        flash
    }

    /// What one array read fetches, bytes.
    pub(super) fn page_bytes(&self) -> u32 {
        self.spec.page_units() as u32 * UNIT_BYTES
    }

    /// Capacity, bytes.
    pub fn size_bytes(&self) -> u64 {
        self.spec.capacity_bytes
    }

    /// What has been written, copied and erased so far.
    pub fn written(&self) -> Written {
        self.translation.borrow().written
    }

    /// Times that a page of so many bytes takes on a channel: its command cycles, and its data.
    fn transfer(&self, channel: &Lane, bytes: u32) -> (Time, Time) {
        (channel.paced(self.spec.command), channel.paced(self.spec.transfer(u64::from(bytes))))
    }
}
