//! Turns traces into reports: where two runs that were meant to agree first part, in which lanes, and why.
//!
//! It sees only traces. One line: [`decode`] gives a lane's path; `tree` gives it its shape (execution index, Merkle
//! hashes); `align` puts two shapes side by side; `diverge` names what differs; [`report`](crate) is what a person or a
//! program is told.

pub mod alu;
pub mod decode;
mod error;
mod program;

pub use decode::{Decoder, Item, LaneVisits, Limits, Outcome, lane_visits};
pub use error::Error;
pub use program::Program;
