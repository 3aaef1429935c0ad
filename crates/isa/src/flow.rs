//! Data flow of one function: which definitions reach a use, and which predicates decide something.

use crate::view::{InstId, Reg};

/// Where a register's value can come from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Def {
    /// The function's entry: a register parameter, or nothing wrote it.
    Entry,
    /// An instruction. A guarded one does not end the life of earlier definitions.
    Inst(InstId),
}

/// Why a predicate matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SteerKind {
    /// It guards a branch.
    Branch,
    /// It guards another instruction (returns and exits count as branches).
    Guard,
    /// It chooses in a select.
    Select,
    /// It is the index of a `brx.idx`.
    Switch,
}

/// A predicate (or index) that steers something: recorded where it is defined, so that its operands are at hand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The instruction after which its value is known. For a switch: the `brx.idx` itself, before it.
    pub at: InstId,
    /// The predicate or index.
    pub reg: Reg,
    /// What it steers, in source order; never empty.
    pub steers: Vec<(InstId, SteerKind)>,
}
