//! What viewers show around a finding: data types only.

use super::plain_data::data;
use super::source::{Location, SiteInfo};

/// How a step is on both sides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum StepMatch {
    /// The same visit, with the same value.
    #[default]
    Same,
    /// The same visit, with another value.
    Differs,
    /// Only A made it.
    A,
    /// Only B made it.
    B,
}

impl StepMatch {
    /// Its character in [`LaneRow::cells`].
    pub const fn letter(self) -> char {
        match self {
            StepMatch::Same => '.',
            StepMatch::Differs => '#',
            StepMatch::A => 'a',
            StepMatch::B => 'b',
        }
    }
    /// What to say of several steps together: that something differs before who did more.
    pub(crate) fn with(self, other: StepMatch) -> StepMatch {
        match (self, other) {
            (StepMatch::Differs, _) | (_, StepMatch::Differs) => StepMatch::Differs,
            (StepMatch::Same, m) | (m, StepMatch::Same) => m,
            (a, b) if a == b => a,
            _ => StepMatch::Differs,
        }
    }
}

data! {
    /// What there is to see around one finding.
    struct PathView {
        /// The lane whose steps are shown.
        lane: u8,
        /// Its steps before those that are listed.
        before: u64,
        /// Its steps around the finding, in the order in which they are aligned.
        steps: Vec<AlignedStep>,
        /// Its steps after them.
        after: u64,
        /// Which of `steps` is the finding's; `None` if none is.
        at: Option<u64>,
        /// By side: the sites that `steps` name.
        sites: [Vec<SiteInfo>; 2],
        /// Loops and calls that the lane went through, each before what it holds.
        nest: Vec<Scope>,
        /// The lanes of the warp, ascending.
        lanes: Vec<LaneRow>,
        /// Steps of a lane that one cell of [`LaneRow::cells`] stands for.
        per_cell: u64,
    }
    /// One visit, on both sides or on one.
    struct AlignedStep {
        /// How it is.
        mark: StepMatch,
        /// By side: its site, an index into [`PathView::sites`].
        site: [Option<u64>; 2],
        /// By side: how often the lane had visited the site before.
        visit: [Option<u64>; 2],
        /// By side: the value recorded: of a decision 0, 1 or the way taken.
        value: [Option<u64>; 2],
        /// Loops and calls that it is in, outermost first.
        within: Vec<OpenScope>,
    }
    /// A loop or call that a step is in.
    struct OpenScope {
        /// An index into [`PathView::nest`].
        nest: u64,
        /// By side: the trip of the loop, from 0; 0 for a call.
        trip: [u64; 2],
    }
    /// A loop or a called function, wherever the lane came to it in the same nest.
    struct Scope {
        /// What it lies in; `None` if the kernel itself.
        parent: Option<u64>,
        /// Loops and calls around it.
        depth: u64,
        /// The function: the one that is called, or the one that has the loop.
        function: String,
        /// Whether it is a loop.
        looping: bool,
        /// Where it is: a loop's head. A call has none.
        location: Option<Location>,
        /// By side: how often the lane came to it.
        entered: [u64; 2],
        /// By side: trips, in all.
        trips: [u64; 2],
        /// By side: visits in it.
        visits: [u64; 2],
        /// Steps in it that are not the same on both sides.
        differ: u64,
    }
    /// How one lane went.
    struct LaneRow {
        /// Lane.
        lane: u8,
        /// Its steps, [`PathView::per_cell`] to a character: `.` the same on both sides, `#` some differ, `a` and `b` some only there.
        cells: String,
        /// Its steps.
        steps: u64,
        /// Its first step that is not the same.
        parts: Option<u64>,
    }
}
