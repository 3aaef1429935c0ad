//! What a comparison found: plain data, the same bytes for the same inputs.
//!
//! Everything here is public and serialisable (feature `serde`).
//!
//! # Invariants
//! A side is an index, 0 for A and 1 for B, in every array of two. Findings of a launch are sorted: those at
//! which lanes first diverge come first, by how early that was. Findings that occur only in lanes that had
//! diverged before come after them. Sums add up: [`Warps::total`] and [`Lanes::total`] are the sums of their
//! other fields. Field names are keys of the JSON format and do not change.

mod cause;
mod comparison;
mod coverage;
pub(crate) mod describe;
mod evidence;
mod finding;
pub mod gate;
#[cfg(feature = "serde")]
mod json;
mod launch;
mod merge;
mod output;
mod path_view;
mod plain_data;
mod source;
mod tolerance;
mod verdict;

pub use cause::{Cause, CauseClass, CausePlace, CauseStep, ORDER_ADVICE};
pub use comparison::{FoldedLaunches, ProcessPair, Report, UnmatchedLaunch, UnmatchedProcess};
pub use coverage::{Coverage, Elements, Lanes, Sites, Visits, Warps};
pub use evidence::{OperandCell, OperandColumn, OperandRow, Operands, SliceNode};
pub use finding::{Finding, HashInfo, LaneAt, Mask, TripInfo, WarpHit, WarpPlace};
pub use launch::{
    CHANGED_ALIKE, DECIDED_AS_OTHERS, Differing, Fault, HASHED_FOR_ROOM, LaunchDifference, LaunchReport,
    NOTES_OF_SAME, OTHER_NAMES, UNRECORDED, Uncompared,
};
pub use output::{DifferenceMap, ElementDifference, Output, place};
pub use path_view::{AlignedStep, LaneRow, OpenScope, PathView, Scope, StepMatch};
pub use source::{Location, SiteInfo, SteeredInfo};
pub use tolerance::Tolerance;
pub use verdict::{FindingKind, LaunchPart, Verdict, WhyUncompared};
