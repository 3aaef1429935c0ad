//! The CPU device as a driver: modules, memory and launches.

mod code_object;
mod emulator;
mod grid_barrier;
mod host_memory;
mod machine;
mod unsupported;

pub use emulator::{Emulator, Options};
pub use grid_barrier::MAX_COOPERATIVE_CTAS;
pub use host_memory::HOST_MEMORY;
pub use machine::{LoadedObject, Machine};
pub use unsupported::{Refusal, unsupported};
