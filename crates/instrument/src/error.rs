//! Why a plan can't be lowered, or why a rewritten text is not to be trusted.

use std::fmt;

use prlx_isa::view::Span;

/// What went wrong, by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The module is of a kind that can't carry a recorder: too old a target, a kernel launched by a kernel.
    Unsupported,
    /// The plan does not fit the module.
    Plan,
    /// The rewritten text breaks an invariant of [`crate::verify`]: a fault of this crate.
    Verify,
}

/// An error of the engine: what, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// Kind.
    pub kind: ErrorKind,
    /// Where: bytes of the text that `message` speaks of (the original; for [`ErrorKind::Verify`] the rewritten one).
    pub span: Span,
    /// What is wrong, naming the function.
    pub message: String,
}

impl Error {
    /// An error of a kind.
    pub fn new(kind: ErrorKind, span: Span, message: impl Into<String>) -> Error {
        Error { kind, span, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {})", self.message, self.span.start)
    }
}

impl std::error::Error for Error {}
