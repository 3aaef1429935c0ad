//! The program that a plan is resolved from.

use std::sync::Arc;

use prlx_probe::lang::Script;
use prlx_probe::{Filter, Program};
use prlx_trace::Level;

/// A program that inserts `script` into the kernels that match one of `kernels`; an empty list means all.
pub fn plan_program(script: &Arc<Script>, kernels: &[String]) -> Program {
    let filter = Filter { kernels: kernels.to_vec(), ..Filter::default() };
    Program { level: Level::Probe, script: Some(Arc::clone(script)), elide: true, filter, window: None }
}
