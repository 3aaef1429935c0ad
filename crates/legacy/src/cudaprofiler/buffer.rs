//! A decoded buffer: lanes with their events, and what was repaired.

use std::collections::BTreeMap;

use prlx_trace::Nanos;

/// The profiler that wrote a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// The layout of TVM's profiler, and of FlashInfer's before it recorded SMs.
    #[default]
    CudaProfiler,
    /// The layout of FlashInfer's profiler.
    FlashInfer,
}

/// Type of an event, as in the tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A region begins.
    Begin,
    /// The region ends.
    End,
    /// A moment in time, without duration.
    Instant,
}

/// One decoded word of a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Time of the global timer, unwrapped; the lowest 32 bits are as written.
    pub nanos: Nanos,
    /// Number of the region: an index into the user's event names.
    pub id: u16,
    /// Type of the event.
    pub kind: Kind,
}

/// The events of one group of one CTA.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lane {
    /// Number of the lane: `block * groups + group`.
    pub number: u32,
    /// The SM, if the buffer records it.
    pub sm: Option<u32>,
    /// Events of the lane, in order of time.
    pub events: Vec<Event>,
    /// When the lane finalized. `None` if it never did.
    pub end: Option<Nanos>,
    /// Number of lost events. It is a lower bound if the lane wrote past the end of the buffer.
    pub lost: u64,
}

/// The contents of a buffer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Buffer {
    /// Number of CTAs of the grid.
    pub blocks: u32,
    /// Number of groups of a CTA.
    pub groups: u32,
    /// Lanes with events, in ascending order.
    pub lanes: Vec<Lane>,
    /// Repairs and losses, with their numbers.
    pub repairs: BTreeMap<Repair, u64>,
}

/// A defect of a buffer that was repaired, or whose words were dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Repair {
    /// The header was never written.
    Header,
    /// The low half of the timer wrapped around.
    Wrap,
    /// A word that an earlier launch wrote.
    Stale,
    /// The word of a begin was 0, as in an empty slot.
    ZeroWord,
    /// An empty slot between two words of a lane.
    Hole,
    /// The lane wrote past the end of the buffer.
    Truncated,
    /// The lane never finalized.
    Unfinished,
    /// The tag does not distinguish the groups.
    Groups,
    /// The number of the CTA overflowed into the field of the SM.
    Carry,
}

impl Repair {
    /// Name for scripts, and explanation for users.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Repair::Header => ("header", "the header was never written: blocks and groups are as given"),
            Repair::Wrap => ("wrap", "turns of the 32-bit timer were undone, lane by lane"),
            Repair::Stale => {
                ("stale", "words of an earlier launch (the buffer was not zeroed) were left out")
            }
            Repair::ZeroWord => {
                ("zero-word", "begins of event 0 whose word was 0, as that of an empty slot, were put back")
            }
            Repair::Hole => ("hole", "slots are empty between two of their lane"),
            Repair::Truncated => (
                "truncated",
                "lanes ran past the end of the buffer: it is too small, and what lay behind it was overwritten",
            ),
            Repair::Unfinished => {
                ("unfinished", "lanes never finalized: the launch was stopped, or its code does not call it")
            }
            Repair::Groups => ("groups", "words name only their CTA: groups were identified by their slots"),
            Repair::Carry => {
                ("carry", "words of CTAs past 4095 ran into the multiprocessor, which is left out")
            }
        }
    }
}

/// What the user states about a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Given {
    /// Number of CTAs of the grid, for buffers without a header.
    pub blocks: Option<u32>,
    /// Number of groups of a CTA, for buffers without a header.
    pub groups: Option<u32>,
    /// Number of event names.
    pub events: Option<usize>,
}

/// Counts `n` more occurrences of a repair.
pub(super) fn add(repairs: &mut BTreeMap<Repair, u64>, what: Repair, n: u64) {
    if n > 0 {
        *repairs.entry(what).or_default() += n;
    }
}
