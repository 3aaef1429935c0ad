//! AMD's instruction sets: the targets, and the files that hold their machine code ([`object`]).
//!
//! # Limitations
//! - Other targets than those of [`Target`] are refused by name.

pub mod object;
mod target;

pub use self::target::{Family, Target};
