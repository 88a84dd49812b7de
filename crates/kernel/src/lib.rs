//! The simulation kernel: time, processes, lanes, queues, trains and records. It knows no device.
//!
//! ```text
//!   process ──awaits──▶ lane (one transaction at a time, arbitrated)  ─┐
//!      │                queue (bounded, full or empty makes wait)      ├─▶ records ─▶ observer
//!      └──spends time in a phase──────────────────────────────────────┘
//! ```
//!
//! A process is an async function. It may await only what this crate offers: a span of time, a lane,
//! a queue, a train, or a combination of them. Every wait carries its reason, every span its phase.
//!
//! ```
//! use hopscope_kernel::{Ended, Label, Sim, Time};
//!
//! static BUSY: Label = Label::reason("bus busy");
//! static DATA: Label = Label::payload("data");
//!
//! let sim = Sim::new();
//! let bus = sim.lane("bus", None);
//! for master in ["left", "right"] {
//!     let (sim, bus) = (sim.clone(), bus.clone());
//!     sim.clone().process(master, async move {
//!         for _ in 0..10 {
//!             let grant = bus.acquire(&BUSY).await;
//!             grant.hold(&DATA, Time::ns(240)).await;
//!         }
//!     });
//! }
//! assert_eq!(sim.run(Time::ms(1)), Ended::Finished);
//! assert_eq!(sim.now(), Time::ns(20 * 240));
//! ```

mod ahead;
mod alike;
mod arbitration;
mod bell;
#[doc(hidden)]
pub mod bench;
mod booked;
mod bookings;
mod carriers;
mod combine;
mod coming;
mod convoy;
mod core;
mod counts;
mod crew;
mod cut;
mod delay;
mod errand;
mod events;
mod hold;
mod in_order;
mod lane;
mod level;
mod memory;
mod meter;
mod names;
mod on_call;
mod pace;
mod planned;
mod queue;
mod record;
mod schedule;
mod sim;
mod time;
mod tokens;
mod train;
mod turns;
mod way;

pub use bell::Bell;
pub use carriers::{Begun, Carriers, Freight, Load, Told};
pub use combine::{Either, join, join_handing, race};
pub use coming::Coming;
pub use convoy::{Convoying, Track};
pub use counts::Counts;
pub use delay::Delay;
pub use errand::Errand;
pub use hold::Yielding;
pub use lane::{Acquire, Grant, HandedOver, Lane, Rate};
pub use level::{Holder, Level, Levels, Unit};
pub use memory::{Memories, Remembers};
pub use on_call::Numbered;
pub use pace::Pace;
pub use queue::Queue;
pub use record::{Class, Kind, Label, MOST, Observer, PassedOn, Record, Span, expand, whole};
pub use sim::{Ended, Sim};
pub use time::Time;
pub use tokens::Tokens;
pub use train::{Burst, Car, CarState, Journey, Lead, UnderWay, led};
pub use turns::{During, Taken, Turn, Turns};
pub use way::{Leg, Way};
