//! How much of a path to show.

use crate::decode::DecodeLimits;

/// How much to show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathViewOptions {
    /// Steps of the lane shown, before the one at which it differs.
    pub before: usize,
    /// Steps from there on.
    pub after: usize,
    /// Columns of the map of lanes, at most; at least 2.
    pub columns: usize,
    /// EntryKind decoding one lane may cost.
    pub limits: DecodeLimits,
}

impl Default for PathViewOptions {
    fn default() -> Self {
        PathViewOptions { before: 24, after: 72, columns: 240, limits: DecodeLimits::default() }
    }
}
