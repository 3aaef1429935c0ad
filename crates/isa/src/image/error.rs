//! Why a file with kernels cannot be read.

use std::fmt;

/// Why a file with kernels cannot be read, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// Offset in the file, bytes; 0 also for the file as a whole.
    pub at: u64,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            0 => f.write_str(&self.what),
            at => write!(f, "{} (at byte {at})", self.what),
        }
    }
}

impl std::error::Error for Error {}
