//! The seam between a plan and a probe language: a checked program that binds itself to functions.

use std::fmt;

use prlx_trace::table::Table;

use super::state::ProbeState;
use crate::function::body::Body;
use crate::plan::insertion::Insertion;

/// A checked probe program, in whatever language it is written. Displayed, it is the program's text.
pub trait ProbeProgram: fmt::Debug + fmt::Display + Send + Sync {
    /// Binds the program to the functions of one module: every clause at every matching instruction becomes an insertion.
    ///
    /// `functions` are all functions of the module, in order. Only those whose index `recorded` accepts get insertions.
    fn bind(&self, functions: &[&Body<'_>], recorded: &dyn Fn(usize) -> bool) -> BoundProbe;
    /// The tracepoints of clause number `clause`, on one line; empty if there is no such clause.
    fn clause(&self, clause: usize) -> String;
    /// Whether the program declares records, which need device memory besides its tables.
    fn keeps_records(&self) -> bool;
}

/// Programs are equal if their texts are.
impl PartialEq for dyn ProbeProgram {
    fn eq(&self, other: &dyn ProbeProgram) -> bool {
        self.to_string() == other.to_string()
    }
}

/// A probe program bound to a module.
#[derive(Clone, Debug, Default)]
pub struct BoundProbe {
    /// By function: what to insert, an [`Action::Probe`](crate::Action::Probe) each.
    pub insertions: Vec<Vec<Insertion>>,
    /// The tables and records that the trace declares.
    pub tables: Vec<Table>,
    /// What the program keeps between insertions.
    pub state: ProbeState,
}
