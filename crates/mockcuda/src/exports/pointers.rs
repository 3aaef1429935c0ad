//! Reads and writes through the pointers that a call is given.
#![allow(
    unsafe_code,
    reason = "a C interface: pointers come from the caller, as cuda.h says what they point to"
)]

use std::ffi::{CStr, c_char, c_void};
use std::slice::from_raw_parts;

use prlx_driver::cuda::calls::extra;

use crate::codes::Result;
use crate::codes::code;

/// Writes a result to an output.
///
/// # Safety
/// `at` is null or points to as many writable bytes as a `T` has, aligned or not.
///
/// # Errors
/// `INVALID_VALUE` if `at` is null.
pub(crate) unsafe fn put<T>(at: *mut T, value: T) -> Result<()> {
    if at.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: not null, so the caller promises the bytes; the write does not need alignment.
    unsafe { at.write_unaligned(value) };
    Ok(())
}

/// A string of the program.
///
/// # Safety
/// `at` is null or a string that ends with NUL and lives as long as `'a`.
pub(crate) unsafe fn text<'a>(at: *const c_char) -> Result<&'a str> {
    if at.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: not null, so the caller promises the string.
    unsafe { CStr::from_ptr(at) }.to_str().map_err(|_| code::NOT_FOUND)
}

/// The parameter buffer that the `extra` list of a launch names; empty if it names none.
///
/// # Safety
/// `list` is null, or a list of keys and values up to `CU_LAUNCH_PARAM_END`. The buffer lives as long as
/// `'a`.
pub(crate) unsafe fn buffer<'a>(list: *mut *mut c_void) -> Result<&'a [u8]> {
    let (mut at, mut size, mut i) = (std::ptr::null::<u8>(), 0, 0);
    // SAFETY: the caller promises a value behind each key but the last. The value of the size points to a
    // `size_t`, and the buffer has so many bytes.
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

/// Writes the first `room` handles of a list.
///
/// # Safety
/// `at` is null or has room for `room` handles.
pub(crate) unsafe fn put_all(at: *mut *mut c_void, room: usize, all: &[u64]) -> Result<()> {
    for (i, handle) in all.iter().take(room).enumerate() {
        // SAFETY: `i` is below `room`, so the caller promises this element.
        unsafe { put(at.wrapping_add(i), *handle as *mut c_void)? };
    }
    Ok(())
}
