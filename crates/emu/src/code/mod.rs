//! Decoded code: what the interpreter runs. One [`Code`] per kernel, with the functions that it can reach.
//!
//! # Invariants
//! - A step is an index into [`Code::steps`].
//! - The registers of each function have planes of their own, so that lanes in different functions do not
//!   share a plane.
//! - What an instruction needs beyond its operation (the conversion of an operand, a local address) is done
//!   by extra steps around it. Those steps cost no instruction.

mod calls;
mod copies;
mod matrix;
mod memory;
mod program;
mod sync;
mod tensor_memory;
mod timing;
mod wave;
pub mod window;

pub use calls::{BranchTable, Builtin, Call, Callee, FunctionEntry, SavedRegisters, Slot};
pub use copies::{
    AsyncStore, AsyncStoreKind, BulkCopy, LaneCopy, TensorCopy, TensorMapEdit, TensorMapField, TensorMapOp,
    TensorReduction,
};
pub use matrix::{MatrixOp, Mma, Wgmma, WgmmaA, WgmmaStep, WmmaTile};
pub use memory::{AddrBase, AddrSpace, Atomic, MemAccess, Plane, Rmw};
pub use program::{
    Clock, Code, Correction, GuardBits, Hook, HookValue, NEGATE, NO_GUARD, Op, SpecialRegister, Step,
};
pub use sync::{BarrierKind, BarrierOp, MbarrierKind, MbarrierOp, WarpOp, WarpOpKind};
pub use tensor_memory::{
    ProductKind, TensorA, TensorAddress, TensorCopyShape, TensorFragment, TensorOp, TensorProduct,
    TensorShape, TensorWarpOp, element_type,
};
pub use timing::{Counter, Timing};
pub use wave::{Jump, Wave, WaveBranch, WaveCondition, WaveFn};
