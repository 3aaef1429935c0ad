//! The error that the verifier returns.

use crate::error::{Error, ErrorKind};
use crate::tokens::span;

/// A fault at an offset of the rewritten text.
pub(super) fn wrong(at: usize, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Verify, span(at, at), message)
}
