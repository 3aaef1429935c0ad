//! From a launch file to a recording, on the device that the options choose.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use prlx_driver::cuda::{self, Cuda};
use prlx_driver::{Driver, Job, RecordOptions};
use prlx_emu::{Calibration, Emulator};
use prlx_plan::RecordingRequest;
use prlx_trace::Trace;
use prlx_trace::check::Findings;
use prlx_trace::kernel::Level;
use prlx_trace::launch::Window;

use crate::args::{DeviceArgs, Machine, RecorderArgs};
use crate::ui::Ui;

/// Reads a launch file; options override it.
pub fn load(path: &Path, device: &DeviceArgs) -> Result<Job> {
    let mut job = Job::load(path)?;
    if let Some(seed) = device.seed {
        job.config.seed = seed;
    }
    Ok(job)
}

/// A machine.
pub enum Device {
    /// The CPU device.
    Cpu(Box<Emulator>),
    /// An NVIDIA GPU.
    Gpu(Box<Cuda>),
}

impl Device {
    /// What runs kernels on it.
    pub fn driver(&mut self) -> &mut dyn Driver {
        match self {
            Device::Cpu(emulator) => &mut **emulator,
            Device::Gpu(cuda) => &mut **cuda,
        }
    }

    /// What the checks of the last launch found, with source lines; nothing where there are no checks.
    pub fn findings(&mut self, job: &Job) -> Findings {
        let mut found = match self {
            Device::Cpu(emulator) => emulator.take_findings(),
            Device::Gpu(_) => Findings::default(),
        };
        found.sources(&|path| job.source_text(path));
        found
    }
}

/// The machine that the options choose.
pub fn device(args: &DeviceArgs) -> Result<Device> {
    let ordinal = match args.device {
        Machine::Cpu => None,
        Machine::Cuda(ordinal) => Some(ordinal),
        Machine::Auto => cuda::look().is_ok_and(|here| !here.devices.is_empty()).then_some(0),
    };
    if let Some(ordinal) = ordinal {
        let limits = [args.max_steps.is_some(), args.max_memory.is_some(), args.threads.is_some()];
        if limits.contains(&true) || args.check.is_some() || !args.calibration.is_empty() {
            bail!(
                "--max-steps, --max-memory, --threads, --check and --calibration are for the CPU device, not for a GPU"
            );
        }
        let mut cuda = Cuda::new(ordinal)?;
        args.timeout.into_iter().for_each(|most| cuda.set_patience(most));
        return Ok(Device::Gpu(Box::new(cuda)));
    }
    if args.timeout.is_some() {
        bail!("--timeout is for a GPU: the CPU device has --max-steps");
    }
    let mut options = prlx_emu::Options::default();
    if let Some(n) = args.max_steps {
        options.max_steps = n;
    }
    if let Some(n) = args.max_memory {
        options.max_memory = n.saturating_mul(1 << 20);
    }
    if let Some(n) = args.threads {
        options.threads = n;
    }
    options.checks = args.check.unwrap_or_default();
    for path in &args.calibration {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let table = Calibration::read(&path.display().to_string(), &text)?;
        if options.calibrations.iter().any(|c| c.op == table.op) {
            bail!("{}: another file has calibrated `{}` already", path.display(), table.op);
        }
        options.calibrations.push(Arc::new(table));
    }
    Ok(Device::Cpu(Box::new(Emulator::new(options))))
}

/// What to watch, as the options say, for CTAs of so many warps.
pub fn program(recorder: &RecorderArgs, warps_per_cta: u64) -> RecordingRequest {
    let filter = recorder.filter(warps_per_cta);
    RecordingRequest {
        level: recorder.level,
        probe: None,
        markers: None,
        elide: !recorder.no_elide,
        filter,
        window: None,
    }
}

/// Warps in a CTA of `job`.
pub fn warps_per_cta(job: &Job) -> u64 {
    job.config.block.volume().div_ceil(32)
}

/// The same around a finding, with all operands.
pub fn zoom(program: &RecordingRequest, window: Window) -> RecordingRequest {
    RecordingRequest { level: Level::Operands, window: Some(window), ..program.clone() }
}

/// Records a job, and says what checks found.
///
/// A kernel that faults is a recording up to there; the launch says so.
pub fn record(
    job: &Job,
    program: &RecordingRequest,
    recorder: &RecorderArgs,
    on: &DeviceArgs,
    ui: &Ui,
) -> Result<(Trace, Findings)> {
    if program.level == Level::Operands && program.window.is_none() {
        bail!(
            "level `operands` records a window around a finding: compare at another level, it zooms by itself"
        );
    }
    if recorder.rewritten && on.check.is_some() {
        bail!("--check looks at the kernel as it is: leave --rewritten out");
    }
    let bar = ui.spinner(&format!("recording {} at level {}", job.name, program.level.label()));
    let rewrite = prlx_instrument::rewrite(&job.text, &job.module, program, &|path| job.source_text(path))
        .with_context(|| format!("cannot instrument {}", job.module))?;
    let options = RecordOptions {
        pool: recorder.memory.unwrap_or(64) << 20,
        // With checks the one run is enough, and is slow enough.
        bare: program.level != Level::Operands && on.check.is_none(),
        hooks: !recorder.rewritten,
    };
    let mut device = device(on)?;
    let recorded = prlx_driver::record(device.driver(), &rewrite.text, &rewrite.plan, job, &options)
        .with_context(|| format!("cannot record {}", job.name))?;
    bar.finish_and_clear();
    let found = device.findings(job);
    if let Some(changed) = recorded.bare.as_ref().filter(|b| !b.changed.is_empty()) {
        ui.warn(&format!(
            "{}: {} differ between the recorded and the bare run: the kernel depends on its schedule, or recording changed it",
            job.name,
            changed.changed.join(", ")
        ));
    }
    if !recorded.damage.is_empty() {
        let what =
            format!("{}: what the kernel recorded is damaged: {}", job.name, recorded.damage.join("; "));
        match &recorded.fault {
            // A kernel that was stopped leaves off anywhere. What can't be read counts as lost.
            Some(_) => ui.warn(&what),
            None => bail!(what),
        }
    }
    Ok((recorded.into_trace(rewrite.plan.module), found))
}
