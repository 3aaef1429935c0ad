//! A GPU on the CPU: implements [`prlx_driver::Driver`], with seeded schedules, and runs recording plans as
//! hooks.
//!
//! A kernel is decoded once (`decode`) into steps over planes of 32 lanes (`code`, `prlx-lanes`). The
//! interpreter runs the lanes of a warp in groups, a CTA runs its warps, a cluster its CTAs, and the host's
//! threads run the clusters of a launch (`exec`). In a test mode, a warp of 64 lanes is two halves
//! (`exec::wide`). Asynchronous copies (`copies`), matrix products (`matrix`), checks (`check`) and recording
//! (`hooks`) are folders of their own.
//!
//! # Invariants
//! - The same module, launch and seed give the same execution. On several host threads (seed 0 only) this
//!   holds as long as CTAs do not race.
//! - Every access is checked against the allocations.
//! - The device refuses a kernel that it cannot run before the kernel starts, and names the instruction and
//!   its line.
//!
//! # Limitations
//! Weak memory orders, textures and dynamic parallelism are missing. Approximate operations stay within their
//! documented error, but do not give the bits of a GPU unless a [`Calibration`] says what those are.

mod calibration;
mod check;
mod code;
mod copies;
mod dataflow;
mod decode;
mod device;
mod error;
mod exec;
mod hooks;
pub mod machine;
mod matrix;
mod mem;
mod printf;
#[doc(hidden)]
pub mod testing;

pub use calibration::Calibration;
pub use check::Checks;
pub use dataflow::{FlowRequest, Others};
pub use device::{Emulator, HOST_MEMORY, MAX_COOPERATIVE_CTAS, Options, Refusal, unsupported};
pub use exec::time::EPOCH;
pub use prlx_lanes::Simd;
