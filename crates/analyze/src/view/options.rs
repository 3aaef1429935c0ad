//! How much of a path to show around a finding.

use crate::decode::DecodeLimits;

/// How much of a path to show around a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathViewOptions {
    /// The number of steps shown before the one that differs.
    pub before: usize,
    /// The number of steps shown from there on.
    pub after: usize,
    /// The largest number of cells in a lane's strip; at least 2.
    pub columns: usize,
    /// Bounds on the decoding of each lane.
    pub limits: DecodeLimits,
}

impl Default for PathViewOptions {
    fn default() -> Self {
        PathViewOptions { before: 24, after: 72, columns: 240, limits: DecodeLimits::default() }
    }
}
