//! Reads kernels losslessly into one neutral view, with one control-flow graph and one data-flow analysis.
//!
//! [`image`] finds PTX in the files that hold it: cubins, fatbins and programs. [`ptx`] reads PTX. [`sass`]
//! reads the output of NVIDIA's disassembler. [`view`] is what the rest of PRLX sees: functions, instructions
//! with resolved operands, and basic blocks. `cfg` computes dominators, post-dominators and loops.
//! [`dataflow`] computes def-use chains, decisions, and the parameter bytes that a kernel never reads.
//!
//! # Invariants
//! - Parsing never fails and never panics.
//! - Every instruction is a byte range of the source.
//! - Text that the reader does not understand is opaque and survives.
//!
//! # Limitations
//! - Nothing here judges whether a module is valid. That is the assembler's task.
//! - The formats of textures and surfaces are not read.

pub mod cfg;
pub mod dataflow;
pub mod image;
pub mod ptx;
pub mod sass;
pub mod view;
