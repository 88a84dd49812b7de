//! Random machines: the test bed with one or two disks, or a shipped system with PCI Express links; some numbers
//! changed, jobs of any kind.

pub mod declared;
pub mod scsi;

use hopscope_files::job_file::{self, Job};
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_kernel::Pace;
use hopscope_machine::blueprint::Blueprint;

/// Modes of the first disk: mostly the one that it is shipped with.
const MODES: [&str; 4] = ["ultra-dma-2", "ultra-dma-2", "ultra-dma-2", "another"];
const OTHER_MODES: [&str; 4] = ["ultra-dma-1", "multiword-dma-2", "pio-1", "pio-4"];
/// Where memory stops a burst.
const LINE: &str = "host.memory.cache_line=";

struct Draw(u64);

impl Draw {
    /// 31 bits.
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn any<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.number() as usize % choices.len()]
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        self.any(choices)
    }
}

/// System, options of its jobs, and changes of its numbers.
fn draw(seed: u64, runtime: &str) -> (&'static str, Vec<String>, Vec<String>) {
    let mut draw = Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let system = draw.of(&["piix4e-one-disk", "piix4e-two-disks-same-channel", "piix4e-two-disks-two-channels"]);
    let mut job = |name: &str, target: &str| {
        let (rw, bs) = (
            draw.of(&["read", "write", "randread", "randwrite"]),
            draw.of(&["512", "2k", "4k", "6k", "16k", "64k", "128k"]),
        );
        let (depth, span) = (draw.of(&["1", "2", "5"]), draw.of(&["128k", "1m", "40m"]));
        [format!("--name={name}"), format!("--filename={target}"), format!("--rw={rw}"), format!("--bs={bs}")]
            .into_iter()
            .chain([
                format!("--size={span}"),
                format!("--iodepth={depth}"),
                "--time_based".into(),
                format!("--runtime={runtime}"),
            ])
            .collect::<Vec<_>>()
    };
    let mut jobs = job("first", "disk");
    if system != "piix4e-one-disk" {
        jobs.extend(job("second", "disk2"));
    }
    let changes = [
        draw.of(&["pci.clock=33.5MHz", "pci.clock=33.333333MHz", "pci.clock=25MHz", "pci.clock=640MHz"]),
        draw.of(&["ide.channel_switch=0ns", "ide.channel_switch=120ns", "ide.channel_switch=333ns"]),
        draw.of(&["host.hold_acknowledge=0clocks", "host.hold_acknowledge=9clocks", "host.hold_acknowledge=25clocks"]),
        draw.of(&["driver.time_above=0us", "driver.time_above=80us"]),
        draw.of(&["pci.latency_timer=24clocks", "pci.latency_timer=32clocks", "pci.latency_timer=255clocks"]),
        draw.of(&["disk.firmware.overwrite_interval=0us", "disk.firmware.overwrite_interval=745us"]),
        draw.of(&["ide.refill=when empty", "ide.refill=when empty", "ide.refill=when a half is free"]),
        draw.of(&["ide.buffer=64B", "ide.buffer=64B", "ide.buffer=192B", "ide.buffer=40B"]),
    ];
    let mode = draw.of(&MODES);
    let mode = if mode == "another" { draw.of(&OTHER_MODES) } else { mode };
    let mode = format!("disk.transfer_mode={mode}");
    let line = format!("{LINE}{}", draw.of(&["32B", "32B", "96B", "16B", "48B", "128B"]));
    (system, jobs, changes.iter().map(|c| c.to_string()).chain([mode, line]).collect())
}

/// A machine, its jobs, and how it was drawn.
pub struct Drawn {
    /// The machine.
    pub blueprint: Blueprint,
    /// Its jobs.
    pub jobs: Vec<Job>,
    /// System, options, changes.
    pub words: String,
}

/// The machine of a seed, and its jobs, which run for `runtime`.
pub fn machine(library: &Library, seed: u64, runtime: &str) -> Drawn {
    let (system, options, changes) = draw(seed, runtime);
    let mut sources = Sources::default();
    let text = library.open_system(system).expect("a shipped system");
    let file = sources.add(text.name, text.text);
    let mut blueprint = Blueprint::read(library, &mut sources, file).expect("a right system");
    for change in &changes {
        let mut changed = blueprint.clone();
        match changed.set(change) {
            Ok(_) => blueprint = changed,
            // A burst may be too long for the latency timer that was drawn.
            Err(_) if change.starts_with(LINE) => {}
            Err(p) => panic!("{change}: {}", p.render(&sources, false)),
        }
    }
    let jobs = job_file::read_options(&mut sources, &options).expect("right options").jobs;
    Drawn { blueprint, jobs, words: format!("{system} {options:?} {changes:?}") }
}

/// Two disks on two channels, whose buffers hold what is read, and mostly take what is written.
#[allow(dead_code)]
pub fn two_channels(library: &Library, seed: u64, runtime: &str) -> Drawn {
    let mut draw = Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let same = draw.of(&["read", "write"]);
    let mut job = |name: &str, target: &str| {
        let (rw, bs) = (draw.of(&[same, same, same, "read", "write"]), draw.of(&["4k", "16k", "64k", "64k"]));
        let options = format!(
            "--name={name} --filename={target} --rw={rw} --bs={bs} --size=64k --iodepth={} --time_based --runtime={runtime}",
            draw.of(&["1", "2"])
        );
        options.split(' ').map(str::to_string).collect::<Vec<_>>()
    };
    let options = [job("first", "disk"), job("second", "disk2")].concat();
    let changes = [
        draw.of(&["pci.clock=33.5MHz", "pci.clock=33.333333MHz", "pci.clock=25MHz"]),
        draw.of(&["ide.channel_switch=0ns", "ide.channel_switch=185ns", "ide.channel_switch=333ns"]),
        draw.of(&["ide.channel_switch_at=burst", "ide.channel_switch_at=burst", "ide.channel_switch_at=command"]),
        draw.of(&["host.hold_acknowledge=0clocks", "host.hold_acknowledge=3clocks", "host.hold_acknowledge=12clocks"]),
        draw.of(&["ide.buffer=64B", "ide.buffer=64B", "ide.buffer=128B"]),
        draw.of(&[
            "disk.transfer_mode=ultra-dma-2",
            "disk.transfer_mode=ultra-dma-2",
            "disk.transfer_mode=ultra-dma-1",
        ]),
        draw.of(&["ide.rerequest_delay=1clock", "ide.rerequest_delay=5clocks"]),
    ];
    let drawn = of(library, "piix4e-two-disks-two-channels", &options.iter().map(String::as_str).collect::<Vec<_>>());
    changed(&mut draw, drawn, &changes, &["as it is", "as it is", "cable", "pci", "ide.buffer", "host"])
}

/// With these changes, and one of these hops at another pace, unless that one is none.
fn changed(draw: &mut Draw, drawn: Drawn, changes: &[&str], hops: &[&str]) -> Drawn {
    let Drawn { mut blueprint, jobs, words } = drawn;
    for change in changes {
        blueprint.set(change).unwrap_or_else(|p| panic!("{change}: {}", p.render(&Sources::default(), false)));
    }
    let hop = draw.of(hops);
    if hop != "as it is" {
        blueprint.faster(hop, Pace::new(1_000 + draw.number() as u32 % 900, 1_000).expect("a pace"));
    }
    Drawn { blueprint, jobs, words: format!("{words} {changes:?} faster {hop}") }
}

/// A RAID adapter whose drives send pieces into its memory one behind the other: others want that, too, and the FIFOs of
/// its channels hold two pieces or more.
#[allow(dead_code)]
pub fn pieces_of_reads(library: &Library, seed: u64, runtime: &str) -> Drawn {
    let mut draw = Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let system = draw.of(&["raid-5-acceleraid-pci-x-100", "raid-5-megaraid-64-66", "raid-megaraid-64-66"]);
    let options = [
        "--name=job".to_string(),
        format!("--rw={}", draw.of(&["randread", "randread", "read", "randrw", "rw"])),
        format!("--bs={}", draw.of(&["2k", "4k", "4608", "16k", "64k"])),
        format!("--iodepth={}", draw.of(&["1", "2", "8", "32"])),
        format!("--runtime={runtime}"),
        "--time_based".to_string(),
    ];
    let drawn = of(library, system, &options.iter().map(String::as_str).collect::<Vec<_>>());
    let changes = [
        draw.of(&["raid.channel.fifo=1024B", "raid.channel.fifo=1536B", "raid.channel.fifo=4096B"]),
        draw.of(&["raid.channel.piece=512B", "raid.channel.piece=512B", "raid.channel.piece=1024B"]),
        draw.of(&["raid.memory.rate=1.06GB/s", "raid.memory.rate=528MB/s", "raid.memory.rate=200MB/s"]),
        draw.of(&["raid.memory.burst=4KiB", "raid.memory.burst=4KiB", "raid.memory.burst=512B"]),
        draw.of(&["scsi0.rate=160MB/s", "scsi0.rate=80MB/s", "scsi0.rate=20MB/s"]),
        draw.of(&["disk0.overhead.read_completion=0us", "disk0.overhead.read_completion=40us"]),
    ];
    changed(&mut draw, drawn, &changes, &["as it is", "raid.memory", "scsi0", "scsi1", "disk0.firmware", "pci"])
}

/// A shipped system and its jobs.
#[allow(dead_code)]
pub fn of(library: &Library, system: &str, options: &[&str]) -> Drawn {
    let mut sources = Sources::default();
    let text = library.open_system(system).expect("a shipped system");
    let file = sources.add(text.name, text.text);
    let blueprint = Blueprint::read(library, &mut sources, file).expect("a right system");
    let options: Vec<String> = options.iter().map(|option| option.to_string()).collect();
    let jobs = job_file::read_options(&mut sources, &options).expect("right options").jobs;
    Drawn { blueprint, jobs, words: system.to_string() }
}

/// Numbers that are drawn anew, of every part of a model: links, roots, and whatever has a port of its own.
const LINK: &[(&str, &[&str])] = &[
    ("width", &["1 lanes", "2 lanes", "4 lanes", "8 lanes", "16 lanes"]),
    ("rate", &["2.5 GT/s", "8 GT/s", "16 GT/s", "64 GT/s"]),
    ("flight", &["10 ns", "50 ns", "400 ns"]),
    ("bits_per_error", &["0 bits", "0 bits", "1000000 bits"]),
    ("acknowledge.when", &["at the limit", "each packet"]),
];
const ROOT: &[(&str, &[&str])] = &[
    ("payload_max", &["128 B", "256 B", "512 B"]),
    ("completion", &["64 B", "128 B", "256 B"]),
    ("combined_from", &["128 B", "512 B", "4 KiB"]),
    ("tail", &["apart", "with the rest"]),
    ("credits.posted_headers", &["0 credits", "1 credit", "4 credits", "64 credits"]),
    ("credits.posted_data", &["512 B", "1 KiB", "64 KiB"]),
    ("credits.non_posted_headers", &["0 credits", "1 credit", "16 credits"]),
    ("iommu.entries", &["0 entries", "1 entry", "64 entries"]),
    ("iommu.walkers", &["1 walker", "4 walkers"]),
    ("memory_rate", &["1 GB/s", "20 GB/s", "200 GB/s"]),
];
const PORT: &[(&str, &[&str])] = &[
    ("pcie.tags", &["1 tag", "4 tags", "32 tags", "256 tags"]),
    ("pcie.read_request_max", &["128 B", "512 B", "4 KiB"]),
    ("pcie.payload_max", &["128 B", "256 B", "512 B"]),
    ("pcie.ordering", &["strict", "relaxed"]),
];

/// A shipped system with PCI Express links, its numbers drawn, one to three jobs on its devices.
#[allow(dead_code)]
pub fn serial(library: &Library, seed: u64, runtime: &str) -> Drawn {
    let mut draw = Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut sources = Sources::default();
    let with_links = |name: &&str| library.system(name).is_some_and(|text| text.text.contains("bus/pcie-link"));
    let systems: Vec<&str> = library.systems().filter(with_links).collect();
    let system = draw.of(&systems);
    let text = library.open_system(system).expect("a shipped system");
    let file = sources.add(text.name, text.text);
    let mut blueprint = Blueprint::read(library, &mut sources, file).expect("a right system");
    let mut changes = Vec::new();
    for part in blueprint.parts() {
        for numbers in [LINK, ROOT, PORT] {
            let of_model = match part.model() {
                "pcie-link" => std::ptr::eq(numbers, LINK),
                "root-complex" => std::ptr::eq(numbers, ROOT),
                _ => std::ptr::eq(numbers, PORT),
            };
            for (key, values) in numbers.iter().filter(|(key, _)| of_model && part.parameters.has(key)) {
                changes.push(format!("{}.{key}={}", part.name, draw.of(values)));
            }
        }
    }
    // What one part refuses beside the others stays as it is shipped.
    changes.retain(|change| {
        let mut changed = blueprint.clone();
        let taken = changed.set(change).is_ok();
        blueprint = if taken { changed } else { blueprint.clone() };
        taken
    });
    let devices = blueprint.devices();
    let devices: Vec<&str> = devices.iter().map(String::as_str).collect();
    let mut options = Vec::new();
    for name in ["first", "second", "third"].iter().take(1 + seed as usize % 3) {
        let device = draw.of(&devices);
        let (rw, depth) = (draw.of(&["read", "write", "randread", "randwrite"]), draw.of(&["1", "4", "40"]));
        let bs = if system.starts_with("pcie-bench") {
            draw.of(&["8", "64", "65", "257", "2k"])
        } else {
            draw.of(&["512", "4k", "8k", "64k"])
        };
        options.push(format!("--name={name}"));
        options.extend(
            [("filename", device), ("rw", rw), ("bs", bs), ("iodepth", depth), ("runtime", runtime)]
                .map(|(key, value)| format!("--{key}={value}")),
        );
        options.push("--time_based".into());
    }
    let jobs = job_file::read_options(&mut sources, &options).expect("right options").jobs;
    Drawn { blueprint, jobs, words: format!("{system} {options:?} {changes:?}") }
}

const PCI_BUS: &[(&str, &[&str])] = &[
    ("clock", &["33.333333 MHz", "66.666667 MHz", "100 MHz", "133.333333 MHz"]),
    ("mode", &["PCI-X", "PCI-X", "PCI"]),
    ("width", &["4 B", "8 B"]),
    ("latency_timer", &["0 clocks", "16 clocks", "64 clocks", "255 clocks"]),
    ("disconnect", &["1 clock", "2 clocks"]),
];
const PCI_BRIDGE: &[(&str, &[&str])] = &[
    ("latency", &["0 ns", "40 ns", "150 ns"]),
    ("boundary", &["64 B", "96 B", "100 B", "512 B", "4 KiB"]),
    ("write.buffer", &["128 B", "200 B", "512 B", "4 KiB"]),
    ("write.gather", &["128 B", "200 B", "512 B"]),
    ("write.under_way", &["1 transaction", "3 transactions"]),
    ("write.response", &["1 clock", "8 clocks"]),
    ("read.latched", &["1 transaction", "2 transactions", "8 transactions"]),
    ("read.piece", &["64 B", "100 B", "128 B", "4 KiB"]),
    ("read.ahead", &["1 transaction", "4 transactions", "32 transactions"]),
    ("read.first", &["8 B", "128 B", "1 KiB"]),
    ("read.prefetch_multiple", &["64 B", "96 B", "512 B", "4 KiB"]),
];
const PCI_LINK: &[(&str, &[&str])] = &[
    ("rate", &["200 MB/s", "1066.7 MB/s", "3.2 GB/s"]),
    ("ways", &["apart", "shared"]),
    ("payload", &["64 B", "96 B", "512 B"]),
    ("write_overhead", &["0 B", "16 B"]),
    ("latency", &["0 ns", "30 ns"]),
];
const PCI_CARD: &[(&str, &[&str])] = &[
    ("pci.mode", &["PCI-X", "PCI-X", "PCI"]),
    ("pci.clock", &["33.333333 MHz", "66.666667 MHz", "133.333333 MHz"]),
    ("pci.width", &["4 B", "8 B"]),
    ("pci.burst", &["96 B", "128 B", "200 B", "512 B", "4 KiB"]),
    ("pci.read_request", &["512 B", "4 KiB"]),
    ("pci.read", &["memory read", "memory read line", "memory read multiple"]),
    ("pci.splits", &["1 transaction", "4 transactions"]),
    ("pci.gap", &["0 clocks", "6 clocks"]),
    ("pci.retry_idle", &["0 clocks", "2 clocks", "20 clocks"]),
    ("block", &["512 B", "1000 B", "4 KiB"]),
    ("buffers", &["1 packet", "8 packets"]),
    ("ports", &["1 port", "2 ports"]),
    ("local_memory", &["500 MB/s", "2.664 GB/s"]),
];

/// A shipped system with a Myrinet adapter, its numbers drawn, one to three jobs on its devices.
#[allow(dead_code)]
pub fn pci_x(library: &Library, seed: u64, runtime: &str) -> Drawn {
    let mut draw = Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut sources = Sources::default();
    let with_adapter = |name: &&str| library.system(name).is_some_and(|text| text.text.contains("network/myricom"));
    let systems: Vec<&str> = library.systems().filter(with_adapter).collect();
    let behind_bridge = "myrinet-x5dl8-behind-bridge";
    let system = if seed.is_multiple_of(3) { behind_bridge } else { draw.of(&systems) };
    let text = library.open_system(system).expect("a shipped system");
    let file = sources.add(text.name, text.text);
    let mut blueprint = Blueprint::read(library, &mut sources, file).expect("a right system");
    let mut changes = Vec::new();
    for part in blueprint.parts() {
        let tables: &[_] = match part.model() {
            "pci-bus" => &[PCI_BUS],
            "pci-x-bridge" => &[PCI_BRIDGE],
            "pci-to-pci-bridge" => &[PCI_BRIDGE, PCI_CARD],
            "host-link" => &[PCI_LINK],
            "myrinet-adapter" => &[PCI_CARD],
            _ => &[],
        };
        for (key, values) in tables.iter().copied().flatten().filter(|(key, _)| part.parameters.has(key)) {
            let (value, kept) = (draw.of(values), draw.of(&["as it is", "changed"]));
            if kept == "changed" {
                changes.push(format!("{}.{key}={value}", part.name));
            }
        }
    }
    // What one part refuses beside the others stays as it is shipped.
    changes.retain(|change| {
        let mut changed = blueprint.clone();
        let taken = changed.set(change).is_ok();
        blueprint = if taken { changed } else { blueprint.clone() };
        taken
    });
    let mut options = Vec::new();
    for name in ["first", "second", "third"].iter().take(1 + seed as usize % 3) {
        let (device, bs) =
            (draw.of(&["nic", "nic.both", "nic.user"]), draw.of(&["64", "300", "512", "4k", "10000", "64k"]));
        let (rw, depth) = (draw.of(&["read", "write", "randread", "randwrite"]), draw.of(&["1", "4", "40"]));
        options.push(format!("--name={name}"));
        options.extend(
            [("filename", device), ("rw", rw), ("bs", bs), ("iodepth", depth), ("runtime", runtime)]
                .map(|(key, value)| format!("--{key}={value}")),
        );
        options.push("--time_based".into());
    }
    let jobs = job_file::read_options(&mut sources, &options).expect("right options").jobs;
    Drawn { blueprint, jobs, words: format!("{system} {options:?} {changes:?}") }
}
