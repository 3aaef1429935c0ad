//! The recorder of one CUDA context.

use std::ffi::c_void;
use std::sync::Arc;

use prlx_driver::cuda::pointee_digest::Digests;
use prlx_driver::cuda::recorder::Recorder;

/// What is recorded of one context.
pub struct Of {
    pub(super) recorder: Recorder,
    pub(super) context: usize,
    /// Whether it is its device's primary one.
    pub(super) primary: bool,
    pub(super) device: String,
    pub(super) ordinal: u32,
    /// Or why there are none.
    pub(super) digests: Option<Result<Arc<Digests>, String>>,
}

impl Of {
    /// Whether it is of this context.
    pub fn is(&self, context: *mut c_void) -> bool {
        self.context == context.addr()
    }
    /// Whether it is of this device's primary context.
    pub fn is_of(&self, device: i32) -> bool {
        self.primary && self.ordinal == device as u32
    }
}
