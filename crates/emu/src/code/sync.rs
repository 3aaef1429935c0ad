//! Operations that need other lanes: warp-level exchanges, barriers and mbarriers.

use super::matrix::WgmmaStep;
use super::memory::{MemAccess, Plane};

/// An operation in which lanes of a warp exchange values or wait for each other.
#[derive(Clone, Debug)]
pub struct WarpOp {
    /// Which operation the lanes execute.
    pub kind: WarpOpKind,
    /// The plane of the member mask; `None`: all lanes that are alive (`.aligned` operations).
    pub members: Option<u16>,
    /// The plane of the result, 32 bits unless the kind says otherwise.
    pub dst: u16,
    /// The plane of the predicate result.
    pub pred: Option<u16>,
    /// The planes of the sources. The kind says what they are.
    pub src: [u16; 3],
    /// Whether `src[0]` of a vote is negated, or `src[0]` of a match is 64 bits wide.
    pub flag: bool,
}

/// Kinds of warp-level operations (PTX ISA, `shfl.sync`, `vote.sync`, `match.sync`, `redux.sync`,
/// `elect.sync` …).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of PTX")]
pub enum WarpOpKind {
    Up,
    Down,
    Bfly,
    Idx,
    VoteAll,
    VoteAny,
    VoteUni,
    VoteBallot,
    Warp,
    MatchAny,
    MatchAll,
    ReduxAdd,
    ReduxMinU,
    ReduxMaxU,
    ReduxMinS,
    ReduxMaxS,
    ReduxAnd,
    ReduxOr,
    ReduxXor,
    ReduxMinF {
        abs: bool,
        nan: bool,
    },
    ReduxMaxF {
        abs: bool,
        nan: bool,
    },
    Elect,
    /// A matrix operation: index into [`Code::matrix`](super::Code::matrix).
    Matrix(u32),
    /// A step of `wgmma`.
    Wgmma(WgmmaStep),
    /// An instruction on tensor memory: index into
    /// [`Code::tensor_warp_ops`](super::Code::tensor_warp_ops).
    Tensor(u32),
}

/// The operation of an mbarrier instruction (PTX ISA, `mbarrier`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of PTX")]
pub enum MbarrierKind {
    Init,
    Invalidate,
    Arrive {
        drop: bool,
    },
    ArriveExpect {
        drop: bool,
    },
    /// `cp.async.mbarrier.arrive`: arrives when the copies that the lane has begun are done.
    ArriveCopies {
        counted: bool,
    },
    Expect,
    Complete,
    Test {
        parity: bool,
        yields: bool,
    },
    Pending,
}

/// An mbarrier instruction.
#[derive(Clone, Debug)]
pub struct MbarrierOp {
    /// The operation on the mbarrier.
    pub kind: MbarrierKind,
    /// The address of the mbarrier.
    pub mem: Option<MemAccess>,
    /// The plane of the result: a predicate, 32 bits for counts, 64 bits for states.
    pub result: Option<u16>,
    /// The count, state or parity operand.
    pub value: Option<Plane>,
}

/// The operation of a CTA or cluster barrier (PTX ISA, `barrier`, `barrier.cluster`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrierKind {
    /// `barrier.sync`: wait.
    Sync,
    /// `barrier.arrive`: arrive without waiting.
    Arrive,
    /// `barrier.red.popc`: wait, and count the predicates that hold.
    Popc,
    /// `barrier.red.and`: wait; whether all predicates hold.
    And,
    /// `barrier.red.or`: wait; whether any predicate holds.
    Or,
    /// `barrier.cluster.arrive`
    ClusterArrive,
    /// `barrier.cluster.wait`
    ClusterWait,
}

/// A barrier instruction.
#[derive(Clone, Debug)]
pub struct BarrierOp {
    /// The operation on the barrier.
    pub kind: BarrierKind,
    /// The plane of the barrier number.
    pub id: u16,
    /// The plane of the thread count; `None`: all threads of the CTA.
    pub count: Option<u16>,
    /// The plane of a reduction's result: 32 bits for `popc`, else a predicate.
    pub dst: u16,
    /// The predicate plane that a reduction reads.
    pub src: u16,
}

impl BarrierOp {
    /// Whether the lanes receive a value that depends on the other lanes.
    pub fn reduces(&self) -> bool {
        matches!(self.kind, BarrierKind::Popc | BarrierKind::And | BarrierKind::Or)
    }
}
