//! Compares what launches of kernels without PTX changed in memory: both programs run again, and memory is
//! copied before and after these launches.
//!
//! Digests cannot tell which of two launches that follow from equal work differ: they also cover tensors
//! behind those of the launch, which an allocator places otherwise in each run.
//!
//! # Invariants
//! A launch becomes `same` only if all that either side changed behind its pointers is equal, and `differs`
//! only if a byte that either side changed is not.
//!
//! # Limitations
//! - At most [`MOST`] launches are copied, and [`TOTAL_BYTES`] of memory before and after them together.
//! - A program must make the launches again, with the same numbers.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use prlx_analyze::Report;
use prlx_analyze::report::{LaunchReport, Verdict};
use prlx_driver::element;
use prlx_driver::memory_changes::{ChangesCompared, MemoryChanges};
use prlx_driver::session::{Options, Session, memory_changes_file};
use prlx_trace::kernel::Scalar;

use super::program_runs::Recorded;
use super::stored_values::launches;

/// The number of launches that are copied at most.
const MOST: usize = 512;

/// Bytes of memory that are copied of a launch at most.
const LAUNCH_BYTES: u64 = 1 << 30;

/// Bytes of memory that are copied of all launches of a side together.
const TOTAL_BYTES: u64 = 32 << 30;

/// Compares what the launches changed that neither side recorded and that their digests leave in doubt, up to
/// the culprit if there is one. `options` are those of the run.
///
/// # Errors
/// If a program cannot be run again, or the user interrupts.
pub(super) fn compare_memory_changes(
    report: &mut Report,
    recorded: &Recorded<'_>,
    culprit: Option<usize>,
    options: &Options,
) -> Result<()> {
    let in_doubt = |l: &LaunchReport| {
        let unrecorded = l.skipped.iter().all(Option::is_some);
        let undigested = l.undigested.iter().any(Option::is_some);
        let stopped = l.faults.iter().any(Option::is_some);
        unrecorded && l.verdict == Verdict::Unknown && (l.digests_differ || undigested) && !stopped
    };
    let upto = culprit.map_or(report.launches.len(), |i| i + 1);
    let chosen = (0..upto).filter(|i| in_doubt(&report.launches[*i])).take(MOST);
    let chosen: Vec<usize> = chosen.collect();
    if chosen.is_empty() {
        return Ok(());
    }
    recorded.monitor.note(&format!(
        "running both programs again to compare what {} without PTX changed in memory",
        launches(chosen.len())
    ));
    let bytes = (TOTAL_BYTES / chosen.len() as u64).min(LAUNCH_BYTES);
    let options = Options {
        memory_changes: Some(bytes),
        only_capture: true,
        digest: None,
        batched_digests: false,
        ..options.clone()
    };
    let again = |side: usize| {
        let numbers = chosen.iter().map(|i| report.launches[*i].launch[side]);
        recorded.record_launches(side, "-changes", numbers, options.clone())
    };
    let again = [again(0)?, again(1)?];
    for i in chosen {
        let launch = &mut report.launches[i];
        let read = |side: usize| read(recorded, launch, side, &again[side]);
        let [Some(a), Some(b)] = [read(0), read(1)] else { continue };
        match a.compare(&b) {
            ChangesCompared::Equal => launch.changes_agreed(),
            ChangesCompared::Differ { param_offset, at, words } => {
                let place = format!("byte {at} behind the pointer at byte {param_offset} of the parameters");
                launch.changes_differ(place, words.map(word));
            }
            ChangesCompared::Unknown(why) => launch.gaps.push(format!("what it changed in memory: {why}")),
        }
    }
    report.conclude();
    Ok(())
}

/// What a launch changed on one side. `None` if the program did not make it again; a damaged file gives a
/// warning as well.
fn read(
    recorded: &Recorded<'_>,
    launch: &LaunchReport,
    side: usize,
    made: &Session,
) -> Option<MemoryChanges> {
    let file: PathBuf = made.files.get(recorded.file_again(side, launch.process, made)?)?.path.clone();
    let file = memory_changes_file(&file, launch.launch[side]);
    let bytes = fs::read(&file).ok()?;
    let warn = |e: &String| recorded.monitor.warn(&format!("{} is damaged: {e}", file.display()));
    MemoryChanges::from_bytes(&bytes).inspect_err(warn).ok()
}

/// A word of memory whose type is not known.
fn word(bits: u32) -> String {
    format!("{bits:#010x} ({} as f32)", element::show(Scalar::F32, bits.into()))
}
