//! Decoding: a kernel and all that it can reach become [`Code`](crate::code::Code).

mod address;
pub mod amdgpu;
mod binder;
mod call_graph;
pub mod contract;
mod control;
mod copies;
pub mod coverage;
mod function;
mod fused;
mod hooks;
mod instruction;
mod kernel;
mod layout;
mod matrix;
mod regions;
pub mod select;
mod tensor_memory;
mod warp_width;
mod wgmma;

pub use amdgpu::launch_state::LaunchState;
pub use binder::{Binder, BranchFixup, PlaneKind, kind};
pub use function::{InstDecoder, KernelCode, Request, UnsupportedInst, function};
pub use kernel::{attempt, decode, limits};
pub use layout::{constants, registers};
