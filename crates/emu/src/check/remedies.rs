//! What would order two accesses that race: a barrier of the warp or of the CTA, or the wait for a copy.

use prlx_trace::names::is_numba;

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

/// The remedy for lanes that store different values to one place by one instruction. Programs in Triton's
/// language do not store to shared memory: its compiler does, for reductions and scans.
pub fn for_one_instruction(launch: &Launch<'_>, step: u32, shared: bool) -> &'static str {
    match shared && python(launch, step) && !numba(launch) {
        true => {
            "the final value is not defined. Triton's code exchanges values here, as its reductions do: the \
             function that combines two values must give the same bits if they change places"
        }
        false => "the final value is not defined: let one lane write, or use an atomic",
    }
}

/// Whether the kernel is one of Numba.
fn numba(launch: &Launch<'_>) -> bool {
    is_numba(&launch.code.name)
}

/// The names of a barrier of a warp and one of a CTA, in the language of two accesses. Python code that is
/// not Numba's is taken for Triton's, which has one for both.
fn barriers(launch: &Launch<'_>, new: AccessRecord, old: AccessRecord) -> [&'static str; 2] {
    if numba(launch) {
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
