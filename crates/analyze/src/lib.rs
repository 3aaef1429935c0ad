//! Turns traces into reports: where two runs that should agree first differ, in which lanes, and why.
//!
//! The crate reads traces only: no modules, no devices. Each folder is a stage and uses only the folders
//! above it:
//!
//! | folder | in one sentence |
//! |---|---|
//! | [`report`] | what a comparison gives: plain data, with merging and gating |
//! | [`decode`] | one lane's path, from its recording |
//! | `launches` | which launches and processes match, and what differs outside of code |
//! | `builds` | which function, loop and site of one build is which of another |
//! | `align` | one lane's path as a tree, and where two trees differ |
//! | `compare` | all lanes of all launches, and the report |
//! | [`cause`] | from an output back to the first difference |
//! | [`outputs`] | outputs as numbers, with tolerances |
//! | [`view`] | what viewers show around a finding |
//! | [`runs`] | the outcomes of many runs of one launch or program |

mod accept;
mod align;
mod builds;
pub mod cause;
mod compare;
pub mod decode;
pub mod edit_script;
mod error;
mod glob;
mod launches;
pub mod outputs;
pub mod report;
pub mod runs;
pub mod value;
pub mod view;

pub use compare::{DiffOptions, Shard, attach_launch_operands, attach_operands, diff, operand_window};
pub use decode::{
    CheckedModule, DecodeLimits, DecodeOutcome, Decoder, LaneVisits, PathItem, VisitCounts, alu,
    complete_events, lane_visits,
};
pub use error::Error;
pub use launches::filter::Filter;
pub use launches::process_match::{ProcessMatch, match_processes};
pub use launches::{launch_match, survey};
pub use report::describe::site_info;
pub use report::{FindingKind, Report, Verdict, gate};
pub use view::path_view;
