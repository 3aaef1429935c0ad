//! Assembles PTX to machine code before the driver sees it: with `ptxas` if it is installed, otherwise with
//! nvJitLink. If both are missing, the driver's own compiler does it.
//!
//! Results are cached in the user's cache folder ([`cache`]).
//!
//! # Limitations
//! The options of the original build are known only if the build stored them in its code.

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
pub use options::code_options;
pub use register_budget::{RegisterBudget, thread_resources, threads_lost, uses_setmaxnreg};
pub use target::target;
pub use tool::{AssembleError, Assembler};
