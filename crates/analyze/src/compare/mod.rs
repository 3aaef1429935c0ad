//! Compares two recordings: launches in pairs, warps lane by lane, and equal findings merged into a report.

mod canonical_lanes;
mod cluster;
mod comparison;
pub(crate) mod context;
mod converged;
mod events;
mod fingerprints;
mod known_lanes;
mod lane_trees;
mod launch_hashes;
mod launch_pair;
mod launch_selection;
mod launch_streams;
pub(crate) mod module_cache;
mod operand_evidence;
mod operand_records;
mod options;
mod paths;
mod recorded_outputs;
mod warp_diff;
mod warps;

pub use comparison::diff;
pub(crate) use lane_trees::lane_trees;
pub(crate) use launch_selection::at_number;
pub use operand_evidence::{attach_launch_operands, attach_operands, operand_window};
pub use options::{DiffOptions, Shard};
