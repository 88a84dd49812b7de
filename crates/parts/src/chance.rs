//! Chance: a generator of random numbers for each part, which a seed and the part's name decide.

use rand_pcg::Pcg64Mcg;

/// The generator of what has this name, in a run of this seed.
pub(crate) fn of(name: &str, seed: u64) -> Pcg64Mcg {
    Pcg64Mcg::new(u128::from(seed) << 64 | u128::from(fingerprint(name)) | 1)
}

/// FNV-1a: a part's name in its seed, so that no two parts draw alike.
fn fingerprint(name: &str) -> u64 {
    name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3))
}
