//! Assembles PTX to machine code before the driver sees it: with `ptxas` if there is one, else with
//! nvJitLink. If both are missing, the driver's own compiler does it.
//!
//! Results are stored in the user's cache folder ([`cache`]).
//!
//! # Limitations
//! The options of a build that stored none are not known.

pub(crate) mod assemblers;
pub mod cache;
mod jitlink;
pub mod listing;
mod options;
pub(crate) mod register_budget;
mod search;
mod target;
pub(crate) mod tool;

pub use assemblers::{Assemblers, NVJITLINK, PTXAS, VARIABLE};
pub use options::kept;
pub use register_budget::{Within, lost, needs, shares_registers};
pub use target::target;
pub use tool::{Assembler, Failed};
