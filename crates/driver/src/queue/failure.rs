//! The failure of a call of a GPU's API, and its conversion to an error.

use crate::error::{Error, ErrorKind};

/// A call that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Name of the call.
    pub call: &'static str,
    /// The API's error code.
    pub code: i32,
    /// Name of the error code, for example `CUDA_ERROR_OUT_OF_MEMORY`.
    pub name: String,
    /// The API's description of the error code.
    pub text: String,
    /// Kind of error that it becomes.
    pub kind: ErrorKind,
    /// Advice for the user; empty if there is none.
    pub help: &'static str,
    /// Messages of the API's compiler; empty if it was not involved.
    pub log: String,
}

impl Failure {
    /// Converts the failure to an error. `what` names the operation that failed.
    pub fn during(self, what: &str) -> Error {
        let log = if self.log.is_empty() { String::new() } else { format!("\n{}", self.log) };
        let text = format!("{what}: {} ({}, {}){log}", self.text, self.name, self.call);
        let error = Error::new(self.kind, text);
        if self.help.is_empty() { error } else { error.help(self.help) }
    }
}
