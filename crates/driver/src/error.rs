//! The error type of drivers and of recording.

use std::fmt;

/// The kind of an error: where the cause lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The module is not understood or does not assemble.
    Module,
    /// The device does not support something that the module or the launch uses.
    Unsupported,
    /// The named kernel, module or allocation does not exist.
    NotFound,
    /// The device or its driver is missing, or it failed.
    Device,
    /// The device or the host has not enough memory.
    Memory,
    /// The launch's shape or parameters do not fit the kernel.
    Launch,
    /// The kernel faulted while it ran.
    Fault,
    /// The kernel did not end within its time limit, or it is deadlocked.
    Stuck,
    /// The caller ended the launch.
    Cancelled,
    /// A launch file, or a file that it names, is missing or wrong.
    File,
    /// The recording could not be made or read back.
    Record,
}

/// An error of a driver or of recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// Where the cause lies.
    pub kind: ErrorKind,
    /// What happened, and where: file and line, instruction, field.
    pub message: String,
    /// What the user can do about it, if anything is known.
    pub help: Option<String>,
}

impl Error {
    /// An error of a kind, without advice.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into(), help: None }
    }
    /// Adds advice for the user.
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
