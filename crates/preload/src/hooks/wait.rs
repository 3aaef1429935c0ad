//! Waits of the program for the device, and ends of contexts: what was recorded is copied to the host while
//! that is possible.
//!
//! After a program has waited for its launches, it may do anything: fault, be killed, destroy the context. So
//! the hook copies what has ended before the wait returns to the program.
//!
//! # Invariants
//! - The program's call is made with its own arguments, and its result is not changed.
//! - The hook waits for this library's copies only, for a bounded time.
//!
//! # Limitations
//! Contexts that end by other calls (`cuCtxDetach`, the runtime's private tables) are not seen to end.
#![allow(
    unsafe_code,
    reason = "a C interface: pointers come from the program, as cuda.h says what they point to"
)]
#![allow(non_snake_case, reason = "the driver's own names")]

use std::ffi::c_void;
use std::time::Instant;

use prlx_driver::cuda::Functions;

use crate::panic_guard::guard;
use crate::{handles, recording};

macro_rules! waits {
    ($($name:ident($($arg:ident: $ty:ty),*))*) => { $(
        pub unsafe fn $name(real: &Functions, $($arg: $ty),*) -> i32 {
            guard(|| {
                recording::before_wait();
                Some(())
            });
            let begun = Instant::now();
            // SAFETY: the driver's function (P2) with the program's arguments (P1).
            let code = unsafe { (real.$name)($($arg),*) };
            let ended = Instant::now();
            if code == 0 {
                guard(|| {
                    recording::copy_after_wait(real);
                    Some(())
                });
            }
            recording::set_last_wait([begun, ended, Instant::now()]);
            code
        }
    )* };
}
waits! {
    cuCtxSynchronize()
    cuCtxSynchronize_v2(context: *mut c_void)
    cuStreamSynchronize(stream: *mut c_void)
    cuStreamSynchronize_ptsz(stream: *mut c_void)
    cuEventSynchronize(event: *mut c_void)
}

macro_rules! resets {
    ($($name:ident)*) => { $(
        pub unsafe fn $name(real: &Functions, device: i32) -> i32 {
            guard(|| {
                recording::finish_contexts(|context| context.is_primary_of(device));
                Some(())
            });
            // SAFETY: the driver's function (P2) with the program's arguments (P1).
            let code = unsafe { (real.$name)(device) };
            guard(|| {
                handles::clear_modules();
                Some(())
            });
            code
        }
    )* };
}
resets! { cuDevicePrimaryCtxReset cuDevicePrimaryCtxReset_v2 }

macro_rules! releases {
    ($($name:ident)*) => { $(
        pub unsafe fn $name(real: &Functions, device: i32) -> i32 {
            // This release may be the last one. The driver does not say how many are left.
            let paused = guard(|| recording::pause_primary(device));
            // SAFETY: the driver's function (P2) with the program's arguments (P1).
            let code = unsafe { (real.$name)(device) };
            guard(|| {
                recording::resume_primary(real, device, paused?);
                Some(())
            });
            code
        }
    )* };
}
releases! { cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2 }

pub unsafe fn cuCtxDestroy_v2(real: &Functions, context: *mut c_void) -> i32 {
    guard(|| {
        recording::finish_contexts(|recorder| recorder.is_of(context));
        Some(())
    });
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    unsafe { (real.cuCtxDestroy_v2)(context) }
}
