//! A stand-in for libcuda whose devices are CPU devices: a launch through it runs the PTX.
//!
//! Tests load it by path through [`prlx_driver::cuda::VARIABLE`], as the driver would be loaded. Its exports
//! and the loader's function pointers come from the same table.
//!
//! | environment variable | effect |
//! |---|---|
//! | `PRLX_MOCK_FAIL=CALL:CODE[,CALL:CODE…]` | these calls fail |
//! | `PRLX_MOCK_CAPABILITY=9.0` | the device's compute capability |
//! | `PRLX_MOCK_DEVICES=2` | the number of devices, all alike |
//! | `PRLX_MOCK_KERNEL_MICROS=500` | the least time that each kernel takes |
//! | `PRLX_MOCK_TIMER=NANOS:PPM` | what `%globaltimer` shows before the first launch, and how much faster than the host's clock it runs |
//!
//! Tests may also call [`prlx_mock_hold`] and [`prlx_mock_capture`], which no real driver has.
//!
//! # Invariants
//! What is easy to get wrong on a device goes wrong here too: calls before `cuInit` or without a context,
//! memory that was not allocated, dynamic shared memory that was not asked for, code for another
//! architecture, a context that is dead after a fault, work that is not done before somebody waits for it,
//! calls that break a capture. Of machine code, the mock runs the PTX that `-lineinfo` leaves in it.
//!
//! # Limitations
//! Nothing that takes two devices works: copies between them, waits for the other's events, libraries of
//! both. Managed memory, textures and deprecated launches are missing. The linker returns its one PTX input.

mod codes;
mod device;
mod exports;
mod graphs;
mod host_memory;
mod streams;
mod work;

pub use exports::{prlx_mock_capture, prlx_mock_hold};
