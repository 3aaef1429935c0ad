//! The exported symbols. Each call in the driver's table has its body in this folder; without it, the crate
//! does not compile.
//!
//! # Safety contract
//! The `SAFETY` comments of this folder refer to these clauses:
//!
//! - **E1, caller.** Every exported function is `unsafe extern "C"`. Its caller promises what cuda.h says
//!   about each pointer: it is null, or it points to as many readable (inputs) or writable (outputs) values
//!   as the call takes.
//! - **E2, outputs.** [`pointers::put`] refuses null and writes unaligned, so an output needs E1 only.
//! - **E3, memory that is used later.** The caller keeps the host memory of an asynchronous copy until the
//!   copy is done, and registered memory until it is unregistered, as cuda.h requires.
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

/// The bodies of the exported functions.
mod body {
    pub use super::context::*;
    pub use super::graph::*;
    pub use super::launch::*;
    pub use super::load::*;
    pub use super::memory::*;
    pub use super::proc_address::*;
}

/// Exports a C function for each call of the driver's table. It calls the function of that name in [`body`],
/// and never unwinds.
macro_rules! exports {
    ($($(#[$doc:meta])* $(@$since:literal)? $(~$from:literal)? $name:ident($($arg:ident: $ty:ty),*);)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// Pointers are as cuda.h says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> i32 {
            // SAFETY: the arguments are passed on unchanged, so the caller's promise (E1) is the callee's.
            catch_unwind(AssertUnwindSafe(|| unsafe { body::$name($($arg),*) })).unwrap_or(code::UNKNOWN)
        }
    )*
        /// Address of an exported symbol; null if there is none.
        fn address(symbol: &str) -> *mut c_void {
            $(if symbol == stringify!($name) {
                return $name as unsafe extern "C" fn($($ty),*) -> i32 as *mut c_void;
            })*
            std::ptr::null_mut()
        }
    };
}

prlx_driver::cuda_calls!(exports);

/// For tests: holds a stream's work back (`on` is not 0) or lets it run again, as a kernel does that spins on
/// a flag.
#[unsafe(no_mangle)]
pub extern "C" fn prlx_mock_hold(stream: u64, on: i32) -> i32 {
    with("prlx_mock_hold", |d| {
        let stream = d.stream(stream, false)?;
        d.hold(stream, on != 0)
    })
}

/// For tests: begins (`on` is not 0) or ends the capture of a stream by the calling thread in the global
/// mode. The end returns `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED` if a call broke the capture.
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

/// `cuGetProcAddress`, which returns the exports of this library.
mod proc_address {
    use super::*;

    pub unsafe fn cuGetProcAddress(
        symbol: *const c_char,
        at: *mut *mut c_void,
        version: i32,
        flags: u64,
    ) -> i32 {
        // SAFETY: the call has the same arguments with the same meaning (E1).
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
            // SAFETY: `symbol` is null or a string (E1).
            let name = unsafe { text(symbol)? };
            let found = calls::call_for_version(name, version, flags & calls::PER_THREAD_STREAM != 0)
                .map(|c| address(c.name));
            let known = calls::CALLS.iter().any(|c| calls::base_name(c.name).0 == name);
            // SAFETY: `at` and `status` are outputs of this call (E1, E2).
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
