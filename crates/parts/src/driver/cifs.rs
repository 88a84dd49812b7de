//! A CIFS server: threads that take a client's commands, ask the device below, and answer over TCP.
//!
//! ```text
//!   command of the client ─▶ a thread: processor ─▶ device ─▶ (data in memory, or on the disk) ─▶ processor ─▶ answer
//! ```
//!
//! A read is answered with its data, a write when the device has written: nothing is kept here.
//!
//! Not modelled: the server's cache and its read-ahead (files are opened without buffering), opens, locks, security,
//! where files lie on a volume.

use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Label, Queue, Sim, Time};

use super::tcp::{self, Tcp};
use crate::cpu::{Layer, Processor};
use crate::nearest::among_devices;
use crate::network::client::Client;
use crate::network::tcp::Message;
use crate::protocols::smb;
use crate::protocols::storage::{Operation, Request, Storage};

static NO_COMMAND: Label = Label::reason("no command of a client");
static DEVICE_AT_WORK: Label = Label::reason("device at work");

const THREADS_MAX: u64 = 64;
/// What the client's commands are multiples of must be whole blocks.
const PIECE_BYTES: u32 = 4_096;

/// The server's behaviour.
#[derive(Clone, Debug, PartialEq, Spec)]
#[spec(with(frame_bytes: u32))]
pub struct Spec {
    /// What TCP and the adapter's driver cost.
    #[by(tcp::Spec::read(p, frame_bytes))]
    tcp: tcp::Spec,
    /// Threads of the server: commands at a time.
    #[count("threads", 1..=THREADS_MAX)]
    threads: u64,
    /// Processor time of a command before the device is asked.
    #[time("command")]
    command: Time,
    /// Processor time of a command's answer.
    #[time("answer")]
    answer: Time,
    /// The device that is served, or "every device".
    #[text("serves")]
    serves: String,
}

/// Devices, by name.
pub type Devices = Vec<(String, Rc<dyn Storage>)>;

/// Each device of the machine is a share.
const EVERY_DEVICE: &str = "every device";

/// A device, as the client sees it.
struct Share {
    client: Rc<Client>,
    number: usize,
    device: Rc<dyn Storage>,
}

impl Storage for Share {
    fn submit(&self, request: Request) {
        self.client.submit(self.number, request);
    }

    fn size_bytes(&self) -> u64 {
        self.device.size_bytes()
    }

    fn block_bytes(&self) -> u32 {
        self.device.block_bytes()
    }

    fn processor(&self) -> Option<Rc<Processor>> {
        None
    }

    fn above(&self, _: Operation, _: u32) -> (Layer, Time) {
        (Layer::FileSystem, Time::ZERO)
    }
}

/// A server.
struct Server {
    sim: Sim,
    spec: Spec,
    processor: Rc<Processor>,
    client: Rc<Client>,
    tcp: Rc<Tcp>,
    devices: Vec<Rc<dyn Storage>>,
}

/// The devices that `serves` names, with the names of their shares. Errors say what is wrong with `serves`.
fn served(name: &str, serves: &str, devices: &Devices) -> Result<Devices, (String, String)> {
    let names: Vec<&str> = devices.iter().map(|(name, _)| name.as_str()).collect();
    let shares: Devices = if serves == EVERY_DEVICE {
        devices.iter().map(|(device, storage)| (format!("{name}.{device}"), storage.clone())).collect()
    } else {
        let found = devices.iter().filter(|(device, _)| device == serves);
        found.map(|(_, storage)| (name.to_string(), storage.clone())).collect()
    };
    if shares.is_empty() {
        let help = format!("{}; \"{EVERY_DEVICE}\" is all of them", among_devices(serves, &names));
        return Err((format!("`{serves}` is no device of this system"), help));
    }
    for (share, storage) in &shares {
        if names.contains(&share.as_str()) {
            return Err((format!("there is a device `{share}` already"), "give the server another name".to_string()));
        }
        if !PIECE_BYTES.is_multiple_of(storage.block_bytes()) {
            let help = format!("devices: {}, or \"{EVERY_DEVICE}\"", names.join(", "));
            return Err((format!("blocks of {} B cannot be served", storage.block_bytes()), help));
        }
    }
    Ok(shares)
}

/// Starts a server for a client; returns the devices with the shares, or what is wrong with `serves`.
pub fn install(
    sim: &Sim,
    name: &str,
    spec: Spec,
    processor: &Rc<Processor>,
    client: &Rc<Client>,
    mut devices: Devices,
) -> Result<Devices, (String, String)> {
    let shares = served(name, &spec.serves, &devices)?;
    let tcp = Tcp::start(sim, &format!("{name}.tcp"), spec.tcp.clone(), processor, client);
    let below = shares.iter().map(|(_, device)| device.clone()).collect();
    let (sim, processor, client) = (sim.clone(), processor.clone(), client.clone());
    let server = Rc::new(Server { sim, spec, processor, client, tcp, devices: below });
    for number in 0..server.spec.threads {
        let thread = server.clone();
        server.sim.process(&format!("{name}.thread{number:02}"), async move { thread.serve().await });
    }
    for (number, (share, device)) in shares.into_iter().enumerate() {
        devices.push((share, Rc::new(Share { client: server.client.clone(), number, device })));
    }
    Ok(devices)
}

impl Server {
    async fn serve(&self) {
        let (sim, spec, end) = (&self.sim, &self.spec, &self.tcp.connection.server);
        let done = Queue::new(sim, 1);
        loop {
            let message = end.told.take(&NO_COMMAND).await;
            sim.take_up(message.errand);
            let Some(command) = self.client.command(message.command) else { continue };
            let device = &self.devices[command.share];
            self.processor.run_thread(Layer::Network, spec.command).await;
            let (layer, above) = device.above(command.operation, command.bytes);
            self.processor.run_thread(layer, above).await;
            device.submit(Request {
                operation: command.operation,
                offset_bytes: command.offset_bytes,
                bytes: command.bytes,
                issued: sim.now(),
                errand: sim.pass_on(message.errand),
                done: done.clone(),
            });
            let completion = done.take(&DEVICE_AT_WORK).await;
            sim.take_up(completion.errand);
            self.processor.run_thread(Layer::Network, spec.answer).await;
            let bytes = smb::answer_bytes(command.operation, command.bytes);
            end.say(Message { bytes, command: message.command, errand: completion.errand });
        }
    }
}
