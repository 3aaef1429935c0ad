//! How many instructions the sides of a comparison may execute on the CPU device.
//!
//! A side that never ends runs until a limit. The usual limit takes a minute, so both sides first run with
//! [`FIRST_STEPS`]. If one side ends, the other may execute a thousand times as many instructions. If both
//! reach the limit, both run again with the usual one. What is compared in the end, and later runs of such a
//! comparison, need not reach the limit again: they show what differs until the shorter side ends.
//!
//! # Limitations
//! With `--max-steps`, and with launches before the compared one, the first runs have the given or usual
//! limit.

use anyhow::Result;
use prlx_driver::Job;
use prlx_trace::Trace;
use prlx_trace::kernel::FaultKind;

use crate::device::DeviceOptions;
use crate::record::RecordedLaunch;

/// Instructions that a CTA may execute in the first run.
const FIRST_STEPS: u64 = 8_000_000;

/// How many times as many instructions as the side that ends the other side may execute.
const LONGER: u64 = 1000;

/// The same, for later runs of both sides.
const LATER: u64 = 4;

/// Instructions that a CTA may execute at least in later runs.
const LATER_STEPS: u64 = 1 << 20;

/// Records both sides. Returns the recordings, and options for later runs.
///
/// # Errors
/// Those of `record`.
pub(super) fn record_both(
    jobs: &[Job; 2],
    device: &DeviceOptions,
    record: impl Fn(&Job, &DeviceOptions) -> Result<RecordedLaunch>,
) -> Result<([RecordedLaunch; 2], DeviceOptions)> {
    let with = |steps: u64| DeviceOptions { max_steps: Some(steps), ..device.clone() };
    let before = jobs.iter().any(|job| !job.before.is_empty());
    if device.is_gpu() || before {
        return Ok(([record(&jobs[0], device)?, record(&jobs[1], device)?], device.clone()));
    }
    let first = with(device.max_steps.unwrap_or(FIRST_STEPS));
    let mut sides = [record(&jobs[0], &first)?, record(&jobs[1], &first)?];
    let longest = ended(&sides).into_iter().flatten().max();
    let again = match longest {
        None => Some(device.clone()),
        Some(steps) => Some(steps.saturating_mul(LONGER)).filter(|n| *n > FIRST_STEPS).map(with),
    };
    if let (Some(again), None) = (again, device.max_steps) {
        for side in 0..2 {
            if ended(&sides)[side].is_none() {
                sides[side] = record(&jobs[side], &again)?;
            }
        }
    }
    let now = ended(&sides);
    if now.iter().all(Option::is_some) {
        return Ok((sides, device.clone()));
    }
    // A deadlock that is proved before the limit must be proved again. The limit also counts waiting, so a
    // side that reaches it has executed fewer instructions.
    let proved = sides.iter().map(executed).filter(|n| *n < first.max_steps.unwrap_or(0) / 4).max();
    let shorter = now.into_iter().flatten().max().unwrap_or(0).saturating_mul(LATER);
    let steps = shorter.max(proved.unwrap_or(0).saturating_mul(2)).max(LATER_STEPS);
    let later = with(device.max_steps.unwrap_or(u64::MAX).min(steps));
    // A recording up to the limit takes long to compare. The fault keeps the limit that was reached.
    for side in (0..2).filter(|side| now[*side].is_none()) {
        if later.max_steps < first.max_steps {
            let short = record(&jobs[side], &later)?;
            let long = std::mem::replace(&mut sides[side], short);
            keep_texts(&mut sides[side].trace, &long.trace);
        }
    }
    Ok((sides, later))
}

/// Gives the faults of a recording the texts that they have in an earlier one of the same launches.
pub(super) fn keep_texts(trace: &mut Trace, earlier: &Trace) {
    for (now, earlier) in trace.launches.iter_mut().zip(&earlier.launches) {
        if let (Some(now), Some(earlier)) = (&mut now.launch.fault, &earlier.launch.fault) {
            now.text.clone_from(&earlier.text);
        }
    }
}

/// Warp instructions of a recorded launch.
fn executed(side: &RecordedLaunch) -> u64 {
    side.trace.launches.iter().map(|l| l.launch.totals.instrumented).sum()
}

/// By side: the warp instructions of a launch that does not get stuck.
fn ended(sides: &[RecordedLaunch; 2]) -> [Option<u64>; 2] {
    sides.each_ref().map(|side| {
        let mut faults = side.trace.launches.iter().filter_map(|l| l.launch.fault.as_ref());
        (!faults.any(|f| f.kind == FaultKind::Stuck)).then(|| executed(side))
    })
}
