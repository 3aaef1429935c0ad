//! A driver call that failed.

use crate::cuda::error_codes::lookup;
use crate::error::{Error, ErrorKind};

/// A call that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The call.
    pub call: &'static str,
    /// `CUresult`.
    pub code: i32,
    /// The driver's name for it, as `CUDA_ERROR_OUT_OF_MEMORY`.
    pub name: String,
    /// The driver's words for it.
    pub text: String,
    /// What its JIT compiler said, if that is what failed.
    pub log: String,
}

impl Failure {
    /// As an error; `what` was being done.
    pub fn during(self, what: &str) -> Error {
        let (kind, help) = lookup(self.code).map_or((ErrorKind::Device, ""), |c| (c.kind, c.help));
        let log = if self.log.is_empty() { String::new() } else { format!("\n{}", self.log) };
        let error = Error::new(kind, format!("{what}: {} ({}, {}){log}", self.text, self.name, self.call));
        if help.is_empty() { error } else { error.help(help) }
    }
}

/// Whether a failure of this code leaves the context unusable: the kernel went wrong, not the call.
pub fn sticky(code: i32) -> bool {
    lookup(code).is_some_and(|c| matches!(c.kind, ErrorKind::Fault | ErrorKind::Stuck))
}
