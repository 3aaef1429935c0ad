//! Measures the overhead of markers: the cycles that an empty region seems to take, how much longer the
//! kernel runs, and what it takes of a multiprocessor.

use prlx_driver::occupancy::threads_per_sm;
use prlx_driver::{CostOptions, Error, Job, KernelVariant, RecordOptions};
use prlx_instrument::Rewrite;
use prlx_plan::Filter;
use prlx_timeline::Calibration;
use prlx_trace::{Cycles, Nanos};

use super::markers::ProfileOptions;
use crate::device::{Device, instrumented_code};
use crate::record::kernel_resources::resources;

/// A kernel of empty regions.
const EMPTY_PTX: &str = include_str!("empty.ptx");
/// The launch file of that kernel.
const EMPTY_LAUNCH: &str = include_str!("empty.toml");
/// Runs of the kernel with and without markers; their medians count.
const ROUNDS: u32 = 5;
/// Nanoseconds; a kernel that runs longer is not run again.
const MAX_REPEATED: Nanos = Nanos(1_000_000_000);
/// MiB of tracks on a GPU, unless the options say otherwise.
const GPU_MEMORY: u64 = 1024;
/// MiB of tracks on the CPU device, unless the options say otherwise.
const CPU_MEMORY: u64 = 256;

/// Bytes of tracks.
pub(super) fn track_memory(options: &ProfileOptions, device: &Device) -> u64 {
    let default = if matches!(device, Device::Gpu(_)) { GPU_MEMORY } else { CPU_MEMORY };
    options.memory.unwrap_or(default) << 20
}

/// Measures one kernel. `nanos` is the time of a launch. What cannot be measured stays `None`.
pub(super) fn calibrate(
    job: &Job,
    rewrite: &Rewrite,
    nanos: Nanos,
    options: &ProfileOptions,
    device: &mut Device,
) -> Calibration {
    let mut out = Calibration::default();
    let needs = [resources(device, job, None), resources(device, job, Some(rewrite))];
    if let [Some(bare), Some(marked)] = needs {
        out.registers = Some([bare.registers, marked.registers]);
        out.local = Some([bare.local, marked.local]);
        out.resident = Some([bare.resident, marked.resident]);
    }
    if nanos <= MAX_REPEATED {
        out.dilation = dilation(job, rewrite, options, device).unwrap_or_default();
    }
    out
}

/// Cycles that a visit of an empty region seems to take: the median.
pub(super) fn empty_region(options: &ProfileOptions, device: &mut Device) -> Result<Option<Cycles>, Error> {
    let job = Job::parse("empty.toml", EMPTY_LAUNCH, &|_| Ok(EMPTY_PTX.as_bytes().to_vec()))?;
    let program = options.program(Filter::default());
    let Ok(rewrite) = prlx_instrument::rewrite(&job.text, &job.module, &program, &|_| None) else {
        return Ok(None);
    };
    let record = RecordOptions { pool: 1 << 20, run_original: false };
    let code = device.code_to_run(&rewrite, options.rewritten);
    let recorded = prlx_driver::record(device.driver(), code, &rewrite.plan, &job, &record)?;
    let timeline = prlx_timeline::timeline(&recorded.into_trace(rewrite.plan.module), threads_per_sm);
    let of = |region: u32| timeline.regions.get(region as usize).is_some_and(|r| r.name == "empty");
    let mut cycles: Vec<Cycles> = timeline
        .tracks
        .iter()
        .flat_map(|t| {
            let spans = t.spans.iter().filter(|s| of(s.region)).map(|s| s.cycles);
            spans.chain(
                t.sums
                    .iter()
                    .filter(|s| of(s.region))
                    .filter_map(|s| Some(Cycles(s.cycles.0.checked_div(s.count)?))),
            )
        })
        .collect();
    cycles.sort_unstable();
    Ok(cycles.get(cycles.len() / 2).copied())
}

/// The kernel's time with markers in proportion to that without; warp instructions if the device counts them.
fn dilation(
    job: &Job,
    rewrite: &Rewrite,
    options: &ProfileOptions,
    device: &mut Device,
) -> Result<Option<f64>, Error> {
    let bare = KernelVariant { code: job.code(), plan: None, records: false };
    let marked = KernelVariant { code: instrumented_code(rewrite), plan: Some(&rewrite.plan), records: true };
    let pool = track_memory(options, device);
    let rounds = if device.driver().info().hooks { 1 } else { ROUNDS };
    let costs =
        prlx_driver::cost(device.driver(), job, &[bare, marked], &CostOptions { rounds, pool, flush: 0 })?;
    let middle = |mut rounds: Vec<u64>| {
        rounds.sort_unstable();
        rounds.get(rounds.len() / 2).copied().filter(|t| *t > 0)
    };
    let mut each = costs.into_iter().map(|c| middle(c.rounds));
    let (Some(Some(bare)), Some(Some(marked))) = (each.next(), each.next()) else { return Ok(None) };
    Ok(Some(marked as f64 / bare as f64))
}
