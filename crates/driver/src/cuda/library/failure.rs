//! The failure of a driver call, and its conversion to an error.

use crate::cuda::error_codes::lookup;
use crate::error::{Error, ErrorKind};

/// A driver call that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Name of the call.
    pub call: &'static str,
    /// Error code (`CUresult`).
    pub code: i32,
    /// Name of the error code, for example `CUDA_ERROR_OUT_OF_MEMORY`.
    pub name: String,
    /// The driver's description of the error code.
    pub text: String,
    /// Messages of the driver's JIT compiler; empty if it was not involved.
    pub log: String,
}

impl Failure {
    /// Converts the failure to an error. `what` names the operation that failed.
    pub fn during(self, what: &str) -> Error {
        let (kind, help) = lookup(self.code).map_or((ErrorKind::Device, ""), |c| (c.kind, c.help));
        let log = if self.log.is_empty() { String::new() } else { format!("\n{}", self.log) };
        let error = Error::new(kind, format!("{what}: {} ({}, {}){log}", self.text, self.name, self.call));
        if help.is_empty() { error } else { error.help(help) }
    }
}

/// Whether a failure with this code leaves the context unusable, because a kernel failed instead of the call.
pub fn sticky(code: i32) -> bool {
    lookup(code).is_some_and(|c| matches!(c.kind, ErrorKind::Fault | ErrorKind::Stuck))
}
