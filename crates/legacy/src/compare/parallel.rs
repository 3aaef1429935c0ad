//! How much is compared at once, and by how many threads.

/// Bytes of one recording that are compared at once.
pub(super) const BATCH: u64 = 16 << 20;
/// Streams with fewer events, both sides together, are not worth a second thread.
const LONG: usize = 1 << 16;

/// Calls `of` for both sides: on two threads if there are at least [`LONG`] events.
pub(super) fn both<T: Send>(events: usize, of: impl Fn(usize) -> T + Sync) -> [T; 2] {
    if events < LONG {
        return [of(0), of(1)];
    }
    let (a, b) = rayon::join(|| of(0), || of(1));
    [a, b]
}
