//! Decoded code: what runs. One [`Code`] a kernel, with the functions that it can reach one after the other.
//!
//! Holds: a step is an index into [`Code::steps`]; registers of all functions have planes of their own, so that lanes in different functions don't meet. What an
//! instruction needs beyond its operation (an operand's conversion, a local address) is done by steps of their own around it, which count as no instruction.

pub mod window;

use std::sync::Arc;

use prlx_isa::view::{FuncId, InstId, SymbolId};

use crate::calibration::Calibration;
use crate::tensor::{Field, Reduce};
use prlx_lanes::{Args, LaneFn};

/// A guard: bits 0..15 a predicate plane, bit 15 negates; [`NO_GUARD`]: none.
pub type GuardBits = u16;
/// No guard.
pub const NO_GUARD: GuardBits = u16::MAX;
/// Set where the guard is `@!p`.
pub const NEGATE: GuardBits = 1 << 15;

/// One step.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// What.
    pub op: Op,
    /// For whom.
    pub guard: GuardBits,
    /// 1 for the step that is the instruction, 0 for those around it.
    pub cost: u8,
}

/// What a step does. `u32`s index the table of [`Code`] that the name says.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// A data operation.
    Alu(LaneFn, Args),
    /// Jump.
    Bra(u32),
    /// Jump by index.
    Brx(u32),
    /// Load.
    Ld(u32),
    /// Store.
    St(u32),
    /// Read-modify-write.
    Atom(u32),
    /// Exchange, vote or synchronisation in the warp.
    Sync(u32),
    /// Barrier of the CTA.
    Bar(u32),
    /// Call.
    Call(u32),
    /// Return.
    Ret,
    /// End of the lane.
    Exit,
    /// `trap`, `brkpt`.
    Trap,
    /// Fence.
    Fence,
    /// Asynchronous copy.
    Copy(u32),
    /// Puts a lane's copies since the last time in a group.
    CopyCommit,
    /// Waits until at most this many groups are under way; `u32::MAX`: for all copies.
    CopyWait(u32),
    /// Asynchronous copy of a run of bytes.
    Bulk(u32),
    /// Asynchronous copy of a tile of a tensor.
    Tensor(u32),
    /// Puts a lane's bulk copies since the last time in a group.
    BulkCommit,
    /// Waits until at most this many groups of bulk copies are under way; true: or have been read.
    BulkWait(u32, bool),
    /// Sets a field of a tensor map, or copies one.
    TensorMap(u32),
    /// Elements sent to a CTA of the cluster.
    Send(u32),
    /// A result of an approximate operation, corrected.
    Correct(u32),
    /// Work on an mbarrier.
    Mbarrier(u32),
    /// Nothing, or a hint.
    Nop,
    /// Nothing, but lets others go first.
    Yield,
    /// Reads a clock into a plane.
    Clock(Clock, u16),
    /// The lanes that are here, into a 32-bit plane.
    ActiveMask(u16),
    /// Stack pointer plus an offset, into a 64-bit plane.
    LocalAddr(u16, u32),
    /// Takes as many bytes of the stack as a 64-bit plane says, aligned so; their address into a 64-bit plane.
    Alloca(u16, u16, u32),
    /// Where what was taken of the stack begins, into a 64-bit plane.
    StackSave(u16),
    /// Gives back all that was taken since a 64-bit plane was saved.
    StackRestore(u16),
    /// An action of a plan.
    Hook(u32),
    /// Behind the last instruction of a function.
    End,
}

/// Special registers that move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// `%clock`
    Low,
    /// `%clock_hi`
    High,
    /// `%clock64`
    Wide,
    /// `%globaltimer`
    Global,
    /// `%globaltimer_lo`
    GlobalLow,
    /// `%globaltimer_hi`
    GlobalHigh,
}

/// Where an address points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// By the address itself.
    Generic,
    /// Global and constant memory.
    Global,
    /// The CTA's shared memory.
    Shared,
    /// The shared memory of a CTA of the cluster.
    Cluster,
    /// The lane's stack, with the parameters of calls.
    Local,
    /// The kernel's parameters.
    Params,
}

/// The register of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddrBase {
    /// A 64-bit plane.
    W64(u16),
    /// A 32-bit plane.
    W32(u16),
    /// None: the offset is all.
    None,
}

/// One element of a load, store or atomic: a plane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plane {
    /// Up to 32 bits.
    W32(u16),
    /// 64 bits.
    W64(u16),
    /// 128 bits: this and the next.
    W128(u16),
    /// Loaded and dropped.
    None,
}

/// A load or store.
#[derive(Clone, Debug)]
pub struct Mem {
    /// Where.
    pub place: Place,
    /// Register of the address.
    pub base: AddrBase,
    /// Added to it.
    pub offset: i64,
    /// Bytes of an element: 1, 2, 4, 8 or 16.
    pub size: u8,
    /// Volatile, relaxed, acquire …: other threads are expected to change it.
    pub strong: bool,
    /// Elements.
    pub planes: Vec<Plane>,
}

/// What an atomic does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are PTX's own")]
pub enum Rmw {
    Add,
    AddF32 {
        flush: bool,
    },
    AddF64,
    AddF16x2,
    AddBf16x2,
    AddF16,
    AddBf16,
    /// The least or greatest of 16-bit floating-point numbers, one or a pair of them.
    Extreme16 {
        max: bool,
        bf16: bool,
        pair: bool,
    },
    MinU,
    MaxU,
    MinS,
    MaxS,
    Inc,
    Dec,
    And,
    Or,
    Xor,
    Exch,
    Cas,
}

/// An atomic.
#[derive(Clone, Debug)]
pub struct Atom {
    /// Address, size, results' planes (none for `red`).
    pub mem: Mem,
    /// What it does.
    pub rmw: Rmw,
    /// Operands: by element, the value.
    pub values: Vec<Plane>,
    /// For `cas`: what it is compared with is `values[0]`, this is what it is exchanged for.
    pub swap: Option<Plane>,
}

/// An exchange in the warp.
#[derive(Clone, Debug)]
pub struct Sync {
    /// What.
    pub kind: SyncKind,
    /// The plane of the member mask; `None`: all lanes that are alive (`.aligned` operations).
    pub members: Option<u16>,
    /// Result, a 32-bit plane unless the kind says otherwise.
    pub dst: u16,
    /// Predicate result.
    pub pred: Option<u16>,
    /// Sources; what they are follows from the kind.
    pub src: [u16; 3],
    /// Whether `src[0]` of a vote or a match is negated or 64 bits wide.
    pub flag: bool,
}

/// Kinds of exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are PTX's own")]
pub enum SyncKind {
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
    /// Index into [`Code::matrix`].
    Matrix(u32),
    /// `wgmma`.
    Products(Products),
}

/// A step of `wgmma`, which a warp does as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Products {
    /// `wgmma.fence`
    Fence,
    /// `wgmma.mma_async`: index into [`Code::products`].
    Begin(u32),
    /// `wgmma.commit_group`
    Commit,
    /// `wgmma.wait_group`: at most this many groups may be under way.
    Wait(u32),
}

/// `wgmma.mma_async`: D = A·B + D of 64 rows, 16 a warp.
#[derive(Clone, Debug)]
pub struct Wgmma {
    /// Columns of B and D.
    pub n: u32,
    /// Element types of D, A, B.
    pub types: [prlx_isa::view::Type; 3],
    /// Planes of D.
    pub d: Vec<u16>,
    /// A.
    pub a: WgmmaA,
    /// 64-bit plane of B's descriptor.
    pub b: u16,
    /// Predicate plane: D is added.
    pub scale_d: u16,
    /// The signs of A and B are turned.
    pub negate: [bool; 2],
    /// Elements of one column of A, of one row of B, lie next to each other, not those along k.
    pub transpose: [bool; 2],
    /// Integer sums stop at the limits.
    pub saturate: bool,
}

/// Where A is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WgmmaA {
    /// In four registers of each lane.
    Registers([u16; 4]),
    /// In shared memory: 64-bit plane of its descriptor.
    Shared(u16),
}

/// Work of a whole warp on tiles.
#[derive(Clone, Debug)]
pub enum Matrix {
    /// `ldmatrix`: loads 8×8 tiles; `planes[i]` receives tile `i`.
    Load {
        /// Address: each lane gives a row.
        mem: Mem,
        /// Transposed.
        trans: bool,
    },
    /// `stmatrix`.
    Store {
        /// Address and tiles.
        mem: Mem,
        /// Transposed.
        trans: bool,
    },
    /// `mma`, `wmma.mma`.
    Mma(Box<Mma>),
    /// `wmma.load`, `wmma.store`.
    Tile(Box<Tile>),
    /// `movmatrix`.
    Transpose {
        /// Result.
        dst: u16,
        /// Tile.
        src: u16,
    },
}

/// `mma`: D = A·B + C.
#[derive(Clone, Debug)]
pub struct Mma {
    /// Rows of A, C and D.
    pub m: u32,
    /// Columns of B, C and D.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// Element types of D, A, B, C.
    pub types: [prlx_isa::view::Type; 4],
    /// Their planes.
    pub planes: [Vec<u16>; 4],
    /// Integer sums stop at the limits.
    pub saturate: bool,
    /// Bits are multiplied by `and`, not by `xor`.
    pub and: bool,
    /// The layout of `wmma` fragments, which PTX leaves open: element `i` of lane `l` with `n` each is `l·n + i` of the matrix, row by row (B: by column); further registers hold them again.
    pub linear: bool,
}

/// A matrix in memory, and a `wmma` fragment of it.
#[derive(Clone, Debug)]
pub struct Tile {
    /// Its first element, the same for all lanes; `planes` are the fragment.
    pub mem: Mem,
    /// Plane of the distance between rows (columns, if `col`), in elements; none: they are next to each other.
    pub stride: Option<u16>,
    /// Its elements in that direction are divided by this: elements narrower than bytes go by words.
    pub unit: u32,
    /// Rows; of B, columns.
    pub rows: u32,
    /// Columns; of B, rows.
    pub cols: u32,
    /// Columns lie in memory as a run, not rows.
    pub col: bool,
    /// Bits of an element, or of a word of them.
    pub bits: u32,
    /// Store, not load.
    pub store: bool,
}

/// `cp.async`: bytes from global to shared memory, by lane.
#[derive(Clone, Debug)]
pub struct Copy {
    /// To.
    pub dst: Mem,
    /// From.
    pub src: Mem,
    /// Plane of the bytes that are copied, where that is said; zeros fill the rest.
    pub size: Option<u16>,
    /// Predicate that makes it all zeros.
    pub ignore: Option<u16>,
}

/// `cp.async.bulk`: a run of bytes, by lane.
#[derive(Clone, Debug)]
pub struct Bulk {
    /// To.
    pub dst: Mem,
    /// From.
    pub src: Mem,
    /// Plane of its size.
    pub size: u16,
    /// The mbarrier that counts the bytes.
    pub mbarrier: Option<Mem>,
    /// What is done with each element at the destination, and its bytes; none: it is replaced.
    pub reduce: Option<(Rmw, u8)>,
    /// Plane of the CTAs of the cluster that receive it, one bit each; none: the one that the address says.
    pub multicast: Option<u16>,
}

/// `cp.async.bulk.tensor`: a tile of a tensor, by lane.
#[derive(Clone, Debug)]
pub struct TensorCopy {
    /// The tensor map.
    pub map: Mem,
    /// Planes of the coordinates.
    pub at: Vec<u16>,
    /// The tile in shared memory.
    pub shared: Mem,
    /// To shared memory, not from it.
    pub load: bool,
    /// The mbarrier that counts the bytes.
    pub mbarrier: Option<Mem>,
    /// What is done with each element of the tensor; none: it is replaced.
    pub reduce: Option<Reduce>,
    /// As for [`Bulk`].
    pub multicast: Option<u16>,
}

/// Work on a tensor map in memory.
#[derive(Clone, Debug)]
pub struct MapWork {
    /// The map.
    pub map: Mem,
    /// What is done.
    pub kind: MapKind,
}

/// What is done to a tensor map.
#[derive(Clone, Debug)]
pub enum MapKind {
    /// A field gets a value.
    Set(Field, Plane),
    /// It becomes a copy of another.
    Copy(Mem),
}

/// `st.async`, `red.async`: elements for the shared memory of a CTA of the cluster, by lane.
#[derive(Clone, Debug)]
pub struct Send {
    /// What is done with them.
    pub sent: Sent,
    /// The mbarrier that counts their bytes, in the same CTA.
    pub mbarrier: Mem,
}

/// A result that a calibration corrects.
#[derive(Clone, Copy, Debug)]
pub struct Correction {
    /// Which calibration.
    pub table: u32,
    /// 32-bit planes: the operand, the operation's result, where the corrected one goes.
    pub planes: [u16; 3],
}

/// What is done with elements that are sent.
#[derive(Clone, Debug)]
pub enum Sent {
    /// They replace what is there.
    Store(Mem),
    /// They change it.
    Update(Atom),
}

/// What is done to an mbarrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are PTX's own")]
pub enum MbarKind {
    Init,
    Invalidate,
    Arrive {
        drop: bool,
    },
    ArriveExpect {
        drop: bool,
    },
    /// When the lane's copies so far are done.
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

/// Work on an mbarrier.
#[derive(Clone, Debug)]
pub struct Mbarrier {
    /// What.
    pub kind: MbarKind,
    /// Where it is.
    pub mem: Option<Mem>,
    /// Plane of the result: predicate, 32 bits for counts, 64 for states.
    pub result: Option<u16>,
    /// Count, state or parity.
    pub value: Option<Plane>,
}

/// What a barrier operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarKind {
    /// Waits.
    Sync,
    /// Counts, without waiting.
    Arrive,
    /// Waits, and counts predicates that hold.
    Popc,
    /// Waits; all hold.
    And,
    /// Waits; any holds.
    Or,
    /// `barrier.cluster.arrive`
    ClusterArrive,
    /// `barrier.cluster.wait`
    ClusterWait,
}

/// A barrier operation.
#[derive(Clone, Debug)]
pub struct Bar {
    /// What.
    pub kind: BarKind,
    /// Plane of the barrier's number.
    pub id: u16,
    /// Plane of the thread count.
    pub count: Option<u16>,
    /// Result of a reduction: 32-bit plane of `popc`, else predicate.
    pub dst: u16,
    /// Source of a reduction.
    pub src: u16,
}

/// Jump by index.
#[derive(Clone, Debug)]
pub struct Brx {
    /// Plane of the index.
    pub index: u16,
    /// Steps to go to.
    pub targets: Vec<u32>,
}

/// Where a call's argument or result lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// Bytes of the lane's parameter space: offset and size.
    Bytes(u32, u32),
    /// A register.
    Plane(Plane),
    /// A predicate register.
    Pred(u16),
}

/// Who is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Callee {
    /// A function with a body.
    Direct(FuncId),
    /// By address, a 64-bit plane.
    Indirect(u16),
    /// Something that the device itself provides.
    Builtin(Builtin),
}

/// Functions that the device provides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Builtin {
    /// `vprintf(format, arguments)`
    Vprintf,
    /// `__assertfail(message, file, line, function, size)`
    AssertFail,
    /// `malloc(size)`
    Malloc,
    /// `free(address)`
    Free,
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// Who.
    pub callee: Callee,
    /// Arguments.
    pub args: Vec<Slot>,
    /// Results.
    pub rets: Vec<Slot>,
    /// Bytes of the caller's stack frame.
    pub frame: u32,
}

/// A function's part of the code.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// First step; `u32::MAX`: the kernel can't reach it.
    pub start: u32,
    /// Parameters.
    pub params: Vec<Slot>,
    /// Results.
    pub returns: Vec<Slot>,
    /// Bytes of its stack frame.
    pub frame: u32,
    /// Whether it can be active twice in a lane: then calls save these.
    pub saved: Option<Saved>,
}

/// What a recursive call saves: everything that the callee may write.
#[derive(Clone, Debug, Default)]
pub struct Saved {
    /// Planes, first and one past the last, by kind.
    pub w32: (u16, u16),
    /// Likewise.
    pub w64: (u16, u16),
    /// Likewise.
    pub pred: (u16, u16),
    /// Bytes of the parameter space.
    pub bytes: (u32, u32),
}

/// What a special register is, where it stands still.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Special {
    /// One of those that follow from the launch.
    Launch(prlx_trace::kernel::Special),
    /// `%warpid`
    WarpId,
    /// `%nwarpid`
    NWarpId,
    /// `%smid`
    SmId,
    /// `%nsmid`
    NSmId,
    /// `%gridid`
    GridId,
    /// `%dynamic_smem_size`
    DynamicShared,
    /// `%total_smem_size`, `%aggr_smem_size`
    TotalShared,
    /// Always this.
    Value(u32),
    /// `%clusterid`, by axis.
    ClusterId(u8),
    /// `%nclusterid`, by axis.
    NClusterId(u8),
    /// `%cluster_ctaid`, by axis.
    ClusterCtaid(u8),
    /// `%cluster_nctaid`, by axis.
    ClusterNctaid(u8),
    /// `%cluster_ctarank`
    ClusterRank,
    /// `%cluster_nctarank`
    ClusterSize,
    /// `%is_explicit_cluster`: 1 where it holds.
    ExplicitCluster,
}

/// A kernel, decoded.
#[derive(Debug, Default)]
pub struct Code {
    /// The kernel's name.
    pub name: String,
    /// The steps.
    pub steps: Vec<Step>,
    /// By step: the instruction that it belongs to.
    pub origin: Vec<(FuncId, InstId)>,
    /// By function of the module.
    pub entries: Vec<Entry>,
    /// The kernel.
    pub kernel: FuncId,
    /// How many planes there are of each kind.
    pub planes: (u16, u16, u16),
    /// Ranges of planes that hold variables which may be read before they are written: zero when a CTA begins.
    pub variable: [Vec<(u16, u16)>; 3],
    /// Planes that hold constants.
    pub const32: Vec<(u16, u32)>,
    /// Likewise.
    pub const64: Vec<(u16, u64)>,
    /// Likewise, predicates.
    pub const_pred: Vec<(u16, bool)>,
    /// Planes that hold special registers.
    pub specials: Vec<(u16, Special)>,
    /// Bytes of a lane's local memory that calls' parameters and the stack take; `u32::MAX` for the stack: recursive.
    pub params_bytes: u32,
    /// Bytes that the deepest chain of calls needs, parameters included; more is refused.
    pub local_bytes: u32,
    /// Whether functions call themselves.
    pub recursive: bool,
    /// Bytes of static shared memory: dynamic begins there.
    pub static_shared: u32,
    /// Addresses of shared variables.
    pub shared: Vec<(SymbolId, u32)>,
    /// Loads and stores.
    pub mems: Vec<Mem>,
    /// Atomics.
    pub atoms: Vec<Atom>,
    /// Exchanges.
    pub syncs: Vec<Sync>,
    /// Tiles.
    pub matrix: Vec<Matrix>,
    /// Products of warpgroups.
    pub products: Vec<Wgmma>,
    /// Asynchronous copies.
    pub copies: Vec<Copy>,
    /// Asynchronous copies of runs of bytes.
    pub bulks: Vec<Bulk>,
    /// Elements that are sent.
    pub sends: Vec<Send>,
    /// `Op::Correct`.
    pub corrections: Vec<Correction>,
    /// The calibrations that they name.
    pub calibrations: Vec<Arc<Calibration>>,
    /// Asynchronous copies of tiles.
    pub tensors: Vec<TensorCopy>,
    /// Work on tensor maps.
    pub maps: Vec<MapWork>,
    /// Work on mbarriers.
    pub mbarriers: Vec<Mbarrier>,
    /// Barriers.
    pub bars: Vec<Bar>,
    /// Jumps by index.
    pub brxs: Vec<Brx>,
    /// Calls.
    pub calls: Vec<Call>,
    /// Actions of a plan: function, and index into its insertions; with their own guard and values as planes.
    pub hooks: Vec<Hook>,
    /// Where the module's constants lie, which are no global memory to code that asks: first address, and bytes.
    pub constants: (u64, u64),
}

/// An action of a plan, bound.
#[derive(Clone, Debug)]
pub struct Hook {
    /// The action.
    pub action: prlx_plan::Action,
    /// Its values.
    pub values: Vec<Value>,
    /// Predicate whose ballot is the event's value.
    pub pred: Option<u16>,
    /// Predicate that says which lanes an event is of, and whether by not holding.
    pub of: Option<(u16, bool)>,
    /// The kernel's own (state begins and ends here), or a device function's.
    pub kernel: bool,
    /// Whether the lane leaves the grid at the instruction.
    pub leaves: bool,
    /// Planes of the function's trip counters: first, and how many.
    pub counters: (u16, u16),
    /// Belongs to the instruction before it, not to the one behind it.
    pub after: bool,
}

/// What a hook reads: as it stands, for a step that prepares it would be a step of the schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// A register or constant.
    Plane(Plane),
    /// A predicate, as 0 or 1.
    Pred(u16),
}
