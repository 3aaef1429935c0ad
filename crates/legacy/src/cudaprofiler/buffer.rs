//! A decoded buffer: lanes with their events, and what was repaired.

use std::collections::BTreeMap;

use prlx_trace::Nanos;

/// Which profiler wrote the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// TVM's, and FlashInfer's before it wrote down multiprocessors.
    #[default]
    CudaProfiler,
    /// The layout of FlashInfer's profiler.
    FlashInfer,
}

/// What an event says; the codes of the tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A region begins.
    Begin,
    /// The region ends.
    End,
    /// A moment without duration.
    Instant,
}

/// One decoded word of a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Time of the global timer, unwrapped; the lowest 32 bits are as written.
    pub nanos: Nanos,
    /// Number of the region: an index into the user's event names.
    pub id: u16,
    /// What it says.
    pub kind: Kind,
}

/// What a (CTA, group) wrote.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lane {
    /// Which: `block * groups + group`.
    pub number: u32,
    /// The multiprocessor, where that is written down.
    pub sm: Option<u32>,
    /// Its events, in order.
    pub events: Vec<Event>,
    /// When it finalized.
    pub end: Option<Nanos>,
    /// Events that are not there; of a lane that ran out of the buffer at least this many.
    pub lost: u64,
}

/// A decoded buffer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Buffer {
    /// CTAs of the grid.
    pub blocks: u32,
    /// Groups of a CTA.
    pub groups: u32,
    /// Lanes that wrote something, ascending.
    pub lanes: Vec<Lane>,
    /// What was repaired or is missing, and how often.
    pub repairs: BTreeMap<Repair, u64>,
}

/// What is wrong with a buffer, and was mended or left out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Repair {
    /// The header was never written.
    Header,
    /// The timer's low half began anew.
    Wrap,
    /// What an earlier launch left.
    Stale,
    /// The word of a begin was 0, as an empty slot.
    ZeroWord,
    /// An empty slot between two of a lane.
    Hole,
    /// The lane wrote past the end of the buffer.
    Truncated,
    /// The lane never finalized.
    Unfinished,
    /// Groups that the tag does not tell apart.
    Groups,
    /// The CTA's number ran into the multiprocessor's.
    Carry,
}

impl Repair {
    /// The name that scripts go by, and what it is of one and of several.
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

/// What a user says of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Given {
    /// CTAs of the grid: stands in for a header that was never written.
    pub blocks: Option<u32>,
    /// Groups of a CTA: the same.
    pub groups: Option<u32>,
    /// How many events there are.
    pub events: Option<usize>,
}

/// Counts `n` more occurrences of a repair.
pub(super) fn add(repairs: &mut BTreeMap<Repair, u64>, what: Repair, n: u64) {
    if n > 0 {
        *repairs.entry(what).or_default() += n;
    }
}
