//! The recorder of one CUDA context.

use std::ffi::c_void;
use std::sync::Arc;

use prlx_driver::cuda::memory_changes::ChangeFinder;
use prlx_driver::cuda::pointee_digest::Digests;
use prlx_driver::record::program::Recorder;

/// The recorder of one context, with what the recording says about the context.
pub struct ContextRecorder {
    pub(super) recorder: Recorder,
    /// The context's handle, as an address.
    pub(super) context: usize,
    /// Whether the context is its device's primary one.
    pub(super) primary: bool,
    /// Name of the device.
    pub(super) device: String,
    /// Ordinal of the device.
    pub(super) ordinal: u32,
    /// Digests the memory behind pointers, if the session asks for it; or why that is impossible here.
    pub(super) digests: Option<Result<Arc<Digests>, String>>,
    /// Finds what launches of kernels without PTX change, if the session asks for it and that is possible.
    pub(super) changes: Option<ChangeFinder>,
}

impl ContextRecorder {
    /// Whether this is the recorder of `context`.
    pub fn is_of(&self, context: *mut c_void) -> bool {
        self.context == context.addr()
    }

    /// Whether this is the recorder of the device's primary context.
    pub fn is_primary_of(&self, device: i32) -> bool {
        self.primary && self.ordinal == device as u32
    }
}
