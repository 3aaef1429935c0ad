//! The exported symbols. Every row of the driver's table has its body in this folder, or the crate does not
//! compile.
//!
//! # Safety contract
//! The `SAFETY` comments of this folder refer to these clauses:
//!
//! - **E1, caller.** Every exported function is `unsafe extern "C"`. Its caller promises what cuda.h says
//!   about each pointer: it is null, or it points to as many readable (inputs) or writable (outputs) values
//!   as the call takes.
//! - **E2, outputs.** [`pointers::put`] refuses null and writes unaligned, so an output needs E1 only.
//! - **E3, asynchronous copies.** The caller keeps the host memory of an asynchronous copy alive until the
//!   copy is done.
#![allow(
    unsafe_code,
    reason = "a C interface: pointers come from the caller, as cuda.h says what they point to"
)]
#![allow(non_snake_case, reason = "the driver's own names")]

mod context;
mod graph;
mod launch;
mod load;
mod memory;
mod pointers;

use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

use prlx_driver::cuda::calls;
use prlx_driver::cuda::calls::capture;

use crate::codes::code;
use crate::device::dispatch::with;
use crate::exports::pointers::{put, text};

/// The body of each call.
mod body {
    pub use super::context::*;
    pub use super::graph::*;
    pub use super::launch::*;
    pub use super::load::*;
    pub use super::memory::*;
    pub use super::proc_address::*;
}

/// Makes the exports: C functions that call those of [`body`], and never unwind.
macro_rules! exports {
    ($($(#[$doc:meta])* $(@$since:literal)? $(~$from:literal)? $name:ident($($arg:ident: $ty:ty),*);)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// Pointers are as cuda.h says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> i32 {
            // SAFETY: the caller's promise is the callee's.
            catch_unwind(AssertUnwindSafe(|| unsafe { body::$name($($arg),*) })).unwrap_or(code::UNKNOWN)
        }
    )*
        /// Where a symbol is; null if it is none of these.
        fn address(symbol: &str) -> *mut c_void {
            $(if symbol == stringify!($name) {
                return $name as unsafe extern "C" fn($($ty),*) -> i32 as *mut c_void;
            })*
            std::ptr::null_mut()
        }
    };
}

prlx_driver::cuda_calls!(exports);

/// For tests: holds a stream's work back (`held` is not 0), or lets it go on; as a kernel does that spins on
/// a flag.
#[unsafe(no_mangle)]
pub extern "C" fn prlx_mock_hold(stream: u64, held: i32) -> i32 {
    with("prlx_mock_hold", |d| {
        let stream = d.stream(stream, false)?;
        d.hold(stream, held != 0)
    })
}

/// For tests: the calling thread begins (`on` is not 0) or ends to capture a stream in the global mode. The
/// end gives `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED` if a call broke the capture.
#[unsafe(no_mangle)]
pub extern "C" fn prlx_mock_capture(on: i32) -> i32 {
    with("prlx_mock_capture", |d| {
        if on != 0 {
            let stream = d.stream_create(true)?;
            d.captured.push(stream);
            return d.capture_begin(stream, capture::GLOBAL);
        }
        let stream = d.captured.pop().ok_or(code::INVALID_VALUE)?;
        d.capture_end(stream).map(drop)
    })
}

/// `cuGetProcAddress`: answers with the exports of this library.
mod proc_address {
    use super::*;

    pub unsafe fn cuGetProcAddress(
        symbol: *const c_char,
        at: *mut *mut c_void,
        version: i32,
        flags: u64,
    ) -> i32 {
        // SAFETY: as the module says.
        unsafe { cuGetProcAddress_v2(symbol, at, version, flags, null_mut()) }
    }
    pub unsafe fn cuGetProcAddress_v2(
        symbol: *const c_char,
        at: *mut *mut c_void,
        version: i32,
        flags: u64,
        status: *mut i32,
    ) -> i32 {
        // Not through `with`: programs ask before they start the driver, and for hundreds of names.
        let found = || {
            // SAFETY: as the module says.
            let name = unsafe { text(symbol)? };
            let found = calls::call_for_version(name, version, flags & calls::PER_THREAD_STREAM != 0)
                .map(|c| address(c.name));
            let known = calls::CALLS.iter().any(|c| calls::base_name(c.name).0 == name);
            // SAFETY: as the module says.
            unsafe {
                put(at, found.unwrap_or(null_mut()))?;
                if !status.is_null() {
                    put(status, if found.is_some() { 0 } else { 1 + i32::from(known) })?;
                }
            }
            found.map(drop).ok_or(code::NOT_FOUND)
        };
        found().err().unwrap_or(0)
    }
}
