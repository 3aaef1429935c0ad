//! The simulated time.

/// The value of `%globaltimer` at the first step of a CTA, in nanoseconds.
pub const EPOCH: u64 = 1_000_000_000;
/// The number of SMs that the device reports.
pub const SMS: u32 = 132;
