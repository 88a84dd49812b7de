//! The mode that a drive is set to, as its file says it.

use crate::parameters::{Parameters, SpecError};
use crate::protocols::ide::TransferMode;

/// A kind of mode: how its name begins, how many there are, what it is.
type Kind = (&'static str, usize, fn(usize) -> TransferMode);

/// PIO 0 to 4, multiword DMA 0 to 2: ATA/ATAPI-4, table 17. Ultra DMA 0 to 5: ATA/ATAPI-6.
const KINDS: [Kind; 3] = [
    ("pio-", 5, TransferMode::Pio),
    ("multiword-dma-", 3, TransferMode::MultiwordDma),
    ("ultra-dma-", 6, TransferMode::UltraDma),
];

/// Pulls `transfer_mode`.
pub(super) fn read(p: &mut Parameters) -> Result<TransferMode, SpecError> {
    let written = p.text("transfer_mode")?;
    let names = || KINDS.iter().flat_map(|(kind, modes, of)| (0..*modes).map(move |n| (format!("{kind}{n}"), of(n))));
    if let Some((_, mode)) = names().find(|(name, _)| *name == written) {
        return Ok(mode);
    }
    let nearest = names().min_by_key(|(name, _)| edits(&written, name)).map_or(String::new(), |(name, _)| name);
    let problem = format!("`{written}` is no transfer mode of this model");
    let help = format!("did you mean \"{nearest}\"? expected pio-0 to 4, multiword-dma-0 to 2 or ultra-dma-0 to 5");
    Err(p.error("transfer_mode", problem, help))
}

/// Letters to insert, delete or replace; of a long text only the beginning counts.
fn edits(written: &str, name: &str) -> usize {
    let mut row: Vec<usize> = (0..=name.len()).collect();
    for (index, letter) in written.chars().take(64).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (place, other) in name.chars().enumerate() {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[name.len()]
}
