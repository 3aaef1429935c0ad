//! A stand-in for libcuda whose devices are CPU devices: a launch through it really runs the PTX.
//!
//! Tests load it by path through [`prlx_driver::cuda::VARIABLE`], as the driver would be loaded. Its exports are made from the
//! same table as the loader's pointers.
//!
//! Holds: what is easy to get wrong on a device goes wrong here too: calls before `cuInit` or without the thread's context,
//! memory that was not allocated, dynamic shared memory that was not asked for, code for another architecture, a context that is
//! dead after a fault, work that is not done before somebody waits for it (`stream`), calls that break a capture (`graph`).
//! Of machine code it runs the PTX that `-lineinfo` leaves in it.
//! Misses: whatever takes two devices: copies between them, waits for the other's events, libraries of both; managed memory; textures; launches that CUDA has given up; the linker gives its one input of PTX back.
//!
//! `PRLX_MOCK_FAIL=CALL:CODE[,CALL:CODE…]` makes calls fail. `PRLX_MOCK_CAPABILITY=9.0` is the device's capability.
//! `PRLX_MOCK_DEVICES=2` is how many devices there are, alike. `PRLX_MOCK_KERNEL_MICROS=500` is how long every kernel takes at least.
//! `PRLX_MOCK_TIMER=NANOS:PPM` is what `%globaltimer` shows before the first launch, and by how much it runs faster than the host's clock. Tests may also call [`prlx_mock_hold`] and
//! [`prlx_mock_capture`], which are no calls of a driver.

mod device;
mod exports;
mod graph;
mod stream;

pub use exports::{prlx_mock_capture, prlx_mock_hold};
