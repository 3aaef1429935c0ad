//! What viewers show around a finding: data types.

use super::plain_data::data;
use super::source::{Location, SiteInfo};

/// How a step compares on both sides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum StepMatch {
    /// The same visit with the same value.
    #[default]
    Same,
    /// The same visit with different values.
    Differs,
    /// Only A has the visit.
    A,
    /// Only B has the visit.
    B,
}

impl StepMatch {
    /// The step's character in [`LaneRow::cells`].
    pub const fn letter(self) -> char {
        match self {
            StepMatch::Same => '.',
            StepMatch::Differs => '#',
            StepMatch::A => 'a',
            StepMatch::B => 'b',
        }
    }
    /// Combines several steps: a difference takes precedence over steps of one side.
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
    /// The path around one finding.
    struct PathView {
        /// The lane whose steps are shown.
        lane: u8,
        /// The number of its steps before the listed ones.
        before: u64,
        /// Its steps around the finding, in aligned order.
        steps: Vec<AlignedStep>,
        /// The number of its steps after the listed ones.
        after: u64,
        /// The index of the finding's step in `steps`, if it is listed.
        at: Option<u64>,
        /// By side: the sites that `steps` refers to.
        sites: [Vec<SiteInfo>; 2],
        /// The loops and calls that contain steps, each before its content.
        nest: Vec<Scope>,
        /// All lanes of the warp, ascending.
        lanes: Vec<LaneRow>,
        /// The number of steps per character of [`LaneRow::cells`].
        per_cell: u64,
    }
    /// One visit, on both sides or on one.
    struct AlignedStep {
        /// How the step compares.
        mark: StepMatch,
        /// By side: its site, an index into [`PathView::sites`].
        site: [Option<u64>; 2],
        /// By side: how often the lane had visited the site before.
        visit: [Option<u64>; 2],
        /// By side: the recorded value. A decision's is 0, 1, or the index of the target.
        value: [Option<u64>; 2],
        /// The loops and calls around it, outermost first.
        within: Vec<OpenScope>,
    }
    /// A loop or call around a step.
    struct OpenScope {
        /// The loop or call, an index into [`PathView::nest`].
        nest: u64,
        /// By side: the loop's trip, from 0; 0 for a call.
        trip: [u64; 2],
    }
    /// A loop or a called function. Equal ones with the same parent are one scope.
    struct Scope {
        /// The scope around it. `None` for the kernel itself.
        parent: Option<u64>,
        /// The number of scopes around it.
        depth: u64,
        /// The called function, or the function that contains the loop.
        function: String,
        /// Whether it is a loop.
        looping: bool,
        /// The location of a loop's header. `None` for a call.
        location: Option<Location>,
        /// By side: how often the lane entered it.
        entered: [u64; 2],
        /// By side: the total number of trips.
        trips: [u64; 2],
        /// By side: the number of visits in it.
        visits: [u64; 2],
        /// The number of steps in it that differ.
        differ: u64,
    }
    /// All steps of one lane, as characters.
    struct LaneRow {
        /// The lane's number in its warp.
        lane: u8,
        /// Its steps, [`PathView::per_cell`] to a character: `.` equal, `#` some differ, `a` and `b` some
        /// only on that side.
        cells: String,
        /// The number of its steps.
        steps: u64,
        /// The index of its first step that differs.
        parts: Option<u64>,
    }
}
