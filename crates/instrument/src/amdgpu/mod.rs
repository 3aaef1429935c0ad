//! Lowers a plan to AMD machine code, as functions in a segment behind the code object's own.
//!
//! ```text
//! code object -> plan -> groups of functions (lower), copied (copy) with routines (compile) ->
//! waits between instructions (waits) -> descriptors (kernels) -> segment (CodeObject::with_code)
//! ```
//!
//! A kernel `k` keeps its code and its descriptor. Its copy is the kernel `k.prlx`, whose arguments are those
//! of `k`, then at the next multiple of 8 a [`HiddenParameter`](prlx_trace::device::HiddenParameter) and a
//! [`LaunchSize`](prlx_trace::device::LaunchSize).
//!
//! # Invariants
//! - Instructions are copied word by word, but for branches, calls, and reads of the program counter.
//! - A copy calls copies. What it computes from the program counter are the addresses of the original code.
//! - Inserted code uses registers that no function uses, or that hold nothing where it stands, or that it
//!   saves. It uses no LDS, and scratch memory only behind that of the kernel.
//!
//! # Limitations
//! - Functions that are called through pointers are not copied: the original runs, and records nothing.
//! - Markers are refused. So are the operations and operands of probe programs that the headers of
//!   `programs.rs` and `operands.rs` name.
//! - Nothing ran on hardware.

mod allocation;
mod arithmetic;
mod assembler;
mod borrowed;
mod compile;
mod copy;
mod exec;
mod function;
mod kernels;
mod lanes;
mod liveness;
mod lower;
mod memory;
mod misfit;
mod numbers;
mod operands;
mod piece;
mod programs;
mod registers;
mod spill;
mod waits;

pub(crate) use self::allocation::Special;
pub(crate) use self::function::names;
pub use self::lower::AmdGpu;
#[cfg(test)]
pub(crate) use self::lower::lower;
pub(crate) use self::piece::{Homes, Piece, ScalarHome, VectorHome};
