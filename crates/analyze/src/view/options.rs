//! How much of a path to show.

use crate::decode::Limits;

/// How much to show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LookOptions {
    /// Steps of the lane shown, before the one at which it differs.
    pub before: usize,
    /// Steps from there on.
    pub after: usize,
    /// Columns of the map of lanes, at most; at least 2.
    pub columns: usize,
    /// What decoding one lane may cost.
    pub limits: Limits,
}

impl Default for LookOptions {
    fn default() -> Self {
        LookOptions { before: 24, after: 72, columns: 240, limits: Limits::default() }
    }
}
