//! A toy instruction set, which lives in tests: the model of how PRLX gets another instruction set.
//!
//! Its waves have 64 lanes at one position, and the mask `exec` says which of them run vector operations. Its
//! objects are text.
//!
//! | file | is | for |
//! |---|---|---|
//! | `code.rs` | the operations, read and printed | this folder |
//! | `semantics.rs` | what the operations do in neutral words | the reader |
//! | `reader.rs` | text → `view::Module` | `prlx_isa::ObjectReader` |
//! | `launch_file.rs` | objects as modules of launch files | `prlx_driver::ModuleFormat` |
//! | `decode.rs` | instructions → the CPU device's steps | `prlx_emu::machine::Machine` |
//! | `lower.rs` | plan → copies of kernels with recorder routines | `prlx_instrument::ObjectTarget` |
//! | `compile.rs` | recorder routines → instructions | `lower.rs` |
//! | `verify.rs` | a machine that executes inserted code | `prlx_instrument::inserted_code::InsertedPiece` |
//!
//! # Limitations
//! No hardware has this instruction set. It has no floating-point operations and no functions but kernels.

pub mod code;
mod compile;
mod decode;
mod launch_file;
mod lower;
#[cfg(test)]
mod planted;
mod reader;
mod semantics;
mod verify;

use prlx_isa::InstructionSet;

pub use reader::{LANES, Toy};

/// The toy instruction set.
pub const TOY: InstructionSet = InstructionSet::new(&Toy);
