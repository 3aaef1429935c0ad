//! Optional lines of generated PTX: comments that become code where the assembler fails without them.
//!
//! # Invariants
//! - The code means the same with and without its optional lines.

/// What an optional line begins with.
pub const OPTIONAL: &str = "//prlx-optional ";

/// The text with its optional lines as code; `None` if it has none.
pub fn with_optional_lines(text: &str) -> Option<String> {
    text.contains(OPTIONAL).then(|| text.replace(OPTIONAL, ""))
}
