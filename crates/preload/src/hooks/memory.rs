//! Ends of memory and of streams: what is to be read of them is read before.
//!
//! # Invariants
//! - The program's call is made with its own arguments, and its result is not changed.
//! - Where the driver does not wait for kernels that read the memory, the hook waits for this library's, for
//!   a bounded time.
#![allow(
    unsafe_code,
    reason = "a C interface: pointers come from the program, as cuda.h says what they point to"
)]
#![allow(non_snake_case, reason = "the driver's own names")]

use std::ffi::c_void;

use prlx_driver::cuda::Functions;

use crate::panic_guard::guard;
use crate::recording;

macro_rules! releases {
    ($at_once:literal: $($name:ident($($arg:ident: $ty:ty),*))*) => { $(
        pub unsafe fn $name(real: &Functions, $($arg: $ty),*) -> i32 {
            guard(|| {
                recording::before_release($at_once);
                Some(())
            });
            // SAFETY: the driver's function (P2) with the program's arguments (P1).
            unsafe { (real.$name)($($arg),*) }
        }
    )* };
}

// The driver waits for the device, or frees in stream order.
releases! { false:
    cuMemFree_v2(at: u64)
    cuMemFreeAsync(at: u64, stream: *mut c_void)
    cuMemFreeAsync_ptsz(at: u64, stream: *mut c_void)
    cuStreamDestroy_v2(stream: *mut c_void)
}

releases! { true:
    cuMemPoolTrimTo(pool: *mut c_void, keep: usize)
    cuMemPoolDestroy(pool: *mut c_void)
    cuMemUnmap(at: u64, bytes: usize)
    cuIpcCloseMemHandle(at: u64)
    cuMemFreeHost(at: *mut c_void)
    cuMemHostUnregister(at: *mut c_void)
}
