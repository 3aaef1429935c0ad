//! What differs in one lane: data types.

use std::collections::BTreeMap;

use prlx_trace::{BlockId, FuncId, LaneMask, LoopId, SiteId};

use crate::report::FindingKind;

/// A loop around a place, with the trip on each side.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct TripPosition {
    /// The function and loop. They are A's numbers, unless only B has the loop (see `side`).
    pub function: FuncId,
    pub of: LoopId,
    pub side: usize,
    /// By side: the trip, from 0.
    pub trip: [u64; 2],
    /// By side: the number of trips.
    pub trips: [u64; 2],
}

/// A difference at one place of one lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Difference {
    pub kind: FindingKind,
    /// By side: the site, if there is one.
    pub sites: [Option<SiteId>; 2],
    /// By side: how often the lane had visited the site before.
    pub nth: [Option<u32>; 2],
    pub values: [u64; 2],
    pub masks: [LaneMask; 2],
    /// The number of A's visits before it, as far as the paths are aligned.
    pub position: u64,
    /// At level `events`: the clock when it happened, on the side that has it.
    pub clock: Option<u32>,
    /// The loops around it, outermost first.
    pub trips: Vec<TripPosition>,
    /// By side: visits, and whole trips, that only this side has.
    pub extra_visits: [u64; 2],
    pub extra_trips: [u64; 2],
    /// The block (side, function, block) for extra trips, or if no site is known.
    pub block: Option<(usize, FuncId, BlockId)>,
}

impl Difference {
    /// A difference without a place.
    pub fn new(kind: FindingKind) -> Difference {
        Difference {
            kind,
            sites: [None; 2],
            nth: [None; 2],
            values: [0; 2],
            masks: [LaneMask(0); 2],
            position: 0,
            clock: None,
            trips: Vec::new(),
            extra_visits: [0; 2],
            extra_trips: [0; 2],
            block: None,
        }
    }
}

/// Findings are merged by kind, common site number, and the side that has more.
pub(crate) type FindingKey = (FindingKind, u32, u8);

/// Equal differences of one lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LaneFinding {
    pub first: Difference,
    pub count: u64,
    /// How often A's decision was true and B's false, and the reverse.
    pub ways: [u64; 2],
    /// By side: visits that follow from it.
    pub follows: [u64; 2],
    /// Whether the lane first diverged here.
    pub root: bool,
}

/// Everything that differs in one lane.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LaneDiff {
    pub found: BTreeMap<FindingKey, LaneFinding>,
    /// One side's recording ended before the comparison did.
    pub cut: bool,
    /// The number of memory digests that differ, but cover other lanes on each side.
    pub incomparable: u64,
    /// By side and site: visits that differ where the match is uncertain.
    pub uncertain_visits: [BTreeMap<SiteId, u64>; 2],
}

impl LaneDiff {
    /// Turns findings into uncertain differences. Findings without a site stay findings.
    pub(super) fn make_uncertain(&mut self) {
        let (sites, rest) =
            std::mem::take(&mut self.found).into_iter().partition(|(_, f)| f.first.sites != [None; 2]);
        self.found = rest;
        let sites: BTreeMap<FindingKey, LaneFinding> = sites;
        for f in sites.into_values() {
            for (uncertain_visits, site) in self.uncertain_visits.iter_mut().zip(f.first.sites) {
                site.into_iter().for_each(|s| *uncertain_visits.entry(s).or_default() += f.count);
            }
        }
    }
}
