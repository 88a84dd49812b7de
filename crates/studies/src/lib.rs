//! Published studies: what they published, how it is simulated, and how far apart the two are.
//!
//! Only this crate knows published numbers. A study is a folder in `studies/`; its code here says which run
//! answers which published cell.

pub mod fitting;
pub mod forecasts;
mod machines;
pub mod measure;
pub mod myrinet;
pub mod pcie_bench;
pub mod pictures;
pub mod piix4e;
pub mod raid_pci;
pub mod report;
mod robustness;
pub mod schema;
pub mod shelf;
mod study_file;
pub mod win2000;

use hopscope_machine::library::Library;
use hopscope_machine::run::Failure;

use pictures::Pictures;
use report::Report;

/// What a caller may want of a reproduction.
pub struct Wish<'a> {
    /// Parts, systems and jobs.
    pub library: &'a Library,
    /// Book trains. Results are the same, to the bit.
    pub trains: bool,
    /// Also move every assumed and fitted number, and switch every mechanism off, and see what becomes of the errors.
    pub sensitivity: bool,
    /// Whether somebody wants no more than what is known by now. Fits look at it.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Is told how much is done, of how much, and what is being done. Called from several threads.
    pub progress: &'a (dyn Fn(usize, usize, &str) + Sync),
}

/// A study that can be run.
pub struct Study {
    /// Its name, and the name of its folder.
    pub id: &'static str,
    /// Runs it.
    pub reproduce: fn(&Wish) -> Result<Report, Failure>,
    /// What it can show in pictures, besides its report.
    pub pictures: fn(&Wish) -> Result<Pictures, Failure>,
    /// Fits its parameters again and says what they would be.
    pub fit: fn(&Wish) -> Result<Vec<fitting::Found>, Failure>,
}

impl Study {
    /// Its title.
    pub fn title(&self) -> String {
        self.head("title")
    }

    /// Who published it, and when.
    pub fn source(&self) -> String {
        self.head("source")
    }

    /// What it is about, and how each of its tables is answered.
    pub fn about(&self) -> &'static str {
        shelf::text(self.id, "source.md")
    }

    fn head(&self, key: &str) -> String {
        let file: toml::Table = shelf::text(self.id, "study.toml").parse().unwrap_or_default();
        file.get(key).and_then(|value| value.as_str()).unwrap_or_default().to_string()
    }
}

/// Every study.
pub static STUDIES: &[Study] = &[
    Study { id: "piix4e", reproduce: piix4e::reproduce, pictures: piix4e::pictures, fit: piix4e::fit },
    Study { id: "pcie-bench", reproduce: pcie_bench::reproduce, pictures: pcie_bench::pictures, fit: pcie_bench::fit },
    Study { id: "myrinet", reproduce: myrinet::reproduce, pictures: myrinet::pictures, fit: myrinet::fit },
    Study { id: "raid-pci", reproduce: raid_pci::reproduce, pictures: raid_pci::pictures, fit: raid_pci::fit },
    Study { id: "win2000", reproduce: win2000::reproduce, pictures: win2000::pictures, fit: win2000::fit },
];
