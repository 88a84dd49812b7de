//! A GPU's copy engines: one from host memory to its own by DMA reads, one back by DMA writes.
//!
//! ```text
//!   doorbell ─▶ command (DMA read) ─▶ engine ─┬▶ request 0 ══ DMA read ══▶ memory of the GPU ─┐
//!                                             ├▶ request 1 ══ …                               ├▶ semaphore ══ DMA write
//!                                             ╘▶ …        (a page at most each)               ┘
//! ```
//!
//! A copy is cut at pages of 4 KiB. Each engine has as many pages under way as it has requests; tags of the port and
//! the largest read request decide what that comes to on the link. The engine begins the next copy when the last page
//! of the one before is under way. Older engines write packets of 128 bytes where their link allows more.
//!
//! Not modelled: kernels, caches and translation on the GPU, copies from pageable memory, copies that are small enough
//! to travel with their command, several contexts, links between GPUs.

use std::cell::RefCell;
use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Errand, Label, Lane, Queue, Sim, Time};

use crate::attachment::doorbell::Doorbells;
use crate::bus::pcie::{PAYLOAD_MAX, PAYLOAD_MIN, Port};
use crate::protocols::pcie::{DATA, DESCRIPTOR, Home, PAGE_BYTES};

static NO_COPY: Label = Label::reason("no copy");
static ALL_UNDER_WAY: Label = Label::reason("as many pages are under way as the engine has requests");
static NO_PAGE: Label = Label::reason("no page to copy");
static NOTHING_COPIED: Label = Label::reason("nothing copied");
static SETUP: Label = Label::protocol("engine begins a copy");
static MEMORY_DATA: Label = Label::through("memory of the GPU");
static MEMORY_BUSY: Label = Label::reason("memory of the GPU busy");

/// Commands lie here in host memory, and what tells of their end.
const COMMANDS_AT: [u64; 2] = [0x1000_0000, 0x2000_0000];
const SEMAPHORES_AT: [u64; 2] = [0x1800_0000, 0x2800_0000];
const COMMANDS: u64 = 1_024;
const PAGES_MAX: u64 = 1_024;
/// Copies that the jobs of a run have in flight, at most.
const COPIES_MAX: usize = 4_096;

/// The data sheet.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Pages that the engine for copies from the host reads at a time.
    #[count("engine.reads", 1..=PAGES_MAX)]
    reads: usize,
    /// Pages that the engine for copies to the host writes at a time.
    #[count("engine.writes", 1..=PAGES_MAX)]
    writes: usize,
    /// Bytes of a packet of writes, at most, whatever the link allows.
    #[bytes("engine.write_payload", PAYLOAD_MIN..=PAYLOAD_MAX, power_of_two)]
    write_payload: u32,
    /// Decoding of a command, address translation, first request.
    #[time("engine.setup", ..=Time::ms(10))]
    setup: Time,
    /// Bytes of a command, which an engine fetches from host memory.
    #[bytes("command", 4..=4_096, power_of_two)]
    command_bytes: u64,
    /// Bytes that tell the host of the end of a copy.
    #[bytes("semaphore", 4..=4_096, power_of_two)]
    semaphore_bytes: u64,
    /// Bytes a second that memory of the GPU moves.
    #[rate("memory.rate", 1_000_000_000..=100_000_000_000_000)]
    memory_rate: u64,
    /// Memory of the GPU.
    #[bytes("memory.size", 1 << 20..=1 << 50)]
    pub size_bytes: u64,
}

/// Which way a copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the host: the GPU reads.
    FromHost,
    /// To the host: the GPU writes.
    ToHost,
}

/// A copy.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    /// The request that it belongs to.
    pub request: u32,
    /// In host memory.
    pub address: u64,
    /// How much.
    pub bytes: u32,
    /// For whom.
    pub errand: Errand,
}

/// A copy has ended.
#[derive(Clone, Copy, Debug)]
pub struct Copied {
    /// The request.
    pub request: u32,
    /// From then on a processor sees it.
    pub visible: Time,
    /// For whom.
    pub errand: Errand,
}

#[derive(Clone, Copy)]
struct Page {
    copy: usize,
    address: u64,
    bytes: u32,
    errand: Errand,
}

/// A copy under way: its request, and what of it has not ended.
struct UnderWay {
    request: u32,
    bytes_left: u32,
}

/// One engine.
pub struct Engine {
    sim: Sim,
    way: Way,
    spec: Spec,
    port: Rc<Port>,
    lane: Lane,
    memory: Lane,
    home: Home,
    doorbells: Rc<Doorbells>,
    copies: Queue<Copy>,
    pages: Queue<Page>,
    under_way: RefCell<Vec<Option<UnderWay>>>,
    /// Requests whose last page has been copied.
    ended: Queue<(u32, Errand)>,
    /// Copies of which the processor can know.
    pub copied: Queue<Copied>,
}

/// A GPU.
pub struct Gpu {
    sim: Sim,
    name: String,
    spec: Spec,
    port: Rc<Port>,
    memory: Lane,
}

impl Gpu {
    /// A GPU named `name` at a port.
    pub fn new(sim: &Sim, name: &str, spec: Spec, port: Rc<Port>) -> Rc<Gpu> {
        let memory = sim.lane(&format!("{name}.memory"), None);
        memory.carries(&MEMORY_DATA, spec.memory_rate, Time::ms(1_000));
        Rc::new(Gpu { sim: sim.clone(), name: name.to_string(), spec, port, memory })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its data sheet.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Its port.
    pub fn port(&self) -> &Rc<Port> {
        &self.port
    }

    /// A driver sets one engine up, for buffers that lie in `home`.
    pub fn engine(&self, way: Way, home: Home) -> Rc<Engine> {
        let sim = &self.sim;
        let name = format!("{}.{}", self.name, if way == Way::FromHost { "h2d" } else { "d2h" });
        let requests = match way {
            Way::FromHost => self.spec.reads,
            Way::ToHost => self.spec.writes,
        };
        let engine = Rc::new(Engine {
            sim: sim.clone(),
            way,
            spec: self.spec.clone(),
            port: self.port.clone(),
            lane: sim.lane(&name, None),
            memory: self.memory.clone(),
            home,
            doorbells: Doorbells::new(sim, &format!("{name}.doorbell"), &self.port),
            copies: Queue::new(sim, COPIES_MAX),
            pages: Queue::new(sim, requests),
            under_way: RefCell::new(Vec::new()),
            ended: Queue::new(sim, COPIES_MAX),
            copied: Queue::new(sim, COPIES_MAX),
        });
        let own = || engine.clone();
        let (cutting, telling) = (own(), own());
        sim.process(&name, async move { cutting.cut().await });
        for request in 0..requests {
            let copying = own();
            sim.process(&format!("{name}.request{request}"), async move { copying.copy_pages().await });
        }
        sim.process(&format!("{name}.semaphore"), async move { telling.tell().await });
        engine
    }
}

impl Engine {
    /// The driver has written a command, and rings.
    pub fn submit(&self, copy: Copy) {
        self.copies.put_now(copy);
        self.doorbells.ring([copy.errand]);
    }

    async fn cut(&self) {
        let mut command = 0;
        loop {
            self.doorbells.arrived.take(&NO_COPY).await;
            self.sim.take_up(self.doorbells.next());
            let address = COMMANDS_AT[self.way as usize] + command * self.spec.command_bytes;
            command = (command + 1) % COMMANDS;
            let commands = Home { cached: true, ..self.home };
            self.port.read(address, self.spec.command_bytes as u32, &DESCRIPTOR, commands).await;
            self.lane.spend(&SETUP, self.lane.paced(self.spec.setup)).await;
            let Some(Copy { request, address, bytes, errand }) = self.copies.try_take() else { continue };
            let copy = self.begin(UnderWay { request, bytes_left: bytes });
            let mut done = 0;
            while done < bytes {
                let at = address + u64::from(done);
                let part = (bytes - done).min(PAGE_BYTES - (at % u64::from(PAGE_BYTES)) as u32);
                let page = Page { copy, address: at, bytes: part, errand: self.sim.pass_on(errand) };
                self.pages.put(page, &ALL_UNDER_WAY).await;
                done += part;
            }
        }
    }

    fn begin(&self, copy: UnderWay) -> usize {
        let mut all = self.under_way.borrow_mut();
        let free = all.iter().position(Option::is_none).unwrap_or(all.len());
        if free == all.len() {
            all.push(None);
        }
        all[free] = Some(copy);
        free
    }

    async fn copy_pages(&self) {
        loop {
            let Page { copy, address, bytes, errand } = self.pages.take(&NO_PAGE).await;
            self.sim.take_up(errand);
            match self.way {
                Way::FromHost => {
                    self.port.read(address, bytes, &DATA, self.home).await;
                    self.use_memory(bytes).await;
                }
                Way::ToHost => {
                    self.use_memory(bytes).await;
                    let most = self.spec.write_payload;
                    self.port.write_in_packets(address, bytes, most, &DATA, self.home).await;
                }
            }
            if let Some(request) = self.page_ended(copy, bytes) {
                self.ended.put_now((request, self.sim.pass_on(errand)));
            }
        }
    }

    async fn use_memory(&self, bytes: u32) {
        let time = Time::ps((u64::from(bytes) * 1_000_000_000_000).div_ceil(self.spec.memory_rate));
        self.memory.acquire(&MEMORY_BUSY).await.hold(&MEMORY_DATA, self.memory.paced(time)).await;
    }

    /// The request, if it was its copy's last page.
    fn page_ended(&self, copy: usize, bytes: u32) -> Option<u32> {
        let mut all = self.under_way.borrow_mut();
        let under_way = all[copy].as_mut()?;
        under_way.bytes_left -= bytes;
        let (request, left) = (under_way.request, under_way.bytes_left);
        if left > 0 {
            return None;
        }
        all[copy] = None;
        Some(request)
    }

    async fn tell(&self) {
        let mut semaphore = 0;
        loop {
            let (request, errand) = self.ended.take(&NOTHING_COPIED).await;
            self.sim.take_up(errand);
            let address = SEMAPHORES_AT[self.way as usize] + semaphore * self.spec.semaphore_bytes;
            semaphore = (semaphore + 1) % COMMANDS;
            let semaphores = Home { cached: true, ..self.home };
            let bytes = self.spec.semaphore_bytes as u32;
            let visible = self.port.write(address, bytes, &DESCRIPTOR, semaphores).await;
            let errand = self.sim.pass_on(errand);
            self.copied.put_now(Copied { request, visible, errand });
        }
    }
}
