//! Little-endian integers in byte slices.

/// The little-endian number of `N` bytes at `at`; `None` beyond the end.
pub fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(N)?)?;
    Some(bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
}
