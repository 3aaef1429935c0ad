//! The outcome of `prlx assert` as text, JSON, JUnit XML and GitHub annotations.
//!
//! # Invariants
//! - A name from a trace cannot end an XML element or start a workflow command.
//! - No times are written: the same input gives the same bytes.

mod github;
mod item;
mod json;
mod junit;
#[cfg(test)]
mod tests;
mod text;

pub use github::github;
pub use json::gate_json;
pub use junit::junit;
pub use text::gate;
