//! AMD's instruction sets: the targets, the files that hold their machine code ([`object`]), its instructions
//! ([`inst`]), and how the neutral view names its registers ([`Register`]).
//!
//! # Limitations
//! - Other targets than those of [`Target`] are refused by name.

pub mod inst;
pub mod object;
mod register;
mod target;

pub use self::register::{Native, Register, RegisterMap};
pub use self::target::{Family, Target};
