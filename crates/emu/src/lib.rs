//! A GPU on the CPU: implements [`prlx_driver::Driver`], with seeded schedules, and runs plans as hooks.
//!
//! A kernel is decoded once ([`code`]) into steps over planes of 32 lanes ([`planes`]); a [`warp`] runs groups of lanes, a
//! [`cta`] its warps, a [`cluster`] its CTAs, and the clusters of a launch run on the host's threads. Data operations are in
//! `select`.
//!
//! Holds: the same module, launch and seed give the same execution; on several host threads (seed 0 alone) as long as the
//! kernel has no race between CTAs. Every access is checked against the allocations. What the device can't do is refused
//! before the kernel runs, naming instruction and line.
//!
//! Misses: weak memory orders; textures; dynamic parallelism. Approximate operations are within their documented
//! error, not equal to a GPU's, unless a [`Calibration`] says what that gives.

mod calibration;
mod check;
mod code;
mod copies;
mod decode;
mod device;
mod exec;
mod hooks;
mod matrix;
mod mem;
mod printf;
#[doc(hidden)]
pub mod testing;

pub use calibration::Calibration;
pub use check::Checks;
pub use device::{Emulator, Options, Refusal, unsupported};
pub use exec::time::EPOCH;
pub use prlx_lanes::Simd;
