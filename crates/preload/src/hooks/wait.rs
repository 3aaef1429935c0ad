//! Waiting for the device, and ends of contexts: what was recorded is brought in while it can be.
//!
//! A program that has waited for its launches may do anything next: fault, be killed, destroy the context. So
//! what has ended is copied then, before it goes on.
//!
//! # Invariants
//! The program's call is made as it was said, and its answer is not changed; what we wait for is our own
//! copies, for a bounded time. Misses: contexts that end by other calls (`cuCtxDetach`, the runtime's private
//! tables).
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
            let begun = Instant::now();
            // SAFETY: the program's call.
            let code = unsafe { (real.$name)($($arg),*) };
            let ended = Instant::now();
            if code == 0 {
                guard(|| {
                    recording::waited(real);
                    Some(())
                });
            }
            recording::has_waited([begun, ended, Instant::now()]);
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
                recording::bring_in(|of| of.is_of(device));
                Some(())
            });
            // SAFETY: the program's call.
            let code = unsafe { (real.$name)(device) };
            guard(|| {
                handles::modules_gone();
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
            // It may be the last: nobody says how many there are.
            let held = guard(|| recording::hold(device));
            // SAFETY: the program's call.
            let code = unsafe { (real.$name)(device) };
            guard(|| {
                recording::released(real, device, held?);
                Some(())
            });
            code
        }
    )* };
}
releases! { cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2 }

pub unsafe fn cuCtxDestroy_v2(real: &Functions, context: *mut c_void) -> i32 {
    guard(|| {
        recording::bring_in(|of| of.is(context));
        Some(())
    });
    // SAFETY: the program's call.
    unsafe { (real.cuCtxDestroy_v2)(context) }
}
