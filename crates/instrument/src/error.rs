//! Why a plan cannot be lowered, or why a rewritten text cannot be trusted.

use std::fmt;

use prlx_isa::view::Span;

/// Kinds of errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The module cannot carry a recorder: its target is too old, or its kernels launch kernels.
    Unsupported,
    /// The plan does not fit the module.
    Plan,
    /// The rewritten text breaks an invariant of [`crate::verify`]. This is a bug in this crate.
    Verify,
}

/// An error of the lowering or of the verifier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// Kind of the error.
    pub kind: ErrorKind,
    /// Position in the text that `message` is about: the original, or for [`ErrorKind::Verify`] the rewritten
    /// text. Empty at the begin: no position.
    pub span: Span,
    /// What is wrong, with the name of the function.
    pub message: String,
}

impl Error {
    /// Creates an error of this kind.
    pub fn new(kind: ErrorKind, span: Span, message: impl Into<String>) -> Error {
        Error { kind, span, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.span.end > 0 { write!(f, " (byte {})", self.span.start) } else { Ok(()) }
    }
}

impl std::error::Error for Error {}
