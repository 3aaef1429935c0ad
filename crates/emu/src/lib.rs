//! A GPU on the CPU: implements [`prlx_driver::Driver`], with seeded schedules.
//!
//! Holds: the same module, launch and seed give the same execution, whatever the number of host threads, as long as the
//! kernel has no race between CTAs.

pub mod alu;
pub mod planes;
