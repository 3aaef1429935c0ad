//! The state that the warps of a CTA share: shared memory, barriers, and asynchronous work in flight.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use prlx_lanes::LANES;
use prlx_trace::Dim3;

use crate::copies::state::Transfer;
use crate::matrix::wgmma_state::WarpgroupProducts;
use crate::mem::Region;
use crate::mem::peers::Peers;

/// The barrier behind `barrier.cluster`, after the 16 that a CTA can name.
pub const CLUSTER: usize = 16;

/// Barriers of a CTA.
const BARRIERS: usize = CLUSTER + 1;

/// The state of a CTA or cluster barrier.
#[derive(Clone, Debug, Default)]
pub struct Barrier {
    /// By warp: lanes that have arrived.
    pub arrived: [u32; LANES],
    /// By warp: lanes whose predicate held.
    pub votes: [u32; LANES],
    /// Threads for which it waits, where that is said.
    pub count: Option<u32>,
    /// Somebody has arrived.
    pub waiting: bool,
}

/// What the warps of a CTA share.
#[derive(Debug)]
pub struct CtaState {
    /// Its place in the grid.
    pub position: Dim3,
    /// Number of the CTA in the grid.
    pub index: u64,
    /// Its shared memory.
    pub shared: Arc<Region>,
    /// The shared memory of the cluster.
    pub peers: Arc<Peers>,
    /// Its number in the cluster.
    pub rank: u32,
    /// The barriers of the CTA, and the cluster's.
    pub barriers: [Barrier; BARRIERS],
    /// What the warps of each warpgroup have begun; empty until one does.
    pub warpgroups: Vec<WarpgroupProducts>,
    /// Bulk copies under way.
    pub transfers: Vec<Transfer>,
    /// Instructions so far.
    pub clock: u64,
    /// What `%globaltimer` showed before the first.
    pub epoch: u64,
    /// Atomics and volatile accesses so far.
    pub spins: u64,
    /// What it printed.
    pub output: Vec<u8>,
    /// Variables of a probe program, by number in [`Kept::held`]: atomic, for its warps only borrow them.
    pub probe_variables: Vec<AtomicU64>,
}
