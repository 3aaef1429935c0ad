//! Decodes a warp of both sides together, all lanes at once, to find the lanes whose paths are equal.
//!
//! [`Program`] is the decode program of a kernel in a form that runs on the planes of `prlx-lanes`.
//! [`WarpPair`] runs it on both sides in step. It keeps nothing of the paths: a lane whose sides disagree in
//! a decision leaves, and the comparison of lanes looks at it again. [`path_hashes`] runs one side alone, of
//! two that have other programs.
//!
//! # Invariants
//! - A lane counts as equal only if both sides visited the same sites with the same values, and ended where
//!   their recordings end.
//! - Whatever is odd (a recording that ends early, a lane that is only on one side, more steps than allowed)
//!   is left to the decoder of single lanes, which says what is wrong.
//!
//! # Limitations
//! - Calls of recorded functions must be inlined before. Kernels with others are left to the decoder of
//!   single lanes.

mod ops;
mod program;
mod warp;

pub(crate) use program::Program;
pub(crate) use warp::{Lockstep, WarpPair, path_hashes};
