//! What can go wrong with a machine.

use std::fmt;

/// What went wrong, by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The module is not understood or does not assemble.
    Module,
    /// Something in the module is not supported by this device.
    Unsupported,
    /// No such kernel, module or allocation.
    NotFound,
    /// The machine itself: there is no driver or no device, or it failed.
    Device,
    /// Not enough memory.
    Memory,
    /// The launch's shape or parameters don't fit the kernel.
    Launch,
    /// The code faulted while it ran.
    Fault,
    /// The code did not end within the limit it was given, or waits for itself.
    Stuck,
    /// A launch file, or a file that it names.
    File,
    /// The recording could not be made or read back.
    Record,
}

/// An error of a driver or of recording: what, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// Kind.
    pub kind: ErrorKind,
    /// What happened, naming the place: file and line, instruction, field.
    pub message: String,
    /// What to do about it, where there is something.
    pub help: Option<String>,
}

impl Error {
    /// An error of a kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into(), help: None }
    }
    /// With advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Error {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
