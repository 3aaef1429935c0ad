//! Optional lines of generated PTX: comments that become code where the assembler fails without them.
//!
//! # Invariants
//! - The code means the same with and without its optional lines.
//!
//! # Limitations
//! They cost time. An assembler that cannot be asked twice, as the driver's, always gets them as code.

/// What an optional line begins with.
pub const OPTIONAL: &str = "//prlx-optional ";

/// The text with its optional lines as code; `None` if it has none.
pub fn with_optional_lines(text: &str) -> Option<String> {
    text.contains(OPTIONAL).then(|| text.replace(OPTIONAL, ""))
}
