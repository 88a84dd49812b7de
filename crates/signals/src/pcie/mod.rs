//! PCI Express on the wire: transaction layer packets, and what they add up to.
//!
//! `tlp` reads and writes packets, `nettlp` the Ethernet frames in which captures have them, `pcap` the file around
//! these. `pairs` finds the completions of each request, `agents` adds up what each requester does (how long it
//! waited in `latencies`), `over_time` the same in steps of time, and `nvme` finds a drive's commands. `capture` does all
//! of it; `fields` says which numbers of a part's file are then decided, `timeline` draws requests for Perfetto, and
//! `listed` is all of it for programs.

pub mod agents;
pub mod capture;
pub mod fields;
pub mod latencies;
pub mod listed;
pub mod nettlp;
pub mod nvme;
pub mod over_time;
pub mod pairs;
pub mod pcap;
pub mod pcap_out;
pub mod timeline;
pub mod tlp;
