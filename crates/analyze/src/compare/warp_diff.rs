//! EntryKind the comparison of one warp gives: data types.

use std::collections::BTreeMap;

use prlx_trace::{Lane, SiteId};

use crate::align::difference::{FindingKey, LaneFinding};
use crate::decode::VisitCounts;
use crate::error::Error;
use crate::report::HashInfo;

/// How one lane's comparison went.
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
    /// By lane that has it.
    pub lanes: Vec<(Lane, LaneFinding)>,
    pub hashes: Option<HashInfo>,
}

/// EntryKind one warp gave.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct WarpDiff {
    pub warp: u64,
    pub found: BTreeMap<FindingKey, WarpFinding>,
    /// By fate: same words, compared, truncated, failed.
    pub fates: [u64; 4],
    pub visits: [VisitCounts; 2],
    /// By side: visits that are not compared, by site.
    pub left: [BTreeMap<SiteId, u64>; 2],
    /// Values that differ, but were taken over other lanes.
    pub apart: u64,
    /// The first thing that went wrong.
    pub failure: Option<String>,
}

impl WarpDiff {
    pub fn add(&mut self, lane: Lane, found: BTreeMap<FindingKey, LaneFinding>) {
        for (key, f) in found {
            let entry = self.found.entry(key).or_insert(WarpFinding { lanes: Vec::new(), hashes: None });
            entry.lanes.push((lane, f));
        }
    }
    pub fn fate(&mut self, fate: LaneOutcome) {
        self.fates[fate as usize] += 1;
    }
    pub fn fail(&mut self, e: &Error) {
        self.failure.get_or_insert_with(|| e.to_string());
    }
}

pub(crate) fn add_counts(sum: &mut VisitCounts, c: VisitCounts) {
    sum.recorded += c.recorded;
    sum.computed += c.computed;
    sum.other += c.other;
}
