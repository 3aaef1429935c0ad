//! The CPU device as a driver: modules, memory and launches.

mod emulator;
mod unsupported;

pub use emulator::{Emulator, Options};
pub use unsupported::{Refusal, unsupported};
