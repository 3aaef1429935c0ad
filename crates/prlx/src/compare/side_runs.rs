//! One side of a comparison, run again on the CPU device: with checks, or to record its data flow.
//!
//! # Invariants
//! The launch file decides what happens: a run with the same checks does the same each time.

use std::collections::BTreeSet;

use anyhow::Result;
use prlx_analyze::cause::SourceFiles;
use prlx_driver::job::ArgValue;
use prlx_driver::{Job, Output};
use prlx_emu::{Checks, FlowRequest, Others};
use prlx_trace::WarpSize;
use prlx_trace::check::{Allocation, Check, Findings, Place};
use prlx_trace::dataflow::{DataFlow, Elements};
use prlx_trace::names::is_compiler_file;

use crate::device::{Device, DeviceChoice, DeviceOptions};

/// Bytes that the data flow of one side may take in the first run. With more, the next run records only the
/// CTAs that matter.
pub(super) const FIRST_BYTES: u64 = 64 << 20;

/// The checks of the first run.
const CHECKS: [Check; 5] = [Check::Bounds, Check::Race, Check::Init, Check::Sync, Check::Async];

/// Instructions of all CTAs together that a launch of a GPU may take on the CPU device: about a minute. One
/// CTA may take as many.
const GPU_LAUNCH_STEPS: u64 = 100_000_000;

/// Instructions for each CTA that such a launch may take at least.
const GPU_CTA_STEPS: u64 = 1 << 16;

/// Where the launches ran that are explained.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// On the CPU device, from launch files.
    CpuDevice,
    /// On a GPU, from launch files.
    Gpu,
    /// In programs, on a GPU. The jobs are captured launches.
    Program,
}

impl Origin {
    /// Where launch files run with these options.
    pub(super) fn of(device: &DeviceOptions) -> Origin {
        if device.is_gpu() { Origin::Gpu } else { Origin::CpuDevice }
    }
}

/// One side, run again.
pub(super) struct Side {
    /// The data flow, or a survey of it.
    pub(super) flow: DataFlow,
    pub(super) files: SourceFiles,
    pub(super) findings: Findings,
    pub(super) outputs: Vec<Output>,
    /// Why the run stopped.
    pub(super) stopped: Option<String>,
}

/// Runs one side with checks. A data flow of more than [`FIRST_BYTES`] becomes a survey.
///
/// # Errors
/// If the device cannot be opened.
pub(super) fn run_checked(job: &Job, origin: Origin, device: &DeviceOptions) -> Result<Side> {
    let request = FlowRequest { bytes: FIRST_BYTES, ctas: None, others: Others::Surveyed };
    let (flow, findings, ended) = run(job, origin, device, &CHECKS, request)?;
    let files = source_files(flow.instructions.iter().map(|i| &i.place), job);
    // A kernel that faults leaves what it did until then.
    let (outputs, stopped) = match ended {
        Ok(outputs) => (outputs, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    Ok(Side { flow, files, findings, outputs, stopped })
}

/// Runs one side to record its data flow. With these checks, the run goes on behind a wrong access or a wrong
/// barrier, as one with all checks does.
///
/// # Errors
/// If the device cannot be opened.
pub(super) fn record_flow(
    job: &Job,
    origin: Origin,
    device: &DeviceOptions,
    checks: &[Check],
    request: FlowRequest,
) -> Result<DataFlow> {
    Ok(run(job, origin, device, checks, request)?.0)
}

/// Runs one side on the CPU device: its data flow, what the checks found, and its outputs or why it stopped.
fn run(
    job: &Job,
    origin: Origin,
    device: &DeviceOptions,
    checks: &[Check],
    request: FlowRequest,
) -> Result<(DataFlow, Findings, Result<Vec<Output>, String>)> {
    // For PTX, the checks know warps of 32 lanes only; the data flow knows both sizes.
    let check = (job.object.is_some() || device.warp_size == WarpSize::W32)
        .then(|| checks.iter().copied().fold(Checks::NONE, Checks::with));
    let of_gpu = origin != Origin::CpuDevice;
    let options = DeviceOptions {
        device: DeviceChoice::Cpu,
        check,
        dataflow: Some(request),
        timeout: None,
        max_steps: if of_gpu { Some(GPU_LAUNCH_STEPS) } else { device.max_steps },
        max_launch_steps: of_gpu
            .then(|| job.config.grid.volume().saturating_mul(GPU_CTA_STEPS).max(GPU_LAUNCH_STEPS)),
        ..device.clone()
    };
    let mut device = Device::open(&options)?;
    let ended = prlx_driver::run::run(device.driver(), job).map(|run| run.outputs).map_err(|e| e.message);
    let findings = device.findings(job);
    let mut flow = device.take_dataflow(job).unwrap_or_default();
    name_buffers(&mut flow, job);
    // The launch file's names say more than those of the module.
    for (param, arg) in flow.params.iter_mut().zip(&job.args) {
        param.name.clone_from(&arg.name);
    }
    Ok((flow, findings, ended))
}

/// The source files that places come from, as far as they can be read.
pub(super) fn source_files<'a>(places: impl Iterator<Item = &'a Place>, job: &Job) -> SourceFiles {
    let lines = places.flat_map(|p| &p.source).filter(|l| l.text.is_some());
    let paths: BTreeSet<&str> = lines.map(|l| l.file.as_str()).collect();
    paths.into_iter().filter_map(|path| Some((path.to_owned(), job.source_text(path)?))).collect()
}

/// Whether both sides come from the same lines of the same text: only constants and options of the compiler
/// can differ, or the compiler itself. Files that one side alone uses are not compared, nor are those of a
/// compiler.
pub(super) fn one_source(sides: [&Side; 2]) -> bool {
    let text = |side: usize, path: &str| {
        let mut files = sides[side].files.iter().filter(|(p, _)| !is_compiler_file(p));
        files.find(|(p, _)| p == path).map(|(_, text)| text.as_str())
    };
    let [lines, others] = [0, 1].map(|side| {
        // The line of the kernel, where code was inlined.
        let lines = sides[side].flow.instructions.iter().filter_map(|i| i.place.source.last());
        lines.filter_map(|l| Some((text(side, &l.file)?, l.line))).collect::<BTreeSet<_>>()
    });
    let edited =
        sides[0].files.iter().any(|(path, _)| text(0, path).zip(text(1, path)).is_some_and(|(a, b)| a != b));
    !lines.is_disjoint(&others) && !edited
}

/// Puts the buffers that share an allocation in its place, and adds the shapes of all.
fn name_buffers(flow: &mut DataFlow, job: &Job) {
    let mut shared = BTreeSet::new();
    for arg in &job.args {
        let ArgValue::Buffer(buffer) = &arg.value else { continue };
        let elements =
            Elements { bytes: u64::from(buffer.ty.bits().div_ceil(8)), shape: buffer.shape.clone() };
        flow.arrays.insert(arg.name.clone(), elements);
        let Some(place) = &buffer.place else { continue };
        let Some(whole) = flow.buffers.iter().find(|a| a.name == place.allocation) else { continue };
        let base = whole.base + place.offset;
        flow.buffers.push(Allocation { name: arg.name.clone(), base, bytes: buffer.size() });
        shared.insert(place.allocation.as_str());
    }
    flow.buffers.retain(|a| !shared.contains(a.name.as_str()));
    flow.buffers.sort_by_key(|a| a.base);
}

/// Does the same work for both sides, on two threads.
///
/// # Errors
/// Those of A, or else of B.
pub(super) fn at_once<T: Send>(side: impl Fn(usize) -> Result<T> + Sync) -> Result<[T; 2]> {
    let (a, b) = std::thread::scope(|scope| {
        let second = scope.spawn(|| side(1));
        (side(0), second.join())
    });
    Ok([a?, b.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?])
}
