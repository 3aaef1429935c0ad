//! The decoded kernel: steps, functions and the tables that steps refer to.

use std::sync::Arc;

use prlx_isa::amdgpu::Register;
use prlx_isa::view::{FuncId, InstId, SymbolId};
use prlx_lanes::{Args, LaneFn};
use rustc_hash::FxHashMap;

use super::calls::{BranchTable, Call, FunctionEntry};
use super::copies::{AsyncStore, BulkCopy, LaneCopy, TensorCopy, TensorMapOp};
use super::matrix::{MatrixOp, Wgmma};
use super::memory::{Atomic, MemAccess, Plane};
use super::sync::{BarrierOp, MbarrierOp, WarpOp};
use super::tensor_memory::{TensorOp, TensorWarpOp};
use super::timing::Timing;
use super::wave::{Jump, WaveBranch, WaveFn};
use crate::calibration::Calibration;

/// A guard: bits 0 to 14 are a predicate plane, bit 15 negates it; [`NO_GUARD`] for no guard.
pub type GuardBits = u16;
/// The guard of a step that all lanes execute.
pub const NO_GUARD: GuardBits = u16::MAX;
/// Set in the guard of a step that executes where the predicate is false (`@!p`).
pub const NEGATE: GuardBits = 1 << 15;

/// One step of the interpreter.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// What the step does.
    pub op: Op,
    /// The lanes that execute it.
    pub guard: GuardBits,
    /// 1 for the step that is the instruction, 0 for those around it.
    pub cost: u8,
}

/// The operation of a step. A `u32` is an index into the table of [`Code`] for that operation, unless a line
/// says otherwise.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// An operation on registers alone.
    Alu(LaneFn, Args),
    /// An operation on the registers of a whole wave (AMD).
    Wave(WaveFn, Args),
    /// A branch of a wave (AMD).
    WaveBranch(u32),
    /// A jump of a wave to the address in two 32-bit planes, low half first (AMD).
    WaveJump(u16, u16, Jump),
    /// Lanes of a wave that wait here for the others go on with them (AMD).
    Join,
    /// A branch to a step.
    Bra(u32),
    /// An indexed branch.
    Brx(u32),
    /// A load (`ld`).
    Ld(u32),
    /// A store (`st`).
    St(u32),
    /// An atomic (`atom`, `red`).
    Atom(u32),
    /// A warp-level operation.
    Exchange(u32),
    /// A barrier of the CTA or the cluster.
    Barrier(u32),
    /// A call of a function.
    Call(u32),
    /// Return from a function.
    Ret,
    /// The lane exits.
    Exit,
    /// `trap`, `brkpt`.
    Trap,
    /// A memory fence.
    Fence,
    /// `cp.async`
    LaneCopy(u32),
    /// `cp.async.commit_group`: closes the lane's group of copies.
    LaneCopyCommit,
    /// `cp.async.wait_group`: waits until at most this many groups are in flight; `u32::MAX` waits for all
    /// copies.
    LaneCopyWait(u32),
    /// `cp.async.bulk`
    BulkCopy(u32),
    /// `cp.async.bulk.tensor`
    TensorCopy(u32),
    /// `cp.async.bulk.commit_group`
    BulkCommit,
    /// `cp.async.bulk.wait_group`: waits until at most this many groups are in flight. If the flag is set
    /// (`.read`), it waits only until their sources have been read.
    BulkWait(u32, bool),
    /// An edit of a tensor map.
    TensorMap(u32),
    /// `st.async`, `red.async`
    AsyncStore(u32),
    /// An instruction on tensor memory that a single thread issues (`tcgen05.mma`, `.cp`, `.commit`).
    Tensor(u32),
    /// Applies a calibration to the result of an approximate operation.
    Correct(u32),
    /// An mbarrier operation.
    Mbarrier(u32),
    /// No operation, or a hint.
    Nop,
    /// Ends the turn of the warp (`nanosleep`, `yield`).
    Yield,
    /// Reads a clock into a plane.
    Clock(Clock, u16),
    /// Writes the mask of the active lanes to a 32-bit plane.
    ActiveMask(u16),
    /// Writes the stack pointer plus an offset to a 64-bit plane.
    LocalAddr(u16, u32),
    /// `alloca`: result plane, plane of the size in bytes (both 64 bits), alignment.
    Alloca(u16, u16, u32),
    /// `stacksave`: writes the address of the allocated stack to a 64-bit plane.
    StackSave(u16),
    /// `stackrestore`: releases what was allocated since a 64-bit plane was saved.
    StackRestore(u16),
    /// An action of a recording plan.
    Hook(u32),
    /// The end of a function, past its last instruction.
    End,
}

/// Special registers whose value changes while a CTA runs.
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

/// A correction of a result by a calibration.
#[derive(Clone, Copy, Debug)]
pub struct Correction {
    /// Index into [`Code::calibrations`].
    pub table: u32,
    /// 32-bit planes: the operand, the result, and the corrected result.
    pub planes: [u16; 3],
}

/// A special register whose value is fixed for a CTA.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SpecialRegister {
    /// A register that follows from the launch and the thread.
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
    /// `%envreg1` (the upper half) and `%envreg2`: the address of the workspace of the grid barrier.
    GridWorkspace {
        /// Whether it is the upper half.
        high: bool,
    },
    /// A register that always has this value.
    Value(u32),
    /// Four bytes of the kernel's parameters, at this offset.
    Param(u32),
    /// `%tid` with ten bits for each dimension; this many dimensions (AMD).
    PackedTid(u8),
    /// `%ctaid.y` and `%ctaid.z`, 16 bits each (AMD).
    PackedCtaid,
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
    /// `%is_explicit_cluster`
    ExplicitCluster,
}

/// A decoded kernel with the functions that it can reach.
#[derive(Debug, Default)]
pub struct Code {
    /// The kernel's name.
    pub name: String,
    /// The steps of all functions.
    pub steps: Vec<Step>,
    /// The instruction of each step.
    pub origin: Vec<(FuncId, InstId)>,
    /// The functions that the kernel can reach.
    pub entries: FxHashMap<FuncId, FunctionEntry>,
    /// The kernel among the functions.
    pub kernel: FuncId,
    /// The number of 32-bit, 64-bit and predicate planes.
    pub planes: (u16, u16, u16),
    /// Ranges of planes (first, one past the last) by kind, of variables that the code may read before it
    /// writes them. They are zero when a CTA begins.
    pub variable: [Vec<(u16, u16)>; 3],
    /// By function that the kernel can reach: the plane of each register.
    pub registers: FxHashMap<FuncId, Vec<u16>>,
    /// Registers of banks that M0 indexes, with their planes, whether code names them or not (AMD).
    pub indexed: Vec<(Register, u16)>,
    /// 32-bit planes that hold constants.
    pub const32: Vec<(u16, u32)>,
    /// 64-bit planes that hold constants.
    pub const64: Vec<(u16, u64)>,
    /// Predicate planes that hold constants.
    pub const_pred: Vec<(u16, bool)>,
    /// Planes that hold special registers.
    pub specials: Vec<(u16, SpecialRegister)>,
    /// Bytes of a lane's local memory that the parameters of calls take.
    pub params_bytes: u32,
    /// Bytes of local memory that the deepest chain of calls needs, parameters included.
    pub local_bytes: u32,
    /// Whether a function can call itself.
    pub recursive: bool,
    /// Bytes of static shared memory. Dynamic shared memory begins there.
    pub static_shared: u32,
    /// Addresses of shared variables.
    pub shared: Vec<(SymbolId, u32)>,
    /// Table of loads and stores.
    pub mems: Vec<MemAccess>,
    /// Table of atomics.
    pub atoms: Vec<Atomic>,
    /// Table of warp-level operations.
    pub warp_ops: Vec<WarpOp>,
    /// Table of matrix operations.
    pub matrix: Vec<MatrixOp>,
    /// Table of `wgmma.mma_async` products.
    pub products: Vec<Wgmma>,
    /// Table of instructions on tensor memory that warps run as a whole.
    pub tensor_warp_ops: Vec<TensorWarpOp>,
    /// Table of instructions on tensor memory that single threads issue.
    pub tensor_ops: Vec<TensorOp>,
    /// Table of `cp.async` copies.
    pub copies: Vec<LaneCopy>,
    /// Table of bulk copies.
    pub bulks: Vec<BulkCopy>,
    /// Table of asynchronous stores.
    pub async_stores: Vec<AsyncStore>,
    /// Table of corrections.
    pub corrections: Vec<Correction>,
    /// The calibrations that the corrections use.
    pub calibrations: Vec<Arc<Calibration>>,
    /// Table of tensor copies.
    pub tensors: Vec<TensorCopy>,
    /// Table of tensor-map edits.
    pub maps: Vec<TensorMapOp>,
    /// Table of mbarrier operations.
    pub mbarriers: Vec<MbarrierOp>,
    /// Table of barrier operations.
    pub barriers: Vec<BarrierOp>,
    /// Table of indexed branches.
    pub branch_tables: Vec<BranchTable>,
    /// Table of branches of waves.
    pub wave_branches: Vec<WaveBranch>,
    /// By address of machine code: the step that jumps and calls go to. Hooks at an entry come after it.
    pub addresses: FxHashMap<u64, u32>,
    /// By address of machine code behind a call: the step that returns go to. Hooks after the call follow it.
    pub returns: FxHashMap<u64, u32>,
    /// The 64-bit planes of trip counters, which a call of a wave keeps for its caller: the first, and the
    /// end.
    pub kept_counters: (u16, u16),
    /// By step: what its instruction leaves under way and waits for, in code of AMD's.
    pub timing: FxHashMap<u32, Timing>,
    /// The first step of each machine instruction, in code of AMD's.
    pub natives: Vec<u32>,
    /// Predicate plane of EXEC, in code of AMD's.
    pub exec: Option<u16>,
    /// Table of calls.
    pub calls: Vec<Call>,
    /// Table of the plan's actions.
    pub hooks: Vec<Hook>,
    /// The module's constant variables: first address and bytes. `isspacep` does not count them as global
    /// memory.
    pub constants: (u64, u64),
}

impl Code {
    /// Whether the code uses tensor memory.
    pub fn uses_tensor_memory(&self) -> bool {
        !self.tensor_ops.is_empty() || !self.tensor_warp_ops.is_empty()
    }
    /// Whether the code asks for the workspace of the grid barrier.
    pub fn reads_grid_workspace(&self) -> bool {
        self.specials.iter().any(|(_, s)| matches!(s, SpecialRegister::GridWorkspace { .. }))
    }
    /// The plane of each register of a function; none if the kernel cannot reach it.
    pub fn planes_of(&self, f: FuncId) -> &[u16] {
        self.registers.get(&f).map_or(&[], Vec::as_slice)
    }
    /// The warp-level operation of a step; `None` if the step is another one.
    pub fn warp_op(&self, step: u32) -> Option<&WarpOp> {
        match self.steps.get(step as usize)?.op {
            Op::Exchange(i) => self.warp_ops.get(i as usize),
            _ => None,
        }
    }
}

/// An action of a recording plan, with its operands bound to planes.
#[derive(Clone, Debug)]
pub struct Hook {
    /// The action of the plan.
    pub action: prlx_plan::Action,
    /// The values that the action records.
    pub values: Vec<HookValue>,
    /// Predicate plane whose ballot is the value of the event.
    pub pred: Option<u16>,
    /// Predicate plane that selects the lanes of the event, and whether it selects the lanes where it is
    /// false.
    pub of: Option<(u16, bool)>,
    /// Whether the action belongs to the kernel (the state of the recorder begins and ends there); else to a
    /// device function.
    pub kernel: bool,
    /// Whether the lane exits at the instruction.
    pub leaves: bool,
    /// Planes of the trip counters of the function: first, and number.
    pub counters: (u16, u16),
    /// Whether the hook belongs to the instruction before it; else to the instruction after it.
    pub after: bool,
}

/// A value that a hook reads. It reads planes directly: a step that prepares the value would change the
/// schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HookValue {
    /// A register or constant.
    Plane(Plane),
    /// A predicate, as 0 or 1.
    Pred(u16),
}
