//! Reads kernels losslessly into one neutral view, with one control-flow graph and one data-flow analysis.
//!
//! [`image`] finds PTX in the files that hold it: cubins, fatbins and programs. [`ptx`] reads PTX. [`amdgpu`]
//! reads AMD's code objects and instructions. An [`InstructionSet`] is one of machine code. [`operations`]
//! lists the operations of all instruction sets. [`sass`] reads the output of NVIDIA's disassembler. [`view`]
//! is what the rest of PRLX sees: functions, instructions with resolved operands and neutral semantics, and
//! basic blocks. `cfg` computes dominators, post-dominators and loops. [`dataflow`] computes def-use chains,
//! decisions, and the parameter bytes that a kernel never reads.
//!
//! # Invariants
//! - Parsing never fails and never panics.
//! - Every instruction is a byte range of the source.
//! - Text that the reader does not understand is opaque and survives.
//!
//! # Limitations
//! - Nothing here judges whether a module is valid. That is the assembler's task.
//! - The formats of textures and surfaces are not read.

/// The digest (XXH3) of the bytes of a module, which identifies it.
pub fn digest(bytes: &[u8]) -> u128 {
    xxhash_rust::xxh3::xxh3_128(bytes)
}

pub mod amdgpu;
pub mod cfg;
pub mod dataflow;
pub mod image;
mod instruction_set;
pub mod operations;
pub mod ptx;
pub mod sass;
pub mod view;

pub use self::instruction_set::{InstructionSet, MachineCode, ObjectReader};
