//! Turns the PTX of a module into the code that is loaded in its place.

mod assembly;
pub mod replacement;
pub mod source;

pub use assembly::{own, tools};
pub use replacement::replacement;
