//! What lies in memory: nobody models it, so that it is a pattern of its place and the seed.

/// A value spread over all of its bits: an unlike one for every other value.
pub fn mixed(value: u64) -> u64 {
    let mut mixed = value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 27
}

/// The word that memory has at an address: a pattern of its own for each seed.
pub fn word(seed: u64, address: u32) -> u32 {
    mixed(seed.wrapping_add(u64::from(address & !3))) as u32
}
