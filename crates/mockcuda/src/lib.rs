//! A mock of libcuda whose devices are CPU devices: a launch runs the kernel's PTX in the emulator.
//!
//! Tests load it by path through [`prlx_driver::cuda::VARIABLE`], as the driver would be loaded. Its exports
//! and the loader's function pointers come from the same table.
//!
//! | environment variable | effect |
//! |---|---|
//! | `PRLX_MOCK_FAIL=CALL:CODE[,CALL:CODE…]` | these calls fail |
//! | `PRLX_MOCK_CAPABILITY=9.0` | the device's compute capability |
//! | `PRLX_MOCK_DEVICES=2` | the number of devices, all alike |
//! | `PRLX_MOCK_KERNEL_MICROS=500` | the minimum time of each kernel |
//! | `PRLX_MOCK_SEED=1` | the order of threads: the CPU device's seed of all launches |
//! | `PRLX_MOCK_TIMER=NANOS:PPM` | first value of `%globaltimer`, and its lead over the host's clock |
//!
//! Tests may also call [`prlx_mock_hold`] and [`prlx_mock_capture`], which no real driver has.
//!
//! # Invariants
//! Errors that programs make on a device fail here too: calls before `cuInit` or without a context, access to
//! memory that is not allocated, too much dynamic shared memory, code for another architecture, calls after a
//! fault, reads before the work is done, calls that break a capture.
//!
//! # Limitations
//! - Nothing that takes two devices works: copies between them, waits for the other's events, libraries of
//!   both.
//! - Managed memory, textures and deprecated launches are missing.
//! - Machine code runs only if it contains its PTX, which `-lineinfo` puts there.
//! - The linker takes one PTX input and returns it.

mod codes;
mod device;
mod exports;
mod graphs;
mod host_memory;
mod streams;
mod work;

pub use exports::{prlx_mock_capture, prlx_mock_hold};
