//! What this library does for each driver call that it intercepts, and for exits of the program.
//!
//! A hook is named after its call. It gets the driver's own functions and the program's arguments, calls the
//! driver exactly once for the program, and does its own work inside [`guard`](crate::panic_guard::guard).

pub mod compilers;
pub mod exit;
pub mod graph;
mod jit_options;
pub mod launch;
pub mod library;
pub mod link;
pub(crate) mod link_inputs;
pub mod memory;
pub mod modules;
mod params;
mod program;
mod replacement;
pub mod tensor_maps;
pub mod wait;
