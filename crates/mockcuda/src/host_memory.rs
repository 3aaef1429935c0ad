//! Reads and writes host memory on behalf of copies in streams.
#![allow(unsafe_code, reason = "addresses of the program's memory")]

use std::slice::from_raw_parts;

use crate::work::Host;

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
