//! Launches that were copied to the host and wait for the decode thread.

use crate::cuda::recorder::layout::{Area, Slot};
use crate::cuda::recorder::state::PlacedLaunch;

/// Launches, and the part of a generation's memory in which their streams are.
pub(super) struct CopiedBatch {
    pub area: Area,
    /// Address of the heads and hashes that were copied.
    pub used: u64,
    /// What was copied: so many bytes of the pool, then heads and hashes.
    pub bytes: Vec<u8>,
    pub pool: usize,
    /// All launches that write to this part of the pool.
    pub slots: Vec<Slot>,
    /// Those that are handed on.
    pub launches: Vec<PlacedLaunch>,
    /// Why those that have not ended never will.
    pub dead: Option<String>,
}
