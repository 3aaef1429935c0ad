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

/// Whether the source of a step is Python.
fn python(launch: &Launch<'_>, step: u32) -> bool {
    findings::place(launch, step).is_some_and(|p| p.source.iter().any(|l| l.file.ends_with(".py")))
}

/// The names of a barrier of a warp and one of a CTA, in the language of two accesses. All kernels of Numba
/// have its name in theirs; other Python code is taken for Triton's, which has one for both.
fn barriers(launch: &Launch<'_>, new: AccessRecord, old: AccessRecord) -> [&'static str; 2] {
    if launch.code.name.contains("cudapy") {
        return ["`cuda.syncwarp()`", "`cuda.syncthreads()`"];
    }
    match python(launch, new.step()) || python(launch, old.step()) {
        true => ["`tl.debug_barrier()`"; 2],
        false => ["`__syncwarp()`", "`__syncthreads()`"],
    }
}

/// The remedy for a race of `new` with the earlier access `old`.
pub fn remedy(launch: &Launch<'_>, reach: Reach, new: AccessRecord, old: AccessRecord) -> String {
    let [now, before] = [new, old].map(|r| copies(launch, r.step()));
    let [warp, cta] = barriers(launch, new, old);
    match reach {
        // A barrier of the threads does not wait for a copy.
        _ if before => COPY_FIRST.into(),
        _ if now => COPY_AFTER.into(),
        Reach::Ctas => CTAS.into(),
        Reach::Lanes if warp != cta => format!("a {warp} or a barrier between the two would order them"),
        Reach::Lanes | Reach::Warps => format!("a {cta} between the two would order them"),
    }
}
