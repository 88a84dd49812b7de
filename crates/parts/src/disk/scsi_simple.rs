//! Temporary.
use std::cell::RefCell;
use std::rc::Rc;
use hopscope_kernel::{Label, Lane, Queue, Sim, Time};
use rand_core::RngCore;
use rand_pcg::Pcg64Mcg;
use crate::bus::scsi::ScsiBus;
use crate::protocols::scsi::{Command, Target, BLOCK_BYTES};
use super::fingerprint;
static NO_COMMAND: Label = Label::reason("no command");
static POSITION: Label = Label::protocol("position");
static MEDIA: Label = Label::payload("data");
/// Temporary.
pub struct Simple { lane: Lane, bus: Rc<ScsiBus>, id: usize, commands: Queue<Command>, random: RefCell<Pcg64Mcg> }
impl Target for Simple {
    fn command(&self, c: Command) { let _ = self.commands.try_put(c); }
    fn blocks(&self) -> u64 { 35_916_548 }
    fn queue_depth(&self) -> u32 { 32 }
    fn rate(&self) -> u64 { 320_000_000 }
}
impl Simple {
    /// Temporary.
    pub fn new(sim: &Sim, name: &str, bus: &Rc<ScsiBus>, id: usize, seed: u64) -> Rc<Simple> {
        let lane = sim.lane(name, None);
        lane.carries(&MEDIA, 75_000_000, Time::ms(1000));
        let d = Rc::new(Simple { lane, bus: bus.clone(), id, commands: Queue::new(sim, 256), random: RefCell::new(Pcg64Mcg::new(u128::from(seed) << 64 | u128::from(fingerprint(name)) | 1)) });
        let t: Rc<dyn Target> = d.clone();
        let _ = bus.attach(id, name, Rc::downgrade(&t));
        let r = d.clone();
        let s = sim.clone();
        sim.process(name, async move {
            let (mut pos, mut when) = (0u64, Time::ZERO);
            loop {
                let c = r.commands.take(&NO_COMMAND).await;
                let bytes = c.blocks * BLOCK_BYTES;
                let media = Time::ps(u64::from(bytes) * 1_000_000 / 75);
                let mut data = media;
                if c.lba == pos {
                    r.lane.spend(&POSITION, Time::us(100)).await;
                    if !c.writes { data = (when + media).saturating_sub(s.now()); }
                } else {
                    let far = c.lba.abs_diff(pos) as f64 / 35_916_548.0;
                    let seek = if c.lba.abs_diff(pos) > 800 { 500.0 + 7_000.0 * far.sqrt() } else { 0.0 };
                    let turn = r.random.borrow_mut().next_u64() % 4_000;
                    r.lane.spend(&POSITION, Time::us(300 + seek as u64 + turn + if c.writes { 200 } else { 0 })).await;
                }
                if data > Time::ZERO { r.lane.spend(&MEDIA, data).await; }
                pos = c.lba + u64::from(c.blocks); when = s.now();
                let connection = r.bus.reselect(r.id, c.tag).await;
                connection.data(bytes).await;
                connection.complete().await;
            }
        });
        d
    }
}
