//! Causes of launches whose code and scalar arguments both differ.
//!
//! A compiler may make two builds of one kernel for two values of an argument: Triton does so for an
//! integer that 16 divides. The data flow then ends at an instruction of one build alone. So the code of one
//! side runs with the arguments of the other. If that leaves the other side's outputs, the code has no part
//! in the difference, and the two runs of this code have the cause.
//!
//! # Limitations
//! An argument that a build has as a constant has no value there, and takes no part.

use anyhow::Result;
use prlx_analyze::outputs::Tolerance;
use prlx_analyze::report::{Cause, CauseClass};
use prlx_driver::Job;
use prlx_driver::job::ArgValue;

/// How far the outputs of two builds may be apart with equal arguments: builds round and add up in other
/// orders.
const ROUNDING: Tolerance = Tolerance { rtol: 1e-5, atol: 1e-8, ulp: 0, equal_nan: true };

/// What two runs gave.
pub(super) struct Rerun {
    /// Why their outputs differ.
    pub(super) causes: Vec<Cause>,
    /// Whether both ended, with equal outputs.
    pub(super) equal: bool,
}

/// Replaces causes by those of one side's code, if the scalar arguments alone explain the difference. `rerun`
/// compares two launches, with this tolerance at least. Returns whose code both runs had.
///
/// # Errors
/// If `rerun` fails.
pub(super) fn explain_arguments(
    causes: &mut Vec<Cause>,
    jobs: &[Job; 2],
    mut rerun: impl FnMut(&[Job; 2], Option<Tolerance>) -> Result<Rerun>,
) -> Result<Option<&'static str>> {
    let [a, b] = jobs;
    let explained = causes.first().is_none_or(|c| c.class == CauseClass::Input);
    if explained || a.code() == b.code() || a.kernel != b.kernel {
        return Ok(None);
    }
    // B's code first: B is the side that may be wrong.
    for side in [1, 0] {
        let Some(other) = with_arguments(&jobs[side], &jobs[1 - side]) else { continue };
        if !rerun(&[jobs[1 - side].clone(), other.clone()], Some(ROUNDING))?.equal {
            continue;
        }
        let own = jobs[side].clone();
        let pair = if side == 1 { [other, own] } else { [own, other] };
        let found = rerun(&pair, None)?.causes;
        if found.first().is_some_and(|c| c.class == CauseClass::Input) {
            *causes = found;
            return Ok(Some(["A", "B"][side]));
        }
    }
    Ok(None)
}

/// A job with the scalar arguments and the grid of another one; `None` if no argument differs.
fn with_arguments(job: &Job, other: &Job) -> Option<Job> {
    let mut out = job.clone();
    let mut changed = false;
    for arg in &mut out.args {
        let ArgValue::Scalar(ty, bits) = &mut arg.value else { continue };
        let theirs = other.args.iter().find(|o| o.name == arg.name).map(|o| &o.value);
        if let Some(ArgValue::Scalar(other_ty, value)) = theirs
            && other_ty.bits() == ty.bits()
            && value != bits
        {
            (*bits, changed) = (*value, true);
        }
    }
    if job.config.block == other.config.block {
        out.config.grid = other.config.grid;
    }
    changed.then_some(out)
}
