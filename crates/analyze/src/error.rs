//! The error type of this crate: why a trace cannot be analysed.

use std::fmt;

/// A defect of a trace: what is wrong, and in which module table, lane or frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// The place, such as `module.functions[0].blocks[3]` or `warp 7, lane 3`.
    pub at: String,
    /// What is wrong at this place.
    pub what: String,
    /// Whether the analysis gave up at a limit of its work: nothing need be wrong with the trace.
    pub limit: bool,
}

impl Error {
    /// An error at the place `at`.
    pub fn new(at: impl Into<String>, what: impl Into<String>) -> Error {
        Error { at: at.into(), what: what.into(), limit: false }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.what)
    }
}

impl std::error::Error for Error {}

impl From<prlx_trace::Error> for Error {
    fn from(e: prlx_trace::Error) -> Error {
        Error::new(format!("at byte {}, {}", e.offset, e.field), e.what)
    }
}
