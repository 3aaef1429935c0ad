//! What the comparison of one warp gives: data types.

use std::collections::BTreeMap;

use prlx_trace::{Lane, SiteId};

use crate::align::difference::{FindingKey, LaneDiff, LaneFinding};
use crate::decode::VisitCounts;
use crate::error::Error;
use crate::report::HashInfo;

/// How the comparison of one lane ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LaneOutcome {
    SameWords,
    Compared,
    Truncated,
    Failed,
}

/// One finding of a warp.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct WarpFinding {
    /// The lanes that have it.
    pub lanes: Vec<(Lane, LaneFinding)>,
    pub hashes: Option<HashInfo>,
}

/// What the comparison of one warp gives.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct WarpDiff {
    pub warp: u64,
    pub found: BTreeMap<FindingKey, WarpFinding>,
    /// The number of lanes by [`LaneOutcome`].
    pub outcomes: [u64; 4],
    pub visits: [VisitCounts; 2],
    /// By side and site: visits that are not compared.
    pub uncompared: [BTreeMap<SiteId, u64>; 2],
    /// The number of memory digests that differ, but cover other lanes on each side.
    pub incomparable: u64,
    /// The first error.
    pub failure: Option<String>,
    /// A lane exhausted its limit, which costs as much as a whole warp may. Other lanes would as well, so
    /// they are not tried.
    pub gave_up: bool,
}

/// What the comparison of a lane of two builds gives.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct CanonicalDiff {
    pub visits: [VisitCounts; 2],
    /// By side and site: visits that are not compared.
    pub uncompared: [BTreeMap<SiteId, u64>; 2],
    pub incomparable: u64,
    pub found: BTreeMap<FindingKey, LaneFinding>,
    pub outcome: LaneOutcome,
}

/// What differs in a lane of one build, and the visits of both sides.
pub(crate) type Compared = (LaneDiff, [VisitCounts; 2]);

impl WarpDiff {
    pub fn add(&mut self, lane: Lane, found: BTreeMap<FindingKey, LaneFinding>) {
        for (key, f) in found {
            let entry = self.found.entry(key).or_insert(WarpFinding { lanes: Vec::new(), hashes: None });
            entry.lanes.push((lane, f));
        }
    }
    /// Adds all of a lane of two builds but its outcome.
    pub fn add_canonical(&mut self, lane: Lane, diff: &CanonicalDiff) {
        for side in 0..2 {
            self.visits[side] += diff.visits[side];
            for (site, n) in &diff.uncompared[side] {
                *self.uncompared[side].entry(*site).or_default() += n;
            }
        }
        self.incomparable += diff.incomparable;
        self.add(lane, diff.found.clone());
    }
    pub fn count(&mut self, outcome: LaneOutcome) {
        self.outcomes[outcome as usize] += 1;
    }
    /// A lane cannot be compared.
    pub fn fail(&mut self, e: &Error) {
        self.failure.get_or_insert_with(|| e.to_string());
        self.gave_up |= e.limit;
        self.count(LaneOutcome::Failed);
    }
}
