//! AMD's instruction sets: the targets, the files that hold their machine code ([`object`]), and its
//! instructions ([`inst`]).
//!
//! # Limitations
//! - Other targets than those of [`Target`] are refused by name.

pub mod inst;
pub mod object;
mod target;

pub use self::target::{Family, Target};
