//! The hash of paths.

/// One step of the hash. Two different sequences collide with a probability of about 2^-64.
pub(crate) fn mix(hash: u64, x: u64) -> u64 {
    let h = (hash ^ x).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (h ^ h >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9).rotate_left(23)
}
