//! Streams of the program: default streams, and streams that are being captured.
#![allow(unsafe_code, reason = "the driver's handles")]

use std::ffi::c_void;

use prlx_driver::cuda::Functions;
use prlx_driver::cuda::calls::stream;

/// The stream that a launch goes to; `own`: none is the thread's own.
pub(super) fn in_stream(handle: *mut c_void, own: bool) -> *mut c_void {
    if own && handle.is_null() {
        std::ptr::without_provenance_mut(stream::PER_THREAD as usize)
    } else {
        handle
    }
}

/// Whether a stream is being captured, or can't be asked.
pub(super) fn capturing(real: &Functions, handle: *mut c_void) -> bool {
    let mut status = 0;
    // SAFETY: the program's stream, and a place for the answer.
    unsafe { (real.cuStreamIsCapturing)(handle, &mut status) != 0 || status != 0 }
}
