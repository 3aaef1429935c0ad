//! From an image that the program loads to its PTX, and to the rewritten code that is loaded instead.

mod assembly;
pub mod replacement;
pub mod source;

pub use assembly::{assemble_own, tools};
pub use replacement::replacement;
