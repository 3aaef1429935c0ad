//! Conversions of integers to narrower types. The name of each says what becomes of a number that does not
//! fit.

/// The lower 8 bits of `x`.
#[expect(clippy::cast_possible_truncation, reason = "the bits above are dropped on purpose")]
pub const fn low8(x: u64) -> u8 {
    x as u8
}

/// The lower 32 bits of `x`.
#[expect(clippy::cast_possible_truncation, reason = "the bits above are dropped on purpose")]
pub const fn low32(x: u64) -> u32 {
    x as u32
}

/// The upper 32 bits of `x`.
pub const fn high32(x: u64) -> u32 {
    low32(x >> 32)
}

/// `n` as an index or a length. A number that an address of this host cannot hold becomes the largest index,
/// which lies past the end of every slice.
#[expect(clippy::cast_possible_truncation, reason = "larger numbers are replaced first")]
pub const fn index(n: u64) -> usize {
    if n > usize::MAX as u64 { usize::MAX } else { n as usize }
}

/// A length as the 32 bits of an id; the largest number if it does not fit.
pub fn saturated32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
