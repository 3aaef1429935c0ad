//! Asynchronous copies in flight.

use prlx_lanes::LANES;

use super::tensor::Tile;
use crate::code::{AddrSpace, Rmw, TensorReduction};
use crate::mem::access;

/// A `cp.async`, or an arrival that follows some, in flight.
#[derive(Clone, Copy, Debug)]
pub struct PendingCopy {
    /// The lane that began it.
    pub lane: u8,
    /// The group of the lane that it belongs to.
    pub group: u32,
    pub kind: PendingKind,
}

#[derive(Clone, Copy, Debug)]
pub enum PendingKind {
    /// A copy of `taken` bytes; zeros fill the rest of `bytes`.
    Copy { bytes: u8, taken: u8, from: u64, to: u64 },
    /// An arrival at the mbarrier at this address of the cluster, and the step of the instruction.
    Arrive { at: u64, step: u32 },
}

/// The `cp.async` copies of a warp.
#[derive(Clone, Debug, Default)]
pub struct LaneCopies {
    /// The copies and arrivals in flight, in the order in which they began.
    pub pending: Vec<PendingCopy>,
    /// By lane: the number of groups committed so far.
    pub groups: [u32; LANES],
}

impl LaneCopies {
    /// Whether some copies are in flight.
    pub fn any(&self) -> bool {
        !self.pending.is_empty()
    }
    /// Commits the current group of some lanes.
    pub fn commit(&mut self, m: u32) {
        access::each(m, |l| self.groups[l] += 1);
    }
}

/// The data that a bulk copy moves.
#[derive(Clone, Debug)]
pub enum TransferKind {
    /// Copy a range of bytes.
    Run { from: (AddrSpace, u64), to: (AddrSpace, u64), bytes: u64, reduce: Option<(Rmw, u8)> },
    /// Copy a tile of a tensor to shared memory.
    Load { tile: Tile, to: u64 },
    /// Copy a tile of a tensor from shared memory.
    Store { tile: Tile, from: u64, reduce: Option<TensorReduction> },
    /// Store elements from registers in the shared memory of the cluster (`st.async`, `red.async`).
    Send { to: u64, reduce: Option<(Rmw, u8)> },
}

/// A bulk copy in flight.
#[derive(Clone, Debug)]
pub struct Transfer {
    pub kind: TransferKind,
    /// The warp that began the copy.
    pub warp: u32,
    /// The lane that began the copy.
    pub lane: u32,
    /// The step that began the copy.
    pub step: u32,
    /// The group of the lane that the copy belongs to.
    pub group: u64,
    /// The address of the mbarrier that counts the bytes.
    pub mbarrier: Option<u64>,
    /// The mask of receiving CTAs of the cluster; `None`: the CTA of the destination address.
    pub ranks: Option<u16>,
    /// The bytes of the source, once they have been read.
    pub data: Option<Vec<u8>>,
}

/// The groups of bulk copies of a warp: by lane, the number committed so far.
#[derive(Clone, Debug, Default)]
pub struct BulkGroups(pub [u64; LANES]);

impl BulkGroups {
    /// Commits the current group of some lanes.
    pub fn commit(&mut self, m: u32) {
        access::each(m, |l| self.0[l] += 1);
    }
}
