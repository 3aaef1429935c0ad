//! A report as text for a terminal.

mod cause;
mod finding;
mod output;
mod report;

pub use report::text;
