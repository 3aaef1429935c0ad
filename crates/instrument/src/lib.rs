//! The engine: a plan becomes edits of the source text. Code that it does not touch stays byte-identical.

mod edit;
pub use edit::{Edit, apply};
