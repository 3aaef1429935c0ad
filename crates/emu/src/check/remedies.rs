//! What would order two accesses that race: a barrier of the warp or of the CTA, or the wait for a copy.

use crate::code::Op;
use crate::exec::launch::Launch;

use super::findings;
use super::reach::Reach;
use super::shadow::AccessRecord;

/// The remedy for an access that follows a copy.
const COPY_FIRST: &str = "wait until the copy is complete before this access: for the phase of its mbarrier, \
    or for its group of copies and then at a barrier. A wait for a phase that is already complete returns at \
    once";
/// The remedy for a copy that follows an access.
const COPY_AFTER: &str = "wait before the copy until all threads have done the other access: at a barrier, \
    or for the phase of an mbarrier at which they arrive afterwards";
/// The remedy for a race of two CTAs.
const CTAS: &str =
    "CTAs are ordered only by a release and an acquire (fences and atomics) or by the end of a launch";

/// Whether a step starts a copy that runs on its own.
fn copies(launch: &Launch<'_>, step: u32) -> bool {
    let op = launch.code.steps.get(step as usize).map(|s| s.op);
    matches!(op, Some(Op::LaneCopy(_) | Op::BulkCopy(_) | Op::TensorCopy(_) | Op::AsyncStore(_)))
}

/// Whether the source of a step is Python, as that of Triton.
fn python(launch: &Launch<'_>, step: u32) -> bool {
    findings::place(launch, step).is_some_and(|p| p.source.iter().any(|l| l.file.ends_with(".py")))
}

/// The remedy for a race of `new` with the earlier access `old`.
pub fn remedy(launch: &Launch<'_>, reach: Reach, new: AccessRecord, old: AccessRecord) -> String {
    let [now, before] = [new, old].map(|r| copies(launch, r.step()));
    let triton = python(launch, new.step()) || python(launch, old.step());
    match reach {
        // A barrier of the threads does not wait for a copy.
        _ if before => COPY_FIRST.into(),
        _ if now => COPY_AFTER.into(),
        Reach::Ctas => CTAS.into(),
        _ if triton => "a `tl.debug_barrier()` between the two would order them".into(),
        Reach::Lanes => "a `__syncwarp()` or a barrier between the two would order them".into(),
        Reach::Warps => "a `__syncthreads()` between the two would order them".into(),
    }
}
