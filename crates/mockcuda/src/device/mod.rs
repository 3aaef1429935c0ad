//! A device of the mock: an emulator, and the state that a CUDA driver keeps for a context.
//!
//! The methods of `Device` are plain functions that give an error code. They are grouped by part of the
//! driver API.

mod contexts;
pub mod dispatch;
mod execution;
mod identity;
mod memory;
mod modules;
pub mod state;
