//! Chooses and opens the device that a launch file runs on: the CPU device or an NVIDIA GPU.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use prlx_driver::cuda::{self, Cuda};
use prlx_driver::{Driver, Job, ModuleCode};
use prlx_emu::{Calibration, Checks, Emulator, FlowRequest};
use prlx_instrument::Rewrite;
use prlx_trace::check::Findings;
use prlx_trace::dataflow::DataFlow;
use prlx_trace::{Printed, WarpSize};

/// Steps of a warp's turn on the CPU device where time matters. All warps of a CTA advance together, so that
/// a warp which has more to do arrives later than the others.
pub(crate) const TURN: u32 = 1;

/// Which device to use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DeviceChoice {
    /// The CPU device.
    #[default]
    Cpu,
    /// An NVIDIA GPU, by its ordinal.
    Cuda(u32),
    /// The first usable GPU; the CPU device if there is none.
    Auto,
}

/// Whether the CPU device fuses multiplications and additions that name no rounding mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Contract {
    /// Round twice, as code that is assembled with `--fmad=false`.
    Off,
    /// Fuse what the assembler fuses by default.
    #[default]
    On,
}

/// How launch files run. `None` and empty lists mean the device's defaults.
#[derive(Clone, Debug, Default)]
pub struct DeviceOptions {
    /// The device to open.
    pub device: DeviceChoice,
    /// CPU device: seed of the schedule, instead of the launch file's.
    pub seed: Option<u64>,
    /// CPU device: steps of a CTA after which it counts as stuck.
    pub max_steps: Option<u64>,
    /// CPU device: steps of all CTAs of a launch after which it is stopped.
    pub max_launch_steps: Option<u64>,
    /// CPU device: memory limit in MiB.
    pub max_memory: Option<u64>,
    /// CPU device: the most steps that a warp executes under seed 0 before it is the next warp's turn.
    pub turn: Option<u32>,
    /// GPU: time after which a kernel counts as stuck.
    pub timeout: Option<Duration>,
    /// CPU device: checks to make while the kernel runs; `None` makes none and reports none.
    pub check: Option<Checks>,
    /// CPU device: what to record of a launch's data flow; `None`: nothing.
    pub dataflow: Option<FlowRequest>,
    /// CPU device: KiB of text that a launch may print.
    pub max_printed: Option<u64>,
    /// CPU device: lanes of a warp. 64 is a test mode.
    pub warp_size: WarpSize,
    /// CPU device: host threads.
    pub threads: Option<usize>,
    /// CPU device: whether multiplications and additions are fused.
    pub contract: Contract,
    /// CPU device: files that calibrate approximate operations (`docs/calibration.md`).
    pub calibration: Vec<PathBuf>,
    /// CPU device: ends the launch that runs when it is set.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl DeviceOptions {
    /// The GPU that the options choose, by its ordinal; `None` for the CPU device.
    fn gpu(&self) -> Option<u32> {
        match self.device {
            DeviceChoice::Cpu => None,
            DeviceChoice::Cuda(ordinal) => Some(ordinal),
            DeviceChoice::Auto => {
                cuda::installation().is_ok_and(|here| !here.devices.is_empty()).then_some(0)
            }
        }
    }

    /// These options, for a launch whose inserted code writes results to memory. On several host threads of
    /// the CPU device it would be chance which CTAs behind one that stops the launch have written theirs, so
    /// one thread runs them all, unless the options give a number of threads.
    #[must_use]
    pub fn for_inserted_code(&self, inserted: bool) -> DeviceOptions {
        let one = (inserted && !self.is_gpu()).then_some(1);
        DeviceOptions { threads: self.threads.or(one), ..self.clone() }
    }

    /// Whether launch files run on a GPU.
    pub fn is_gpu(&self) -> bool {
        self.gpu().is_some()
    }
}

/// An open device.
pub enum Device {
    /// The CPU device.
    Cpu(Box<Emulator>),
    /// An NVIDIA GPU.
    Gpu(Box<Cuda>),
}

impl Device {
    /// Opens the device that the options choose.
    ///
    /// # Errors
    /// If an option does not apply to that device, a calibration file is wrong, or the GPU cannot be used.
    pub fn open(options: &DeviceOptions) -> Result<Device> {
        match options.gpu() {
            Some(ordinal) => open_gpu(ordinal, options),
            None => open_cpu(options),
        }
    }

    /// The driver that launches kernels on this device.
    pub fn driver(&mut self) -> &mut dyn Driver {
        match self {
            Device::Cpu(emulator) => &mut **emulator,
            Device::Gpu(cuda) => &mut **cuda,
        }
    }

    /// Whether the device records a launch while it runs the unchanged code.
    pub fn observes(&mut self) -> bool {
        self.driver().info().hooks
    }

    /// What [`prlx_driver::record`](fn@prlx_driver::record) takes: the rewritten module, if the user or the
    /// device needs it.
    pub fn code_to_run<'a>(&mut self, rewrite: &'a Rewrite, rewritten: bool) -> Option<ModuleCode<'a>> {
        (rewritten || !self.observes()).then_some(instrumented_code(rewrite))
    }

    /// Takes what the checks of the last launch found, with source lines. Empty on a device without checks.
    pub fn findings(&mut self, job: &Job) -> Findings {
        let mut found = match self {
            Device::Cpu(emulator) => emulator.take_findings(),
            Device::Gpu(_) => Findings::default(),
        };
        found.sources(&|path| job.source_text(path));
        found
    }

    /// Takes what the last launch printed. Empty on a GPU, whose driver prints the text itself.
    pub fn take_printed(&mut self) -> Printed {
        match self {
            Device::Cpu(emulator) => emulator.take_printed(),
            Device::Gpu(_) => Printed::default(),
        }
    }

    /// Takes the data flow of the last launch, with source lines; `None` if it was not recorded.
    pub fn take_dataflow(&mut self, job: &Job) -> Option<DataFlow> {
        let Device::Cpu(emulator) = self else { return None };
        let mut flow = emulator.take_dataflow()?;
        flow.sources(&|path| job.source_text(path));
        Some(flow)
    }
}

/// The module that an instrumentation made.
pub fn instrumented_code(rewrite: &Rewrite) -> ModuleCode<'_> {
    match &rewrite.object {
        Some(object) => ModuleCode::Object(object.set, &object.bytes),
        None => ModuleCode::Ptx(&rewrite.text),
    }
}

fn open_gpu(ordinal: u32, options: &DeviceOptions) -> Result<Device> {
    let limits = [options.max_steps, options.max_memory, options.max_printed];
    let limits = limits.iter().any(Option::is_some) || options.threads.is_some();
    let unfused = options.contract == Contract::Off;
    let wide = options.warp_size != WarpSize::W32;
    if limits || unfused || wide || options.check.is_some() || !options.calibration.is_empty() {
        bail!(
            "--max-steps, --max-memory, --max-printed, --threads, --contract, --check, --calibration and \
             --warp-size need the CPU device"
        );
    }
    let mut cuda = Cuda::new(ordinal)?;
    options.timeout.into_iter().for_each(|most| cuda.set_time_limit(most));
    Ok(Device::Gpu(Box::new(cuda)))
}

/// How much lower the default step limit is with checks.
const CHECKED: u64 = 8;

fn open_cpu(options: &DeviceOptions) -> Result<Device> {
    if options.timeout.is_some() {
        bail!("--timeout needs a GPU: for the CPU device, use --max-steps");
    }
    let mut emulator = prlx_emu::Options::default();
    match options.max_steps {
        Some(n) => emulator.max_steps = n,
        // Checks make every instruction slower. The limit must still end a launch within a minute.
        None if options.check.is_some_and(|c| c.any()) => emulator.max_steps /= CHECKED,
        None => {}
    }
    if let Some(n) = options.max_launch_steps {
        emulator.max_launch_steps = n;
    }
    if let Some(n) = options.turn {
        emulator.turn = n;
    }
    if let Some(n) = options.max_memory {
        emulator.max_memory = n.saturating_mul(1 << 20);
    }
    if let Some(n) = options.max_printed {
        emulator.max_printed = n.saturating_mul(1 << 10);
    }
    if let Some(n) = options.threads {
        emulator.threads = n;
    }
    if let Some(cancel) = &options.cancel {
        emulator.cancel = cancel.clone();
    }
    emulator.warp_size = options.warp_size;
    emulator.checks = options.check.unwrap_or_default();
    emulator.dataflow.clone_from(&options.dataflow);
    emulator.contract = options.contract == Contract::On;
    for path in &options.calibration {
        let text =
            prlx_driver::files::read_text(path).with_context(|| format!("cannot read {}", path.display()))?;
        let table = Calibration::read(&path.display().to_string(), &text)?;
        if emulator.calibrations.iter().any(|c| c.op == table.op) {
            bail!("{}: another file already calibrates `{}`", path.display(), table.op);
        }
        emulator.calibrations.push(Arc::new(table));
    }
    Ok(Device::Cpu(Box::new(Emulator::new(emulator))))
}
