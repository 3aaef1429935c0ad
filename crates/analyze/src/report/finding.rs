//! A finding: a difference in what lanes did, with every warp and lane that has it.

use prlx_trace::{Dim3, LaneMask};

use super::evidence::{Operands, SliceNode};
use super::plain_data::data;
use super::source::{Location, SiteInfo};
use super::verdict::FindingKind;

data! {
    /// A difference in what lanes did, and all places that have it.
    struct Finding {
        /// What kind of difference it is.
        kind: FindingKind,
        /// By side: where in the code. Equal for one module; either may be missing.
        site: [Option<SiteInfo>; 2],
        /// Where it is when no site is: a block or a loop.
        place: Option<Location>,
        /// Side that has more, for extra events.
        side: Option<u8>,
        /// At the representative: the value on each side.
        values: Option<[u64; 2]>,
        /// How often the decision held on one side only: A's, B's.
        ways: [u64; 2],
        /// The warp shown: of those that part here, the one that parts earliest.
        warp: WarpPlace,
        /// Its lanes that differ at the same place as the lane shown.
        #[cfg_attr(feature = "serde", serde(with = "crate::report::json::hex"))]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        lanes: LaneMask,
        /// The lane shown: the first of them.
        lane: u8,
        /// By side: how often the lane shown had visited the site before.
        visit: [Option<u64>; 2],
        /// Visits of the lane shown before it, on side A.
        position: u64,
        /// Loops around it, outermost first, with the trip in which it is.
        trips: Vec<TripInfo>,
        /// Loop trips that only one side has, at the representative.
        extra_trips: [u64; 2],
        /// Visits that only one side has, at the representative.
        extra_visits: [u64; 2],
        /// For level `events`: who took part, by side.
        masks: Option<[Mask; 2]>,
        /// For level `print`: which hashes differ, and where.
        hashes: Option<HashInfo>,
        /// Lanes that first part here. 0: only lanes that had parted before have it.
        roots: u64,
        /// All lanes that have it, over all warps.
        lanes_total: u64,
        /// All visits that have it.
        count: u64,
        /// By side: visits that only that side has because of it.
        follows: [u64; 2],
        /// The warps that have it, ascending; at most [`crate::DiffOptions::warps`].
        warps: Vec<WarpHit>,
        /// How many there are.
        warps_total: u64,
        /// Both sides' operands at the visit shown, where they were recorded.
        operands: Option<Operands>,
        /// The slice of its value: how it came about, by side A's code.
        slice: Vec<SliceNode>,
        /// By lane of the warp shown: where each lane is at this point, for a second recording.
        at: Vec<LaneAt>,
    }
    /// The visit that one lane of the representative warp makes of the finding's site.
    struct LaneAt {
        /// The lane in its warp.
        lane: u8,
        /// By side: how often it had visited the site before.
        visit: [u64; 2],
        /// Whether it has the finding.
        differs: bool,
        /// B's warp and lane of the same thread, if warps have another number of lanes there; else they are
        /// the same.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
        thread: Option<[u64; 2]>,
    }
    /// A lane mask that is written in hexadecimal.
    struct Mask {
        /// The lanes, one bit each.
        #[cfg_attr(feature = "serde", serde(with = "crate::report::json::hex"))]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        lanes: LaneMask,
    }
    /// What fingerprints say.
    struct HashInfo {
        /// Which differ: control, loaded values, stored values, synchronisation.
        differ: [bool; 4],
        /// The first checkpoint that differs; `None`: it lies after the last, or there are none.
        checkpoint: Option<u64>,
        /// By side: how many checkpoints there are.
        checkpoints: [u64; 2],
    }
    /// A warp's place.
    struct WarpPlace {
        /// Number in the grid.
        warp: u64,
        /// Its CTA's number.
        cta: u64,
        /// Its CTA's position.
        #[cfg_attr(feature = "serde", serde(with = "crate::report::json::dim"))]
        #[cfg_attr(feature = "schema", schemars(with = "[u32; 3]"))]
        at: Dim3,
        /// Number in its CTA.
        in_cta: u64,
    }
    /// One warp that has a finding.
    struct WarpHit {
        /// Number in the grid.
        warp: u64,
        /// Its CTA's number.
        cta: u64,
        /// Number in its CTA.
        in_cta: u64,
        /// Lanes that have it.
        #[cfg_attr(feature = "serde", serde(with = "crate::report::json::hex"))]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        lanes: LaneMask,
        /// Lanes that first part here.
        #[cfg_attr(feature = "serde", serde(with = "crate::report::json::hex"))]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        roots: LaneMask,
        /// The smallest number of visits of the site before it, over these lanes.
        visit: Option<u64>,
        /// Visits that have it.
        count: u64,
    }
    /// A loop around a place.
    struct TripInfo {
        /// Where the loop is.
        location: Option<Location>,
        /// By side: which trip, from 0.
        trip: [u64; 2],
        /// By side: of how many.
        trips: [u64; 2],
    }
}

impl Finding {
    /// The site to show: A's, or B's if only B has the finding.
    pub fn shown(&self) -> Option<&SiteInfo> {
        let [a, b] = &self.site;
        match self.side {
            Some(1) => b.as_ref().or(a.as_ref()),
            _ => a.as_ref().or(b.as_ref()),
        }
    }
    /// The source location to show.
    pub fn location(&self) -> Option<&Location> {
        self.shown().and_then(|s| s.location.as_ref()).or(self.place.as_ref())
    }
}
