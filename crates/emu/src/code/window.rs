//! Address windows: where the spaces lie in generic addresses. All below is global memory and constants.

/// Shared memory: first the CTA's own, then that of each CTA of the cluster, by rank.
pub const SHARED: u64 = 0x7ffd_0000_0000;
/// Bytes that each of those takes.
pub const CTA: u64 = 1 << 24;
/// First address of the window of local memory. As on AMD's devices, the low half of a window's address is 0,
/// and shared and local memory have different high halves.
pub const LOCAL: u64 = 0x7ffe_0000_0000;
/// First address of the window of kernel parameters.
pub const PARAMS: u64 = 0x7ffe_c000_0000;
/// First address of the window of functions.
pub const CODE: u64 = 0x7fff_0000_0000;
/// Distance between two functions' addresses.
pub const CODE_STRIDE: u64 = 256;
