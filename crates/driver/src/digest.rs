//! Digests of memory. Devices compute them as well ([`crate::cuda::pointee_digest`]).

use crate::random::{GOLDEN, mix};

/// Digest of memory. It is the same on every device, however many threads add the words and in whatever
/// order.
///
/// The bytes are 64-bit little-endian words, with zeros after the last byte. Word i is XORed with its key `(i
/// + 1) *` [`GOLDEN`]. One sum adds the product of the halves of each result, the other sum adds the results.
pub fn memory(bytes: &[u8]) -> u64 {
    let mut sums = [0u64; 2];
    let mut key = 0u64;
    for part in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        key = key.wrapping_add(GOLDEN);
        let x = u64::from_le_bytes(word) ^ key;
        sums[0] = sums[0].wrapping_add((x & u64::from(u32::MAX)) * (x >> 32));
        sums[1] = sums[1].wrapping_add(x);
    }
    concluded(sums, bytes.len() as u64)
}

/// Digest of `bytes` bytes with these two sums.
pub fn concluded(sums: [u64; 2], bytes: u64) -> u64 {
    mix(sums[0] ^ mix(sums[1].wrapping_add(bytes.wrapping_mul(GOLDEN))))
}

/// Digest of memory that consists of two parts with these digests.
pub fn joined(first: u64, second: u64) -> u64 {
    mix(mix(first).wrapping_add(second))
}

#[cfg(test)]
mod tests {
    use super::memory;

    #[test]
    fn every_byte_and_its_place_counts() {
        let plain: Vec<u8> = (0..1000u32).map(|i| ((i * i) >> 3) as u8).collect();
        let mut all = std::collections::BTreeSet::from([memory(&plain)]);
        for i in 0..plain.len() {
            for bit in 0..8 {
                let mut other = plain.clone();
                other[i] ^= 1 << bit;
                assert!(all.insert(memory(&other)), "byte {i} bit {bit}");
            }
            // Shorter, and two words that change places.
            assert!(all.insert(memory(&plain[..i])), "{i} bytes");
            let (a, b) = (i / 8 * 8, (i * 7 + 8) % 125 * 8);
            let mut other = plain.clone();
            (0..8).for_each(|k| other.swap(a + k, b + k));
            assert!(i % 8 != 0 || other == plain || all.insert(memory(&other)), "words {a} {b}");
        }
        // Zeros behind the end are not nothing.
        let lengths: Vec<u64> = (0..100).map(|n| memory(&vec![0; n])).collect();
        assert_eq!(lengths.iter().collect::<std::collections::BTreeSet<_>>().len(), 100);
        // The value itself is part of the format.
        assert_eq!(memory(&plain), 0xb337_298a_bda2_858f);
    }
}
