//! What decoding a lane yields: the items of its path, how it ended, and the sources of its visits.

use std::ops::AddAssign;

use prlx_trace::{BlockId, FuncId, LaneMask, LoopId, SiteId};

/// The largest number of entries of one lane.
pub(crate) const MAX_ENTRIES: usize = 1 << 25;

/// Steps of all warps of a launch whose lanes are decoded together.
const WARP_STEPS: u64 = 1 << 30;

/// One step of a lane's path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathItem {
    /// The lane visited a site.
    Visit {
        /// The site that was visited.
        site: SiteId,
        /// A decision's value; at level `events`, the event's value for this lane; otherwise 0.
        value: u64,
        /// The lanes that took part, at level `events` if the visit has an event; otherwise empty. See
        /// [`crate::complete_events`].
        mask: LaneMask,
    },
    /// On request: the lane passed a site whose guard was off.
    Skipped(SiteId),
    /// On request: the lane passed a barrier of its whole warp that has no event.
    Barrier(SiteId),
    /// The lane entered a loop; its first trip begins.
    Enter(LoopId),
    /// The next trip of the innermost open loop begins.
    Trip(LoopId),
    /// The lane left the innermost open loop.
    Leave(LoopId),
    /// The lane called a function.
    Call(FuncId),
    /// The lane returned from the innermost call.
    Return,
    /// The lane left a block that has several successors.
    Branch {
        /// The block that was left.
        block: BlockId,
        /// The successor taken: the predicate's value, or the index of a switch.
        to: u32,
    },
    /// The lane arrived at the immediate post-dominator of an earlier branch.
    Join(BlockId),
    /// The lane arrived at a block, after leaving and entering loops on the way; see
    /// [`crate::Decoder::with_blocks`].
    At(BlockId),
}

/// How the decoding of a lane ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeOutcome {
    /// The lane has more items.
    Running,
    /// The lane returned or exited.
    Ended,
    /// The recording ends before the lane does.
    Truncated,
}

/// Bounds on the work of decoding one lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecodeLimits {
    /// The largest number of steps and block ends of a lane that recorded nothing.
    pub steps: u64,
    /// How many more are allowed for each word or event that was recorded.
    pub steps_per_word: u64,
    /// The largest number of steps of a warp whose lanes are decoded together, and of its lanes that differ.
    pub warp_steps: u64,
    /// The largest number of open calls.
    pub depth: usize,
    /// The largest number of decoder registers in all open calls.
    pub slots: usize,
}

impl Default for DecodeLimits {
    fn default() -> Self {
        DecodeLimits {
            steps: 1 << 25,
            steps_per_word: 1 << 12,
            warp_steps: 1 << 27,
            depth: 1 << 10,
            slots: 1 << 22,
        }
    }
}

impl DecodeLimits {
    /// The limits of a lane if a launch of so many warps is decoded. All warps together then take bounded
    /// work, and what a warp may take does not depend on the others.
    pub(crate) fn shared_by(self, warps: u64) -> DecodeLimits {
        let share = |all: u64| (all / warps.max(1)).max(1 << 18);
        let warp_steps = self.warp_steps.min(share(WARP_STEPS));
        DecodeLimits { steps: self.steps.min(share(1 << 27)), warp_steps, ..self }
    }
}

/// How many visits came from which source.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VisitCounts {
    /// Decisions read from recorded bits, counts or events.
    pub recorded: u64,
    /// Decisions that were computed.
    pub computed: u64,
    /// Visits of sites that are not decisions.
    pub other: u64,
}

impl AddAssign for VisitCounts {
    fn add_assign(&mut self, more: VisitCounts) {
        self.recorded = self.recorded.saturating_add(more.recorded);
        self.computed = self.computed.saturating_add(more.computed);
        self.other = self.other.saturating_add(more.other);
    }
}
