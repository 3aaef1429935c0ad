//! Compares what launches of kernels without PTX changed in memory.
//!
//! Digests cannot tell which of two launches differ that follow from equal work: they also cover tensors
//! behind those of the launch, which an allocator places otherwise in each run.
//!
//! # Invariants
//! A launch becomes `same` only if all that either side changed behind its pointers is equal, and `differs`
//! only if a byte that either side changed is not.

use std::fs;

use prlx_analyze::report::{LaunchPart, LaunchReport};
use prlx_driver::element;
use prlx_driver::memory_changes::{ChangesCompared, MemoryChanges};
use prlx_driver::session::{Session, memory_changes_file};
use prlx_trace::kernel::Scalar;

use super::program_runs::Recorded;

/// Puts what a launch changed in memory, in the runs `again`, into its report. Leaves the report as it is if
/// a program did not make the launch again.
pub(super) fn compare_memory_changes(
    launch: &mut LaunchReport,
    recorded: &Recorded<'_>,
    again: &[Session; 2],
) {
    let [Some(a), Some(b)] = [0, 1].map(|side| read(launch, recorded, side, &again[side])) else { return };
    match a.compare(&b) {
        ChangesCompared::Equal => launch.changes_agreed(),
        ChangesCompared::Differ { param_offset, at, words, same_before } => {
            let place = format!("byte {at} behind the pointer at byte {param_offset} of the parameters");
            let by_hash = ["one content by hash", "another one"].map(str::to_owned);
            launch.changes_differ(place, words.map_or(by_hash, |words| words.map(word)));
            launch.culprit = same_before && launch.differences.iter().all(|d| d.what == LaunchPart::Output);
        }
        ChangesCompared::Unknown(why) => launch.gaps.push(format!("what it changed in memory: {why}")),
    }
}

/// What a launch changed on one side. `None` if the program did not make it again; a damaged file gives a
/// warning as well.
fn read(
    launch: &LaunchReport,
    recorded: &Recorded<'_>,
    side: usize,
    made: &Session,
) -> Option<MemoryChanges> {
    let recording = &made.files.get(recorded.file_again(side, launch.process, made)?)?.path;
    let file = memory_changes_file(recording, launch.launch[side]);
    let bytes = fs::read(&file).ok()?;
    let warn = |e: &String| recorded.monitor.warn(&format!("{} is damaged: {e}", file.display()));
    MemoryChanges::from_bytes(&bytes).inspect_err(warn).ok()
}

/// A word of memory whose type is not known.
fn word(bits: u32) -> String {
    format!("{bits:#010x} ({} as f32)", element::show(Scalar::F32, bits.into()))
}
