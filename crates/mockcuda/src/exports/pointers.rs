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

/// Puts a result where the caller wants it.
///
/// # Safety
/// `at` is null or may be written.
pub(crate) unsafe fn put<T>(at: *mut T, value: T) -> Result<()> {
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
pub(crate) unsafe fn text<'a>(at: *const c_char) -> Result<&'a str> {
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
pub(crate) unsafe fn buffer<'a>(list: *mut *mut c_void) -> Result<&'a [u8]> {
    let (mut at, mut size, mut i) = (std::ptr::null::<u8>(), 0, 0);
    // SAFETY: pairs of a key and a value, up to a key that ends the list; each value points to what its key
    // says.
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

/// Puts a list where the caller wants it, as much as there is room for.
///
/// # Safety
/// `at` is null or has room for `room` items.
pub(crate) unsafe fn put_all(at: *mut *mut c_void, room: usize, all: &[u64]) -> Result<()> {
    for (i, one) in all.iter().take(room).enumerate() {
        // SAFETY: the caller's promise.
        unsafe { put(at.wrapping_add(i), *one as *mut c_void)? };
    }
    Ok(())
}
