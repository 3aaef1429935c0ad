//! The state that the warps of a CTA share: shared memory, barriers, and asynchronous work in flight.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use prlx_lanes::LANES;
use prlx_trace::Dim3;

use crate::copies::state::Transfer;
use crate::matrix::tensor_state::{TensorAllocations, TensorWork};
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
    /// By warp: the lanes that have arrived.
    pub arrived: [u32; LANES],
    /// By warp: the lanes whose predicate was true.
    pub votes: [u32; LANES],
    /// The thread count that the instruction gives; `None`: all threads of the CTA.
    pub count: Option<u32>,
    /// Whether some lane has arrived.
    pub waiting: bool,
}

/// The state that the warps of a CTA share.
#[derive(Debug)]
pub struct CtaState {
    /// The position of the CTA in the grid.
    pub position: Dim3,
    /// Number of the CTA in the grid.
    pub index: u64,
    /// The shared memory of the CTA.
    pub shared: Arc<Region>,
    /// The shared memory of the cluster.
    pub peers: Arc<Peers>,
    /// The rank of the CTA in its cluster.
    pub rank: u32,
    /// The barriers of the CTA, and the barrier of the cluster.
    pub barriers: [Barrier; BARRIERS],
    /// The products of each warpgroup; empty until a warp begins one.
    pub warpgroups: Vec<WarpgroupProducts>,
    /// The allocated columns of tensor memory.
    pub tensor_columns: TensorAllocations,
    /// The instructions on tensor memory in flight, in the order in which they were issued.
    pub tensor_work: VecDeque<TensorWork>,
    /// The bulk copies in flight.
    pub transfers: Vec<Transfer>,
    /// Warp instructions executed so far.
    pub clock: u64,
    /// The value of `%globaltimer` at the first step, in nanoseconds.
    pub epoch: u64,
    /// Atomics and volatile accesses so far.
    pub spins: u64,
    /// The CTA variables of a probe program, by index in `ProbeState::shared_variables`. They are atomic
    /// because warps only borrow them.
    pub probe_variables: Vec<AtomicU64>,
}
