//! A stand-in for libcuda whose one device is the CPU device: a launch through it really runs the PTX.
//!
//! Tests load it by path through [`prlx_driver::cuda::VARIABLE`], as the driver would be loaded. Its exports are made from the
//! same table as the loader's pointers.
//!
//! Holds: what is easy to get wrong on a device goes wrong here too: calls before `cuInit` or without a context, memory that
//! was not allocated, dynamic shared memory that was not asked for, code for another architecture, a context that is dead after
//! a fault. Of machine code it runs the PTX that `-lineinfo` leaves in it.
//! Misses: streams (all work is done at once), more than one device.
//!
//! `PRLX_MOCK_FAIL=CALL:CODE[,CALL:CODE…]` makes calls fail. `PRLX_MOCK_CAPABILITY=9.0` is the device's capability.

mod device;
mod exports;
