//! A batch of launches that were copied to the host and wait for the decode thread.

use crate::record::memory::context::Slot;
use crate::record::program::layout::{Area, UsedRanges};
use crate::record::program::state::PlacedLaunch;

/// Launches of one generation, with a copy of the memory that holds their streams.
pub(super) struct CopiedBatch {
    pub area: Area,
    /// Where the copied heads and hashes were.
    pub used: UsedRanges,
    /// The copied bytes: `pool` bytes of the pool, then heads and hashes.
    pub bytes: Vec<u8>,
    pub pool: usize,
    /// Slots of all launches that write to this part of the pool.
    pub slots: Vec<Slot>,
    /// Launches that this batch delivers.
    pub launches: Vec<PlacedLaunch>,
    /// If the context failed: why the launches that have not ended never will.
    pub dead: Option<String>,
}
