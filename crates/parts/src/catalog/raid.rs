//! RAID controllers with SCSI and with ATA channels, and their driver.

use super::pci::plug;
use super::{Built, Kind, Protocol, Socket};
use crate::bridge::pci_x::initiator::Initiator;
use crate::controller::ata::{self, AtaChannel};
use crate::controller::raid::channels::Channels;
use crate::controller::raid::{self, Interface, Raid};
use crate::controller::scsi::channel::{self, Channel};
use crate::driver;

/// `raid-controller`
pub static RAID_CONTROLLER: Kind = Kind {
    model: "raid-controller",
    what: "A RAID controller with SCSI channels",
    plugs: &[("at", Protocol::Pci)],
    sockets: |p| {
        let channels = raid::channel_count(p, Interface::Scsi)?;
        let buses = (0..channels).map(|index| (format!("channel{index}"), Protocol::ScsiBus));
        Ok(buses.chain([("registers".into(), Protocol::BlockCard)]).collect())
    },
    required: &["registers"],
    software: false,
    build: |context, p| {
        let (spec, card, end) = (raid::Spec::read(p, Interface::Scsi)?, Initiator::read_spec(p)?, channel::read(p)?);
        let [Socket::PciSlot(slot)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        let initiator = plug(context.sim, context.name, card, slot, p)?;
        let channels: Vec<_> = (0..spec.channels).map(|_| Channel::new(context.sim, end.clone())).collect();
        let buses = channels.iter().enumerate();
        let mut sockets: Vec<(String, Socket)> =
            buses.map(|(index, channel)| (format!("channel{index}"), Socket::ScsiBus(channel.clone()))).collect();
        let raid = Raid::new(context.sim, context.name, spec, initiator, Channels::Scsi(channels));
        sockets.push(("registers".into(), Socket::BlockCard(raid)));
        Ok(Built { sockets, ..Built::default() })
    },
};

/// `ata-raid-controller`
pub static ATA_RAID_CONTROLLER: Kind = Kind {
    model: "ata-raid-controller",
    what: "A RAID controller with an ATA channel for each disk",
    plugs: &[("at", Protocol::Pci)],
    sockets: |p| {
        let channels = raid::channel_count(p, Interface::Ata)?;
        let cables = (0..channels).map(|index| (format!("channel{index}"), Protocol::IdeChannel));
        Ok(cables.chain([("registers".into(), Protocol::BlockCard)]).collect())
    },
    required: &["registers"],
    software: false,
    build: |context, p| {
        let (spec, card) = (raid::Spec::read(p, Interface::Ata)?, Initiator::read_spec(p)?);
        let end = ata::Spec::read(p)?;
        let [Socket::PciSlot(slot)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        let initiator = plug(context.sim, context.name, card, slot, p)?;
        let name = |index| format!("{}.channel{index}", context.name);
        let channel = |index| AtaChannel::new(context.sim, &name(index), end.clone());
        let channels: Vec<_> = (0..spec.channels).map(channel).collect();
        let cables = channels.iter().enumerate();
        let mut sockets: Vec<(String, Socket)> =
            cables.map(|(index, channel)| (format!("channel{index}"), Socket::AtaChannel(channel.clone()))).collect();
        let raid = Raid::new(context.sim, context.name, spec, initiator, Channels::Ata(channels));
        sockets.push(("registers".into(), Socket::BlockCard(raid)));
        Ok(Built { sockets, ..Built::default() })
    },
};

/// `block-card-driver`
pub static BLOCK_CARD_DRIVER: Kind = Kind {
    model: "block-card-driver",
    what: "A driver of cards that are asked for blocks",
    plugs: &[("runs_on", Protocol::Software), ("controls", Protocol::BlockCard)],
    sockets: |_| Ok(Vec::new()),
    required: &[],
    software: true,
    build: |context, p| {
        let spec = driver::raid::Spec::read(p)?;
        let [Socket::Software(processor), Socket::BlockCard(card)] = &context.plugs[..] else {
            unreachable!("plugs are checked")
        };
        let started = card.clone().start();
        if !started.map_err(|(problem, help)| p.error("controls", problem, help))? {
            return Ok(Built::default());
        }
        let volumes = driver::raid::install(context.sim, context.name, spec, processor, card.clone());
        Ok(Built { volumes, ..Built::default() })
    },
};
