//! Turns traces into reports: where two runs that were meant to agree first part, in which lanes, and why.
//!
//! It sees only traces. [`decode`] gives a lane's path; `tree` its shape (execution index, Merkle hashes); `align` puts
//! two sequences side by side and `diverge` two shapes; `warp`, `cluster` and `diff` do so for all lanes of all launches;
//! [`report`] is what comes of it. `pair`
//! (with `lines` and `mangled`) says which site of one build is which of another, `order` which launch, and
//! `processes` which process; `filter` leaves out what the user does not want; builds that do not have the same sites are brought to one form by `fold` (with `copies`, `flow`, `meaning`, and
//! `doubt` of what is not sure; a lane's path in that form: `folded`; calls that only one of them inlined: `inline`), and what they do not have in common is `uncompared`; `operands` takes the second look at a finding; [`survey`] counts what recordings hold. [`look`](mod@look) is what viewers show around a finding.

pub mod align;
pub mod alu;
mod cluster;
mod copies;
pub mod decode;
mod derive;
mod describe;
mod diff;
mod diverge;
mod doubt;
mod error;
mod filter;
mod flow;
mod fold;
mod folded;
pub mod gate;
mod inline;
mod launch;
mod lines;
pub mod look;
mod mangled;
mod meaning;
mod merge;
mod operands;
pub mod order;
mod outcome;
mod pair;
mod processes;
mod program;
pub mod report;
pub mod runs;
mod shared;
mod streams;
pub mod survey;
mod tree;
mod uncompared;
pub mod value;
mod warp;
#[cfg(feature = "serde")]
mod words;

pub use decode::{Decoder, Item, LaneVisits, Limits, Outcome, lane_visits};
pub use derive::whole;
pub use describe::site as site_info;
pub use diff::{DiffOptions, Shard, diff};
pub use error::Error;
pub use filter::Filter;
pub use look::look;
pub use operands::{attach_operands, attach_to_launch, window_for};
pub use processes::{Matching, pair_processes};
pub use program::Program;
pub use report::{Kind, Report, Verdict};
