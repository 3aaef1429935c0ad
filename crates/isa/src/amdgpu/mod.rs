//! AMD's instruction sets: the targets.
//!
//! # Limitations
//! - Other targets than those of [`Target`] are refused by name.

pub mod inst;
mod target;

pub use self::target::{Family, Target};
