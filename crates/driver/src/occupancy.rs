//! NVIDIA's occupancy arithmetic: how many threads of an SM fit into its register file.
//!
//! The numbers hold for sm_70 and later (CUDA C++ Programming Guide, "Technical Specifications per Compute
//! Capability"; CUDA occupancy calculator).

/// Maximum resident threads per SM.
const MAX_THREADS: u32 = 2048;
/// 32-bit registers in each of the four partitions of an SM.
const PARTITION_REGISTERS: u32 = 16384;
/// Partitions of an SM. A warp lives in one of them.
const PARTITIONS: u32 = 4;
/// Number of threads in a warp.
const WARP: u32 = 32;
/// The hardware rounds the registers of a thread up to a multiple of this.
const REGISTER_UNIT: u32 = 8;

/// Maximum resident threads per SM of a kernel with so many registers per thread.
pub fn threads_per_sm(registers: u32) -> u32 {
    let warp = registers.clamp(1, PARTITION_REGISTERS).next_multiple_of(REGISTER_UNIT) * WARP;
    (PARTITION_REGISTERS / warp * WARP * PARTITIONS).min(MAX_THREADS)
}

/// Maximum registers per thread with which `threads` threads are resident on an SM.
pub fn registers_per_thread(threads: u32) -> u32 {
    let warps_per_partition = threads.div_ceil(PARTITIONS * WARP).max(1);
    PARTITION_REGISTERS / (WARP * warps_per_partition) / REGISTER_UNIT * REGISTER_UNIT
}
