//! EntryKind all warps of a pair of launches share.

use std::collections::BTreeSet;

use prlx_trace::{FuncId, Lane, Launch, WarpId};

use crate::align::build_pair::BuildPair;
use crate::builds::canonical_form::CanonicalForm;
use crate::decode::{CheckedModule, DecodeLimits};

/// EntryKind all warps of a launch have in common.
pub(crate) struct Context<'a> {
    pub sides: BuildPair<'a>,
    pub launches: [&'a Launch; 2],
    /// By side: the kernel and the functions that it can call.
    pub reach: [&'a BTreeSet<FuncId>; 2],
    /// The programs that were recorded, and of these the same: the others, unless calls were inlined in those.
    pub recorded: [(&'a CheckedModule<'a>, &'a BTreeSet<FuncId>); 2],
    /// Equal words of a lane, or hashes, mean equal paths: the decode programs are the same, and so is all that they read.
    pub words_tell: bool,
    /// How both sides' sites are brought to one form; `None` if they have the same.
    pub canonical: Option<&'a [CanonicalForm; 2]>,
    pub limits: DecodeLimits,
}

impl Context<'_> {
    /// Whether warps of the sides have other numbers of lanes: then threads are compared, not lanes of warps.
    pub fn by_thread(&self) -> bool {
        self.launches[0].warp_size != self.launches[1].warp_size
    }
    /// B's warp and lane of the thread that is this warp's lane in A.
    pub fn partner(&self, warp: WarpId, lane: Lane) -> (WarpId, Lane) {
        let [own, other] = self.launches.map(|l| u64::from(l.warp_size.max(1)));
        let [per_cta, others] = self.launches.map(|l| l.warps_per_cta().max(1));
        let thread = (warp.0 % per_cta) * own + u64::from(lane.0);
        let warp = (warp.0 / per_cta).saturating_mul(others).saturating_add(thread / other);
        (WarpId(warp), Lane((thread % other) as u8))
    }
    /// B's warps that have this warp's threads, ascending.
    pub fn partners(&self, warp: WarpId) -> Vec<WarpId> {
        let mut all: Vec<WarpId> =
            self.launches[0].lanes(warp).lanes().map(|l| self.partner(warp, l).0).collect();
        all.dedup();
        all
    }
}
