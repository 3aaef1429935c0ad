//! Reads a code object into the neutral view: functions with basic blocks, registers, guards and calls, and
//! the symbols that kernels have.
//!
//! The text of the module is its disassembly, one instruction a line. An instruction of the view stands for
//! one of the machine and keeps it ([`Native`](crate::amdgpu::Native)). Only `s_cbranch_vccz` and
//! `s_cbranch_vccnz` are two: the first asks whether a lane of VCC is set, which no bit of one lane says.
//!
//! # Invariants
//! - Vector instructions have EXEC as their guard.
//! - A function whose control flow is not known says so
//!   ([`Function::unknown_control`](crate::view::Function)).
//!
//! # Limitations
//! - All kernels of an object must have waves of one size.
//! - A call does not write EXEC: callees restore it (LLVM, User Guide for AMDGPU Backend, "Non-Kernel
//!   Functions").

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::indexing_slicing
)]

mod addresses;
mod code;
mod evaluated;
mod forms;
mod function;
mod groups;
mod lines;
mod markers;
mod module;
mod names;
mod pieces;
mod semantics;
mod skips;

pub use self::function::UNREACHABLE;
pub use self::module::read;

use crate::amdgpu::object::CodeObject;
use crate::image::Error;
use crate::view::Module;
use crate::{InstructionSet, ObjectReader};

/// Machine code of AMD's, in code objects.
pub const INSTRUCTION_SET: InstructionSet = InstructionSet::new(&AmdGpu);

struct AmdGpu;

impl ObjectReader for AmdGpu {
    fn name(&self) -> &'static str {
        "amdgpu"
    }

    fn code_name(&self) -> &'static str {
        "AMD machine code"
    }

    fn read(&self, bytes: &[u8]) -> Result<Module, Error> {
        read(&CodeObject::read(bytes)?)
    }

    fn argument_bytes(&self, bytes: &[u8], kernel: &str) -> Result<u64, Error> {
        let object = CodeObject::read(bytes)?;
        let found = object.kernels.iter().find(|known| known.name == kernel);
        let what = || format!("the code object has no kernel `{kernel}`");
        let found = found.ok_or_else(|| Error { at: 0, what: what() })?;
        Ok(object.argument_bytes(found))
    }
}
