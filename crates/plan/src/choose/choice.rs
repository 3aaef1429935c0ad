//! The choice for one function: how each decision reaches the decoder.

use std::collections::{BTreeMap, BTreeSet};

use prlx_isa::view::{BlockId, Guard, InstId, Reg};
use prlx_trace::kernel::{Scalar, Source};

use crate::choose::lower::Operation;
use crate::choose::stored::StoredHashes;
use crate::function::body::Body;
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
    /// Values that are recorded, in the order of the text.
    pub values: Vec<RecordedValue>,
    /// Level `values`: the bits that stand for stored values.
    pub stored: StoredHashes,
    /// Level `fingerprint`: what is hashed beside decisions and stored values: instructions, and the
    /// registers that they write.
    pub hashed: BTreeSet<(InstId, Reg)>,
    /// Decisions that say how often a loop waits, and are not recorded.
    pub waits: Vec<usize>,
}

impl Choice {
    /// Whether a value is recorded in block `part`.
    pub fn records_value_in(&self, body: &Body<'_>, part: BlockId) -> bool {
        let of_cut = self.values.iter().map(|v| v.at);
        of_cut.chain(self.stored.keys().copied()).any(|at| body.inst(at).block == part)
    }
}

/// A value that is recorded.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct RecordedValue {
    /// The instruction that gives it.
    pub at: InstId,
    /// The register that holds it.
    pub reg: Reg,
    /// How many low bits are recorded. Those above are 0, or follow by `extend`.
    pub bits: u8,
    /// The type by which the register's higher bits follow.
    pub extend: Option<Scalar>,
    /// Where it is recorded, in the block of `at`.
    pub place: At,
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
