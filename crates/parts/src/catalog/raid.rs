//! RAID controllers with SCSI and with ATA channels, and their driver.

use hopscope_declare::Spec;

use super::pci::plug;
use super::plugs::{At, Controls, RunsOn};
use super::sockets::{self, BlockCard, Channels as Cables, IdeChannel, Pci};
use super::{Builder, Built, Kind, NO_SOCKETS, Protocol, numbered, one};
use crate::bus::pci::card::CardSpec;
use crate::bus::scsi::HostEnd;
use crate::controller::ata::{self, AtaChannel};
use crate::controller::raid::channels::Channels;
use crate::controller::raid::{self, Interface, Raid};
use crate::controller::scsi::channel::{self, Channel};
use crate::driver;

/// A controller with SCSI channels.
#[derive(Clone, Spec)]
struct WithScsi {
    #[by(raid::Spec::read(p, Interface::Scsi), declares = |d| raid::Spec::declare(d, Interface::Scsi))]
    raid: raid::Spec,
    #[nested("pci")]
    card: CardSpec,
    #[by(channel::read(p), declares = channel::declare)]
    end: HostEnd,
}

/// `raid-controller`
pub static RAID_CONTROLLER: Kind = Kind {
    model: "raid-controller",
    what: "A RAID controller with SCSI channels",
    sockets: |p| {
        let channels = numbered("channel", raid::channel_count(p, Interface::Scsi)?, |_| Protocol::ScsiBus);
        Ok([channels, one("registers", Protocol::BlockCard)].concat())
    },
    required: &["registers"],
    build: &Builder(|context, spec: WithScsi, At(Pci(slot)), p| {
        let count = spec.raid.channels;
        let initiator = plug(context, spec.card, &slot, p)?;
        let channels: Vec<_> = (0..count).map(|_| Channel::new(context.sim, spec.end.clone())).collect();
        let buses = numbered("channel", count, |n| sockets::ScsiBus(channels[n].clone()).into());
        let raid = Raid::new(context.sim, context.name, spec.raid, initiator, Channels::Scsi(channels));
        Ok(Built::with([buses, one("registers", BlockCard(raid))].concat()))
    }),
};

/// A controller with ATA channels.
#[derive(Clone, Spec)]
struct WithAta {
    #[by(raid::Spec::read(p, Interface::Ata), declares = |d| raid::Spec::declare(d, Interface::Ata))]
    raid: raid::Spec,
    #[nested("pci")]
    card: CardSpec,
    #[nested]
    end: ata::Spec,
}

/// `ata-raid-controller`
pub static ATA_RAID_CONTROLLER: Kind = Kind {
    model: "ata-raid-controller",
    what: "A RAID controller with an ATA channel for each disk",
    sockets: |p| {
        let channels = numbered("channel", raid::channel_count(p, Interface::Ata)?, |_| Protocol::IdeChannel);
        Ok([channels, one("registers", Protocol::BlockCard)].concat())
    },
    required: &["registers"],
    build: &Builder(|context, spec: WithAta, At(Pci(slot)), p| {
        let count = spec.raid.channels;
        let initiator = plug(context, spec.card, &slot, p)?;
        let name = |n| format!("{}.channel{n}", context.name);
        let channels: Vec<_> = (0..count).map(|n| AtaChannel::new(context.sim, &name(n), spec.end.clone())).collect();
        let cables = numbered("channel", count, |n| IdeChannel(Cables::Card(channels[n].clone())).into());
        let raid = Raid::new(context.sim, context.name, spec.raid, initiator, Channels::Ata(channels));
        Ok(Built::with([cables, one("registers", BlockCard(raid))].concat()))
    }),
};

/// `block-card-driver`
pub static BLOCK_CARD_DRIVER: Kind = Kind {
    model: "block-card-driver",
    what: "A driver of cards that are asked for blocks",
    sockets: NO_SOCKETS,
    required: &[],
    build: &Builder(|context, spec: driver::raid::Spec, (RunsOn(processor), Controls(BlockCard(card))), p| {
        let started = card.clone().start();
        if !started.map_err(|(problem, help)| p.error("controls", problem, help))? {
            return Ok(Built::default());
        }
        Ok(Built::of(driver::raid::install(context.sim, context.name, spec, &processor, card)))
    }),
};
