//! Byte ranges of the source text, and diagnostics that point at them.

use std::fmt;
use std::ops::Range;

/// Bytes of the source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last.
    pub end: u32,
}

impl Span {
    /// As a range for slicing.
    pub const fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
    /// The text it spans; empty if it does not lie in `source`.
    pub fn of(self, source: &str) -> &str {
        source.get(self.range()).unwrap_or_default()
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// Something that a reader wants to say about the source; never a reason to stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Where.
    pub span: Span,
    /// What.
    pub message: String,
}
