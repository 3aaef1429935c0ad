//! Errors in a recording's bytes.

use std::fmt;

/// Why bytes are not a recording, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// Byte offset in the file (or in the unpacked frame that `what` names).
    pub offset: u64,
    /// The field that was being read, as `Module.sites[3].class`.
    pub field: String,
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}, {}: {}", self.offset, self.field, self.what)
    }
}

impl std::error::Error for Error {}
