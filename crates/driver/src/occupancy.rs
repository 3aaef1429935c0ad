//! NVIDIA's occupancy arithmetic: how many threads of an SM fit into its register file.
//!
//! The numbers hold for sm_70 and later (CUDA C++ Programming Guide, "Technical Specifications per Compute
//! Capability"; CUDA occupancy calculator).
//!
//! [`keep_occupancy`] chooses between two instrumentations of a kernel by these numbers.

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

/// Chooses between two instrumentations by occupancy. `lost` is the number of threads that an SM has less
/// room for than with the program's own code. Returns `first`, unless it loses threads and `second` exists
/// and loses fewer. `second` is only made in that case.
pub fn keep_occupancy<T>(first: T, second: impl FnOnce() -> Option<T>, mut lost: impl FnMut(&T) -> u32) -> T {
    match lost(&first) {
        0 => first,
        most => second().filter(|second| lost(second) < most).unwrap_or(first),
    }
}

#[cfg(test)]
mod tests {
    use super::keep_occupancy;

    #[test]
    fn the_second_instrumentation_must_lose_fewer_threads() {
        let choose = |first: u32, second: Option<u32>| keep_occupancy(first, || second, |lost| *lost);
        assert_eq!(choose(64, Some(32)), 32);
        assert_eq!(choose(64, Some(64)), 64);
        assert_eq!(choose(64, None), 64);
        assert_eq!(keep_occupancy(0, || panic!("nothing is lost"), |lost| *lost), 0);
    }
}
