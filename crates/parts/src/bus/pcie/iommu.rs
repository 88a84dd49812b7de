//! Address translation for devices: a cache of translations, and walks of the page table where it misses.
//!
//! ```text
//!   address ─▶ IOTLB (entries, least recently used goes) ─ miss ─▶ walker (NAME.iommu) ─▶ IOTLB
//! ```
//!
//! Not modelled: caches of intermediate levels apart from their effect on `walk`, invalidations, faults.

use std::cell::RefCell;

use hopscope_declare::Spec;
use hopscope_kernel::{Label, Lane, Sim, Time, Tokens};

/// A walk of the page table.
static WALK: Label = Label::protocol("page table walk");
/// As many walks are under way as there are walkers.
static NO_WALKER: Label = Label::reason("no walker free");

const ENTRIES_MAX: u64 = 65_536;

/// The data sheet.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Translations that are kept; none where addresses are not translated.
    #[count("iommu.entries", ..=ENTRIES_MAX)]
    entries: u64,
    /// What one translation is for.
    #[bytes("iommu.page", 4_096..=1 << 30, power_of_two)]
    page_bytes: u64,
    /// A walk of the page table, for a translation that is not kept.
    #[time("iommu.walk")]
    walk: Time,
    /// Walks at a time.
    #[count("iommu.walkers", 1..=256)]
    walkers: usize,
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
    walkers: Tokens,
    /// Pages, the least recently used first.
    pages: RefCell<Vec<u64>>,
}

impl Iommu {
    /// The IOMMU of root complex `name`.
    pub fn new(sim: &Sim, name: &str, spec: Spec) -> Iommu {
        let walkers = Tokens::full(sim, spec.walkers);
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
        self.walkers.give();
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
