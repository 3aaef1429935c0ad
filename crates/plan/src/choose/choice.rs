//! The choice for one function: how each decision reaches the decoder.

use std::collections::BTreeMap;

use prlx_isa::view::{Guard, InstId, Reg};
use prlx_trace::kernel::Source;

use crate::choose::lower::Operation;
use crate::plan::At;

/// What was chosen for one function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choice {
    /// By decision: how the decoder gets it.
    pub sources: Vec<Source>,
    /// Instructions that the decoder evaluates again.
    pub lets: BTreeMap<InstId, Vec<Operation>>,
    /// Loops whose iterations are counted.
    pub trips: Vec<Trip>,
}

/// A loop whose trips are counted.
#[derive(Clone, Debug)]
pub(crate) struct Trip {
    /// The decision that ends the loop, an index into the body's decisions.
    pub decision: usize,
    /// The branch that leaves the loop or stays in it.
    pub branch: InstId,
    /// The predicate's value that stays.
    pub stay: bool,
    /// Branches that leave the loop by decisions which are computed: under which guard.
    pub others: Vec<(InstId, Guard)>,
    /// Where the loop is entered: under which guard.
    pub enters: Vec<(At, Option<Guard>)>,
    /// The instruction at which lanes that were in the loop have met again; `None`: the count is written
    /// where they leave it.
    pub meets: Option<InstId>,
    /// What can be read there instead of being counted.
    pub read: Option<Counted>,
}

/// A register that the loop counts by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    /// It grows by one a trip.
    pub reg: Reg,
    /// What it holds behind the loop of a lane that went on no time, less one.
    pub less: u32,
}
