//! What a controller's drives are at: SCSI channels of many drives, or ATA channels of one each.

use std::rc::Rc;

use hopscope_kernel::Errand;

use crate::bus::scsi::Pieces;
use crate::controller::ata::{self, AtaChannel};
use crate::controller::scsi::channel::{self, Channel};

/// READ(10) and WRITE(10) move this many sectors; whole pages of them.
const SCSI_SECTORS_MAX: u64 = 65_535 / 8 * 8;

/// The channels of a controller: all of one kind.
pub enum Channels {
    /// SCSI.
    Scsi(Vec<Rc<Channel>>),
    /// ATA.
    Ata(Vec<Rc<AtaChannel>>),
}

/// A drive at a channel.
pub(super) struct Found {
    /// Its channel.
    pub(super) channel: usize,
    /// Its id, or its number on the cable.
    pub(super) target: usize,
    pub(super) name: String,
    pub(super) sectors: u64,
}

impl Channels {
    /// The drives by channel. An error is what is wrong and what would be right.
    pub(super) fn drives(&self) -> Result<Vec<Vec<Found>>, (String, String)> {
        let found = |channel: usize, all: Vec<(usize, String, u64)>| {
            all.into_iter().map(|(target, name, sectors)| Found { channel, target, name, sectors }).collect::<Vec<_>>()
        };
        match self {
            Channels::Scsi(all) => Ok(all.iter().enumerate().map(|(at, one)| found(at, one.targets())).collect()),
            Channels::Ata(all) => {
                let drives: Vec<Vec<Found>> = all.iter().enumerate().map(|(at, one)| found(at, one.drives())).collect();
                if let Some(second) = drives.iter().find_map(|drives| drives.get(1)) {
                    let problem = format!("`{}` is the second drive of channel{}", second.name, second.channel);
                    return Err((problem, "this controller has one drive a channel: take a cable of its own".into()));
                }
                if let Some(name) = all.iter().find_map(|channel| channel.programmed()) {
                    let problem = format!("`{name}` waits for a processor that moves its words");
                    return Err((problem, "this controller moves data by DMA: set its transfer_mode to one".into()));
                }
                Ok(drives)
            }
        }
    }

    /// Commands of a drive that its channel has under way, at most.
    pub(super) fn tags(&self, drive: (usize, usize)) -> u64 {
        match self {
            Channels::Scsi(all) => all[drive.0].tags(drive.1) as u64,
            Channels::Ata(_) => 1,
        }
    }

    /// Sectors that a command moves, at most.
    pub(super) fn sectors_max(&self) -> u64 {
        match self {
            Channels::Scsi(_) => SCSI_SECTORS_MAX,
            Channels::Ata(_) => ata::SECTORS_MAX,
        }
    }

    /// Sends a command to a drive for a request.
    pub(super) async fn begin(
        &self,
        (at, drive): (usize, usize),
        writes: bool,
        (sector, sectors): (u64, u64),
        errand: Errand,
    ) -> Exchange<'_> {
        match self {
            Channels::Scsi(all) => Exchange::Scsi(all[at].begin(drive, writes, sector, sectors as u32, errand).await),
            Channels::Ata(all) => Exchange::Ata(all[at].begin(drive, writes, sector, sectors as u32, errand).await),
        }
    }
}

/// A command under way.
pub(super) enum Exchange<'a> {
    Scsi(channel::Exchange<'a>),
    Ata(ata::Exchange<'a>),
}

impl Exchange<'_> {
    /// Whoever carries the command takes several pieces of a read at once.
    pub(super) fn takes_several(&self) {
        if let Exchange::Scsi(exchange) = self {
            exchange.takes_several();
        }
    }

    /// The next bytes, until the command has ended.
    pub(super) async fn next(&mut self) -> Option<Pieces> {
        match self {
            Exchange::Scsi(exchange) => exchange.next_pieces().await,
            Exchange::Ata(exchange) => exchange.next().await.map(Pieces::one),
        }
    }

    /// So many of several pieces have come; those that are still to come are told of one by one.
    pub(super) fn one_by_one(&self, come: u32) {
        if let Exchange::Scsi(exchange) = self {
            exchange.one_by_one(come);
        }
    }

    /// Those bytes have been moved, or the last of several pieces of so many.
    pub(super) fn moved(&self, bytes: u32) {
        match self {
            Exchange::Scsi(exchange) => exchange.moved(bytes),
            Exchange::Ata(exchange) => exchange.moved(),
        }
    }
}
