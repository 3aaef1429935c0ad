//! Integration tests of `prlx-isa`, as one program.

mod amd_assemble;
mod amd_descriptors;
mod amd_markers;
mod amd_objects;
mod amd_view;
mod amdgpu;
mod cases;
mod common;
mod images;
mod lossless;
mod ops;
mod random_graphs;
mod semantics;
mod validity;
