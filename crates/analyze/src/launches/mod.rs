//! Launches and processes as wholes: which match, what differs outside of code, and what was not seen.

pub(crate) mod culprit;
pub(crate) mod differences;
pub(crate) mod filter;
pub(crate) mod gaps;
pub(crate) mod kernel_names;
pub mod launch_match;
pub(crate) mod order;
pub(crate) mod process_match;
pub(crate) mod repeats;
pub mod survey;
