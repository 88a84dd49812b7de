//! Address translation for devices: a cache of translations, and walks of the page table where it misses.
//!
//! ```text
//!   address ─▶ IOTLB (entries, least recently used goes) ─ miss ─▶ walker (NAME.iommu) ─▶ IOTLB
//! ```
//!
//! Not modelled: caches of intermediate levels apart from their effect on `walk`, invalidations, faults.

use std::cell::RefCell;

use hopscope_kernel::{Label, Lane, Queue, Sim, Time};

use crate::parameters::{Parameters, SpecError};

/// A walk of the page table.
static WALK: Label = Label::protocol("page table walk");
/// As many walks are under way as there are walkers.
static NO_WALKER: Label = Label::reason("no walker free");

const ENTRIES_MAX: u64 = 65_536;

/// The data sheet.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Translations that are kept; none where addresses are not translated.
    entries: u64,
    page_bytes: u64,
    walk: Time,
    walkers: usize,
}

impl Spec {
    /// Pulls the numbers.
    pub fn read(p: &mut Parameters) -> Result<Spec, SpecError> {
        let spec = Spec {
            entries: p.count("iommu.entries")?,
            page_bytes: p.bytes("iommu.page")?,
            walk: p.time("iommu.walk")?,
            walkers: p.count("iommu.walkers")? as usize,
        };
        if spec.entries > ENTRIES_MAX {
            let help = format!("expected \"0 entries\" (addresses are not translated), up to {ENTRIES_MAX}");
            return Err(p.error("iommu.entries", "no IOTLB is that large", help));
        }
        if !spec.page_bytes.is_power_of_two() || !(4_096..=1 << 30).contains(&spec.page_bytes) {
            return Err(p.error("iommu.page", "there are no such pages", "expected 4 KiB to 1 GiB, a power of two"));
        }
        if !(1..=256).contains(&spec.walkers) {
            return Err(p.error("iommu.walkers", "a page table is walked by 1 to 256 walkers", "write \"4 walkers\""));
        }
        Ok(spec)
    }
}

#[cfg(test)]
impl Spec {
    /// Addresses are not translated.
    pub(crate) fn off() -> Spec {
        Spec { entries: 0, page_bytes: 4_096, walk: Time::ZERO, walkers: 1 }
    }
}

/// An IOMMU.
pub struct Iommu {
    spec: Spec,
    lane: Lane,
    walkers: Queue<()>,
    /// Pages, the least recently used first.
    pages: RefCell<Vec<u64>>,
}

impl Iommu {
    /// The IOMMU of root complex `name`.
    pub fn new(sim: &Sim, name: &str, spec: Spec) -> Iommu {
        let walkers = Queue::new(sim, spec.walkers);
        for _ in 0..spec.walkers {
            let _ = walkers.try_put(());
        }
        let pages = RefCell::new(Vec::with_capacity(spec.entries as usize));
        Iommu { spec, lane: sim.lane(&format!("{name}.iommu"), None), walkers, pages }
    }

    /// Whether addresses are translated at all.
    pub fn translates(&self) -> bool {
        self.spec.entries > 0
    }

    /// Translates an address; returns how long a walk took, if one was needed.
    pub async fn translate(&self, address: u64) -> Time {
        if self.spec.entries == 0 || self.hits(address / self.spec.page_bytes) {
            return Time::ZERO;
        }
        self.walkers.take(&NO_WALKER).await;
        let walk = self.lane.paced(self.spec.walk);
        self.lane.delay(&WALK, walk).await;
        let _ = self.walkers.try_put(());
        walk
    }

    /// Whether the page is kept; it is from now on.
    fn hits(&self, page: u64) -> bool {
        let mut pages = self.pages.borrow_mut();
        let known = pages.iter().rposition(|known| *known == page);
        match known {
            Some(position) => pages[position..].rotate_left(1),
            None if pages.len() == self.spec.entries as usize => {
                pages.rotate_left(1);
                if let Some(last) = pages.last_mut() {
                    *last = page;
                }
            }
            None => pages.push(page),
        }
        known.is_some()
    }
}
