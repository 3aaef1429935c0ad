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

mod access;
mod bulk;
mod calibration;
mod calls;
mod check;
mod cluster;
mod code;
mod copies;
mod coverage;
mod cta;
mod decode;
mod device;
mod fault;
mod grid;
mod heap;
mod hooks;
mod host;
mod marks;
mod mbarrier;
mod memory;
mod mma;
mod order;
mod select;

mod printf;
mod probes;
mod product;
mod stuck;
mod sync;
mod tensor;
#[doc(hidden)]
pub mod testing;
mod unsupported;
mod warp;
mod wgmma;

pub use calibration::Calibration;
pub use check::Checks;
pub use cta::EPOCH;
pub use device::{Emulator, Options};
pub use prlx_lanes::Simd;
pub use unsupported::{Refusal, unsupported};
