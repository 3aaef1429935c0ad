//! What all warps of a pair of launches share.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use prlx_trace::{FuncId, Lane, Launch, WarpId};

use crate::align::build_pair::BuildPair;
use crate::builds::canonical_form::CanonicalForm;
use crate::builds::inlining::inline_all;
use crate::decode::{CheckedModule, DecodeLimits, lockstep};
use crate::report::{Lanes, Warps};

use super::known_lanes::KnownLanes;
use super::warp_diff::{CanonicalDiff, Compared};

/// What all warps of a pair of launches share.
pub(crate) struct Context<'a> {
    pub sides: BuildPair<'a>,
    pub launches: [&'a Launch; 2],
    /// By side: the kernel and the functions that it can call.
    pub reach: [&'a BTreeSet<FuncId>; 2],
    /// By side: the module as it was recorded, and the functions in reach. `sides` differs from it if calls
    /// were inlined.
    pub recorded: [(&'a CheckedModule<'a>, &'a BTreeSet<FuncId>); 2],
    /// Equal words or hashes of a lane imply equal paths: the decode programs and everything they read are
    /// equal.
    pub equal_words_suffice: bool,
    /// Both sides' mapping to the canonical form. `None` if their sites are the same.
    pub canonical: Option<&'a [CanonicalForm; 2]>,
    /// By side: the kernel's decode program for all lanes of a warp, made when it is needed; `None` if only
    /// the decoder of single lanes can run it.
    pub lockstep: [OnceLock<Option<lockstep::Program>>; 2],
    /// Warps that were compared all lanes at once, by a hash of all that their paths follow from.
    pub known_warps: KnownLanes<u64, lockstep::Lockstep>,
    /// Lanes whose trees were compared, by a hash of their paths and the steps that their decoders may take.
    pub known: KnownLanes<(u64, u64), Compared>,
    /// Lanes that were compared in the canonical form, by hashes of their paths.
    pub known_of_builds: KnownLanes<[u64; 2], CanonicalDiff>,
    /// Both sides have one decode program.
    pub same_program: bool,
    pub limits: DecodeLimits,
}

/// The warps and lanes of a pair of launches, of which none is compared yet: as many as the larger one has.
pub(super) fn totals(launches: [&Launch; 2]) -> (Warps, Lanes) {
    let [warps, lanes] = [Launch::warps, Launch::threads].map(|n| n(launches[0]).max(n(launches[1])));
    (Warps { total: warps, ..Warps::default() }, Lanes { total: lanes, ..Lanes::default() })
}

impl Context<'_> {
    /// Whether the sides' warps have different sizes. Then threads are compared instead of lanes.
    pub fn by_thread(&self) -> bool {
        self.launches[0].warp_size != self.launches[1].warp_size
    }
    /// The decode program for all lanes of a warp on both sides; `None` if the sides' kernels have different
    /// ones.
    pub fn lockstep(&self) -> Option<&lockstep::Program> {
        let usable = self.same_program
            && self.canonical.is_none()
            && self.launches[0].kernel == self.launches[1].kernel;
        usable.then(|| self.lockstep_of(0)).flatten()
    }
    /// A side's decode program for all lanes of a warp.
    pub fn lockstep_of(&self, side: usize) -> Option<&lockstep::Program> {
        let (checked, kernel) = (self.sides.programs[side], self.launches[side].kernel);
        let inlined = || {
            let made = inline_all(checked.module, kernel)?;
            lockstep::Program::of(&CheckedModule::inlined(&made.module, &made.recorded).ok()?, kernel)
        };
        self.lockstep[side].get_or_init(|| lockstep::Program::of(checked, kernel).or_else(inlined)).as_ref()
    }
    /// B's warp and lane of the thread that is this lane in A.
    pub fn partner(&self, warp: WarpId, lane: Lane) -> (WarpId, Lane) {
        let [own, other] = self.launches.map(|l| l.warp_size.lanes());
        let [per_cta, others] = self.launches.map(|l| l.warps_per_cta().max(1));
        let thread = (warp.0 % per_cta) * own + u64::from(lane.0);
        let warp = (warp.0 / per_cta).saturating_mul(others).saturating_add(thread / other);
        (WarpId(warp), Lane((thread % other) as u8))
    }
    /// B's warps that contain this warp's threads, ascending.
    pub fn partners(&self, warp: WarpId) -> Vec<WarpId> {
        let mut all: Vec<WarpId> =
            self.launches[0].lanes(warp).lanes().map(|l| self.partner(warp, l).0).collect();
        all.dedup();
        all
    }
}
