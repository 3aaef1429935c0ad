//! A report as text for a terminal.

mod finding;
mod report;

pub use report::text;
