//! Asynchronous copies in flight.

use prlx_lanes::LANES;

use super::tensor::Tile;
use crate::code::{AddrSpace, Rmw, TensorReduction};
use crate::mem::access;

/// What was begun and not done.
#[derive(Clone, Copy, Debug)]
pub struct PendingCopy {
    pub lane: u8,
    pub group: u32,
    pub kind: PendingKind,
}

#[derive(Clone, Copy, Debug)]
pub enum PendingKind {
    /// A copy: what is not taken is filled with zeros.
    Copy { bytes: u8, taken: u8, from: u64, to: u64 },
    /// An arrival at the mbarrier at this address of the cluster, and the step that asked for it.
    Arrive { at: u64, step: u32 },
}

/// A warp's copies.
#[derive(Clone, Debug, Default)]
pub struct LaneCopies {
    pub pending: Vec<PendingCopy>,
    /// By lane: groups so far.
    pub groups: [u32; LANES],
}

impl LaneCopies {
    /// Whether some are under way.
    pub fn any(&self) -> bool {
        !self.pending.is_empty()
    }
    /// Ends the group of some lanes.
    pub fn commit(&mut self, m: u32) {
        access::each(m, |l| self.groups[l] += 1);
    }
}

/// What is moved.
#[derive(Clone, Debug)]
pub enum TransferKind {
    /// Copy a range of bytes.
    Run { from: (AddrSpace, u64), to: (AddrSpace, u64), bytes: u64, reduce: Option<(Rmw, u8)> },
    /// A tile to shared memory.
    Load { tile: Tile, to: u64 },
    /// A tile from shared memory.
    Store { tile: Tile, from: u64, reduce: Option<TensorReduction> },
    /// Elements that were in registers, to the cluster's shared memory.
    Send { to: u64, reduce: Option<(Rmw, u8)> },
}

/// A copy that was begun and not done.
#[derive(Clone, Debug)]
pub struct Transfer {
    pub kind: TransferKind,
    /// Warp that began the copy.
    pub warp: u32,
    pub lane: u32,
    pub step: u32,
    /// The lane's group.
    pub group: u64,
    /// The mbarrier that counts its bytes.
    pub mbarrier: Option<u64>,
    /// CTAs of the cluster that receive it, by rank; none: the one that the addresses say.
    pub ranks: Option<u16>,
    /// What was read.
    pub data: Option<Vec<u8>>,
}

/// A warp's groups of bulk copies: by lane, how many so far.
#[derive(Clone, Debug, Default)]
pub struct BulkGroups(pub [u64; LANES]);

impl BulkGroups {
    /// Ends the group of some lanes.
    pub fn commit(&mut self, m: u32) {
        access::each(m, |l| self.0[l] += 1);
    }
}
