//! The error of decoding and of executing one instruction, before its place is known.
//!
//! Functions below the decoder and the interpreter return an [`EmuError`]. Their caller knows the instruction
//! and the lane, and makes a [`Fault`](crate::exec::fault::Fault), a finding of a check, a
//! [`Refusal`](crate::Refusal) or an error of the driver of it.

use std::fmt;

/// Why the device cannot run a kernel, or why an instruction of it is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EmuError {
    /// The device does not support an instruction: what is missing, as a sentence about "it".
    Unsupported(String),
    /// No device runs an instruction, because the assembler refuses it: the reason.
    InvalidCode(String),
    /// A kernel needs more of something than the device has, as a sentence that names the kernel.
    Limit(String),
    /// An instruction is given operands or memory that it cannot use: the end of a sentence whose subject is
    /// the instruction.
    Invalid(String),
}

/// Makes an [`EmuError::Unsupported`].
#[cold]
pub fn unsupported(why: impl Into<String>) -> EmuError {
    EmuError::Unsupported(why.into())
}

/// Makes an [`EmuError::Invalid`].
#[cold]
pub fn invalid(why: impl Into<String>) -> EmuError {
    EmuError::Invalid(why.into())
}

impl fmt::Display for EmuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EmuError::InvalidCode(text) => write!(f, "this is not valid PTX: {text}"),
            EmuError::Unsupported(text) | EmuError::Limit(text) | EmuError::Invalid(text) => {
                f.write_str(text)
            }
        }
    }
}

impl std::error::Error for EmuError {}

impl From<EmuError> for String {
    fn from(error: EmuError) -> String {
        error.to_string()
    }
}
