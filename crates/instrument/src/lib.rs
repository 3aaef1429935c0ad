//! The engine: a plan becomes edits of the source text. Code that it does not touch stays byte-identical.

mod edit;
mod error;
mod ptx;
mod text;
pub use edit::{Edit, apply};
pub use error::{Error, ErrorKind};
pub use ptx::ptx;
