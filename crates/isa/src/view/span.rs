//! Byte ranges of the source text, and diagnostics that point at them.

use std::fmt;
use std::ops::Range;

/// A byte range of the source text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset one past the last byte.
    pub end: u32,
}

impl Span {
    /// The range, for slicing.
    pub const fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
    /// The text of the range; empty if the range does not lie in `source`.
    pub fn of(self, source: &str) -> &str {
        source.get(self.range()).unwrap_or_default()
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// A remark of the reader about the source. It never stops the reading.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// The text that the remark is about.
    pub span: Span,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Whether every assembler refuses the module for it. What a later version may bring is only a remark.
    pub invalid: bool,
}
