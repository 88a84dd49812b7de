//! The CRC that ends an Ultra DMA burst. ATA/ATAPI-4, 9.15: X16 + X12 + X5 + 1 over the words, DD0 first, from 4ABAh on.

/// Before the first word of a burst.
pub const SEED: u16 = 0x4aba;

const POLYNOMIAL: u16 = 0x1021;

/// After one more word.
pub fn with(crc: u16, word: u16) -> u16 {
    (0..16).fold(crc, |crc, bit| {
        let feedback = (crc >> 15 ^ word >> bit) & 1;
        crc << 1 ^ if feedback == 1 { POLYNOMIAL } else { 0 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same sixteen bits at once: the equations of the table that the standard has for a parallel generator.
    fn in_parallel(crc: u16, word: u16) -> u16 {
        let (d, c) = (|bit: u32| word >> bit & 1, |bit: u32| crc >> bit & 1);
        let mut f = [0u16; 17];
        for n in 1..=16u32 {
            let tap = |back: u32| if n > back { f[(n - back) as usize] } else { 0 };
            f[n as usize] = d(n - 1) ^ c(16 - n) ^ tap(4) ^ tap(11);
        }
        let next = [
            f[16],
            f[15],
            f[14],
            f[13],
            f[12],
            f[11] ^ f[16],
            f[10] ^ f[15],
            f[9] ^ f[14],
            f[8] ^ f[13],
            f[7] ^ f[12],
            f[6] ^ f[11],
            f[5] ^ f[10],
            f[4] ^ f[9] ^ f[16],
            f[3] ^ f[8] ^ f[15],
            f[2] ^ f[7] ^ f[14],
            f[1] ^ f[6] ^ f[13],
        ];
        next.iter().enumerate().fold(0, |all, (bit, one)| all | one << bit)
    }

    proptest! {
        #[test]
        fn a_bit_at_a_time_is_what_the_parallel_equations_say(words: Vec<u16>) {
            let one_by_one = words.iter().fold(SEED, |crc, word| with(crc, *word));
            prop_assert_eq!(one_by_one, words.iter().fold(SEED, |crc, word| in_parallel(crc, *word)));
        }
    }

    #[test]
    fn every_single_wrong_bit_shows() {
        let words = [0x1234u16, 0, 0xffff, 0xa5a5];
        let right = words.iter().fold(SEED, |crc, word| with(crc, *word));
        for bit in 0..64 {
            let mut wrong = words;
            wrong[bit / 16] ^= 1 << (bit % 16);
            assert_ne!(wrong.iter().fold(SEED, |crc, word| with(crc, *word)), right);
        }
    }
}
