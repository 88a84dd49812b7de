//! A Serial ATA cable: frames one at a time, from either end. Serial ATA 3.x.
//!
//! ```text
//!   X_RDY ⇄ R_RDY   SOF  header  data … ALIGN … data  CRC  EOF   WTRM ⇄ R_OK   SYNC
//!                                  └ HOLD where the receiver's FIFO is full or the sender's is empty
//! ```
//!
//! Both directions are needed for a frame (the other one brings R_RDY, R_OK and HOLD), so the cable is one lane. 8b/10b:
//! a double word takes 40 bits. Two of 256 double words are ALIGN primitives. A frame begins and ends with a handshake,
//! each a round trip through both ends: so many double words in serialisers and on the wires, and a time in the link and
//! transport layers, whose clock is not the cable's.
//!
//! Not modelled: CONT and scrambling, R_ERR and retries, spread spectrum, out-of-band signalling, power states, port
//! multipliers. Where both ends ask at one instant, who came first by name goes first.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Errand, Grant, Lane, Queue, Sim, Time};

use crate::protocols::sata::{
    ACKNOWLEDGE, ALIGN, ALIGN_DWORDS, ALIGN_EVERY_DWORDS, CABLE_BUSY, COMMAND_DWORDS, Command, DATA, DATA_FIS_BYTES,
    DATA_HEADER_DWORDS, DWORD_BYTES, FIS, FRAME_DWORDS, FRAMING, HOLD, READY, Received, ToHost,
};
use crate::protocols::storage::Keeps;

/// Gbit/s of the three generations, as bytes per second of encoded bits.
pub const RATES: [u64; 3] = [187_500_000, 375_000_000, 750_000_000];
/// Encoded bytes of a double word: 40 bits.
const ENCODED_BYTES: u64 = 5;

/// The cable's data sheet, with the link layers at its ends. Clocks are those of a double word.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// From a primitive to its answer: both serialisers and deserialisers, in clocks of a double word.
    #[clocks("round_trip", ..=100_000)]
    round_trip_dwords: u64,
    /// Link and transport layer, until they answer: by their own clock, whatever the rate of the cable.
    #[time("turnaround", ..=Time::ms(1))]
    turnaround: Time,
}

/// What is at the far end of a cable.
#[derive(Clone)]
pub struct Drive {
    /// As jobs call it.
    pub name: String,
    /// Capacity.
    pub size_bytes: u64,
    /// Tags that it takes.
    pub tags: u64,
    /// What keeps its bytes.
    pub keeps: Option<Rc<dyn Keeps>>,
}

/// A cable.
pub struct SataCable {
    sim: Sim,
    lane: Lane,
    spec: Spec,
    host_rate: u64,
    rate: Cell<u64>,
    drive: OnceCell<Drive>,
    /// What the host receives: its FIFO.
    to_host: Queue<Received>,
    /// Bytes of a place in the host's FIFO.
    burst_bytes: u32,
    commands: Queue<Command>,
    /// Data FISes that have come to the drive.
    to_drive: Queue<u32>,
}

impl SataCable {
    /// A cable at a port of that rate, whose FIFO takes bursts of so many bytes.
    pub fn new(
        sim: &Sim,
        name: &str,
        spec: Spec,
        host_rate: u64,
        to_host: &Queue<Received>,
        burst_bytes: u32,
    ) -> Rc<SataCable> {
        Rc::new(SataCable {
            sim: sim.clone(),
            lane: sim.lane(name, None),
            spec,
            host_rate,
            rate: Cell::new(host_rate),
            drive: OnceCell::new(),
            to_host: to_host.clone(),
            burst_bytes,
            commands: Queue::new(sim, 1),
            to_drive: Queue::new(sim, 1),
        })
    }

    /// Plugs a drive in: both ends agree on the lower rate.
    pub fn attach(&self, drive: Drive, rate: u64) {
        self.rate.set(self.host_rate.min(rate));
        let (bytes, time) = (DATA_FIS_BYTES, self.dwords(u64::from(DATA_FIS_BYTES / DWORD_BYTES)));
        self.lane.carries(&DATA, u64::from(bytes), time);
        let _ = self.drive.set(drive);
    }

    /// What is plugged in, if anything.
    pub fn drive(&self) -> Option<&Drive> {
        self.drive.get()
    }

    /// Commands that have come to the drive.
    pub fn commands(&self) -> &Queue<Command> {
        &self.commands
    }

    /// Data FISes that have come to the drive, by length.
    pub fn to_drive(&self) -> &Queue<u32> {
        &self.to_drive
    }

    /// Time of so many double words, rounded down to a picosecond.
    fn dwords(&self, count: u64) -> Time {
        Time::ps(count * ENCODED_BYTES * 1_000_000_000_000 / self.rate.get())
    }

    /// The same at the pace of the cable.
    fn paced(&self, count: u64) -> Time {
        self.lane.paced(self.dwords(count))
    }

    fn handshake(&self) -> Time {
        self.paced(self.spec.round_trip_dwords) + self.lane.paced(self.spec.turnaround)
    }

    /// A frame without data, up to its acknowledgement.
    async fn frame(&self, dwords: u64) -> Grant<'_> {
        let grant = self.lane.acquire(&CABLE_BUSY).await;
        let (framing, fis, handshake) = (self.paced(FRAME_DWORDS), self.paced(dwords), self.handshake());
        grant.hold_plan([(&READY, handshake), (&FRAMING, framing), (&FIS, fis), (&ACKNOWLEDGE, handshake)]).await;
        grant
    }

    /// A frame with data, as far as its header.
    async fn begin_data(&self) -> Grant<'_> {
        let grant = self.lane.acquire(&CABLE_BUSY).await;
        let framing = self.paced(FRAME_DWORDS + DATA_HEADER_DWORDS);
        grant.hold_plan([(&READY, self.handshake()), (&FRAMING, framing)]).await;
        grant
    }

    /// Some of the data of a frame, with the ALIGN primitives among them.
    async fn some_data(&self, grant: &Grant<'_>, bytes: u32) {
        let dwords = u64::from(bytes.div_ceil(DWORD_BYTES));
        let data = self.paced(dwords);
        let align = Time::ps(self.dwords(dwords * ALIGN_DWORDS).as_ps() / ALIGN_EVERY_DWORDS);
        grant.hold_plan([(&DATA, data), (&ALIGN, self.lane.paced(align))]).await;
    }

    /// The host sends a command.
    pub async fn send_command(&self, command: Command) {
        let grant = self.frame(COMMAND_DWORDS).await;
        drop(grant);
        let command = Command { errand: self.sim.pass_on(command.errand), ..command };
        self.commands.put(command, &HOLD).await;
    }

    /// The host sends a Data FIS of so many bytes, which come out of its FIFO burst by burst.
    pub async fn send_to_drive(&self, bytes: u32, fifo: &Queue<u32>) {
        let mut burst = fifo.take(&HOLD).await;
        let grant = self.begin_data().await;
        let mut done = 0;
        loop {
            self.some_data(&grant, burst).await;
            done += burst;
            if done >= bytes {
                break;
            }
            let start = self.sim.now();
            burst = fifo.take(&HOLD).await;
            grant.was_in(&HOLD, start);
        }
        grant.hold(&ACKNOWLEDGE, self.handshake()).await;
        drop(grant);
        self.to_drive.put(bytes, &HOLD).await;
    }

    /// The drive sends a frame for `errand`; data as one or several, each of 8 KiB at most.
    pub async fn send_to_host(&self, fis: ToHost, errand: Errand) {
        let ToHost::Data(mut left) = fis else {
            let grant = self.frame(fis.dwords()).await;
            self.fill_fifo(&grant, fis, errand).await;
            return;
        };
        while left > 0 {
            let grant = self.begin_data().await;
            let mut of_frame = left.min(DATA_FIS_BYTES);
            left -= of_frame;
            while of_frame > 0 {
                let burst = of_frame.min(self.burst_bytes);
                of_frame -= burst;
                self.some_data(&grant, burst).await;
                self.fill_fifo(&grant, ToHost::Data(burst), errand).await;
            }
            grant.hold(&ACKNOWLEDGE, self.handshake()).await;
        }
    }

    async fn fill_fifo(&self, grant: &Grant<'_>, fis: ToHost, errand: Errand) {
        let start = self.sim.now();
        let received = Received { fis, errand: self.sim.pass_on(errand) };
        self.to_host.put(received, &HOLD).await;
        grant.was_in(&HOLD, start);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use hopscope_kernel::{Ended, Label};

    use super::*;

    static EMPTIED: Label = Label::reason("nothing there");

    /// A cable with a FIFO of `places` bursts of 1 KiB, which somebody empties every `emptied`.
    fn with_cable<F: Future<Output = ()> + 'static>(
        rate: u64,
        (places, emptied): (usize, Time),
        run: impl FnOnce(Sim, Rc<SataCable>) -> F,
    ) {
        let sim = Sim::new();
        let fifo = Queue::new(&sim, places);
        let spec = Spec { round_trip_dwords: 20, turnaround: dwords(30) };
        let cable = SataCable::new(&sim, "cable", spec, 750_000_000, &fifo, 1_024);
        cable.attach(Drive { name: "ssd".into(), size_bytes: 1 << 30, tags: 32, keeps: None }, rate);
        let (s, received) = (sim.clone(), fifo.clone());
        sim.process("host", async move {
            loop {
                received.take(&EMPTIED).await;
                s.wait(emptied).await;
            }
        });
        let (running, s) = (run(sim.clone(), cable), sim.clone());
        sim.process("drive", async move {
            running.await;
            s.stop();
        });
        assert_eq!(sim.run(Time::ms(10)), Ended::Stopped);
        sim.tear_down();
    }

    /// So many double words of 40 bits at 6 Gb/s, in picoseconds.
    fn dwords(count: u64) -> Time {
        Time::ps(count * 20_000 / 3)
    }

    #[test]
    fn a_frame_takes_its_double_words_and_two_handshakes() {
        with_cable(750_000_000, (4, Time::ZERO), |s, cable| async move {
            cable.send_to_host(ToHost::DmaSetup(3), Errand::NOBODY).await;
            let sum = dwords(50) + dwords(3) + dwords(7) + dwords(50);
            assert_eq!(s.now(), sum);
            cable.send_to_host(ToHost::DeviceBits(3), Errand::NOBODY).await;
            assert_eq!(s.now(), sum + dwords(50) + dwords(3) + dwords(2) + dwords(50));
            cable
                .send_command(Command { writes: false, offset_bytes: 0, bytes: 512, tag: 0, errand: Errand::NOBODY })
                .await;
            assert_eq!(s.now(), sum + (dwords(50) + dwords(3)) * 2 + dwords(2) + dwords(5) + dwords(50) * 2);
        });
    }

    #[test]
    fn data_go_in_frames_of_8_kib_with_align_primitives_among_them() {
        with_cable(750_000_000, (64, Time::ZERO), |s, cable| async move {
            cable.send_to_host(ToHost::Data(20_480), Errand::NOBODY).await;
            let burst = dwords(256) + Time::ps(dwords(512).as_ps() / 254);
            assert_eq!(s.now(), burst * 20 + (dwords(50) + dwords(4) + dwords(50)) * 3);
            // 600 MB/s on the wire: less than 1 % goes to ALIGN, the rest to frames.
            let rate = 20_480.0 / s.now().as_seconds_f64();
            assert!((540e6..580e6).contains(&rate), "{rate}");
        });
        // At 3 Gb/s double words take twice as long, and the turnaround does not.
        with_cable(375_000_000, (64, Time::ZERO), |s, cable| async move {
            cable.send_to_host(ToHost::Data(1_024), Errand::NOBODY).await;
            let dwords = |count: u64| Time::ps(count * 40_000 / 3);
            let burst = dwords(256) + Time::ps(dwords(512).as_ps() / 254);
            let handshake = dwords(20) + Time::ns(200);
            assert_eq!(s.now(), burst + handshake + dwords(4) + handshake);
        });
    }

    #[test]
    fn the_receiver_holds_the_cable_while_its_fifo_is_full() {
        // Two bursts are in the FIFO and one is being emptied: the fourth waits.
        with_cable(750_000_000, (2, Time::us(100)), |s, cable| async move {
            cable.send_to_host(ToHost::Data(4_096), Errand::NOBODY).await;
            let burst = dwords(256) + Time::ps(dwords(512).as_ps() / 254);
            let first_there = dwords(50) + dwords(4) + burst;
            assert_eq!(s.now(), first_there + Time::us(100) + dwords(50));
        });
    }

    #[test]
    fn the_sender_holds_the_cable_while_its_fifo_is_empty() {
        with_cable(750_000_000, (4, Time::ZERO), |s, cable| async move {
            let fifo = Queue::new(&s, 4);
            let (filled, clock) = (fifo.clone(), s.clone());
            let filling = async move {
                for _ in 0..2 {
                    clock.wait(Time::us(50)).await;
                    filled.put_now(1_024);
                }
            };
            let sent = RefCell::new(Time::ZERO);
            let sending = async {
                cable.send_to_drive(2_048, &fifo).await;
                *sent.borrow_mut() = s.now();
            };
            hopscope_kernel::join(&s, filling, sending).await;
            let burst = dwords(256) + Time::ps(dwords(512).as_ps() / 254);
            // X_RDY when the first burst is there; HOLD until the second.
            assert_eq!(*sent.borrow(), Time::us(100) + burst + dwords(50));
        });
    }
}
