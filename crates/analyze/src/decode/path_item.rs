//! What decoding a lane gives: the items of its path, how its recording ended, and how many visits came from where.

use prlx_trace::{BlockId, FuncId, LaneMask, LoopId, SiteId};

/// Entries of one lane, at most.
pub(crate) const MAX_ENTRIES: usize = 1 << 25;

/// What a lane did next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathItem {
    /// It visited a site.
    Visit {
        /// Which.
        site: SiteId,
        /// A decision's value; at level `events`, what the event says of this lane; else 0.
        value: u64,
        /// The lanes that were there with it, where the stream says (level `events`); else none: see [`crate::whole`].
        mask: LaneMask,
    },
    /// If asked for: it passed a site without visiting it, for its guard did not hold.
    Skipped(SiteId),
    /// If asked for: it passed a barrier, of which there is no event, with all of its warp.
    Barrier(SiteId),
    /// It entered a loop: its first trip begins.
    Enter(LoopId),
    /// The next trip of the innermost open loop begins.
    Trip(LoopId),
    /// It left the innermost open loop.
    Leave(LoopId),
    /// It called a function.
    Call(FuncId),
    /// It came back.
    Return,
    /// It left `block` where ways part.
    Branch {
        /// Which block's end.
        block: BlockId,
        /// Which way: the predicate, or the index.
        to: u32,
    },
    /// It arrived where paths that parted before meet again at the latest.
    Join(BlockId),
    /// It arrived at a block, after it left and entered loops on the way ([`Decoder::with_blocks`]).
    At(BlockId),
}

/// How a lane's stream ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeOutcome {
    /// Not yet.
    Running,
    /// The lane returned or exited.
    Ended,
    /// The recording ends before the lane does.
    Truncated,
}

/// What decoding one lane may cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecodeLimits {
    /// Steps and block ends.
    pub steps: u64,
    /// Open calls.
    pub depth: usize,
    /// Registers of all open calls.
    pub slots: usize,
}

impl Default for DecodeLimits {
    fn default() -> Self {
        DecodeLimits { steps: 1 << 30, depth: 1 << 10, slots: 1 << 22 }
    }
}

/// How many visits came from where.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VisitCounts {
    /// Decisions read from recorded bits, counts or events.
    pub recorded: u64,
    /// Decisions evaluated again.
    pub computed: u64,
    /// Visits of sites that are no decisions.
    pub other: u64,
}
