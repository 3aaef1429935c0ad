//! What an instruction set of machine code gives to run on the CPU device.
//!
//! A [`Machine`] loads objects, and gives a [`KernelCode`] for each kernel. That decodes the kernel: it makes
//! a [`Binder`], gives registers planes, and calls [`function`] with an [`InstDecoder`] for each function.
//! The steps that a decoder appends are those of [`Op`]. Hooks, checks and recording follow from the neutral
//! view and from the steps.
//!
//! A register is a plane: 32 or 64 bits in each lane, or a predicate. A wave of 64 lanes is two halves of 32
//! lanes, so an operation on single lanes ([`Op::Alu`]) runs for each half, and one that needs all lanes is
//! [`Op::Wave`]. `Code::exec` is the predicate that says which lanes of a wave run vector instructions. Code
//! that has it runs with all lanes of a wave at one position.

pub use crate::code::{
    AddrBase, AddrSpace, Atomic, BarrierKind, BarrierOp, Clock, Code, MemAccess, Op, Plane, Rmw, Wave,
    WaveBranch, WaveCondition,
};
pub use crate::decode::{
    Binder, BranchFixup, InstDecoder, KernelCode, PlaneKind, Request, UnsupportedInst, function, registers,
};
pub use crate::device::{LoadedObject, Machine};
pub use crate::error::{EmuError, unsupported};
pub use crate::mem::Memory;
