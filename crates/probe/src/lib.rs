//! What to watch, and where it lands: a [`Program`] resolved against code gives a [`Plan`].
//!
//! The plan is the only thing that front doors lower and that the emulator's hooks run; recorders, probes and markers are
//! all insertions of one plan. It carries the static half of the trace to be.

mod plan;
pub use plan::{Action, At, Filter, Fold, FunctionPlan, Insertion, Plan, Program};
