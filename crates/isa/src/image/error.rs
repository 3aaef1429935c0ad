//! Why a file with kernels cannot be read.

use std::fmt;

/// What is wrong with a file, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// Bytes from the file's beginning; 0 also for the file as a whole.
    pub at: u64,
    /// What.
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
