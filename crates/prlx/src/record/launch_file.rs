//! Records a launch file on a device.

use std::path::Path;

use anyhow::{Context, Result, bail};
use prlx_driver::job::ArgValue;
use prlx_driver::{Job, Output, RecordOptions, Recorded};
use prlx_instrument::Rewrite;
use prlx_plan::{Plan, RecordingRequest};
use prlx_trace::check::Findings;
use prlx_trace::kernel::Level;
use prlx_trace::launch::Window;
use prlx_trace::{OutputContents, Printed, Trace, WarpSize};

use super::filters;
use super::kernel_resources::keep_resident;
use super::options::RecorderOptions;
use crate::Monitor;
use crate::device::{Device, DeviceOptions};
use crate::input;

/// Reads a launch file. The seed of the options, if there is one, replaces the file's.
///
/// # Errors
/// If the file, or one that it names, cannot be read.
pub fn load(path: &Path, device: &DeviceOptions) -> Result<Job> {
    input::require_launch_file(path)?;
    let mut job = Job::load(path)?;
    if let Some(seed) = device.seed {
        job.set_seed(seed);
    }
    Ok(job)
}

/// The same launch under another schedule of the CPU device.
pub fn with_seed(job: &Job, seed: u64) -> Job {
    let mut job = job.clone();
    job.set_seed(seed);
    job
}

/// Warps of a CTA of `job` on a device.
pub fn warps_per_cta(job: &Job, on: &DeviceOptions) -> u64 {
    job.warp_size(on.warp_size).warps(job.config.block.volume())
}

/// Prepares the job's module for a device. A device that records by itself needs the plan alone, unless
/// `rewritten` asks for the code: the text is then the job's.
///
/// # Errors
/// If the module cannot carry the recorder.
pub fn instrument(
    job: &Job,
    program: &RecordingRequest,
    device: &mut Device,
    rewritten: bool,
) -> Result<Rewrite> {
    let warp_size = device.driver().info().warp_size;
    if rewritten || !device.observes() {
        let first = rewrite(job, program, warp_size)?;
        return Ok(keep_resident(first, program, job, device));
    }
    let module = job.view(warp_size)?;
    let plan = Plan::resolve(program, &module, &job.module, &|path| job.source_text(path));
    Ok(Rewrite { plan, text: job.text.clone(), module, object: None })
}

/// Inserts a program into the job's module, for a device with warps of this size.
///
/// # Errors
/// If the module cannot carry the program.
pub(crate) fn rewrite(job: &Job, program: &RecordingRequest, warp_size: WarpSize) -> Result<Rewrite> {
    let sources = |path: &str| job.source_text(path);
    let Some(object) = &job.object else {
        return Ok(prlx_instrument::rewrite_for(warp_size, &job.text, &job.module, program, &sources)?);
    };
    let target = prlx_instrument::target(object.set);
    let target = target.with_context(|| format!("code of {} can't be rewritten", object.set.name()))?;
    Ok(prlx_instrument::rewrite_object(target, &object.bytes, &job.module, program, &sources)?)
}

/// What the recorder of the options watches, in kernels whose CTAs have `warps_per_cta` warps.
pub fn recorder_program(recorder: &RecorderOptions, warps_per_cta: u64) -> RecordingRequest {
    let filter = recorder.filter(warps_per_cta);
    RecordingRequest {
        elide: !recorder.no_elide,
        filter,
        registers: recorder.registers,
        ..RecordingRequest::new(recorder.level)
    }
}

/// The same at level `operands`, in a window around a finding.
pub fn zoomed(program: &RecordingRequest, window: Window) -> RecordingRequest {
    RecordingRequest { level: Level::Operands, window: Some(window), ..program.clone() }
}

/// Stores the outputs of a launch in its recording, up to the size that the options allow.
///
/// # Errors
/// If an output cannot be compressed.
pub fn store_outputs(
    trace: &mut Trace,
    job: &Job,
    outputs: &[Output],
    recorder: &RecorderOptions,
) -> Result<()> {
    let launch = trace.launches.first().map_or(0, |r| r.launch.number);
    let mut room = recorder.outputs.unwrap_or(RecorderOptions::OUTPUTS).saturating_mul(1 << 20);
    for o in outputs {
        let arg = job.args.iter().find(|arg| arg.name == o.name).map(|arg| &arg.value);
        let expect = if let Some(ArgValue::Buffer(buffer)) = arg { buffer.expect.as_ref() } else { None };
        let mut stored = OutputContents {
            launch,
            name: o.name.clone(),
            ty: o.ty,
            shape: o.shape.clone(),
            tolerance: expect.map(|e| (e.rtol.to_bits(), e.atol.to_bits())),
            bytes: o.bytes.len() as u64,
            packed: Vec::new(),
        };
        if let Some(left) = room.checked_sub(stored.bytes) {
            room = left;
            stored.pack(&o.bytes).with_context(|| format!("cannot store output {}", o.name))?;
        }
        trace.outputs.push(stored);
    }
    Ok(())
}

/// A recorded launch.
#[derive(Debug, Default)]
pub struct RecordedLaunch {
    /// What the recorder wrote.
    pub trace: Trace,
    /// What the checks found.
    pub findings: Findings,
    /// What the kernel printed.
    pub printed: Printed,
    /// The outputs that the recorded run left; empty if the launch was stopped or the job names none.
    pub outputs: Vec<Output>,
}

/// Warns if buffers differ between the recorded run and that of the original code.
pub(crate) fn warn_of_changes(job: &Job, recorded: &Recorded, monitor: &Monitor<'_>) {
    if let Some(changed) = recorded.original.as_ref().filter(|b| !b.changed.is_empty()) {
        monitor.warn(&format!(
            "{}: {} differ between the recorded and the unrecorded run: the kernel depends on its schedule, or recording changed its result",
            job.name,
            changed.changed.join(", ")
        ));
    }
}

/// Records a job.
///
/// If the kernel faults, the recording ends there and its launch holds the fault.
///
/// # Errors
/// If the module cannot be instrumented, the launch cannot be made, or what the kernel recorded is damaged.
pub fn record(
    job: &Job,
    program: &RecordingRequest,
    recorder: &RecorderOptions,
    on: &DeviceOptions,
    monitor: &Monitor<'_>,
) -> Result<RecordedLaunch> {
    if program.level == Level::Operands && program.window.is_none() {
        bail!(
            "level `operands` records a window around a finding: compare at another level, and PRLX adds the operands"
        );
    }
    if recorder.rewritten && on.check.is_some() {
        bail!("--check checks the unchanged kernel: remove --rewritten");
    }
    let activity = monitor.activity(&format!("recording {} at level {}", job.name, program.level.label()));
    // On several host threads, CTAs that race would leave another recording each time.
    let threads = if on.is_gpu() { on.threads } else { Some(1) };
    let mut device = Device::open(&DeviceOptions { threads, ..on.clone() })?;
    let rewrite = instrument(job, program, &mut device, recorder.rewritten)
        .with_context(|| format!("cannot instrument {}", job.module))?;
    filters::check_code_filters(recorder, &rewrite.plan, Some(&job.kernel))?;
    let ctas = job.config.grid.volume();
    filters::check_ranges(recorder, ctas.saturating_mul(warps_per_cta(job, on)), ctas)?;
    let options = RecordOptions {
        pool: recorder.memory.unwrap_or(64) << 20,
        // Checks slow a run down, and need no second run to compare with.
        run_original: program.level != Level::Operands && on.check.is_none(),
    };
    let code = device.code_to_run(&rewrite, recorder.rewritten);
    let mut recorded = prlx_driver::record(device.driver(), code, &rewrite.plan, job, &options)
        .with_context(|| format!("cannot record {}", job.name))?;
    drop(activity);
    let (findings, printed) = (device.findings(job), device.take_printed());
    warn_of_changes(job, &recorded, monitor);
    if !recorded.damage.is_empty() {
        let what = format!("{}: the recording is damaged: {}", job.name, recorded.damage.join("; "));
        match &recorded.fault {
            // A kernel that was stopped ends anywhere. Records that cannot be read count as lost.
            Some(_) => monitor.warn(&what),
            None => bail!(what),
        }
    }
    let outputs = std::mem::take(&mut recorded.outputs);
    Ok(RecordedLaunch { trace: recorded.into_trace(rewrite.plan.module), findings, printed, outputs })
}
