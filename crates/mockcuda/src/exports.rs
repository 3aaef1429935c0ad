//! The exported symbols. Every row of the driver's table has its body here, or this does not compile.
#![allow(
    unsafe_code,
    reason = "a C interface: pointers come from the caller, as cuda.h says what they point to"
)]
#![allow(non_snake_case, reason = "the driver's own names")]

use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice::from_raw_parts;

use prlx_driver::cuda::calls::{capture, extra};

use crate::device::{Host, Result, code, with};

mod context;
mod graph;
mod launch;
mod load;
mod memory;

/// What each call does. Safety, of all of them: pointers are as cuda.h says.
mod body {
    pub use super::context::*;
    pub use super::graph::*;
    pub use super::launch::*;
    pub use super::load::*;
    pub use super::memory::*;
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

/// For tests: holds a stream's work back (`held` is not 0), or lets it go on; as a kernel does that spins on a flag.
#[unsafe(no_mangle)]
pub extern "C" fn prlx_mock_hold(stream: u64, held: i32) -> i32 {
    with("prlx_mock_hold", |d| {
        let stream = d.stream(stream, false)?;
        d.hold(stream, held != 0)
    })
}

/// For tests: the calling thread begins (`on` is not 0) or ends to capture a stream in the global mode. The end gives
/// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED` if a call broke the capture.
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

/// Puts a result where the caller wants it.
///
/// # Safety
/// `at` is null or may be written.
unsafe fn put<T>(at: *mut T, value: T) -> Result<()> {
    if at.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: the caller's promise; not null.
    unsafe { at.write_unaligned(value) };
    Ok(())
}

/// A string of the caller's.
///
/// # Safety
/// `at` is null or a string that ends.
unsafe fn text<'a>(at: *const c_char) -> Result<&'a str> {
    if at.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: the caller's promise; not null.
    unsafe { CStr::from_ptr(at) }.to_str().map_err(|_| code::NOT_FOUND)
}

/// The parameter buffer that `extra` of a launch names.
///
/// # Safety
/// `list` is null or as cuda.h says.
unsafe fn buffer<'a>(list: *mut *mut c_void) -> Result<&'a [u8]> {
    let (mut at, mut size, mut i) = (std::ptr::null::<u8>(), 0, 0);
    // SAFETY: pairs of a key and a value, up to a key that ends the list; each value points to what its key says.
    unsafe {
        while !list.is_null() && *list.add(i) as usize != extra::END {
            let value = *list.add(i + 1);
            match *list.add(i) as usize {
                extra::BUFFER => at = value.cast(),
                extra::SIZE => size = *value.cast::<usize>(),
                _ => return Err(code::INVALID_VALUE),
            }
            i += 2;
        }
        Ok(if at.is_null() { &[] } else { from_raw_parts(at, size) })
    }
}

/// Bytes of the host's that are due now.
pub fn host(bytes: &Host) -> &[u8] {
    match bytes {
        Host::Copied(bytes) => bytes,
        // SAFETY: who puts a copy into a stream promises that the memory stays until it is done.
        Host::At(at, size) => unsafe { from_raw_parts(std::ptr::with_exposed_provenance(*at), *size) },
    }
}

/// Writes to the host.
pub fn give(to: usize, bytes: &[u8]) {
    // SAFETY: who puts a copy into a stream promises that the memory stays until it is done.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), std::ptr::with_exposed_provenance_mut(to), bytes.len())
    }
}

/// Puts a list where the caller wants it, as much as there is room for.
///
/// # Safety
/// `at` is null or has room for `room` items.
unsafe fn put_all(at: *mut *mut c_void, room: usize, all: &[u64]) -> Result<()> {
    for (i, one) in all.iter().take(room).enumerate() {
        // SAFETY: the caller's promise.
        unsafe { put(at.wrapping_add(i), *one as *mut c_void)? };
    }
    Ok(())
}
