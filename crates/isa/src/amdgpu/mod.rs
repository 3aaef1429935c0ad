//! AMD's instruction sets: the targets, the files that hold their machine code ([`object`]), its instructions
//! ([`inst`]), which of them must not follow each other closely ([`hazards`]), how the neutral view names its
//! registers ([`Register`]), and the reader of a code object into the view ([`read`]).
//!
//! # Limitations
//! - Other targets than those of [`Target`] are refused by name.

pub mod hazards;
pub mod inst;
pub mod object;
mod reader;
mod register;
mod target;

pub use self::reader::{INSTRUCTION_SET, UNREACHABLE, read};
pub use self::register::{Native, Register, RegisterMap};
pub use self::target::{ClockSource, Family, HardwareField, REALTIME, TIMER_CYCLES, TIMER_TICK, Target};
