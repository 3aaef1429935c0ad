//! Streams of the program: default streams, and streams that are being captured.
#![allow(unsafe_code, reason = "the driver's handles")]

use std::ffi::c_void;

use prlx_driver::cuda::Functions;
use prlx_driver::cuda::calls::stream;

/// The stream that a launch goes to. `per_thread`: the null stream is the thread's own default stream.
pub(super) fn effective_stream(handle: *mut c_void, per_thread: bool) -> *mut c_void {
    if per_thread && handle.is_null() {
        std::ptr::without_provenance_mut(stream::PER_THREAD as usize)
    } else {
        handle
    }
}

/// Whether a stream is being captured. True as well if the driver cannot say.
pub(super) fn is_capturing(real: &Functions, handle: *mut c_void) -> bool {
    let mut status = 0;
    // SAFETY: the driver's function (P2) with a stream that the program launches into (P5); the output is a
    // local variable (P3).
    unsafe { (real.cuStreamIsCapturing)(handle, &mut status) != 0 || status != 0 }
}
