//! What kernels look like: code parsed losslessly, one neutral view of it, one control-flow graph.
//!
//! [`image`] finds PTX in files that hold it: cubins, fatbins, programs. [`ptx`] reads PTX (AMDGPU will be a sibling), [`sass`] what NVIDIA's disassembler prints. [`view`] is what everything else sees: functions, instructions with
//! resolved operands, blocks. [`cfg`] gives dominators, post-dominators and loops; [`dataflow`] gives def-use chains and
//! decisions; [`params`] says which bytes of its parameters a kernel reads.
//!
//! Holds: parsing never fails and never panics; every instruction is a range of the source; what is not understood is
//! opaque and survives. Misses: nothing here judges validity, which is the assembler's; textures' formats are not read.

pub mod cfg;
pub mod dataflow;
pub mod image;
pub mod ptx;
pub mod sass;
pub mod view;
