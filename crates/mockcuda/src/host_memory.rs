//! Reads and writes the program's memory for copies in streams and for registered memory.
#![allow(unsafe_code, reason = "addresses of the program's memory")]

use std::slice::from_raw_parts;

use crate::work::HostBytes;

/// The bytes that a copy to the device reads when it runs.
pub fn read_host(bytes: &HostBytes) -> &[u8] {
    match bytes {
        HostBytes::Copied(bytes) => bytes,
        // SAFETY: address and size are those of an asynchronous copy, whose caller keeps the memory until it
        // is done (E3 of `exports`).
        HostBytes::At(at, size) => unsafe { from_raw_parts(std::ptr::with_exposed_provenance(*at), *size) },
    }
}

/// Writes bytes to the program's memory.
pub fn write_host(to: usize, bytes: &[u8]) {
    // SAFETY: `to` is the address of an asynchronous copy of so many bytes, or of registered memory of that
    // size. The caller keeps both until the copy is done or the memory unregistered (E3 of `exports`).
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), std::ptr::with_exposed_provenance_mut(to), bytes.len())
    }
}
