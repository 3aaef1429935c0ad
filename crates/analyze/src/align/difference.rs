//! EntryKind differs in one lane: data types.

use std::collections::BTreeMap;

use prlx_trace::{BlockId, FuncId, LaneMask, LoopId, SiteId};

use crate::report::FindingKind;

/// A loop trip that a place is in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct TripPosition {
    /// Function and loop, and whose numbers these are: A's, unless only B has the loop.
    pub function: FuncId,
    pub of: LoopId,
    pub side: usize,
    /// Which trip, by side.
    pub trip: [u64; 2],
    /// Of how many.
    pub trips: [u64; 2],
}

/// A difference at one place of one lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Difference {
    pub kind: FindingKind,
    /// By side: the site, if it has one there.
    pub sites: [Option<SiteId>; 2],
    /// By side: how often the lane had visited that site.
    pub nth: [Option<u32>; 2],
    pub values: [u64; 2],
    pub masks: [LaneMask; 2],
    /// Visits of side A before it (as far as they are aligned).
    pub position: u64,
    /// Loops that it is in, outermost first.
    pub trips: Vec<TripPosition>,
    /// Visits, and whole trips, that only one side has.
    pub extra_visits: [u64; 2],
    pub extra_trips: [u64; 2],
    /// For extra trips, or where no site is known: where it is.
    pub block: Option<(usize, FuncId, BlockId)>,
}

impl Difference {
    /// One at no place in particular.
    pub fn new(kind: FindingKind) -> Difference {
        Difference {
            kind,
            sites: [None; 2],
            nth: [None; 2],
            values: [0; 2],
            masks: [LaneMask(0); 2],
            position: 0,
            trips: Vec::new(),
            extra_visits: [0; 2],
            extra_trips: [0; 2],
            block: None,
        }
    }
}

/// EntryKind findings are put together by: kind, common site, side that has more.
pub(crate) type FindingKey = (FindingKind, u32, u8);

/// Equal differences of one lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LaneFinding {
    pub first: Difference,
    pub count: u64,
    /// Of decisions with two values: how often A's was true and B's false, and the other way round.
    pub ways: [u64; 2],
    /// Visits by side that follow.
    pub follows: [u64; 2],
    /// Whether the lane first parted here.
    pub root: bool,
}

/// Everything that differs in one lane.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LaneDiff {
    pub found: BTreeMap<FindingKey, LaneFinding>,
    /// A side's recording ended before the comparison did.
    pub cut: bool,
    /// Values that differ, but were taken over other lanes.
    pub apart: u64,
    /// By side: visits that are not the same, of what may not be the same, by site.
    pub doubted: [BTreeMap<SiteId, u64>; 2],
}

impl LaneDiff {
    /// Keeps what was found as doubts. EntryKind is at no site stays: a doubt needs one.
    pub(super) fn doubt_all(&mut self) {
        let (sites, rest) =
            std::mem::take(&mut self.found).into_iter().partition(|(_, f)| f.first.sites != [None; 2]);
        self.found = rest;
        let sites: BTreeMap<FindingKey, LaneFinding> = sites;
        for f in sites.into_values() {
            for (doubted, site) in self.doubted.iter_mut().zip(f.first.sites) {
                site.into_iter().for_each(|s| *doubted.entry(s).or_default() += f.count);
            }
        }
    }
}
